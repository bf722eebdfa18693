//! `muster look`: what a sensor sees, as a picture (PNG). Images of cameras as they are: colours in 8 bits, depths in 16 bits
//! (mm, 0 for nothing), objects and classes in colours of their own; ranges over a map of the scene, each ray green until
//! it touches something and red beyond.

mod plot;

use super::{FAILED, LookArguments, OK, USAGE, unloaded};
use muster::{Setup, Simulation};
use muster_core::lanes::Quantity;
use muster_core::node::nearest;
use muster_core::render::lens::Lens;
use muster_core::time::SimTime;
use muster_core::world::World;
use plot::plot;
use std::path::{Path, PathBuf};

/// Draws what was asked for and returns the exit code.
pub(crate) fn look(arguments: &LookArguments) -> u8 {
    let setup = Setup { render: arguments.render, ..arguments.over.setup() };
    let mut sim = match Simulation::load(&arguments.scenario.to_string_lossy(), &setup) {
        Ok(sim) => sim,
        Err(error) => return unloaded(&error),
    };
    let found = match find(sim.world(), &arguments.sensor) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("error: {error}");
            return USAGE;
        }
    };
    let drawn = sample(&mut sim, &found, SimTime::from_s(arguments.at.as_secs_f64()))
        .and_then(|(stamp, values)| draw(&mut sim, &found, &values, &arguments.out).map(|files| (stamp, files)));
    match drawn {
        Ok((stamp, files)) => {
            files.iter().for_each(|file| say!("{}: {} at {:.6} s", file.display(), arguments.sensor, stamp.s()));
            OK
        }
        Err(error) => {
            eprintln!("error: {error}");
            FAILED
        }
    }
}

/// A sensor of a robot: the robot's name and number, the sensor's number.
struct Found {
    robot: String,
    number: u32,
    sensor: usize,
}

fn find(world: &World, path: &str) -> Result<Found, String> {
    let Some((robot, sensor)) = path.split_once('.') else {
        return Err(format!("found sensor {path:?}, expected robot.sensor"));
    };
    let near = |name: &str, names: &[&str]| match nearest(name, names.iter().copied()) {
        Some(near) => format!(" (did you mean {near:?}?)"),
        None => String::new(),
    };
    let Some((number, found)) = world.roster().find(|(_, other)| other.name == robot) else {
        let names: Vec<&str> = world.robots().map(|robot| robot.name.as_str()).collect();
        return Err(format!("found no robot {robot:?}{}, expected robot.sensor", near(robot, &names)));
    };
    let sensors = &found.cohort.blueprint.sensors;
    let Some(at) = sensors.iter().position(|slot| slot.name == sensor) else {
        let names: Vec<&str> = sensors.iter().map(|slot| slot.name.as_str()).collect();
        return Err(format!(
            "found no sensor {sensor:?}{} of {robot}: there are {}",
            near(sensor, &names),
            names.join(", ")
        ));
    };
    let slot = &sensors[at];
    if slot.sensor.image().is_none() && slot.sensor.rays().is_none() {
        let expected = "a camera, or a range sensor that tells each ray";
        return Err(format!("found {path}, which is of kind {}, expected {expected}", slot.kind));
    }
    Ok(Found { robot: robot.to_owned(), number, sensor: at })
}

/// Walks to a time and returns the sample that is visible then, or the first one after.
fn sample(sim: &mut Simulation, found: &Found, at: SimTime) -> Result<(SimTime, Vec<f64>), String> {
    let Some(robot) = sim.world().robot(found.number) else { return Err("the robot is gone".to_owned()) };
    let slot = robot.cohort.blueprint.sensors[found.sensor].clone();
    sim.world_mut().listen(&found.robot, &slot.name);
    let patience = at + slot.latency + slot.rate.period() + slot.rate.period();
    let mut last = None;
    while sim.world().time() < at || (last.is_none() && sim.world().time() < patience) {
        let end = if sim.world().time() < at { at } else { patience };
        sim.walk_window(end);
        let heard = sim.world().heard().iter().filter(|sample| sample.robot == found.number);
        if let Some(sample) = heard.filter(|sample| sample.sensor as usize == found.sensor).last() {
            last = Some((sample.stamp, sample.values.to_vec()));
        }
    }
    last.ok_or_else(|| format!("{}.{} gave no sample until {:.3} s", found.robot, slot.name, sim.world().time().s()))
}

