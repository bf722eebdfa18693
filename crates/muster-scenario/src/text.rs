//! What a scenario file may say, as typed blocks. The JSON schema, the errors and `muster list` come from these same
//! types.

use crate::layout::Layout;
use crate::materials::MaterialText;
use crate::occupancy::MapText;
use crate::outline::{TerrainText, outlined};
use crate::scene::Repeated;
use crate::skins::SkinText;
use crate::walls::{PlanText, WallsText};
use muster_core::node::{Node, Problems};
use muster_core::spec::{Parameter, Schema};
use muster_core::{choice, spec};

spec! {
    /// Where something is: position and heading, or full orientation.
    pub struct At {
        /// Position.
        xyz_m: [f64; 3] = [0.0; 3];
        /// Heading.
        yaw_deg: f64 = 0.0;
        /// Roll, pitch and yaw about fixed axes (REP-103); replaces `yaw_deg`.
        rpy_deg: Option<[f64; 3]>;
    }
}

spec! {
    /// Geodetic position of the world's origin (WGS84).
    pub struct OriginText {
        /// Latitude.
        latitude_deg: f64 = 47.3977, in -90..=90;
        /// Longitude.
        longitude_deg: f64 = 8.5456, in -180..=180;
        /// Altitude.
        altitude_m: f64 = 488.0, in -500..=9000;
    }
}

spec! {
    /// Wind: a mean, and perhaps gusts.
    pub struct WindText {
        /// Mean wind in the world frame.
        mean_mps: [f64; 3] = [0.0; 3];
        /// Gusts: `kind` and the parameters of a wind kind.
        gusts: Option<Gusts>;
    }
}

/// The text of a gust block; read by the wind kind it names.
#[derive(Debug, Clone, PartialEq)]
pub struct Gusts(pub Node);

spec! {
    /// A regular wave of small amplitude on deep water.
    pub struct WaveText {
        /// Height of a crest above the level.
        amplitude_m: f64 = 0.2, in 0.0..=20.0;
        /// Time from crest to crest at one place.
        period_s: f64 = 5.0, in 0.1..=60.0;
        /// Where it runs to: the angle from east, counter-clockwise.
        direction_deg: f64 = 0.0, in -360..=360;
    }
}

spec! {
    /// Water everywhere below a level.
    pub struct WaterText {
        /// Height of the surface at rest.
        level_m: f64 = 0.0, in -1e5..=1e5;
        /// Density.
        density_kgpm3: f64 = 1025.0, in 1.0..=20000;
        /// Velocity of the water in the world frame.
        current_mps: [f64; 3] = [0.0; 3], in -100..=100;
        /// A wave that runs over the surface.
        waves: Option<WaveText>;
    }
}

outlined! {
    /// Something solid that never moves: one shape.
    pub struct ObstacleText {
        /// The plane through `at` whose normal is its z axis.
        plane: bool = false;
        /// Terrain.
        terrain: Option<TerrainText>;
        /// Walls along lines.
        walls: Option<WallsText>;
        /// Walls drawn as text.
        plan: Option<PlanText>;
        /// Walls where an occupancy map is occupied.
        map: Option<MapText>;
        /// How many; `{i}` counts them from 0 in every value, and their names are this name with the number.
        count: Option<usize>, in 0..=1000000;
        /// Where those of a count stand.
        layout: Option<Layout>;
        /// Where its centre is, or the foot of walls; relative to the layout's places if there is a layout.
        at: At = At { xyz_m: [0.0; 3], yaw_deg: 0.0, rpy_deg: None };
        /// Its height counts from the terrain, or plane, below it.
        on_terrain: bool = false;
        /// What it is, in words that sensors look for: `tree`, `victim`.
        tags: Vec<String> = Vec::new();
        /// Coefficient of friction; that of a pair is the geometric mean.
        friction: f64 = 0.6, in 0.0..=10.0;
        /// Coefficient of restitution; that of a pair is the greater.
        restitution: f64 = 0.0, in 0.0..=1.0;
        /// Velocity of its surface in its own frame: a conveyor.
        belt_mps: [f64; 3] = [0.0; 3];
        /// Collision groups it is of; all if none is named.
        groups: Vec<String> = Vec::new();
    }
}

