//! docs/reference.md: every key of a scenario and every kind of component, from the tables that read them.

use muster::REGISTRY;
use muster_core::component::{Kind, Sensor};
use muster_core::lanes::Quantity;
use muster_core::node::{Node, Problems, Value};
use muster_core::service::Parameter;
use muster_core::spec::{Field, Schema, Spec};
use muster_scenario::layout::{Circle, Grid, Layout, Line, Random, Sphere};
use muster_scenario::materials::MaterialText;
use muster_scenario::outline::{MeshText, TerrainText};
use muster_scenario::text::{
    At, DriverText, EventText, ExpectText, FireText, FrameText, HeldText, LightText, LinkText, MotionText, ObjectText,
    ObstacleText, PartText, RobotText, RunText, ScenarioText, SensorText, ShapeText, WaterText, WaveText, WorldText,
    ZoneText,
};
use muster_scenario::walls::{PlanText, WallsText};
use std::fmt::Write;
use std::path::Path;

/// What holds for all blocks, in words.
const HABITS: &str = "
## Habits

- `include: file.yaml` (or a list) in any map: the file's keys, under those written beside it. Searched beside the
  including file, in `MUSTER_RESOURCE_PATH`, then in the built-in library.
- `kind:` chooses. For a robot it names `robots/KIND.yaml` of the library or a file of yours, which may name a kind itself.
  Written keys win, lists replace, `null` deletes, another `kind` replaces a whole block.
- `{…}` in text is an expression over `i` (number in a count), `n` (the count) and `name`: `scout{i}`, `\"{10 + i}\"`.
  Quote a value that begins with a brace.
- Obstacles and objects of a world have `count`, `layout` and templates too: `tree: {kind: tree, count: 40, layout: {…}}`
  makes `tree0` to `tree39`. An obstacle of an object is `tree0.trunk`; within an object that has a count, `{i}` in an
  obstacle with a count of its own is that of the obstacle. A world is the same whatever the seed of the run.
- `overrides: {scout3: {…}}` in a robot block changes one robot of a count, by name or number.
- Expressions know `+ - * / % ^`, comparisons, `and or not`, `c ? a : b`, `abs min max sqrt sin cos atan2 hypot floor ceil
  round clamp`, `pi`; in `expect` also properties by path, `time_s` and `distance(a, b)`.
- A property is `robot.variable`, `robot.sensor.field`, `robot.driver.status`, with `[index]` for one number of several;
  `muster inspect FILE ROBOT` lists them. Samples of sensors that look at the world are records one after another.
- Modifiers act in the order written. One that changes units or coordinates renames fields: after `utm`, `position_m` is
  `utm_m`; after `feet`, `altitude_m` is `altitude_ft`. One that turns axes (`ned`) keeps names.
- In a modifier `expression`, `set: {\"position_m[2]\": \"value + drift_m\"}` gives a field or one number of it a new value,
  `state: {drift_m: \"drift_m + 0.1 * noise\"}` is remembered and begins at 0. Expressions know the fields of the sample, the
  state, and `value`, `time_s`, `period_s`, `index`, `noise` (standard normal), `uniform` (0 to 1).
- The first sample of a sensor comes one period after the start; what must always hold is judged every `every_ms`.
- `setpoint_mode`: 0 none, 1 velocity, 2 position, 3 course, 4 direct, 5 attitude, 6 steer_force. `status`: 0 transit, 1 arrived,
  2 stopped, 3 preempted.
- `events` look for contacts (at the tick they begin, or at their `rate_hz`), zones and conditions (at `rate_hz`, else at
  `run.events_hz`, from 0 on) and times. Names may hold `*`. A zone is entered by a robot's centre. A condition happens when
  it becomes true; with `who: \"scout*\"` it is looked at for each of these robots, as `{who}`. What is done names robots and a
  service (see below) or a property: `lamp.on`, `\"scout*.stop\"`, `\"{who}.goto(4, 2)\"`, `\"{who}.driver.speed_mps = 0.5\"`; numbers
  may be expressions, `{other}` is whom or what was touched, or the zone. At an instant commands from outside come first,
  then all events are looked for, then everything is done in the order written. Watching contacts tick by tick makes windows
  as short as ticks while robots are near something; a `rate_hz` avoids that.
