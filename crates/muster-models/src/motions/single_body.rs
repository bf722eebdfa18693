//! A whole robot as one rigid body whose centre of gravity and inertia follow its joints (M. Friedmann, K. Petersen and
//! O. von Stryk, *MuRoSimF*, section 3.2): joints move as commanded, whatever the load; gravity, drag, wheels and
//! contacts act at the common centre of gravity. What parts of the robot do to each other by moving is left out, but
//! linear and angular momentum are kept: a robot that moves its limbs in free fall has its centre of gravity on a
//! parabola, and one that pulls in its arms spins faster.
//!
//! Without joints it is a rigid body: boxes that can be pushed, balls, crates. With `wheels` it is a vehicle, see
//! [`wheels`].
//!
//! Integration is of second order: momentum by its impulse over the tick, the pose by the velocities of the middle.

pub mod wheels;

use super::rigid::{renormalize, small_turn};
use glam::{DMat3, DQuat, DVec3};
use muster_core::component::{Kind, Motion, Pose, Tick, Turning, Wheel};
use muster_core::contact::{Mass, Mobility, Part};
use muster_core::joints::{Frame, FrameMotion, Joint, frame_motions, frame_motions_in};
use muster_core::lanes::{Column, Quantity, body};
use muster_core::math;
use muster_core::spec;
use muster_core::spec::Spec;
use std::borrow::Cow;
use std::sync::Arc;
use wheels::{Vehicle, WheelSpec};

spec! {
    /// The mass of what is fixed to one frame.
    pub struct LinkSpec {
        /// The frame.
        frame: String;
        /// Its mass.
        mass_kg: f64, in 1e-6..=1e9;
        /// Its centre of gravity in the frame; that of its parts if none is given.
        centre_m: Option<[f64; 3]>;
        /// Its principal moments of inertia; those of its parts if none are given, and of a point without parts.
        inertia_kgm2: Option<[f64; 3]>, in 0.0..=1e12;
    }
}

spec! {
    /// A whole robot as one body whose centre of gravity and inertia follow its joints.
    pub struct SingleBodySpec {
        /// Mass of the body without links and wheels.
        mass_kg: f64 = 1.0, in 1e-6..=1e9;
        /// Centre of gravity of the body; that of its parts if none is given.
        centre_m: Option<[f64; 3]>;
        /// Principal moments of inertia of the body; those of its parts, of even density, if none are given.
        inertia_kgm2: Option<[f64; 3]>, in 1e-12..=1e12;
        /// What is fixed to frames.
        links: Vec<LinkSpec> = Vec::new();
        /// Drag of the air: force per square of the speed against it.
        drag_kgpm: f64 = 0.0, in 0.0..=1e6;
        /// Drag of the air on turning: torque per turn rate.
        turn_drag_nms: f64 = 0.0, in 0.0..=1e6;
        /// The speed that no robot exceeds.
        speed_max_mps: f64 = 50.0, in 0.001..=1e4;
        /// Wheels on springs.
        wheels: Vec<WheelSpec> = Vec::new();
        /// The greatest steering angle of the middle of the vehicle.
        steer_max_deg: f64 = 35.0, in 0.0..=80.0;
        /// How fast it steers.
        steer_rate_max_degps: f64 = 60.0, in 0.001..=1e6;
        /// The greatest torque of all driven wheels together; so much that they just slip if none is given.
        drive_max_nm: Option<f64>, in 0.0..=1e9;
        /// The greatest torque of all brakes together; as much as of the drive if none is given.
        brake_max_nm: Option<f64>, in 0.0..=1e9;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "single_body",
    doc: "The whole robot is one body; centre of gravity and inertia follow its joints; wheels on springs with slip.",
    fields: <SingleBodySpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        let spec = <SingleBodySpec as Spec>::read(node, path, also, problems)?;
        Some(Arc::new(SingleBody::new(spec)))
    },
};

const FORCE: usize = body::COLUMNS;
const TORQUE: usize = FORCE + 3;
const STEER: usize = TORQUE + 3;

const FORCES: [Quantity; 2] = [Quantity::many("force_n", 3), Quantity::many("torque_nm", 3)];

/// Mass, centre and inertia of something fixed to a frame, in that frame.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Link {
    frame: Option<usize>,
    mass_kg: f64,
    centre_m: DVec3,
    inertia_kgm2: DMat3,
}