spec! {
    /// Obstacles that have one place together: a table, a tree, a house.
    pub struct ObjectText {
        /// What it is, for people.
        about: String = String::new();
        /// An object of the library (`objects/KIND.yaml`) or a file; keys written here override it.
        kind: Option<String>;
        /// How many; `{i}` counts them from 0 in every value, and their names are this name with the number.
        count: Option<usize>, in 0..=1000000;
        /// Where those of a count stand.
        layout: Option<Layout>;
        /// Where it stands; relative to the layout's places if there is a layout.
        at: At = At { xyz_m: [0.0; 3], yaw_deg: 0.0, rpy_deg: None };
        /// Its height counts from the terrain, or plane, below it.
        on_terrain: bool = false;
        /// What it is, in words that sensors look for; its obstacles have these tags beside their own.
        tags: Vec<String> = Vec::new();
        /// What it is made of, by name; the place of each is relative to that of the object.
        obstacles: Repeated<ObstacleText> = Repeated::default();
    }
}

spec! {
    /// Something that burns: it warms thermometers nearby.
    pub struct FireText {
        /// Where its centre is.
        at: At = At { xyz_m: [0.0; 3], yaw_deg: 0.0, rpy_deg: None };
        /// How much hotter than the air around it is at its edge, in kelvin.
        temperature_k: f64 = 200.0, in 0.0..=5000.0;
        /// Radius within which it burns.
        extent_m: f64 = 0.0, in 0.0..=1e6;
    }
}

outlined! {
    /// A part of space with a meaning, of one shape; nothing solid.
    pub struct ZoneText {
        /// Where its centre is.
        at: At = At { xyz_m: [0.0; 3], yaw_deg: 0.0, rpy_deg: None };
        /// What it is for; batteries look for `charging`.
        purposes: Vec<String> = Vec::new();
    }
}

/// A map whose keys the user chooses.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Parameter> Parameter for Named<T> {
    fn schema(min: f64, max: f64) -> Schema {
        Schema::MapOf(Box::new(T::schema(min, max)))
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        let Some(entries) = node.entries() else {
            problems.error(node.place, path, node.found(), Self::schema(limits.0, limits.1).type_name());
            return None;
        };
        let read: Vec<Option<(String, T)>> = entries
            .iter()
            .map(|entry| {
                let value = T::read(&entry.value, &muster_core::spec::below(path, &entry.key), limits, problems);
                value.map(|value| (entry.key.clone(), value))
            })
            .collect();
        read.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }

    fn show(&self) -> String {
        let shown: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}: {}", value.show())).collect();
        format!("{{{}}}", shown.join(", "))
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

spec! {
    /// The world around the robots.
    pub struct WorldText {
        /// What it shows, for people.
        about: String = String::new();
        /// Gravity in the world frame.
        gravity_mps2: [f64; 3] = [0.0, 0.0, -9.80665];
        /// Where the origin is on the earth.
        origin: OriginText = OriginText { latitude_deg: 47.3977, longitude_deg: 8.5456, altitude_m: 488.0 };
        /// Air pressure at mean sea level.
        sea_level_pressure_pa: f64 = 101325.0, in 50000..=150000;
        /// Air temperature at mean sea level.
        sea_level_temperature_c: f64 = 15.0, in -90..=60;
        /// Wind.
        wind: WindText = WindText { mean_mps: [0.0; 3], gusts: None };
        /// Water everywhere below a level; `{}` for still sea water up to z = 0.
        water: Option<WaterText>;
        /// A solid ground at z = 0.
        ground: bool = true;
        /// What the ground looks like and is made of.
        ground_skin: SkinText = SkinText::NONE;
        /// What stands in the world, by name.
        obstacles: Repeated<ObstacleText> = Repeated::default();
        /// Furniture, trees, houses and whatever else is made of several obstacles, by name.
        objects: Repeated<ObjectText> = Repeated::default();
        /// The date as a year and its fraction, for the magnetic field of the earth.
        decimal_year: f64 = 2026.0, in 2025..=2030;
        /// What burns, by name.
        fires: Named<FireText> = Named::default();
        /// Parts of space with a meaning, by name.
        zones: Named<ZoneText> = Named::default();
        /// What surfaces are made of, by name: new materials, or keys of those of the library (`muster list materials`).
        materials: Named<MaterialText> = Named::default();
        /// The sun, for cameras.
        sun: SunText = SunText::default();
        /// Light from everywhere, as a share of that of a clear sun: what is in the shadow shows it.
        ambient: f64 = 0.35, in 0.0..=100;
        /// The sky, for cameras.
        sky: SkyText = SkyText::default();
    }
}