- A robot obeys the last who commanded it: services that command how it moves take it from its driver, `goto`, `waypoints`
  and `resume` give it back. From the command line: `--set 'events=[{on: at(2 s), do: \"rover.goto(4, 2)\"}]'`.
";

/// Writes the reference.
pub(crate) fn write(to: &Path) -> Result<(), String> {
    std::fs::write(to, text()).map_err(|error| format!("cannot write {}: {error}", to.display()))
}

/// The reference.
pub(crate) fn text() -> String {
    let mut page = String::from(
        "# Reference\n\nMade by `cargo xtask reference` from the tables that read scenarios. Units are in the names.\n",
    );
    page.push_str(HABITS);
    let blocks: [(&str, &[Field]); 33] = [
        ("Scenario", ScenarioText::FIELDS),
        ("`world`", WorldText::FIELDS),
        ("`world.water`", WaterText::FIELDS),
        ("`world.water.waves`", WaveText::FIELDS),
        ("`world.obstacles.NAME`", ObstacleText::FIELDS),
        ("`world.obstacles.NAME.terrain`", TerrainText::FIELDS),
        ("`world.obstacles.NAME.walls`", WallsText::FIELDS),
        ("`world.obstacles.NAME.plan`", PlanText::FIELDS),
        ("`world.objects.NAME`", ObjectText::FIELDS),
        ("`world.fires.NAME`", FireText::FIELDS),
        ("`world.zones.NAME`", ZoneText::FIELDS),
        ("`world.materials.NAME`", MaterialText::FIELDS),
        ("`run`", RunText::FIELDS),
        ("A robot", RobotText::FIELDS),
        ("`attached`", HeldText::FIELDS),
        ("`shape`", ShapeText::FIELDS),
        ("`parts.NAME`", PartText::FIELDS),
        ("`frames.NAME`", FrameText::FIELDS),
        ("`shape.mesh`", MeshText::FIELDS),
        ("`light`", LightText::FIELDS),
        ("`at`", At::FIELDS),
        ("`layout`", Layout::FIELDS),
        ("`layout.grid`", Grid::FIELDS),
        ("`layout.line`", Line::FIELDS),
        ("`layout.circle`", Circle::FIELDS),
        ("`layout.sphere`", Sphere::FIELDS),
        ("`layout.random`", Random::FIELDS),
        ("Every `motion`", MotionText::FIELDS),
        ("Every `driver` and `controller`", DriverText::FIELDS),
        ("Every sensor", SensorText::FIELDS),
        ("Every item of `links`", LinkText::FIELDS),
        ("`events`", EventText::FIELDS),
        ("`expect`", ExpectText::FIELDS),
    ];
    for (title, fields) in blocks {
        _ = writeln!(page, "\n## {title}\n");
        table(&mut page, fields);
    }
    family(&mut page, "Motions", REGISTRY.motions);
    family(&mut page, "Drivers and controllers", REGISTRY.drivers);
    family(&mut page, "Sensors", REGISTRY.sensors);
    family(&mut page, "Actuators", REGISTRY.actuators);
    samples(&mut page);
    family(&mut page, "Modifiers", REGISTRY.modifiers);
    family(&mut page, "Winds", REGISTRY.winds);
    links(&mut page);
    services(&mut page);
    page
}

/// How programs outside reach robots.
fn links(page: &mut String) {
    page.push_str(
        "\n## Links\n\nUnder `links` of a robot: a channel (a sensor, an actuator, or the robot as a whole), ",
    );
    page.push_str("`to` a kind of link, and its options. Under `links` of the scenario: settings by kind.\n");
    for kind in REGISTRY.links {
        _ = writeln!(page, "\n### `{}`\n\n{}\n", kind.name, kind.doc);
        for (of, fields) in [("a binding", kind.options.fields), ("the link", kind.settings.fields)] {
            if !fields.is_empty() {
                _ = writeln!(page, "For {of}:\n");
                table(page, fields);
            }
        }
    }
}