fn draw(sim: &mut Simulation, found: &Found, values: &[f64], out: &Path) -> Result<Vec<PathBuf>, String> {
    let Some(robot) = sim.world().robot(found.number) else { return Err("the robot is gone".to_owned()) };
    let cohort = robot.cohort.clone();
    let slot = &cohort.blueprint.sensors[found.sensor];
    if let Some(lens) = slot.sensor.image() {
        return images(values, slot.sensor.fields(), lens, out);
    }
    let Some((rays, reach_m)) = slot.sensor.rays() else { return Err("the sensor has no rays".to_owned()) };
    let pose = sim.world().sensor_pose(&found.robot, &slot.name).unwrap_or(slot.mount);
    let record = Quantity::total(slot.sensor.fields());
    let ranges: Vec<f64> = values.iter().step_by(record).copied().collect();
    let Some(trial) = sim.world_mut().trial(found.number) else { return Err("the robot is gone".to_owned()) };
    let image = plot(trial.world(), &pose, (rays, &ranges), reach_m);
    write(out, image.columns, image.pixels.as_flattened(), png::BitDepth::Eight, png::ColorType::Rgb)?;
    Ok(vec![out.to_owned()])
}

/// Writes an image for each field.
fn images(values: &[f64], fields: &[Quantity], lens: &Lens, out: &Path) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let channel: Vec<f64> = values.iter().skip(at).step_by(fields.len()).copied().collect();
        let to = if fields.len() == 1 { out.to_owned() } else { beside(out, field.name) };
        let columns = lens.spec.columns;
        match field.name {
            "depth_m" => {
                let millimetres = |&depth_m: &f64| (1000.0 * depth_m).round().clamp(0.0, 65535.0) as u16;
                let finite = channel.iter().map(|depth_m| if depth_m.is_finite() { millimetres(depth_m) } else { 0 });
                let bytes: Vec<u8> = finite.flat_map(u16::to_be_bytes).collect();
                write(&to, columns, &bytes, png::BitDepth::Sixteen, png::ColorType::Grayscale)?;
            }
            "id" | "class" => {
                let bytes: Vec<u8> = channel.iter().flat_map(|&number| hue(number)).collect();
                write(&to, columns, &bytes, png::BitDepth::Eight, png::ColorType::Rgb)?;
            }
            _ => {
                let bytes: Vec<u8> = channel.iter().flat_map(|&packed| unpacked(packed)).collect();
                write(&to, columns, &bytes, png::BitDepth::Eight, png::ColorType::Rgb)?;
            }
        }
        files.push(to);
    }
    Ok(files)
}

/// `image.png` becomes `image-left.png`.
fn beside(out: &Path, name: &str) -> PathBuf {
    let stem = out.file_stem().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{stem}-{name}.png"))
}

/// Red, green and blue of 0xRRGGBB.
fn unpacked(packed: f64) -> [u8; 3] {
    let [_, red, green, blue] = (packed as u32).to_be_bytes();
    [red, green, blue]
}

/// A colour for each number, black for 0; neighbours differ.
fn hue(number: f64) -> [u8; 3] {
    if number == 0.0 {
        return [0; 3];
    }
    let [red, green, blue, _] = (muster_core::random::combine(number.to_bits(), 5) as u32).to_be_bytes();
    [red, green, blue].map(|channel| channel / 2 + 96)
}

fn write(to: &Path, columns: usize, bytes: &[u8], depth: png::BitDepth, colour: png::ColorType) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", to.display());
    let row = columns * colour.samples() * if depth == png::BitDepth::Sixteen { 2 } else { 1 };
    if bytes.is_empty() {
        return Err(failed(&"there is no image, as nobody makes pictures"));
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, columns as u32, (bytes.len() / row) as u32);
    encoder.set_color(colour);
    encoder.set_depth(depth);
    let mut writer = encoder.write_header().map_err(|error| failed(&error))?;
    writer.write_image_data(bytes).and_then(|()| writer.finish()).map_err(|error| failed(&error))?;
    std::fs::write(to, file).map_err(|error| failed(&error))
}
