//! The interface as it is between the two sides: the structs of `muster_plugin.h`, whose comments say what they mean.
//! A test compiles the header and compares every size and offset.
#![expect(missing_docs, reason = "muster_plugin.h documents them")]

use std::ffi::{c_char, c_void};

pub const MAJOR: u32 = 1;
pub const MINOR: u32 = 0;
pub const ABI: u32 = (MAJOR << 16) | MINOR;
pub const LANES: usize = 16;
pub const ALL_LANES: u32 = u32::MAX;

pub const OK: i32 = 0;
pub const LOST: i32 = 1;
pub const FAILED: i32 = -1;
pub const UNKNOWN: i32 = -2;
pub const NOT_NOW: i32 = -3;

pub const DRIVER: u32 = 1;
pub const SENSOR: u32 = 2;
pub const LOOK: u32 = 3;
pub const MODIFIER: u32 = 4;
pub const MOTION: u32 = 5;
pub const EXTENSION: u32 = 6;

pub const REPEATABLE: u32 = 1;
pub const SEES_BODIES: u32 = 2;
pub const PLANAR: u32 = 4;
pub const FIXED: u32 = 8;

pub const NUMBER: u32 = 1;
pub const INTEGER: u32 = 2;
pub const BOOL: u32 = 3;
pub const TEXT: u32 = 4;
pub const CHOICE: u32 = 5;
pub const NUMBERS: u32 = 6;

/// Declares structs as C lays them out, that can be all zeroes.
macro_rules! structs {
    ($(pub struct $name:ident { $(pub $field:ident: $type:ty,)* })*) => {$(
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub struct $name { $(pub $field: $type,)* }

        impl $name {
            /// The names and offsets of its members, in their order.
            pub const OFFSETS: &'static [(&'static str, usize)] =
                &[$((stringify!($field), std::mem::offset_of!($name, $field)),)*];
        }
    )*};
}

type Start<T> = Option<unsafe extern "C" fn(*mut c_void, *mut T, u32) -> i32>;
type Serve<T> = Option<unsafe extern "C" fn(*mut c_void, *mut T) -> i32>;
type Named = unsafe extern "C" fn(*const MusterCall, *const c_char) -> i32;

