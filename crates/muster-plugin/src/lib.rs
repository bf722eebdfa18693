//! What plug-ins of muster are written with: components of your own, compiled apart from muster and loaded at run time.
//!
//! A component is a type that implements [`Driver`], [`Sensor`], [`Look`], [`Modifier`], [`Motion`] or [`Extension`]. One
//! value serves all robots that are built alike, [`LANES`] of them at a call, and does not change; what it remembers of
//! robots lives in columns that muster keeps (`state` and `integers` of the [`Kind`]), or in a [`Memory`] of each robot.
//! Panics end at the border: the robot being served is isolated, the others go on.
//!
//! ```
//! use muster_plugin::{Config, Control, Driver, Field, Kind, Setpoint};
//!
//! struct Circle {
//!     speed_mps: f64,
//!     radius_m: f64,
//! }
//!
//! impl Driver for Circle {
//!     const KIND: Kind = Kind::new("circle", "Drives in circles.").repeatable().fields(&[
//!         Field::number("speed_mps", "How fast.").or("0.5").within(0.0, 10.0),
//!         Field::number("radius_m", "How wide.").or("2"),
//!     ]);
//!     type Memory = ();
//!
//!     fn configure(config: &Config<'_>) -> Result<Self, String> {
//!         Ok(Self { speed_mps: config.number("speed_mps"), radius_m: config.number("radius_m") })
//!     }
//!
//!     fn step(&self, control: &mut Control<'_, ()>) {
//!         while let Some(lane) = control.next_lane() {
//!             control.command(lane, Setpoint::velocity(self.speed_mps, 0.0, 0.0, self.speed_mps / self.radius_m));
//!         }
//!     }
//! }
//!
//! muster_plugin::plugin! {
//!     name: "circle", version: "1.0.0", about: "Circles.",
//!     kinds: [driver Circle],
//! }
//! ```
#![expect(unsafe_code, reason = "the border to muster is made of pointers")]

pub mod abi;
mod calls;
mod glue;
mod kinds;

pub use abi::LANES;
pub use calls::{
    Advance, Config, Control, Hit, LookAt, Measure, Offer, Outcome, Reading, Sample, Setpoint, Wanted, Window,
};
pub use glue::{Entry, Table, create, destroy};
pub use kinds::{Field, Kind, Quantity};

/// One quantity of all robots that are served: a number a robot.
pub type Column = [f64; LANES];

/// One integer of all robots that are served.
pub type IntColumn = [i64; LANES];

/// Where the first columns of every robot are, as sensors and motions see it.
pub mod body {
    /// Position in the world, m: three columns.
    pub const POSITION: usize = 0;
    /// `world_from_body` as x, y, z, w: four columns.
    pub const ORIENTATION: usize = 3;
    /// Velocity in the world, m/s: three columns.
    pub const VELOCITY: usize = 7;
    /// Angular velocity in the body, rad/s: three columns.
    pub const ANGULAR_VELOCITY: usize = 10;
    /// Mean acceleration over the last tick in the world, m/s²: three columns.
    pub const ACCELERATION: usize = 13;
    /// Velocity of the air, m/s: three columns.
    pub const WIND: usize = 16;
    /// Force of contacts, N: three columns.
    pub const CONTACT_FORCE: usize = 28;
    /// The kind of the setpoint.
    pub const SETPOINT_MODE: usize = 31;
    /// The setpoint: four columns.
    pub const SETPOINT: usize = 32;
    /// How many these are; inputs and state of the motion follow.
    pub const COLUMNS: usize = 36;
}

/// What a component remembers of one robot beyond columns.
pub trait Memory: Sized + Send + 'static {
    /// False for a component that keeps nothing of the sort.
    const KEPT: bool = true;

    /// That of a new robot of this name.
    fn of(robot: &str) -> Self;

    /// Everything remembered as bytes: equal exactly if it is.
    fn save(&self) -> Vec<u8>;

    /// Remembers what was saved, and nothing else.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), String>;
}

impl Memory for () {
    const KEPT: bool = false;

    fn of(_: &str) -> Self {}

    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    fn restore(&mut self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }
}