spec! {
    /// The sun. Only light: it stands where it is told, whatever date and place.
    pub struct SunText {
        /// Where it stands, clockwise from north.
        azimuth_deg: f64 = 150.0, in -360..=360;
        /// How high it stands; below 0 it is night.
        elevation_deg: f64 = 50.0, in -90..=90;
        /// Red, green and blue of its light.
        colour: [f64; 3] = [1.0, 0.98, 0.94], in 0.0..=1.0;
        /// Its light on a surface that faces it: 0.75 with the ambient light of a clear day shows white as white.
        intensity: f64 = 0.75, in 0.0..=100;
    }
}

spec! {
    /// The sky.
    pub struct SkyText {
        /// Red, green and blue straight up; light from everywhere has a share of it.
        zenith: [f64; 3] = [0.4, 0.55, 0.8], in 0.0..=1.0;
        /// Red, green and blue at the horizon.
        horizon: [f64; 3] = [0.77, 0.83, 0.9], in 0.0..=1.0;
    }
}

impl Default for SunText {
    fn default() -> Self {
        Self { azimuth_deg: 150.0, elevation_deg: 50.0, colour: [1.0, 0.98, 0.94], intensity: 0.75 }
    }
}

impl Default for SkyText {
    fn default() -> Self {
        Self { zenith: [0.4, 0.55, 0.8], horizon: [0.77, 0.83, 0.9] }
    }
}

choice! {
    /// Which phase comes first.
    pub enum Order {
        /// Drivers act before the first tick (Gazebo).
        LogicFirst = "logic_first",
        /// Physics moves first, then drivers and sensors (SwarmSimX).
        Ssx = "ssx"
    }
}

choice! {
    /// What runs beside the loop.
    pub enum Async { None = "none", Messages = "messages", Events = "events", Both = "both" }
}

/// A number of threads, or a thread for each robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// As many as the machine has cores.
    Auto,
    /// This many.
    Count(usize),
    /// One for each robot that has a driver or a sensor.
    PerRobot,
}

impl Parameter for Threads {
    fn schema(_: f64, _: f64) -> Schema {
        Schema::Either(vec![Schema::Integer { min: 1.0, max: 1024.0 }, Schema::Choice(&["auto", "per_robot"])])
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        match (&node.value, node.text()) {
            (muster_core::node::Value::Integer(count @ 1..=1024), _) => Some(Self::Count(*count as usize)),
            (_, Some("auto")) => Some(Self::Auto),
            (_, Some("per_robot")) => Some(Self::PerRobot),
            _ => {
                problems.error(node.place, path, node.found(), Self::schema(limits.0, limits.1).type_name());
                None
            }
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Count(count) => count.to_string(),
            Self::PerRobot => "per_robot".to_owned(),
        }
    }
}

/// A real-time factor: a number, or as fast as possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rtf {
    /// So many simulated seconds a second.
    Factor(f64),
    /// As fast as the machine allows.
    Max,
}

impl Parameter for Rtf {
    fn schema(_: f64, _: f64) -> Schema {
        Schema::Either(vec![Schema::Number { min: 0.001, max: 1e6 }, Schema::Choice(&["max"])])
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        if node.text() == Some("max") {
            return Some(Self::Max);
        }
        if let muster_core::node::Value::Number(_) | muster_core::node::Value::Integer(_) = node.value {
            return f64::read(node, path, (0.001, 1e6), problems).map(Self::Factor);
        }
        problems.error(node.place, path, node.found(), Self::schema(limits.0, limits.1).type_name());
        None
    }

    fn show(&self) -> String {
        match self {
            Self::Factor(factor) => factor.to_string(),
            Self::Max => "max".to_owned(),
        }
    }
}

