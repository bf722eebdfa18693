//! Which thruster gives how much of a wrench: the pseudo-inverse of the matrix B of forces and torques of one newton of
//! each, `Bᵀ (B Bᵀ)⁻¹`, of those rows that thrusters reach. Of all thrusts that give the wrench, it finds the least. Within
//! the thrusters' limits heave and torques come first, as a vessel that cannot steer should not drive.

use crate::motions::marine::Thruster;
use glam::DVec3;
use muster_core::lanes::{Column, LANES};
use muster_core::math;

/// Thrusts for a wrench.
#[derive(Debug, Clone)]
pub(super) struct Allocation {
    thrusters: Vec<Thrust>,
    /// Axes that are reached: three forces, three torques.
    axes: [bool; 6],
}

/// The part of one thruster.
#[derive(Debug, Clone, Copy)]
struct Thrust {
    /// Thrust for each number of the wrench.
    per_wrench: [f64; 6],
    forward: f64,
    backward: f64,
    per_forward: f64,
    per_backward: f64,
}

/// From the most to the least important: surge, yaw, heave, sway, pitch, roll.
const ORDER: [usize; 6] = [0, 5, 2, 1, 4, 3];

/// An axis of which less than this is left after the more important ones is not reached.
const LEFT_MIN: f64 = 0.1;

type Row = Vec<f64>;

impl Allocation {
    pub(super) fn new(thrusters: &[Thruster]) -> Self {
        let columns: Vec<[f64; 6]> = thrusters
            .iter()
            .map(|thruster| {
                let force = DVec3::from(thruster.direction).normalize();
                let torque = DVec3::from(thruster.at_m).cross(force);
                [force.x, force.y, force.z, torque.x, torque.y, torque.z]
            })
            .collect();
        let rows: [Row; 6] = std::array::from_fn(|axis| columns.iter().map(|column| column[axis]).collect());
        let chosen = independent(&rows);
        let reached: Vec<Row> = chosen.iter().map(|axis| rows[*axis].clone()).collect();
        let inverse = inverse_of_square(&reached);
        // a thruster without thrust in one direction cannot be asked for it, nor stop the others
        let per_limit = |most: f64| if most > 0.0 { 1.0 / most } else { 0.0 };
        let part = |(index, thruster): (usize, &Thruster)| {
            let mut per_wrench = [0.0; 6];
            for (place, axis) in chosen.iter().enumerate() {
                per_wrench[*axis] = (0..chosen.len()).map(|other| reached[other][index] * inverse[other][place]).sum();
            }
            Thrust {
                per_wrench,
                forward: thruster.forward_max_n,
                backward: thruster.backward_max_n,
                per_forward: per_limit(thruster.forward_max_n),
                per_backward: per_limit(thruster.backward_max_n),
            }
        };
        Self {
            thrusters: thrusters.iter().enumerate().map(part).collect(),
            axes: std::array::from_fn(|axis| chosen.contains(&axis)),
        }
    }

    /// True if thrusters push along this axis of the wrench without disturbing a more important one.
    pub(super) fn reaches(&self, axis: usize) -> bool {
        self.axes[axis]
    }

    /// The shares in each lane that thrusters can give: of heave and torques, and of surge and sway in what is left.
    #[inline(always)]
    pub(super) fn shares(&self, wrench: &[Column; 6], lanes: usize) -> Shares {
        let mut load = [1.0; LANES];
        for thruster in &self.thrusters {
            let thruster = &{ *thruster };
            for (lane, load) in load.iter_mut().enumerate().take(lanes.min(LANES)) {
                let steer = thruster.steer(wrench, lane);
                let needed = math::max(steer * thruster.per_forward, -steer * thruster.per_backward);
                *load = math::max(*load, needed);
            }
        }
        let mut shares = Shares { steer: [1.0; LANES], drive: [1.0; LANES] };
        for (share, load) in shares.steer.iter_mut().zip(load) {
            *share = 1.0 / load;
        }
        for thruster in &self.thrusters {
            let thruster = &{ *thruster };
            for lane in 0..lanes.min(LANES) {
                let steer = shares.steer[lane] * thruster.steer(wrench, lane);
                let drive = thruster.drive(wrench, lane);
                let room = if drive < 0.0 { steer + thruster.backward } else { thruster.forward - steer };
                // what is asked of it is less than there is room for, or shared out
                let fits = drive.abs() <= room;
                let share = math::max(room, 0.0) / math::max(drive.abs(), 1e-9);
                shares.drive[lane] = math::min(shares.drive[lane], if fits { 1.0 } else { share });
            }
        }
        shares
    }