/// Commands robots from what sensors say.
pub trait Driver: Sized + Send + Sync + 'static {
    /// What it is called and what can be written for it.
    const KIND: Kind;

    /// What it remembers of each robot beyond columns; `()` for nothing.
    type Memory: Memory;

    /// Makes one from what the user wrote; here it also asks for inputs, joints and sensors by name.
    fn configure(config: &Config<'_>) -> Result<Self, String>;

    /// Prepares the memory of one new robot.
    fn start(&self, control: &mut Control<'_, Self::Memory>, lane: usize) {
        _ = (control, lane);
    }

    /// Commands every lane of [`Control::next_lane`].
    fn step(&self, control: &mut Control<'_, Self::Memory>);

    /// True if [`Driver::on_sample`] is to be called.
    const LISTENS: bool = false;

    /// Called before a step for every sample that came since the last, in the order of the subscriptions.
    fn on_sample(&self, control: &mut Control<'_, Self::Memory>, lane: usize, reading: &Reading<'_>) {
        _ = (control, lane, reading);
    }
}

/// Measures the robot it is on.
pub trait Sensor: Sized + Send + Sync + 'static {
    /// What it is called, what can be written for it and what its samples hold.
    const KIND: Kind;

    /// What it remembers of each robot beyond columns; `()` for nothing.
    type Memory: Memory;

    /// Makes one from what the user wrote.
    fn configure(config: &Config<'_>) -> Result<Self, String>;

    /// Prepares the memory of one new robot.
    fn start(&self, measure: &mut Measure<'_, Self::Memory>, lane: usize) {
        _ = (measure, lane);
    }

    /// Fills the samples of all lanes.
    fn measure(&self, measure: &mut Measure<'_, Self::Memory>);
}

/// Measures the world around. It may run beside the simulation, so it remembers nothing.
pub trait Look: Sized + Send + Sync + 'static {
    /// What it is called, what can be written for it and what each record of a sample holds.
    const KIND: Kind;

    /// Makes one from what the user wrote.
    fn configure(config: &Config<'_>) -> Result<Self, String>;

    /// How many records a sample may have among so many robots.
    fn records(&self, robots: usize) -> usize {
        _ = robots;
        1
    }

    /// Fills the sample of one robot.
    fn look(&self, at: &mut LookAt<'_>);
}

/// Changes samples between measurement and delivery.
pub trait Modifier: Sized + Send + Sync + 'static {
    /// What it is called, what can be written for it, what it remembers and which fields it needs.
    const KIND: Kind;

    /// Makes one from what the user wrote.
    fn configure(config: &Config<'_>) -> Result<Self, String>;

    /// Changes a sample, or loses it.
    fn modify(&self, sample: &mut Sample<'_>) -> Outcome;
}

/// Moves robots.
pub trait Motion: Sized + Send + Sync + 'static {
    /// What it is called, what can be written for it, its inputs and its state.
    const KIND: Kind;

    /// Makes one from what the user wrote.
    fn configure(config: &Config<'_>) -> Result<Self, String>;

    /// The speed that no robot exceeds, m/s.
    fn speed_max_mps(&self) -> f64;

    /// Prepares inputs and state of one new robot, whose pose is set.
    fn start(&self, advance: &mut Advance<'_>, lane: usize) {
        _ = (advance, lane);
    }

    /// Moves all lanes on by one tick.
    fn advance(&self, advance: &mut Advance<'_>);
}

/// Runs beside the simulation. It is there before the first robot and goes after the last.
pub trait Extension: Sized + Send + Sync + 'static {
    /// What it is called and what can be written for it.
    const KIND: Kind;

    /// Makes one from what the user wrote, without beginning anything.
    fn configure(config: &Config<'_>) -> Result<Self, String>;

    /// Begins.
    fn init(&self) -> Result<(), String>;

    /// Ends.
    fn shutdown(&self);

    /// What components get who ask for it by name, see [`Control::extension`].
    fn offer(&self) -> Offer {
        Offer::nothing()
    }

    /// Called between windows.
    fn window(&self, window: &mut Window<'_>) -> Result<(), String> {
        _ = window;
        Ok(())
    }
}

/// Declares the plug-in: once in a library. Before each type stands its family: `driver`, `sensor`, `look`, `modifier`,
/// `motion` or `extension`.
#[macro_export]
macro_rules! plugin {
    (name: $name:expr, version: $version:expr, about: $about:expr, kinds: [$($family:ident $type:ty),* $(,)?] $(,)?) => {
        const _: () = {
            static ENTRIES: &[$crate::Entry] = &[$($crate::Entry::$family::<$type>()),*];
            static TABLE: std::sync::OnceLock<$crate::Table> = std::sync::OnceLock::new();

            #[unsafe(no_mangle)]
            extern "C" fn muster_plugin() -> *const $crate::abi::MusterPlugin {
                TABLE.get_or_init(|| $crate::Table::new([$name, $version, $about], ENTRIES)).plugin()
            }

            #[unsafe(no_mangle)]
            extern "C" fn muster_create(kind: u32, _: *const $crate::abi::MusterHost) -> *mut std::ffi::c_void {
                $crate::create(ENTRIES, kind)
            }

            #[unsafe(no_mangle)]
            extern "C" fn muster_destroy(kind: u32, me: *mut std::ffi::c_void) {
                $crate::destroy(ENTRIES, kind, me)
            }
        };
    };
}
