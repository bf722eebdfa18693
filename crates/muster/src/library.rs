//! The library of robots, objects, sensors, materials, worlds and textures, embedded in the binary so that it needs no
//! installation. Adding a file to `library/` is adding a row here.

use muster_scenario::files::Library;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        /// Name and text of every library file.
        pub const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../library/", $name)))),*];
    };
}

macro_rules! images {
    ($($name:literal),* $(,)?) => {
        /// Name and bytes of every library file that is not text.
        pub const IMAGES: &[(&str, &[u8])] = &[$(($name, include_bytes!(concat!("../../../library/", $name)))),*];
    };
}

files![
    "demos/fleet.yaml",
    "materials.yaml",
    "mounts/pan_tilt.yaml",
    "objects/bed.yaml",
    "objects/chair.yaml",
    "objects/conifer.yaml",
    "objects/container.yaml",
    "objects/crane.yaml",
    "objects/house.yaml",
    "objects/lamp.yaml",
    "objects/lighthouse.yaml",
    "objects/person.yaml",
    "objects/shelf.yaml",
    "objects/ship.yaml",
    "objects/sofa.yaml",
    "objects/street_lamp.yaml",
    "objects/table.yaml",
    "objects/tree.yaml",
    "objects/victim.yaml",
    "robots/atrv.yaml",
    "robots/ball.yaml",
    "robots/barrel.yaml",
    "robots/biped.yaml",
    "robots/boat.yaml",
    "robots/car.yaml",
    "robots/conveyor.yaml",
    "robots/crate_box.yaml",
    "robots/differential.yaml",
    "robots/door.yaml",
    "robots/fixed_wing.yaml",
    "robots/human.yaml",
    "robots/humanoid.yaml",
    "robots/lamp.yaml",
    "robots/lift.yaml",
    "robots/neobotix.yaml",
    "robots/offroad.yaml",
    "robots/omni.yaml",
    "robots/pallet.yaml",
    "robots/pan_tilt.yaml",
    "robots/pioneer.yaml",
    "robots/point.yaml",
    "robots/quadrotor.yaml",
    "robots/quadruped.yaml",
    "robots/rmax.yaml",
    "robots/segway.yaml",
    "robots/sliding_door.yaml",
    "robots/submarine.yaml",
    "robots/surveyor.yaml",
    "robots/tracked_robot.yaml",
    "sensors/gp2y0a21.yaml",
    "sensors/hc_sr04.yaml",
    "sensors/lidar_lite.yaml",
    "sensors/lms200.yaml",
    "sensors/morse_sick.yaml",
    "sensors/tfmini.yaml",
    "sensors/tof_camera.yaml",
    "sensors/urg04lx.yaml",
    "sensors/ust10lx.yaml",
    "sensors/vlp16.yaml",
    "worlds/airfield.yaml",
    "worlds/arena.yaml",
    "worlds/empty.yaml",
    "worlds/harbour.yaml",
    "worlds/indoor_room.yaml",
    "worlds/maze.yaml",
    "worlds/outdoor.yaml",
    "worlds/rescue.yaml",
];

images![
    "textures/asphalt.png",
    "textures/bricks.png",
    "textures/concrete.png",
    "textures/grass.png",
    "textures/tiles.png",
    "textures/wood.png",
];

/// All of it, for those who look for files.
#[derive(Debug, Clone, Copy, Default)]
pub struct Embedded;

impl Library for Embedded {
    fn text(&self, name: &str) -> Option<&'static str> {
        FILES.text(name)
    }

    fn bytes(&self, name: &str) -> Option<&'static [u8]> {
        let image = IMAGES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes);
        image.or_else(|| self.text(name).map(str::as_bytes))
    }

    fn names(&self) -> Vec<&'static str> {
        FILES.iter().map(|(name, _)| *name).chain(IMAGES.iter().map(|(name, _)| *name)).collect()
    }
}

/// The names in one folder of the library, without folder and ending.
pub fn names(folder: &str) -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(move |(name, _)| {
        name.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).and_then(|rest| rest.strip_suffix(".yaml"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_library_folder_is_embedded() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../library");
        for folder in ["demos", "mounts", "objects", "robots", "sensors", "textures", "worlds"] {
            let mut on_disk: Vec<String> = std::fs::read_dir(format!("{root}/{folder}"))
                .expect("the library folder")
                .map(|entry| format!("{folder}/{}", entry.expect("an entry").file_name().to_string_lossy()))
                .collect();
            on_disk.sort();
            let embedded: Vec<&str> = Embedded.names().into_iter().filter(|name| name.starts_with(folder)).collect();
            assert_eq!(on_disk, embedded);
        }
    }
}