/// What all links are together.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Whole {
    mass_kg: f64,
    centre_m: DVec3,
    centre_mps: DVec3,
    /// About the centre, in the body frame.
    inertia_kgm2: DMat3,
}

/// A robot that is one body.
pub struct SingleBody {
    spec: SingleBodySpec,
    links: Vec<Link>,
    frames: Vec<Frame>,
    /// What the links are together while no joint moves them.
    whole: Whole,
    per_inertia: DMat3,
    jointed: bool,
    vehicle: Option<Vehicle>,
    inputs: Vec<Quantity>,
    state: Vec<Quantity>,
    /// First column of centre, its velocity, and inertia; only with joints.
    shift: usize,
    /// First column of the wheels' state.
    wheels: usize,
    encoded: Vec<Wheel>,
}

impl SingleBody {
    /// A body without frames and parts; [`Motion::fitted`] gives it those of its robot.
    pub fn new(spec: SingleBodySpec) -> Self {
        let inertia = spec.inertia_kgm2.map_or(DVec3::ONE * 0.4 * spec.mass_kg, DVec3::from);
        let centre_m = spec.centre_m.map_or(DVec3::ZERO, DVec3::from);
        let own = Link { frame: None, mass_kg: spec.mass_kg, centre_m, inertia_kgm2: DMat3::from_diagonal(inertia) };
        Self::of(spec, vec![own], &[])
    }

    fn of(spec: SingleBodySpec, mut links: Vec<Link>, frames: &[Frame]) -> Self {
        // wheels weigh where they are when their springs are at rest
        links.extend(spec.wheels.iter().map(|wheel| Link {
            frame: None,
            mass_kg: wheel.mass_kg,
            centre_m: DVec3::from(wheel.at_m),
            inertia_kgm2: DMat3::from_diagonal(DVec3::new(0.5, 1.0, 0.5) * wheel.inertia_kgm2()),
        }));
        let mut still = Vec::new();
        frame_motions(frames, |_| (0.0, 0.0), &mut still);
        let whole = together(&links, &still);
        let jointed = links.iter().any(|link| link.frame.is_some_and(|frame| is_moved(frames, frame)));
        let vehicle = (!spec.wheels.is_empty()).then(|| Vehicle::new(&spec, &whole_of(&whole)));
        let mut inputs = FORCES.to_vec();
        let mut state = Vec::new();
        if vehicle.is_some() {
            inputs.extend(wheels::INPUTS);
        }
        let shift = body::COLUMNS + Quantity::total(&inputs);
        if jointed {
            state.extend(SHIFT);
        }
        let wheels = shift + Quantity::total(&state);
        if let Some(vehicle) = &vehicle {
            state.extend(vehicle.state());
        }
        let angle = |number: usize| Turning::Angle(wheels + wheels::angle_column(spec.wheels.len(), number));
        let encoded = spec
            .wheels
            .iter()
            .enumerate()
            .map(|(number, wheel)| Wheel { name: Cow::Owned(wheel.name.clone()), turning: angle(number) });
        let encoded = encoded.collect();
        Self {
            per_inertia: whole.inertia_kgm2.inverse(),
            frames: frames.to_vec(),
            spec,
            links,
            whole,
            jointed,
            vehicle,
            inputs,
            state,
            shift,
            wheels,
            encoded,
        }
    }
}

/// The most frames of a robot that is one body.
const FRAMES_MAX: usize = 64;

const SHIFT: [Quantity; 3] =
    [Quantity::many("centre_m", 3), Quantity::many("centre_mps", 3), Quantity::many("inertia_kgm2", 6)];

fn whole_of(whole: &Whole) -> (f64, DVec3) {
    (whole.mass_kg, whole.centre_m)
}

fn is_moved(frames: &[Frame], at: usize) -> bool {
    frames[at].joint != Joint::Fixed || frames[at].parent.is_some_and(|parent| is_moved(frames, parent))
}

