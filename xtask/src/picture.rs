//! The picture in the README: paths of the demo fleet over 30 s, seen from the south-west and above.

use glam::DVec3;
use muster::{Setup, Simulation};
use muster_core::shape::Shape;
use std::fmt::Write;
use std::path::Path;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 520.0;
const SPAN_S: f64 = 30.0;
const STEP_S: f64 = 0.1;
/// Aircraft fly far around the arena: their circuit is drawn smaller.
const FAR_SCALE: f64 = 0.075;

/// Runs the demo and writes the picture.
pub(crate) fn draw(to: &Path) -> Result<(), String> {
    let mut sim = Simulation::load("demos/fleet.yaml", &Setup::default()).map_err(|error| error.to_string())?;
    let robots: Vec<(String, String)> =
        sim.world().robots().map(|robot| (robot.name.clone(), robot.cohort.blueprint.motion_kind.to_owned())).collect();
    let mut paths: Vec<Vec<DVec3>> = vec![Vec::new(); robots.len()];
    for _ in 0..(SPAN_S / STEP_S) as usize {
        sim.run_for(STEP_S);
        for ((name, kind), path) in robots.iter().zip(&mut paths) {
            let position = sim.world().pose(name).map(|pose| pose.position_m).unwrap_or_default();
            path.push(if kind == "fixed_wing" { shrink(position) } else { position });
        }
    }
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' font-family='sans-serif'>\n\
         <rect width='{WIDTH}' height='{HEIGHT}' fill='#10141c'/>\n"
    );
    ground(&mut svg);
    for obstacle in sim.world().model().environment.obstacles.iter() {
        solid(&mut svg, obstacle);
    }
    for ((_, kind), path) in robots.iter().zip(&paths) {
        trail(&mut svg, path, colour(kind));
    }
    legend(&mut svg, &format!("muster demo: {} robots of four kinds, {SPAN_S:.0} s simulated", robots.len()));
    svg.push_str("</svg>\n");
    std::fs::write(to, svg).map_err(|error| format!("cannot write {}: {error}", to.display()))
}

fn shrink(position: DVec3) -> DVec3 {
    DVec3::new(position.x * FAR_SCALE, position.y * FAR_SCALE, 10.0 + (position.z - 80.0) * 0.1)
}

/// Oblique view: x to the right, y into the picture, z up.
fn screen(point: DVec3) -> (f64, f64) {
    let x = WIDTH * 0.5 + (point.x * 0.94 - point.y * 0.34) * 21.0;
    let y = HEIGHT * 0.76 - (point.x * 0.16 + point.y * 0.34) * 21.0 - point.z * 15.5;
    (x, y)
}

fn colour(kind: &str) -> &'static str {
    match kind {
        "quadrotor" => "#5ec8ff",
        "fixed_wing" => "#ffb454",
        "differential" => "#8be28b",
        _ => "#e58bff",
    }
}

fn points(of: impl Iterator<Item = DVec3>) -> String {
    of.map(screen).map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

fn ground(svg: &mut String) {
    for line in -10..=10 {
        let (a, b) = (f64::from(line), 10.0);
        for (from, to) in
            [(DVec3::new(a, -b, 0.0), DVec3::new(a, b, 0.0)), (DVec3::new(-b, a, 0.0), DVec3::new(b, a, 0.0))]
        {
            _ = writeln!(svg, "<polyline points='{}' stroke='#26303f' fill='none'/>", points([from, to].into_iter()));
        }
    }
}

fn solid(svg: &mut String, obstacle: &muster_core::contact::Obstacle) {
    match *obstacle.solid.shape() {
        Shape::Box { half_m } => {
            let corner = |x: f64, y: f64, z: f64| {
                obstacle.pose.position_m + obstacle.pose.orientation * (half_m * DVec3::new(x, y, z))
            };
            let faces = [
                [corner(-1.0, -1.0, -1.0), corner(1.0, -1.0, -1.0), corner(1.0, -1.0, 1.0), corner(-1.0, -1.0, 1.0)],
                [corner(-1.0, 1.0, -1.0), corner(-1.0, -1.0, -1.0), corner(-1.0, -1.0, 1.0), corner(-1.0, 1.0, 1.0)],
                [corner(-1.0, -1.0, 1.0), corner(1.0, -1.0, 1.0), corner(1.0, 1.0, 1.0), corner(-1.0, 1.0, 1.0)],
            ];
            for (face, fill) in faces.into_iter().zip(["#3a4558", "#323c4d", "#4a566b"]) {
                _ = writeln!(svg, "<polygon points='{}' fill='{fill}' fill-opacity='0.8'/>", points(face.into_iter()));
            }
        }
        Shape::Sphere { radius_m } => {
            let (x, y) = screen(obstacle.pose.position_m);
            _ = writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='{:.1}' fill='#414d61'/>", radius_m * 19.0);
        }
        _ => {}
    }
}

fn trail(svg: &mut String, path: &[DVec3], colour: &str) {
    _ = writeln!(
        svg,
        "<polyline points='{}' stroke='{colour}' stroke-width='1.1' stroke-opacity='0.45' fill='none'/>",
        points(path.iter().copied())
    );
    if let Some((x, y)) = path.last().copied().map(screen) {
        _ = writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='3.2' fill='{colour}'/>");
    }
}

fn legend(svg: &mut String, title: &str) {
    _ = writeln!(svg, "<text x='24' y='36' fill='#dfe6f0' font-size='18'>{title}</text>");
    let kinds = [
        ("quadrotor", "quadrotors"),
        ("fixed_wing", "aircraft (drawn nearer)"),
        ("differential", "two-wheeled"),
        ("point", "points"),
    ];
    for (row, (kind, label)) in kinds.into_iter().enumerate() {
        let y = 62.0 + 20.0 * row as f64;
        _ = writeln!(svg, "<circle cx='30' cy='{y}' r='5' fill='{}'/>", colour(kind));
        _ = writeln!(svg, "<text x='44' y='{}' fill='#aab4c4' font-size='14'>{label}</text>", y + 5.0);
    }
}