spec! {
    /// How a scenario runs.
    pub struct RunText {
        /// How long to simulate.
        for_s: f64 = 10.0, in 0.0..=1e9;
        /// Seed of all random numbers.
        seed: u64 = 1;
        /// Longest window.
        window_ms: f64 = 20.0, in 0.001..=1e6;
        /// Real-time factor.
        rtf: Rtf = Rtf::Max;
        /// Threads.
        threads: Threads = Threads::Auto;
        /// Which phase comes first.
        order: Order = Order::LogicFirst;
        /// What runs beside the loop.
        asynchronous: Async = Async::Both;
        /// How often the states of all robots are published to those who listen; 0 for never.
        states_hz: f64 = 0.0, in 0.0..=1000;
        /// Wall-clock time after which the run is given up.
        timeout_s: Option<f64>, in 0.0..=1e9;
        /// How often events look at zones and conditions; windows end there.
        events_hz: f64 = 50.0, in 0.001..=1000000;
        /// What happens when a component fails (a panic, a number that is none, a call that takes too long).
        on_fault: OnFault = OnFault::Isolate;
        /// How long a call of a plug-in may take; longer ones count as failed. It is measured when the call returns, and
        /// results then depend on the machine. No limit if left out.
        plugin_limit_ms: Option<f64>, in 0.001..=1e9;
    }
}

choice! {
    /// What happens when a component fails.
    pub enum OnFault {
        /// The robot is taken out of the simulation, the others go on.
        Isolate = "isolate",
        /// The run stops.
        Stop = "stop"
    }
}

choice! {
    /// When sensors of equal rate measure.
    pub enum Phase {
        /// All at once.
        Aligned = "aligned",
        /// Spread over the period, robot by robot.
        Spread = "spread"
    }
}

spec! {
    /// What every sensor has, beside the parameters of its kind.
    pub struct SensorText {
        /// Which kind of sensor.
        kind: String;
        /// A sensor of the library (`sensors/PRESET.yaml`) or a file; keys written here override it.
        preset: Option<String>;
        /// How often it measures; its kind has a default.
        rate_hz: Option<f64>, in 0.000001..=1000000;
        /// When sensors of equal rate measure.
        phase: Phase = Phase::Aligned;
        /// How long a sample takes to become visible.
        latency_ms: f64 = 0.0, in 0.0..=1e6;
        /// Where it sits, relative to its frame.
        at: At = At { xyz_m: [0.0; 3], yaw_deg: 0.0, rpy_deg: None };
        /// The frame it sits on; the body if none.
        frame: Option<String>;
        /// What happens to its samples, in this order.
        modifiers: Vec<Component> = Vec::new();
    }
}

spec! {
    /// What every driver has, beside the parameters of its kind.
    pub struct DriverText {
        /// Which kind of driver.
        kind: String;
        /// How often it is called; its kind has a default.
        rate_hz: Option<f64>, in 0.000001..=1000000;
    }
}

spec! {
    /// What every motion has, beside the parameters of its kind.
    pub struct MotionText {
        /// Which kind of motion.
        kind: String;
        /// Ticks a second.
        rate_hz: f64 = 1000.0, in 0.000001..=1000000;
    }
}

/// A block that names its kind; read by that kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Component(pub Node);

macro_rules! raw_block {
    ($($name:ident => $schema:expr),*) => {$(
        impl Parameter for $name {
            fn schema(_: f64, _: f64) -> Schema {
                $schema
            }

            fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
                if node.get("kind").and_then(Node::text).is_some() {
                    return Some(Self(node.clone()));
                }
                let found = node.get("kind").map_or_else(|| node.found(), Node::found);
                problems.error(node.place, path, found, Self::schema(limits.0, limits.1).type_name());
                None
            }

            fn show(&self) -> String {
                self.0.to_string()
            }
        }
    )*};
}

use muster_core::spec::Spec;

raw_block!(
    Gusts => Schema::KindOf { registry: "winds", common: &[] },
    Component => Schema::KindOf { registry: "modifiers", common: &[] },
    SensorBlock => Schema::KindOf { registry: "sensors", common: SensorText::FIELDS },
    DriverBlock => Schema::KindOf { registry: "drivers", common: DriverText::FIELDS },
    MotionBlock => Schema::KindOf { registry: "motions", common: MotionText::FIELDS },
    ActuatorBlock => Schema::KindOf { registry: "actuators", common: ActuatorText::FIELDS },
    ExtensionBlock => Schema::KindOf { registry: "extensions", common: &[] }
);

/// The text of a binding; read by the link it names.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkBlock(pub Node);