/// Adds up links whose frames are here: the parallel axis theorem.
fn together(links: &[Link], frames: &[FrameMotion]) -> Whole {
    let place = |link: &Link| link.frame.map_or(FrameMotion::BODY, |frame| frames[frame]);
    let mut whole = Whole { mass_kg: 0.0, centre_m: DVec3::ZERO, centre_mps: DVec3::ZERO, inertia_kgm2: DMat3::ZERO };
    for link in links {
        let at = place(link).carrying(&Pose { position_m: link.centre_m, ..Pose::IDENTITY });
        whole.mass_kg += link.mass_kg;
        whole.centre_m += at.pose.position_m * link.mass_kg;
        whole.centre_mps += at.velocity_mps * link.mass_kg;
    }
    whole.centre_m /= whole.mass_kg;
    whole.centre_mps /= whole.mass_kg;
    for link in links {
        let frame = place(link);
        let turn = DMat3::from_quat(frame.pose.orientation);
        let arm = frame.pose.position_m + frame.pose.orientation * link.centre_m - whole.centre_m;
        let outer = DMat3::from_cols(arm * arm.x, arm * arm.y, arm * arm.z);
        let shifted = (DMat3::from_diagonal(DVec3::splat(arm.length_squared())) - outer) * link.mass_kg;
        whole.inertia_kgm2 += turn * link.inertia_kgm2 * turn.transpose() + shifted;
    }
    whole
}

/// Centre and inertia of the parts on a frame for a mass spread evenly over them; a point at the origin without parts.
fn of_parts(parts: &[Part], frame: Option<usize>, mass_kg: f64) -> (DVec3, DMat3) {
    let bulks: Vec<(Pose, muster_core::shape::Bulk)> = parts
        .iter()
        .filter(|part| part.frame == frame)
        .filter_map(|part| Some((part.pose, part.solid.bulk()?)))
        .collect();
    let volume: f64 = bulks.iter().map(|(_, bulk)| bulk.volume_m3).sum();
    if volume <= 0.0 {
        return (DVec3::ZERO, DMat3::ZERO);
    }
    let links: Vec<Link> = bulks
        .into_iter()
        .map(|(pose, bulk)| {
            let (turn, mass_kg) = (DMat3::from_quat(pose.orientation), mass_kg * bulk.volume_m3 / volume);
            Link {
                frame: None,
                mass_kg,
                centre_m: pose.position_m + pose.orientation * bulk.centre_m,
                inertia_kgm2: turn * bulk.inertia_per_kg_m2 * turn.transpose() * mass_kg,
            }
        })
        .collect();
    let whole = together(&links, &[]);
    (whole.centre_m, whole.inertia_kgm2)
}

fn link_of(
    parts: &[Part],
    frame: Option<usize>,
    mass_kg: f64,
    centre_m: Option<[f64; 3]>,
    inertia_kgm2: Option<[f64; 3]>,
) -> Link {
    let (centre, inertia) = of_parts(parts, frame, mass_kg);
    Link {
        frame,
        mass_kg,
        centre_m: centre_m.map_or(centre, DVec3::from),
        inertia_kgm2: inertia_kgm2.map_or(inertia, |moments| DMat3::from_diagonal(DVec3::from(moments))),
    }
}

impl Motion for SingleBody {
    fn turns_in_place(&self) -> bool {
        !self.spec.wheels.iter().any(|wheel| wheel.steered)
    }

    fn inputs(&self) -> &[Quantity] {
        &self.inputs
    }

    fn state(&self) -> &[Quantity] {
        &self.state
    }

    fn speed_max_mps(&self) -> f64 {
        self.spec.speed_max_mps
    }

    fn mobility(&self) -> Mobility {
        Mobility::Dynamic
    }

    fn fitted(&self, frames: &[Frame], parts: &[Part]) -> Result<Option<Arc<dyn Motion>>, (String, String)> {
        let spec = &self.spec;
        let mut links = vec![link_of(parts, None, spec.mass_kg, spec.centre_m, spec.inertia_kgm2)];
        for link in &spec.links {
            let Some(frame) = frames.iter().position(|frame| frame.name == link.frame) else {
                let names: Vec<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
                return Err((format!("link on frame {:?}", link.frame), format!("a frame: {}", names.join(", "))));
            };
            links.push(link_of(parts, Some(frame), link.mass_kg, link.centre_m, link.inertia_kgm2));
        }
        if frames.len() > FRAMES_MAX {
            return Err((format!("{} frames", frames.len()), format!("at most {FRAMES_MAX}")));
        }
        let fitted = Self::of(spec.clone(), links, frames);
        if fitted.whole.inertia_kgm2.determinant() <= 0.0 {
            let expected = "inertia_kgm2, or parts or a shape from which it follows".to_owned();
            return Err(("a body without moments of inertia".to_owned(), expected));
        }
        Ok(Some(Arc::new(fitted)))
    }

