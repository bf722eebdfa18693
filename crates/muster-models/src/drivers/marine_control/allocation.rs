//! Which thruster gives how much of a wrench: the pseudo-inverse of the matrix B of forces and torques of one newton of
//! each, `Bᵀ (B Bᵀ)⁻¹`, of those rows that thrusters reach. Of all thrusts that give the wrench, it finds the least.

use crate::motions::marine::Thruster;
use glam::DVec3;
use muster_core::lanes::{Column, LANES};
use muster_core::math;

/// Thrusts for a wrench.
#[derive(Debug, Clone)]
pub(super) struct Allocation {
    thrusters: Vec<Share>,
    /// Axes that are reached: three forces, three torques.
    axes: [bool; 6],
}

/// The part of one thruster.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Thrust for each number of the wrench.
    per_wrench: [f64; 6],
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
        let per_limit = |most: f64| if most > 0.0 { 1.0 / most } else { f64::INFINITY };
        let share = |(index, thruster): (usize, &Thruster)| {
            let mut per_wrench = [0.0; 6];
            for (place, axis) in chosen.iter().enumerate() {
                per_wrench[*axis] = (0..chosen.len()).map(|other| reached[other][index] * inverse[other][place]).sum();
            }
            Share {
                per_wrench,
                per_forward: per_limit(thruster.forward_max_n),
                per_backward: per_limit(thruster.backward_max_n),
            }
        };
        Self {
            thrusters: thrusters.iter().enumerate().map(share).collect(),
            axes: std::array::from_fn(|axis| chosen.contains(&axis)),
        }
    }

    /// True if thrusters push along this axis of the wrench without disturbing a more important one.
    pub(super) fn reaches(&self, axis: usize) -> bool {
        self.axes[axis]
    }

    /// The share of the wrench in each lane that no thruster's limits forbid.
    #[inline(always)]
    pub(super) fn share(&self, wrench: &[Column; 6], lanes: usize, share: &mut Column) {
        let mut load = [1.0; LANES];
        for thruster in &self.thrusters {
            let thruster = &{ *thruster };
            for (lane, load) in load.iter_mut().enumerate().take(lanes.min(LANES)) {
                let thrust = thruster.thrust(wrench, lane);
                let needed = math::max(thrust * thruster.per_forward, -thrust * thruster.per_backward);
                // a thruster without thrust in one direction cannot be asked for it, nor stop the others
                *load = math::max(*load, if needed < 1e9 { needed } else { 1.0 });
            }
        }
        for (share, load) in share.iter_mut().zip(load) {
            *share = 1.0 / load;
        }
    }

    /// Commands the share of the wrench in the lanes whose bits are set.
    #[inline(always)]
    pub(super) fn give(
        &self,
        wrench: &[Column; 6],
        (share, bits): (&Column, u32),
        inputs: &mut [Column],
        lanes: usize,
    ) {
        for (thruster, input) in self.thrusters.iter().zip(inputs) {
            let thruster = &{ *thruster };
            for (lane, input) in input.iter_mut().enumerate().take(lanes.min(LANES)) {
                let thrust = share[lane] * thruster.thrust(wrench, lane);
                *input = if bits >> lane & 1 == 1 { thrust } else { *input };
            }
        }
    }
}

impl Share {
    #[inline(always)]
    fn thrust(&self, wrench: &[Column; 6], lane: usize) -> f64 {
        let [a, b, c, d, e, f] = self.per_wrench;
        let force = a * wrench[0][lane] + b * wrench[1][lane] + c * wrench[2][lane];
        force + (d * wrench[3][lane] + e * wrench[4][lane] + f * wrench[5][lane])
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
        for (thruster, share) in thrusters.iter().zip(&allocation.thrusters) {
            let force = DVec3::from(thruster.direction).normalize() * share.thrust(&columns, 0);
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
    fn what_one_thruster_cannot_give_makes_all_give_less() {
        let screws = [thruster([0.0, 0.5, 0.0], [1.0, 0.0, 0.0]), thruster([0.0, -0.5, 0.0], [1.0, 0.0, 0.0])];
        let allocation = Allocation::new(&screws);
        let mut wrench = [[0.0; LANES]; 6];
        (wrench[0], wrench[5]) = ([150.0; LANES], [75.0; LANES]);
        // 0 and 150 N are asked of screws that give 100
        let (mut share, mut inputs) = ([1.0; LANES], [[7.0; LANES]; 2]);
        allocation.share(&wrench, LANES, &mut share);
        allocation.give(&wrench, (&share, 0b10), &mut inputs, LANES);
        assert!((share[0] - 1.0 / 1.5).abs() < 1e-12, "{share:?}");
        assert!((inputs[0][1]).abs() < 1e-12 && (inputs[1][1] - 100.0).abs() < 1e-12, "{inputs:?}");
        assert_eq!(inputs[0][0], 7.0, "others are left alone");
    }
}