impl Parameter for LinkBlock {
    fn schema(_: f64, _: f64) -> Schema {
        Schema::KindOf { registry: "links", common: LinkText::FIELDS }
    }

    fn read(node: &Node, _: &str, _: (f64, f64), _: &mut Problems) -> Option<Self> {
        Some(Self(node.clone()))
    }

    fn show(&self) -> String {
        self.0.to_string()
    }
}

spec! {
    /// A channel of a robot bound to a link: what every kind of link has.
    pub struct LinkText {
        /// A sensor or actuator by name, or several by a pattern with `*`; without it the robot as a whole.
        channel: Option<String>;
        /// The kind of link.
        to: String;
    }
}

/// The text of a sensor block.
#[derive(Debug, Clone, PartialEq)]
pub struct SensorBlock(pub Node);

spec! {
    /// What every actuator has, beside the parameters of its kind.
    pub struct ActuatorText {
        /// Which kind of actuator.
        kind: String;
    }
}

/// The text of an actuator block.
#[derive(Debug, Clone, PartialEq)]
pub struct ActuatorBlock(pub Node);

/// The text of a driver block.
#[derive(Debug, Clone, PartialEq)]
pub struct DriverBlock(pub Node);

/// The text of an extension.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionBlock(pub Node);

/// The text of a motion block.
#[derive(Debug, Clone, PartialEq)]
pub struct MotionBlock(pub Node);

spec! {
    /// A named frame on a robot.
    pub struct FrameText {
        /// The frame it hangs on; the body if none.
        parent: Option<String>;
        /// Where it is relative to its parent.
        at: At = At { xyz_m: [0.0; 3], yaw_deg: 0.0, rpy_deg: None };
        /// Axis about which it turns.
        turn: Option<[f64; 3]>;
        /// Axis along which it slides.
        slide: Option<[f64; 3]>;
        /// Where a turning joint starts.
        start_deg: f64 = 0.0;
        /// How far a turning joint goes, from and to.
        range_deg: Option<[f64; 2]>;
        /// The fastest a turning joint goes.
        rate_max_degps: Option<f64>, in 1e-6..=1e9;
        /// The fastest a turning joint gains speed.
        accel_max_degps2: Option<f64>, in 1e-6..=1e12;
        /// Where a sliding joint starts.
        start_m: f64 = 0.0;
        /// How far a sliding joint goes, from and to.
        range_m: Option<[f64; 2]>;
        /// The fastest a sliding joint goes.
        rate_max_mps: Option<f64>, in 1e-6..=1e9;
        /// The fastest a sliding joint gains speed.
        accel_max_mps2: Option<f64>, in 1e-6..=1e12;
    }
}

outlined! {
    /// The outline of a robot for contacts: one shape, or nothing.
    pub struct ShapeText {
        /// True: touches nothing.
        none: bool = false;
        /// Coefficient of friction; that of a pair is the geometric mean.
        friction: f64 = 0.6, in 0.0..=10.0;
        /// Coefficient of restitution; that of a pair is the greater.
        restitution: f64 = 0.2, in 0.0..=1.0;
    }
}

impl ShapeText {
    /// Touches nothing.
    const NOTHING: Self = Self {
        sphere_radius_m: None,
        box_size_m: None,
        cylinder: None,
        capsule: None,
        cone: None,
        mesh: None,
        skin: SkinText::NONE,
        visible: true,
        collides: true,
        none: true,
        friction: 0.6,
        restitution: 0.2,
    };
}

outlined! {
    /// A part of a robot that touches others: one shape.
    pub struct PartText {
        /// The frame it is fixed to; the body if none.
        frame: Option<String>;
        /// Where it is on its frame.
        at: At = At { xyz_m: [0.0; 3], yaw_deg: 0.0, rpy_deg: None };
        /// Coefficient of friction; that of the robot's `shape` if none.
        friction: Option<f64>, in 0.0..=10.0;
        /// Coefficient of restitution; that of the robot's `shape` if none.
        restitution: Option<f64>, in 0.0..=1.0;
        /// Collision groups it is of instead of the robot's.
        groups: Option<Vec<String>>;
        /// Collision groups it meets instead of the robot's.
        meets: Option<Vec<String>>;
    }
}