structs! {
    pub struct MusterCall {
        pub size: u32,
        pub lanes: u32,
        pub host: *const MusterHost,
        pub inside: *const c_void,
    }

    pub struct MusterField {
        pub size: u32,
        pub r#type: u32,
        pub name: *const c_char,
        pub doc: *const c_char,
        pub fallback: *const c_char,
        pub min: f64,
        pub max: f64,
        pub words: *const *const c_char,
        pub count: u64,
    }

    pub struct MusterValue {
        pub size: u32,
        pub r#type: u32,
        pub name: *const c_char,
        pub number: f64,
        pub integer: i64,
        pub text: *const c_char,
        pub numbers: *const f64,
        pub count: u64,
    }

    pub struct MusterConfig {
        pub call: MusterCall,
        pub values: *const MusterValue,
        pub count: u64,
    }

    pub struct MusterQuantity {
        pub size: u32,
        pub count: u32,
        pub name: *const c_char,
    }

    pub struct MusterReading {
        pub size: u32,
        pub subscription: u32,
        pub stamp_ns: i64,
        pub values: *const f64,
        pub count: u64,
        pub stride: u64,
    }

    pub struct MusterControl {
        pub call: MusterCall,
        pub due: u32,
        pub current: u32,
        pub time_ns: i64,
        pub period_s: f64,
        pub index: u64,
        pub mode: *mut f64,
        pub setpoint: *mut f64,
        pub inputs: *mut f64,
        pub state: *mut f64,
        pub integers: *mut i64,
        pub joint_positions: *const f64,
        pub joint_commands: *mut f64,
        pub joint_mode: *mut f64,
        pub streams: *const u64,
        pub robots: *const *mut c_void,
        pub input_count: u32,
        pub state_count: u32,
        pub integer_count: u32,
        pub joint_count: u32,
    }

    pub struct MusterMeasure {
        pub call: MusterCall,
        pub time_ns: i64,
        pub period_s: f64,
        pub index: u64,
        pub truth: *const f64,
        pub state: *mut f64,
        pub sample: *mut f64,
        pub mount: *const f64,
        pub gravity_mps2: *const f64,
        pub streams: *const u64,
        pub robots: *const *mut c_void,
        pub truth_count: u32,
        pub state_count: u32,
        pub sample_count: u32,
        pub reserved: u32,
    }

    pub struct MusterLook {
        pub call: MusterCall,
        pub time_ns: i64,
        pub period_s: f64,
        pub index: u64,
        pub stream: u64,
        pub robot: u64,
        pub robots: u64,
        pub stride: u64,
        pub positions_m: *const f64,
        pub orientations: *const f64,
        pub velocities_mps: *const f64,
        pub pose: *const f64,
        pub sample: *mut f64,
        pub capacity: u64,
        pub count: u64,
    }

    pub struct MusterHit {
        pub size: u32,
        pub reserved: u32,
        pub distance_m: f64,
        pub normal: [f64; 3],
    }

    pub struct MusterSample {
        pub call: MusterCall,
        pub values: *mut f64,
        pub count: u64,
        pub memory: *mut f64,
        pub memory_count: u64,
        pub stream: u64,
        pub index: u64,
        pub stamp_ns: i64,
        pub period_s: f64,
    }

    pub struct MusterAdvance {
        pub call: MusterCall,
        pub time_ns: i64,
        pub dt_s: f64,
        pub columns: *mut f64,
        pub gravity_mps2: *const f64,
        pub column_count: u32,
        pub inputs: u32,
        pub state: u32,
        pub reserved: u32,
    }

    pub struct MusterWindow {
        pub call: MusterCall,
        pub time_ns: i64,
    }

    pub struct MusterKind {
        pub size: u32,
        pub family: u32,
        pub name: *const c_char,
        pub doc: *const c_char,
        pub fields: *const MusterField,
        pub state: *const MusterQuantity,
        pub integers: *const MusterQuantity,
        pub sample: *const MusterQuantity,
        pub inputs: *const MusterQuantity,
        pub field_count: u32,
        pub state_count: u32,
        pub integer_count: u32,
        pub sample_count: u32,
        pub input_count: u32,
        pub flags: u32,
        pub rate_hz: f64,
        pub attach: Option<unsafe extern "C" fn(*mut c_void, *const MusterCall) -> i32>,
        pub configure: Option<unsafe extern "C" fn(*mut c_void, *const MusterConfig) -> i32>,
        pub robot_create: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void>,
        pub robot_destroy: Option<unsafe extern "C" fn(*mut c_void, *mut c_void)>,
        pub robot_save: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *mut u8, u64) -> u64>,
        pub robot_restore: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, *const u8, u64) -> i32>,
        pub start_driver: Start<MusterControl>,
        pub step: Serve<MusterControl>,
        pub on_sample: Option<unsafe extern "C" fn(*mut c_void, *mut MusterControl, u32, *const MusterReading) -> i32>,
        pub start_sensor: Start<MusterMeasure>,
        pub measure: Serve<MusterMeasure>,
        pub capacity: Option<unsafe extern "C" fn(*mut c_void, u64) -> u64>,
        pub look: Serve<MusterLook>,
        pub modify: Serve<MusterSample>,
        pub speed_max_mps: Option<unsafe extern "C" fn(*mut c_void) -> f64>,
        pub start_motion: Start<MusterAdvance>,
        pub advance: Serve<MusterAdvance>,
        pub init: Option<unsafe extern "C" fn(*mut c_void, *const MusterCall) -> i32>,
        pub shutdown: Option<unsafe extern "C" fn(*mut c_void)>,
        pub offer: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
        pub window: Serve<MusterWindow>,
    }

    pub struct MusterPlugin {
        pub size: u32,
        pub abi: u32,
        pub name: *const c_char,
        pub version: *const c_char,
        pub about: *const c_char,
        pub kinds: *const MusterKind,
        pub kind_count: u64,
    }

    pub struct MusterHost {
        pub size: u32,
        pub abi: u32,
        pub fail: unsafe extern "C" fn(*const MusterCall, u32, *const c_char),
        pub trace: unsafe extern "C" fn(*const MusterCall, *const c_char),
        pub input: Named,
        pub joint: Named,
        pub column: Named,
        pub constant: unsafe extern "C" fn(*const MusterCall, *const c_char, *mut f64) -> i32,
        pub subscribe: unsafe extern "C" fn(*const MusterCall, *const c_char, *const c_char, u32) -> i32,
        pub reading: unsafe extern "C" fn(*const MusterCall, u32, u32, *mut MusterReading) -> i32,
        pub extension: unsafe extern "C" fn(*const MusterCall, *const c_char) -> *mut c_void,
        pub field: Named,
        pub find_robot: unsafe extern "C" fn(*const MusterCall, *const c_char) -> i64,
        pub cast: unsafe extern "C" fn(*const MusterCall, *const f64, *const f64, f64, *mut MusterHit) -> i32,
        pub uniforms: unsafe extern "C" fn(u64, u64, u32, *mut f64),
        pub normals: unsafe extern "C" fn(u64, u64, u32, *mut f64),
        pub get: unsafe extern "C" fn(*const MusterCall, *const c_char, *mut f64, u64) -> i64,
        pub set: unsafe extern "C" fn(*const MusterCall, *const c_char, *const f64, u64) -> i32,
        pub ask: unsafe extern "C" fn(*const MusterCall, *const c_char, *const c_char, *const f64, u64) -> i32,
        pub robot_name: unsafe extern "C" fn(*const MusterCall, u64, *mut c_char, u64) -> i64,
    }
}

/// The size of a struct, as its first member says it.
pub const fn size_of<T>() -> u32 {
    std::mem::size_of::<T>() as u32
}
