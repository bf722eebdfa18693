//! What modifiers share that tell a point of the world in other coordinates: geodetic, earth-centred, on a grid.

use glam::DVec3;
use muster_core::component::Sample;
use muster_core::geodesy::TangentPlane;
use muster_core::lanes::{Quantity, Role};

/// True for a point of the world in the axes the plane of the world has.
fn is_point(field: &Quantity) -> bool {
    field.role == Role::Point && !field.down
}

/// That there is a point of the world among the fields, and none of the names that are made of it.
pub(super) fn check(fields: &[Quantity], made: &[Quantity]) -> Result<(), String> {
    if !fields.iter().any(is_point) {
        return Err(
            "a field with a point of the world in east, north, up and metres, as position_m of truth".to_owned()
        );
    }
    match made.iter().find(|made| fields.iter().any(|field| field.name == made.name)) {
        Some(taken) => Err(format!("a sensor that has no {} of its own", taken.name)),
        None => Ok(()),
    }
}

/// The fields with `made` in the place of each point.
pub(super) fn fields(fields: &[Quantity], made: &[Quantity]) -> Vec<Quantity> {
    let changed = |field: &Quantity| if is_point(field) { made.to_vec() } else { vec![*field] };
    fields.iter().flat_map(changed).collect()
}

/// Replaces every point of a sample.
pub(super) fn replace(sample: &mut Sample<'_>, tell: impl Fn(&TangentPlane, DVec3) -> [f64; 3]) {
    let plane = TangentPlane::new(&sample.environment.origin);
    super::for_each_field(sample.values, sample.fields, |field, numbers| {
        if let (true, Some(point)) = (is_point(field), numbers.first_chunk_mut()) {
            *point = tell(&plane, DVec3::from_array(*point));
        }
    });
}