    fn mass(&self, columns: &[Column], lane: usize) -> Mass {
        if !self.jointed {
            return Mass {
                per_kg: self.whole.mass_kg.recip(),
                per_inertia: self.per_inertia,
                centre_m: self.whole.centre_m,
                centre_mps: DVec3::ZERO,
            };
        }
        Mass {
            per_kg: self.whole.mass_kg.recip(),
            per_inertia: inertia_of(columns, self.shift + 6, lane).inverse(),
            centre_m: body::vec3(columns, self.shift, lane),
            centre_mps: body::vec3(columns, self.shift + 3, lane),
        }
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        for input in &mut columns[body::COLUMNS..self.shift] {
            input[lane] = 0.0;
        }
        if self.jointed {
            let mut frames = Vec::new();
            let starts: Vec<f64> = muster_core::joints::jointed(&self.frames).map(|frame| frame.servo.start).collect();
            frame_motions(&self.frames, |joint| (starts[joint], 0.0), &mut frames);
            keep(columns, self.shift, lane, &together(&self.links, &frames));
        }
        if let Some(vehicle) = &self.vehicle {
            let velocity = body::vec3(columns, body::VELOCITY, lane);
            let forward = math::rotate_inverse(body::orientation(columns, lane), velocity).x;
            vehicle.start(&mut columns[self.wheels..], lane, forward);
        }
    }

    fn advance(&self, columns: &mut [Column], lanes: usize, tick: &Tick<'_>) {
        let mut frames = [FrameMotion::BODY; FRAMES_MAX];
        for lane in 0..lanes {
            let next = if self.jointed {
                let joints = tick.joints;
                let joint = |at: usize| (columns[joints.positions() + at][lane], columns[joints.rates() + at][lane]);
                frame_motions_in(&self.frames, joint, &mut frames);
                Some(together(&self.links, &frames))
            } else {
                None
            };
            self.step(columns, lane, next.as_ref(), tick);
        }
    }

    fn wheels(&self) -> &[Wheel] {
        &self.encoded
    }

    fn constants(&self) -> Vec<(&'static str, f64)> {
        let inertia = self.whole.inertia_kgm2;
        vec![
            ("mass_kg", self.whole.mass_kg),
            ("inertia_x_kgm2", inertia.x_axis.x),
            ("inertia_y_kgm2", inertia.y_axis.y),
            ("inertia_z_kgm2", inertia.z_axis.z),
            ("speed_max_mps", self.spec.speed_max_mps),
        ]
    }
}

/// A force at the centre of gravity and a torque about it, in the world.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wrench {
    pub(crate) force_n: DVec3,
    pub(crate) torque_nm: DVec3,
}

/// A body as forces see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) orientation: DQuat,
    /// Of the body frame, m.
    pub(crate) position_m: DVec3,
    /// From the body's origin to the centre of gravity in the world, m.
    pub(crate) arm_m: DVec3,
    /// Of the centre of gravity, m/s.
    pub(crate) velocity_mps: DVec3,
    /// In the world, rad/s.
    pub(crate) spin_radps: DVec3,
}

impl Held {
    /// Velocity of a point of the body.
    pub(crate) fn velocity_at(&self, point_m: DVec3) -> DVec3 {
        self.velocity_mps + self.spin_radps.cross(point_m - self.position_m - self.arm_m)
    }
}

