//! The messages muster speaks. A row is the struct, its bytes and its definition at once; field names, types and order
//! are those of ROS 2 Jazzy (`common_interfaces` 5.3), which a reference test compares by the hashes of REP-2011.

use super::cdr::{Definition, Field, Malformed, Reader, Writer, schema_text};
use glam::{DQuat, DVec3};
use muster_core::component::Pose as CorePose;
use muster_core::time::SimTime;

/// A message with a name.
pub trait Message: Field {
    /// `package/msg/Type`.
    const NAME: &'static str;

    /// Its definition with those of the messages in it, as `ros2msg` schemas have it.
    fn schema() -> String {
        let mut definitions = Vec::new();
        Self::define(&mut definitions);
        schema_text(&definitions)
    }
}

macro_rules! messages {
    ($($(#[doc = $doc:literal])* $package:ident / $name:ident = $type:literal
        { $($(#[doc = $about:literal])* $field:ident : $kind:ty),* $(,)? } $(: $constants:literal)?)*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name { $($(#[doc = $about])* pub $field: $kind),* }

        impl Default for $name {
            fn default() -> Self {
                Self::empty()
            }
        }

        impl Field for $name {
            const LEAST: usize = 0 $(+ <$kind as Field>::LEAST)*;

            fn empty() -> Self {
                Self { $($field: Field::empty()),* }
            }

            fn write(&self, out: &mut Writer) {
                $(self.$field.write(out);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                Ok(Self { $($field: Field::read(from)?),* })
            }

            fn type_name() -> String {
                concat!(stringify!($package), "/", $type).to_owned()
            }

            fn define(definitions: &mut Vec<Definition>) {
                let name = Self::type_name();
                if definitions.iter().any(|known| known.name == name) {
                    return;
                }
                let mut text = String::new();
                $(text.push_str($constants);)?
                $(text.push_str(&format!("{} {}\n", <$kind as Field>::type_name(), stringify!($field)));)*
                definitions.push(Definition { name, text });
                $(<$kind as Field>::define(definitions);)*
            }
        }

        impl Message for $name {
            const NAME: &'static str = concat!(stringify!($package), "/msg/", $type);
        }
    )*
        /// Name and schema of every message.
        pub fn all() -> Vec<(&'static str, String)> {
            vec![$((<$name as Message>::NAME, <$name as Message>::schema())),*]
        }
    };
}

messages! {
    /// An instant.
    builtin_interfaces/Time = "Time" {
        /// Whole seconds.
        sec: i32,
        /// Nanoseconds after them.
        nanosec: u32,
    }

    /// When and in which frame.
    std_msgs/Header = "Header" {
        /// When it was measured.
        stamp: Time,
        /// In which frame.
        frame_id: String,
    }

    /// Simulated time.
    rosgraph_msgs/Clock = "Clock" {
        /// Now.
        clock: Time,
    }

    /// A vector.
    geometry_msgs/Vector3 = "Vector3" {
        /// Along x.
        x: f64,
        /// Along y.
        y: f64,
        /// Along z.
        z: f64,
    }

    /// A point.
    geometry_msgs/Point = "Point" {
        /// Along x, m.
        x: f64,
        /// Along y, m.
        y: f64,
        /// Along z, m.
        z: f64,
    }

    /// A rotation.
    geometry_msgs/Quaternion = "Quaternion" {
        /// Along i.
        x: f64,
        /// Along j.
        y: f64,
        /// Along k.
        z: f64,
        /// The real part.
        w: f64,
    }

    /// A point with its frame.
    geometry_msgs/PointStamped = "PointStamped" {
        /// When and in which frame.
        header: Header,
        /// Where.
        point: Point,
    }

    /// Position and orientation.
    geometry_msgs/Pose = "Pose" {
        /// Where.
        position: Point,
        /// Which way round.
        orientation: Quaternion,
    }

    /// A pose with its frame.
    geometry_msgs/PoseStamped = "PoseStamped" {
        /// When and in which frame.
        header: Header,
        /// The pose.
        pose: Pose,
    }

    /// A pose and how uncertain it is.
    geometry_msgs/PoseWithCovariance = "PoseWithCovariance" {
        /// The pose.
        pose: Pose,
        /// x, y, z and rotations about these, row by row.
        covariance: [f64; 36],
    }

    /// Linear and angular velocity.
    geometry_msgs/Twist = "Twist" {
        /// m/s.
        linear: Vector3,
        /// rad/s.
        angular: Vector3,
    }

    /// A twist with its frame.
    geometry_msgs/TwistStamped = "TwistStamped" {
        /// When and in which frame.
        header: Header,
        /// The twist.
        twist: Twist,
    }

    /// A twist and how uncertain it is.
    geometry_msgs/TwistWithCovariance = "TwistWithCovariance" {
        /// The twist.
        twist: Twist,
        /// x, y, z and rotations about these, row by row.
        covariance: [f64; 36],
    }

    /// A rigid transform.
    geometry_msgs/Transform = "Transform" {
        /// m.
        translation: Vector3,
        /// Which way round.
        rotation: Quaternion,
    }

    /// Where a frame is in another.
    geometry_msgs/TransformStamped = "TransformStamped" {
        /// When, and the parent.
        header: Header,
        /// The child.
        child_frame_id: String,
        /// `parent_from_child`.
        transform: Transform,
    }

    /// Where frames are.
    tf2_msgs/TfMessage = "TFMessage" {
        /// Each.
        transforms: Vec<TransformStamped>,
    }

    /// Pose in one frame, twist in another.
    nav_msgs/Odometry = "Odometry" {
        /// When, and the frame of the pose.
        header: Header,
        /// The frame of the twist, whose pose this is.
        child_frame_id: String,
        /// Where it is.
        pose: PoseWithCovariance,
        /// How it moves.
        twist: TwistWithCovariance,
    }

    /// A planar scan.
    sensor_msgs/LaserScan = "LaserScan" {
        /// When the first ray was measured, and the frame of the sensor.
        header: Header,
        /// rad.
        angle_min: f32,
        /// rad.
        angle_max: f32,
        /// rad.
        angle_increment: f32,
        /// Between two rays, s.
        time_increment: f32,
        /// Between two scans, s.
        scan_time: f32,
        /// m.
        range_min: f32,
        /// m.
        range_max: f32,
        /// m.
        ranges: Vec<f32>,
        /// In units of the device.
        intensities: Vec<f32>,
    }

    /// What one number of a point is.
    sensor_msgs/PointField = "PointField" {
        /// Its name.
        name: String,
        /// Where it is in a point, bytes.
        offset: u32,
        /// Its type.
        datatype: u8,
        /// How many.
        count: u32,
    }: "uint8 INT8=1\nuint8 UINT8=2\nuint8 INT16=3\nuint8 UINT16=4\nuint8 INT32=5\nuint8 UINT32=6\nuint8 FLOAT32=7\nuint8 FLOAT64=8\n"

    /// Points in space.
    sensor_msgs/PointCloud2 = "PointCloud2" {
        /// When and in which frame.
        header: Header,
        /// Rows.
        height: u32,
        /// Points in a row.
        width: u32,
        /// What a point holds.
        fields: Vec<PointField>,
        /// False: little-endian.
        is_bigendian: bool,
        /// Bytes of a point.
        point_step: u32,
        /// Bytes of a row.
        row_step: u32,
        /// The points.
        data: Vec<u8>,
        /// True if no point is invalid.
        is_dense: bool,
    }

    /// Inertial measurement.
    sensor_msgs/Imu = "Imu" {
        /// When and in which frame.
        header: Header,
        /// Which way round.
        orientation: Quaternion,
        /// The first is -1 if there is no orientation.
        orientation_covariance: [f64; 9],
        /// rad/s.
        angular_velocity: Vector3,
        /// The first is -1 if there is no angular velocity.
        angular_velocity_covariance: [f64; 9],
        /// m/s², gravity included: at rest +9.81 upwards.
        linear_acceleration: Vector3,
        /// The first is -1 if there is no acceleration.
        linear_acceleration_covariance: [f64; 9],
    }

    /// How good a fix is.
    sensor_msgs/NavSatStatus = "NavSatStatus" {
        /// -1 none, 0 unaugmented, 1 with satellites, 2 with stations on the ground.
        status: i8,
        /// Which systems.
        service: u16,
    }: "int8 STATUS_UNKNOWN=-2\nint8 STATUS_NO_FIX=-1\nint8 STATUS_FIX=0\nint8 STATUS_SBAS_FIX=1\nint8 STATUS_GBAS_FIX=2\nuint16 SERVICE_UNKNOWN=0\nuint16 SERVICE_GPS=1\nuint16 SERVICE_GLONASS=2\nuint16 SERVICE_COMPASS=4\nuint16 SERVICE_GALILEO=8\n"

    /// A position by satellites.
    sensor_msgs/NavSatFix = "NavSatFix" {
        /// When, and the frame of the antenna.
        header: Header,
        /// How good.
        status: NavSatStatus,
        /// WGS84, degrees north.
        latitude: f64,
        /// WGS84, degrees east.
        longitude: f64,
        /// Above the ellipsoid, m.
        altitude: f64,
        /// East, north, up, m².
        position_covariance: [f64; 9],
        /// What is known of it.
        position_covariance_type: u8,
    }: "uint8 COVARIANCE_TYPE_UNKNOWN=0\nuint8 COVARIANCE_TYPE_APPROXIMATED=1\nuint8 COVARIANCE_TYPE_DIAGONAL_KNOWN=2\nuint8 COVARIANCE_TYPE_KNOWN=3\n"

    /// An image.
    sensor_msgs/Image = "Image" {
        /// When, and the optical frame.
        header: Header,
        /// Rows.
        height: u32,
        /// Pixels in a row.
        width: u32,
        /// `rgb8`, `32FC1`, …
        encoding: String,
        /// 0: little-endian.
        is_bigendian: u8,
        /// Bytes of a row.
        step: u32,
        /// The pixels, rows from the top.
        data: Vec<u8>,
    }

    /// Part of an image.
    sensor_msgs/RegionOfInterest = "RegionOfInterest" {
        /// First column.
        x_offset: u32,
        /// First row.
        y_offset: u32,
        /// Rows; 0 for all.
        height: u32,
        /// Columns; 0 for all.
        width: u32,
        /// Whether the part is to be rectified by itself.
        do_rectify: bool,
    }

    /// What a camera is like.
    sensor_msgs/CameraInfo = "CameraInfo" {
        /// When, and the optical frame.
        header: Header,
        /// Rows.
        height: u32,
        /// Pixels in a row.
        width: u32,
        /// `plumb_bob`.
        distortion_model: String,
        /// k1, k2, t1, t2, k3.
        d: Vec<f64>,
        /// The camera matrix.
        k: [f64; 9],
        /// Rectification.
        r: [f64; 9],
        /// Projection.
        p: [f64; 12],
        /// Pixels joined along a row.
        binning_x: u32,
        /// Pixels joined along a column.
        binning_y: u32,
        /// Which part of the image.
        roi: RegionOfInterest,
    }

    /// Joints.
    sensor_msgs/JointState = "JointState" {
        /// When.
        header: Header,
        /// Their names.
        name: Vec<String>,
        /// rad or m.
        position: Vec<f64>,
        /// rad/s or m/s.
        velocity: Vec<f64>,
        /// Nm or N.
        effort: Vec<f64>,
    }

    /// A battery.
    sensor_msgs/BatteryState = "BatteryState" {
        /// When.
        header: Header,
        /// V.
        voltage: f32,
        /// °C.
        temperature: f32,
        /// A, negative when discharging.
        current: f32,
        /// Ah.
        charge: f32,
        /// Ah.
        capacity: f32,
        /// Ah.
        design_capacity: f32,
        /// 0 to 1.
        percentage: f32,
        /// Whether it charges.
        power_supply_status: u8,
        /// How well it is.
        power_supply_health: u8,
        /// Its chemistry.
        power_supply_technology: u8,
        /// Whether there is one.
        present: bool,
        /// V.
        cell_voltage: Vec<f32>,
        /// °C.
        cell_temperature: Vec<f32>,
        /// Its slot.
        location: String,
        /// Its number.
        serial_number: String,
    }: "uint8 POWER_SUPPLY_STATUS_UNKNOWN=0\nuint8 POWER_SUPPLY_STATUS_CHARGING=1\nuint8 POWER_SUPPLY_STATUS_DISCHARGING=2\nuint8 POWER_SUPPLY_STATUS_NOT_CHARGING=3\nuint8 POWER_SUPPLY_STATUS_FULL=4\n"

    /// A magnetic field.
    sensor_msgs/MagneticField = "MagneticField" {
        /// When and in which frame.
        header: Header,
        /// T.
        magnetic_field: Vector3,
        /// T².
        magnetic_field_covariance: [f64; 9],
    }

    /// A single range.
    sensor_msgs/Range = "Range" {
        /// When, and the frame of the sensor, which looks along x.
        header: Header,
        /// 0 ultrasound, 1 infrared.
        radiation_type: u8,
        /// rad.
        field_of_view: f32,
        /// m.
        min_range: f32,
        /// m.
        max_range: f32,
        /// m.
        range: f32,
        /// m².
        variance: f32,
    }: "uint8 ULTRASOUND=0\nuint8 INFRARED=1\n"

    /// A pressure.
    sensor_msgs/FluidPressure = "FluidPressure" {
        /// When and where.
        header: Header,
        /// Pa.
        fluid_pressure: f64,
        /// Pa².
        variance: f64,
    }

    /// A temperature.
    sensor_msgs/Temperature = "Temperature" {
        /// When and where.
        header: Header,
        /// °C.
        temperature: f64,
        /// K².
        variance: f64,
    }

    /// A brightness.
    sensor_msgs/Illuminance = "Illuminance" {
        /// When and where.
        header: Header,
        /// lx.
        illuminance: f64,
        /// lx².
        variance: f64,
    }

    /// What a robot is told to do: its setpoint, see `muster_core::lanes::setpoint`.
    muster_msgs/Setpoint = "Setpoint" {
        /// When.
        header: Header,
        /// `velocity`, `position`, `course`, `attitude`, …
        mode: String,
        /// Four numbers whose meaning the mode tells.
        values: [f64; 4],
    }

    /// A change from outside, as it took effect, see [`crate::record::command`].
    muster_msgs/CommandRecord = "Command" {
        /// When.
        stamp: Time,
        /// Which of the groups that took effect at this time it belongs to.
        group: u64,
        /// The link it came by.
        link: u32,
        /// Its number on that link.
        sequence: u64,
        /// What it does.
        action: String,
        /// Whom it concerns.
        robot: String,
        /// Numbers.
        numbers: Vec<f64>,
        /// Words.
        words: Vec<String>,
        /// The order of numbers and words among the arguments of a call, `n` and `w`.
        order: String,
    }

    /// The state, told by hashes.
    muster_msgs/Hashes = "Hashes" {
        /// When.
        stamp: Time,
        /// Of the whole world, 128 bits, least byte first.
        world: [u8; 16],
        /// Of each robot, the lower half, in the order of the last `Roster`.
        robots: Vec<u64>,
    }

    /// Who is who.
    muster_msgs/Roster = "Roster" {
        /// From when on.
        stamp: Time,
        /// Names, in the order of robots in `Hashes`.
        robots: Vec<String>,
    }
}

impl From<SimTime> for Time {
    fn from(time: SimTime) -> Self {
        let (sec, nanosec) = (time.ns() / 1_000_000_000, time.ns() % 1_000_000_000);
        Self { sec: i32::try_from(sec).unwrap_or(i32::MAX), nanosec: nanosec as u32 }
    }
}

impl Time {
    /// Simulated time; what is before its start is its start.
    pub fn sim(&self) -> SimTime {
        SimTime::from_ns(u64::try_from(self.sec).unwrap_or(0) * 1_000_000_000 + u64::from(self.nanosec))
    }
}

impl From<DVec3> for Vector3 {
    fn from(v: DVec3) -> Self {
        Self { x: v.x, y: v.y, z: v.z }
    }
}

impl From<DVec3> for Point {
    fn from(v: DVec3) -> Self {
        Self { x: v.x, y: v.y, z: v.z }
    }
}

impl From<DQuat> for Quaternion {
    fn from(q: DQuat) -> Self {
        Self { x: q.x, y: q.y, z: q.z, w: q.w }
    }
}

impl From<CorePose> for Transform {
    fn from(pose: CorePose) -> Self {
        Self { translation: pose.position_m.into(), rotation: pose.orientation.into() }
    }
}

impl From<CorePose> for Pose {
    fn from(pose: CorePose) -> Self {
        Self { position: pose.position_m.into(), orientation: pose.orientation.into() }
    }
}