/// What can be asked of robots.
fn services(page: &mut String) {
    page.push_str("\n## Services\n\nAsked of a robot by name, in `events` or through the library. ");
    page.push_str("Those that take time are answered when they are done.\n\n");
    page.push_str("| service | what | arguments |\n|---|---|---|\n");
    for service in REGISTRY.services {
        let argument = |each: &Parameter| format!("`{}`: {}", each.name, each.doc.trim_end_matches('.'));
        let arguments: Vec<String> = service.parameters.iter().map(argument).collect();
        let time = if service.done.is_some() { " Takes time." } else { "" };
        _ = writeln!(page, "| `{}` | {}{time} | {} |", service.usage(), service.doc, arguments.join("; "));
    }
}

/// What may be written in a block of a component.
fn block(page: &mut String, name: &str, fields: &[Field]) {
    _ = writeln!(page, "\nIn `{name}`:\n");
    table(page, fields);
}

fn family<T: ?Sized + 'static>(page: &mut String, title: &str, kinds: &[Kind<T>]) {
    _ = writeln!(page, "\n## {title}");
    for kind in kinds {
        _ = writeln!(page, "\n### `{}`\n\n{}\n", kind.name, kind.doc);
        table(page, kind.fields);
        for field in kind.fields {
            match (field.schema)() {
                Schema::List { of, .. } => {
                    if let Schema::Block(parts) = *of {
                        _ = writeln!(page, "\nEach of `{}`:\n", field.name);
                        table(page, parts);
                    }
                }
                Schema::Block(parts) => block(page, field.name, parts),
                Schema::Either(forms) => {
                    for form in forms {
                        if let Schema::Block(parts) = form {
                            block(page, field.name, parts);
                        }
                    }
                }
                _ => (),
            }
        }
    }
}

/// What samples hold, for sensors that can be made without parameters, at each of their levels of detail or outputs.
fn samples(page: &mut String) {
    page.push_str("\n### Fields of samples\n\n| sensor | fields |\n|---|---|\n");
    for kind in REGISTRY.sensors {
        let decides = |field: &&Field| ["level", "output"].contains(&field.name);
        match kind.fields.iter().find(decides).map(|field| (field.name, (field.schema)())) {
            Some((key, Schema::Choice(words))) => words.iter().for_each(|word| sample(page, kind, Some((key, word)))),
            _ => sample(page, kind, None),
        }
    }
}

fn sample(page: &mut String, kind: &Kind<dyn Sensor>, with: Option<(&str, &str)>) {
    let mut node = Node::default();
    if let Some((key, word)) = with {
        node.set(key, Node::of(Value::Text(word.to_owned())));
    }
    let Some(sensor) = (kind.build)(&node, "", &[], &mut Problems::default()) else { return };
    let field = |field: &Quantity| match field.len {
        1 => format!("`{}`", field.name),
        len => format!("`{}` ×{len}", field.name),
    };
    let fields: Vec<String> = sensor.fields().iter().map(field).collect();
    let with = with.map_or_else(String::new, |(key, word)| format!(", `{key}: {word}`"));
    _ = writeln!(page, "| `{}`{with} | {} |", kind.name, fields.join(", "));
}

fn table(page: &mut String, fields: &[Field]) {
    if fields.is_empty() {
        page.push_str("No parameters.\n");
        return;
    }
    page.push_str("| key | type | default | what |\n|---|---|---|---|\n");
    for field in fields {
        let default = (field.default)().map_or_else(String::new, |default| format!("`{default}`"));
        let kind = (field.schema)().type_name().replace('|', "\\|");
        _ = writeln!(page, "| `{}` | {kind} | {default} | {} |", field.name, field.doc.trim());
    }
}
