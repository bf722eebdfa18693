//! The same pile in rapier, with its default solver and without sleeping, on one thread.

use super::measure::{Line, Plan, median};
use rapier3d_f64::prelude::*;
use std::time::Instant;

struct Pile {
    bodies: RigidBodySet,
    colliders: ColliderSet,
    pipeline: PhysicsPipeline,
    parameters: IntegrationParameters,
    islands: IslandManager,
    broad: DefaultBroadPhase,
    narrow: NarrowPhase,
}

impl Pile {
    fn new(spacing_m: f64) -> Self {
        let (mut bodies, mut colliders) = (RigidBodySet::new(), ColliderSet::new());
        let ground = ColliderBuilder::cuboid(50.0, 50.0, 1.0).translation(Vector::new(0.0, 0.0, -1.0));
        colliders.insert(ground.friction(0.6).build());
        for at in 0..1000 {
            let (x, y, z) = (f64::from(at % 10), f64::from(at / 10 % 10), f64::from(at / 100));
            let place = Vector::new(x * spacing_m, y * spacing_m, 0.1 + 0.2 * z);
            let body = bodies.insert(RigidBodyBuilder::dynamic().translation(place).can_sleep(false).build());
            let shape = ColliderBuilder::cuboid(0.1, 0.1, 0.1).friction(0.6).restitution(0.0).density(125.0);
            colliders.insert_with_parent(shape.build(), body, &mut bodies);
        }
        Self {
            bodies,
            colliders,
            pipeline: PhysicsPipeline::new(),
            parameters: IntegrationParameters { dt: 0.001, ..IntegrationParameters::default() },
            islands: IslandManager::new(),
            broad: DefaultBroadPhase::new(),
            narrow: NarrowPhase::new(),
        }
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.pipeline.step(
                Vector::new(0.0, 0.0, -9.80665),
                &self.parameters,
                &mut self.islands,
                &mut self.broad,
                &mut self.narrow,
                &mut self.bodies,
                &mut self.colliders,
                &mut ImpulseJointSet::new(),
                &mut MultibodyJointSet::new(),
                &mut Default::default(),
                &mut CCDSolver::new(),
                &(),
                &(),
            );
        }
    }
}

pub(super) fn pile(spacing_m: f64, plan: Plan, variant: &str) -> Line {
    let mut pile = Pile::new(spacing_m);
    let steps = |seconds: f64| (seconds * 1000.0).round().max(1.0) as usize;
    pile.run(steps(plan.warm_up_s));
    let mut costs: Vec<f64> = (0..plan.batches)
        .map(|_| {
            let start = Instant::now();
            pile.run(steps(plan.batch_s));
            start.elapsed().as_nanos() as f64 / (1000 * steps(plan.batch_s)) as f64
        })
        .collect();
    costs.sort_by(f64::total_cmp);
    let ns = median(&costs);
    Line::new("pile-1000", format!("{variant}, rapier"))
        .count("threads", 1)
        .count("robots", 1000)
        .both("rtf", 1e3 / ns, format!("{:.2}", 1e3 / ns))
        .both("ns_per_robot_tick", ns, format!("{ns:.1}"))
}