spec! {
    /// A lamp on a robot. Its properties are `light` (1 on, 0 off), `light_intensity_cd` and `light_colour`.
    pub struct LightText {
        /// Whether it is on at the start.
        on: bool = true;
        /// Luminous intensity when it is on; a bulb of 1250 lm that shines all around has 100 cd.
        intensity_cd: f64 = 100.0, in 0.0..=1e9;
        /// Red, green and blue.
        colour: [f64; 3] = [1.0; 3], in 0.0..=1.0;
    }
}

spec! {
    /// What a robot with mass is attached to from the start; whoever holds it needs none. Chains are allowed.
    pub struct HeldText {
        /// The robot that holds it.
        to: String;
        /// Held at this point in the frame of the other's body, about which both may turn, like a trailer; held fast if none is
        /// given.
        hitch_m: Option<[f64; 3]>;
    }
}

spec! {
    /// One robot, or `count` of them.
    pub struct RobotText {
        /// Its name; `{i}` counts from 0.
        name: String;
        /// A robot of the library (`robots/KIND.yaml`) or a file; keys written here override it.
        kind: Option<String>;
        /// How many.
        count: usize = 1, in 0..=10000000;
        /// Where the robots of a count stand.
        layout: Option<Layout>;
        /// Where it stands; relative to the layout's places if there is a layout.
        at: At = At { xyz_m: [0.0; 3], yaw_deg: 0.0, rpy_deg: None };
        /// Its height counts from the terrain, or plane, below it.
        on_terrain: bool = false;
        /// Initial velocity in the world frame.
        velocity_mps: [f64; 3] = [0.0; 3];
        /// Initial speed along its heading.
        speed_mps: f64 = 0.0;
        /// Attached to another robot from the start.
        attached: Option<HeldText>;
        /// Shares the pose of this robot instead of moving itself: a sensor object attached to a body.
        shares_pose_of: Option<String>;
        /// How it moves.
        motion: MotionBlock;
        /// Who decides what it does.
        driver: Option<DriverBlock>;
        /// Who turns setpoints into actuator commands.
        controller: Option<DriverBlock>;
        /// What it measures, by name.
        sensors: Named<SensorBlock> = Named::default();
        /// Its inputs, by name, for those who command it from outside.
        actuators: Named<ActuatorBlock> = Named::default();
        /// Frames on it, by name.
        frames: Named<FrameText> = Named::default();
        /// Its outline for contacts.
        shape: ShapeText = ShapeText::NOTHING;
        /// More of its outline, by name: parts may sit on frames.
        parts: Named<PartText> = Named::default();
        /// Collision groups it is of; all if none is named.
        groups: Vec<String> = Vec::new();
        /// Collision groups it meets; all if none is named.
        meets: Vec<String> = Vec::new();
        /// Its lamp; `{}` for one that is on.
        light: Option<LightText>;
        /// What it is, in words that sensors look for: `robot`, `victim`.
        tags: Vec<String> = Vec::new();
        /// How programs outside reach it.
        links: Vec<LinkBlock> = Vec::new();
        /// Overrides for single robots of a count, by name or number.
        overrides: Node;
    }
}

spec! {
    /// A sensor object: it has sensors, but the pose of a robot instead of a motion of its own.
    pub struct AttachedText {
        /// Its name.
        name: String;
        /// The robot whose pose is also its own.
        shares_pose_of: String;
        /// What it measures, by name.
        sensors: Named<SensorBlock> = Named::default();
    }
}

spec! {
    /// A named group of robots with relations among them.
    pub struct CompoundText {
        /// Names of its members: robots or compounds.
        members: Vec<String>;
        /// Relations: subject, verb, object.
        relations: Vec<[String; 3]> = Vec::new();
    }
}

choice! {
    /// What is expected.
    pub enum That {
        /// The robots' drivers say they arrived.
        Arrived = "arrived",
        /// The robots touch nothing.
        NoContact = "no_contact",
        /// No two of the robots come nearer than a distance.
        MinDistance = "min_distance",
        /// A property is in a range at a time.
        Value = "value",
        /// An expression over properties holds.
        Holds = "holds"
    }
}

