//! Something that stays where it is placed and moves only its joints: a door, a lift, a pan-tilt unit on a mast. It
//! stops for nobody: whoever is in the way of its parts is pushed, and it blocks whoever runs into it.
//!
//! The input `belt_mps` lets the surface of its parts run, in the frame of the body: a conveyor. It carries bodies with
//! mass by friction; robots that are moved by their algorithm do not feel it.

use glam::DVec3;
use muster_core::component::{Kind, Motion, Tick};
use muster_core::contact::Mobility;
use muster_core::lanes::{Column, Quantity, body};
use muster_core::spec::Spec;
use std::sync::Arc;

muster_core::spec! {
    /// Something that stays where it is placed.
    pub struct FixtureSpec {
        /// How the surface of its parts runs at the start, in the frame of the body: a conveyor.
        belt_mps: [f64; 3] = [0.0; 3], in -100..=100;
    }
}

/// The row of this kind.
pub const KIND: Kind<dyn Motion> = Kind {
    name: "fixture",
    doc: "Stays where it is placed and moves only its joints: doors, lifts, masts; stops for nobody.",
    fields: <FixtureSpec as Spec>::FIELDS,
    build: &|node, path, also, problems| {
        Some(Arc::new(Fixture { spec: <FixtureSpec as Spec>::read(node, path, also, problems)? }))
    },
};

const BELT: usize = body::COLUMNS;

struct Fixture {
    spec: FixtureSpec,
}

impl Motion for Fixture {
    fn inputs(&self) -> &[Quantity] {
        const { &[Quantity::many("belt_mps", 3)] }
    }

    fn state(&self) -> &[Quantity] {
        &[]
    }

    fn speed_max_mps(&self) -> f64 {
        0.0
    }

    fn mobility(&self) -> Mobility {
        Mobility::Fixed
    }

    fn belt_mps(&self, columns: &[Column], lane: usize) -> DVec3 {
        body::vec3(columns, BELT, lane)
    }

    fn start(&self, columns: &mut [Column], lane: usize) {
        body::set_vec3(columns, body::VELOCITY, lane, DVec3::ZERO);
        body::set_vec3(columns, BELT, lane, DVec3::from(self.spec.belt_mps));
    }

    fn advance(&self, _: &mut [Column], _: usize, _: &Tick<'_>) {}

    fn constants(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}