impl SingleBody {
    /// One robot; `next` is what its links are together after the tick, if joints move them.
    fn step(&self, columns: &mut [Column], lane: usize, next: Option<&Whole>, tick: &Tick<'_>) {
        let dt = tick.dt_s;
        let before = self.whole_now(columns, lane);
        let after = next.copied().unwrap_or(before);
        let orientation = body::orientation(columns, lane);
        let arm_m = orientation * before.centre_m;
        let spin_radps = orientation * body::vec3(columns, body::ANGULAR_VELOCITY, lane);
        let velocity = body::vec3(columns, body::VELOCITY, lane) + spin_radps.cross(arm_m);
        let held = Held {
            orientation,
            position_m: body::vec3(columns, body::POSITION, lane),
            arm_m,
            velocity_mps: velocity + orientation * before.centre_mps,
            spin_radps,
        };
        let wrench = self.wrench(columns, lane, &held, tick);
        let velocity_after = held.velocity_mps + wrench.force_n * (dt / before.mass_kg);
        let centre = held.position_m + arm_m + (held.velocity_mps + velocity_after) * (0.5 * dt);

        let momentum = orientation * (before.inertia_kgm2 * (orientation.inverse() * spin_radps));
        let per_inertia = if self.jointed { after.inertia_kgm2.inverse() } else { self.per_inertia };
        let spin_of = |turn: DQuat, momentum: DVec3| turn * (per_inertia * (turn.inverse() * momentum));
        let halfway = renormalize(small_turn(spin_radps * (0.25 * dt)) * orientation);
        let spin_middle = spin_of(halfway, momentum + wrench.torque_nm * (0.5 * dt));
        let turned = renormalize(small_turn(spin_middle * (0.5 * dt)) * orientation);
        let spin_after = spin_of(turned, momentum + wrench.torque_nm * dt);

        let arm_after = turned * after.centre_m;
        let velocity_base = velocity_after - spin_after.cross(arm_after) - turned * after.centre_mps;
        body::set_vec3(columns, body::POSITION, lane, centre - arm_after);
        body::set_orientation(columns, lane, turned);
        body::set_vec3(columns, body::VELOCITY, lane, velocity_base);
        body::set_vec3(columns, body::ANGULAR_VELOCITY, lane, turned.inverse() * spin_after);
        if self.jointed {
            keep(columns, self.shift, lane, &after);
        }
    }

    fn whole_now(&self, columns: &[Column], lane: usize) -> Whole {
        if !self.jointed {
            return self.whole;
        }
        Whole {
            centre_m: body::vec3(columns, self.shift, lane),
            centre_mps: body::vec3(columns, self.shift + 3, lane),
            inertia_kgm2: inertia_of(columns, self.shift + 6, lane),
            ..self.whole
        }
    }

    /// Gravity, drag, what is commanded, and wheels.
    fn wrench(&self, columns: &mut [Column], lane: usize, held: &Held, tick: &Tick<'_>) -> Wrench {
        let air = held.velocity_mps - body::vec3(columns, body::WIND, lane);
        let mut wrench = Wrench {
            force_n: tick.environment.gravity_mps2 * self.whole.mass_kg - air * (self.spec.drag_kgpm * air.length())
                + body::vec3(columns, FORCE, lane),
            torque_nm: held.orientation * body::vec3(columns, TORQUE, lane) - held.spin_radps * self.spec.turn_drag_nms,
        };
        if let Some(vehicle) = &self.vehicle {
            let (front, state) = columns.split_at_mut(self.wheels);
            let command = vehicle.command(front, lane, STEER);
            let rolled = vehicle.roll(state, (lane, &command), held, tick);
            wrench.force_n += rolled.force_n;
            wrench.torque_nm += rolled.torque_nm;
        }
        wrench
    }
}

fn inertia_of(columns: &[Column], first: usize, lane: usize) -> DMat3 {
    let (diagonal, products) = (body::vec3(columns, first, lane), body::vec3(columns, first + 3, lane));
    let (xy, xz, yz) = (products.x, products.y, products.z);
    DMat3::from_cols_array(&[diagonal.x, xy, xz, xy, diagonal.y, yz, xz, yz, diagonal.z])
}

fn keep(columns: &mut [Column], first: usize, lane: usize, whole: &Whole) {
    let inertia = whole.inertia_kgm2;
    body::set_vec3(columns, first, lane, whole.centre_m);
    body::set_vec3(columns, first + 3, lane, whole.centre_mps);
    body::set_vec3(columns, first + 6, lane, DVec3::new(inertia.x_axis.x, inertia.y_axis.y, inertia.z_axis.z));
    body::set_vec3(columns, first + 9, lane, DVec3::new(inertia.x_axis.y, inertia.x_axis.z, inertia.y_axis.z));
}