spec! {
    /// Something the run is judged by.
    pub struct ExpectText {
        /// What is expected.
        that: That;
        /// The robot; `*` matches any text.
        robot: Option<String>;
        /// The robots; `*` matches any text.
        robots: Option<String>;
        /// Arrived: until when.
        within_s: Option<f64>, in 0.0..=1e9;
        /// Minimum distance between centres.
        at_least_m: Option<f64>, in 0.0..=1e9;
        /// Value: the property, `robot.property[index]`.
        of: Option<String>;
        /// Value: least.
        min: Option<f64>;
        /// Value: most.
        max: Option<f64>;
        /// Value, holds: when; at the end if not given.
        at_s: Option<f64>, in 0.0..=1e9;
        /// Holds: from when on it must always hold.
        from_s: Option<f64>, in 0.0..=1e9;
        /// How often what must always hold is judged.
        every_ms: f64 = 20.0, in 0.001..=1e6;
        /// Holds: the expression, for example `scout0.position_m[2] > 1`.
        expression: Option<String>;
    }
}

/// One text or several.
#[derive(Debug, Clone, PartialEq)]
pub struct Texts(pub Vec<String>);

impl Parameter for Texts {
    fn schema(min: f64, max: f64) -> Schema {
        Schema::Either(vec![Schema::Text, <Vec<String> as Parameter>::schema(min, max)])
    }

    fn read(node: &Node, path: &str, limits: (f64, f64), problems: &mut Problems) -> Option<Self> {
        match &node.value {
            muster_core::node::Value::Text(text) => Some(Self(vec![text.clone()])),
            muster_core::node::Value::List(_) => <Vec<String>>::read(node, path, limits, problems).map(Self),
            _ => {
                problems.error(node.place, path, node.found(), Self::schema(limits.0, limits.1).type_name());
                None
            }
        }
    }

    fn show(&self) -> String {
        self.0.show()
    }
}

spec! {
    /// Something that may happen, and what is done then.
    pub struct EventText {
        /// What must happen: `contact(ROBOTS)`, `contact(ROBOTS, WHOM)`, `enter(ROBOTS, ZONES)`, `leave(ROBOTS, ZONES)`,
        /// `at(2 s)`, `every(500 ms)`, or an expression that becomes true.
        on: String;
        /// What is done, one or several: `ROBOTS.SERVICE`, `ROBOTS.SERVICE(ARGUMENTS)`, `ROBOTS.PROPERTY = VALUES`.
        r#do: Texts;
        /// For an expression: the robots it is looked at for, each by itself as `{who}`.
        who: Option<String>;
        /// It happens once only.
        once: bool = false;
        /// How much later it is done.
        after_s: f64 = 0.0, in 0.0..=1e9;
        /// How often it is looked for; `run.events_hz` if not written, contacts at the tick they begin. Contacts of the same
        /// two begin anew after 0.1 s apart, and with a rate are at least its period apart.
        rate_hz: Option<f64>, in 0.000001..=1000000;
    }
}

spec! {
    /// A scenario file.
    pub struct ScenarioText {
        /// Format version.
        muster: u32 = 1, in 1..=1;
        /// What it shows, for people.
        about: String = String::new();
        /// The world around the robots.
        world: WorldText = default_world();
        /// How it runs.
        run: RunText = default_run();
        /// The robots.
        robots: Vec<Node> = Vec::new();
        /// Named groups, by name.
        compounds: Named<CompoundText> = Named::default();
        /// Pairs of properties that are one: the first name means the second's variable.
        share: Vec<[String; 2]> = Vec::new();
        /// What happens when.
        events: Vec<EventText> = Vec::new();
        /// How links are set up, by kind.
        links: Node;
        /// Bindings as MORSE writes them: a map from components to `[middleware, method]`.
        component_mw: Node;
        /// What the run is judged by.
        expect: Vec<ExpectText> = Vec::new();
        /// Plug-ins to load: paths of files, or names that are looked for in the folders of `MUSTER_PLUGIN_PATH`.
        plugins: Vec<String> = Vec::new();
        /// What runs beside the simulation, by name.
        extensions: Named<ExtensionBlock> = Named::default();
    }
}

fn default_of<T: Spec>() -> T {
    let mut problems = Problems::default();
    let read = <T as Spec>::read(&Node::default(), "", &[], &mut problems);
    match read {
        Some(value) => value,
        None => unreachable!("every field of this block has a default: {:?}", problems.list()),
    }
}

fn default_world() -> WorldText {
    default_of()
}

fn default_run() -> RunText {
    default_of()
}