    /// Commands the shares of the wrench in the lanes whose bits are set.
    #[inline(always)]
    pub(super) fn give(
        &self,
        wrench: &[Column; 6],
        (shares, bits): (&Shares, u32),
        inputs: &mut [Column],
        lanes: usize,
    ) {
        for (thruster, input) in self.thrusters.iter().zip(inputs) {
            let thruster = &{ *thruster };
            for (lane, input) in input.iter_mut().enumerate().take(lanes.min(LANES)) {
                let steer = shares.steer[lane] * thruster.steer(wrench, lane);
                let thrust = steer + shares.drive[lane] * thruster.drive(wrench, lane);
                *input = if bits >> lane & 1 == 1 { thrust } else { *input };
            }
        }
    }
}

/// What thrusters can give of a wrench in each lane, from 0 to 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    /// Of heave and torques.
    pub(super) steer: Column,
    /// Of surge and sway.
    pub(super) drive: Column,
}

impl Thrust {
    /// Thrust for surge and sway.
    #[inline(always)]
    fn drive(&self, wrench: &[Column; 6], lane: usize) -> f64 {
        self.per_wrench[0] * wrench[0][lane] + self.per_wrench[1] * wrench[1][lane]
    }

    /// Thrust for heave and torques.
    #[inline(always)]
    fn steer(&self, wrench: &[Column; 6], lane: usize) -> f64 {
        let [_, _, c, d, e, f] = self.per_wrench;
        c * wrench[2][lane] + (d * wrench[3][lane] + e * wrench[4][lane] + f * wrench[5][lane])
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Axes whose rows do not follow from those of more important ones, found by Gram and Schmidt's method.
fn independent(rows: &[Row; 6]) -> Vec<usize> {
    let mut basis: Vec<Row> = Vec::new();
    let mut chosen = Vec::new();
    for axis in ORDER {
        let mut left = rows[axis].clone();
        for unit in &basis {
            let along = dot(&left, unit);
            left.iter_mut().zip(unit).for_each(|(value, unit)| *value -= along * unit);
        }
        let (whole, rest) = (dot(&rows[axis], &rows[axis]).sqrt(), dot(&left, &left).sqrt());
        if whole > 1e-9 && rest > LEFT_MIN * whole {
            left.iter_mut().for_each(|value| *value /= rest);
            basis.push(left);
            chosen.push(axis);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// `(B Bᵀ)⁻¹` of independent rows B, by Gauss and Jordan's method; the matrix is positive definite, so no pivots.
fn inverse_of_square(rows: &[Row]) -> Vec<Row> {
    let size = rows.len();
    let mut square: Vec<Row> = rows.iter().map(|row| rows.iter().map(|other| dot(row, other)).collect()).collect();
    let mut inverse: Vec<Row> =
        (0..size).map(|row| (0..size).map(|column| if row == column { 1.0 } else { 0.0 }).collect()).collect();
    for pivot in 0..size {
        let per = 1.0 / square[pivot][pivot];
        square[pivot].iter_mut().for_each(|value| *value *= per);
        inverse[pivot].iter_mut().for_each(|value| *value *= per);
        let (first, unit) = (square[pivot].clone(), inverse[pivot].clone());
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = square[row][pivot];
            square[row].iter_mut().zip(&first).for_each(|(value, first)| *value -= factor * first);
            inverse[row].iter_mut().zip(&unit).for_each(|(value, unit)| *value -= factor * unit);
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motions::marine::MarineSpec;
    use muster_core::node::{Node, Problems};
    use muster_core::spec::Spec;

    fn thruster(at_m: [f64; 3], direction: [f64; 3]) -> Thruster {
        Thruster { at_m, direction, forward_max_n: 100.0, backward_max_n: 50.0, lag_s: 0.0, radius_m: 0.1 }
    }

    /// The wrench that the thrusts for a wrench give.
    fn given(thrusters: &[Thruster], wrench: [f64; 6]) -> [f64; 6] {
        let allocation = Allocation::new(thrusters);
        let columns = wrench.map(|value| [value; LANES]);
        let mut sum = [0.0; 6];
        for (thruster, part) in thrusters.iter().zip(&allocation.thrusters) {
            let force =
                DVec3::from(thruster.direction).normalize() * (part.drive(&columns, 0) + part.steer(&columns, 0));
            let torque = DVec3::from(thruster.at_m).cross(force);
            for (sum, value) in sum.iter_mut().zip(force.to_array().into_iter().chain(torque.to_array())) {
                *sum += value;
            }
        }
        sum
    }

    #[test]
    fn eight_thrusters_give_any_wrench() {
        let usual = <MarineSpec as Spec>::read(&Node::default(), "", &[], &mut Problems::default()).expect("defaults");
        let wrench = [3.0, -2.0, 5.0, 0.2, -0.1, 0.4];
        let found = given(&usual.thrusters, wrench);
        assert!(found.iter().zip(wrench).all(|(found, asked)| (found - asked).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn two_screws_give_surge_and_yaw_and_leave_alone_what_they_pitch() {
        let screws = [thruster([-1.0, 0.4, -0.3], [1.0, 0.0, 0.0]), thruster([-1.0, -0.4, -0.3], [1.0, 0.0, 0.0])];
        let allocation = Allocation::new(&screws);
        assert_eq!(allocation.axes, [true, false, false, false, false, true]);
        let found = given(&screws, [10.0, 7.0, 7.0, 7.0, 7.0, 2.0]);
        assert!((found[0] - 10.0).abs() < 1e-12 && (found[5] - 2.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn torque_comes_first_and_surge_gets_what_is_left() {
        let screws = [thruster([0.0, 0.5, 0.0], [1.0, 0.0, 0.0]), thruster([0.0, -0.5, 0.0], [1.0, 0.0, 0.0])];
        let allocation = Allocation::new(&screws);
        let mut wrench = [[0.0; LANES]; 6];
        (wrench[0], wrench[5]) = ([240.0; LANES], [40.0; LANES]);
        // -40 and 40 N for torque, 120 N each for surge, of screws that give 100
        let mut inputs = [[7.0; LANES]; 2];
        let shares = allocation.shares(&wrench, LANES);
        allocation.give(&wrench, (&shares, 0b10), &mut inputs, LANES);
        assert!((shares.drive[0] - 0.5).abs() < 1e-12 && shares.steer[0] == 1.0, "{shares:?}");
        assert!((inputs[0][1] - 20.0).abs() < 1e-12 && (inputs[1][1] - 100.0).abs() < 1e-12, "{inputs:?}");
        assert_eq!(inputs[0][0], 7.0, "others are left alone");
        // backwards they give 50, so the torque is shared out and nothing is left for surge
        wrench[5] = [100.0; LANES];
        let shares = allocation.shares(&wrench, LANES);
        assert!((shares.steer[0] - 0.5).abs() < 1e-12, "{shares:?}");
        assert!((shares.drive[0] - 50.0 / 120.0).abs() < 1e-12, "{shares:?}");
    }
}
