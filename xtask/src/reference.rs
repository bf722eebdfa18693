//! docs/reference.md: every key of a scenario and every kind of component, from the tables that read them.

use muster_core::component::Kind;
use muster_core::spec::{Field, Spec};
use muster_models::REGISTRY;
use muster_scenario::text::{
    DriverText, ExpectText, MotionText, ObstacleText, RobotText, RunText, ScenarioText, SensorText, WorldText,
};
use std::fmt::Write;
use std::path::Path;

/// Writes the reference.
pub(crate) fn write(to: &Path) -> Result<(), String> {
    std::fs::write(to, text()).map_err(|error| format!("cannot write {}: {error}", to.display()))
}

/// The reference.
pub(crate) fn text() -> String {
    let mut page = String::from(
        "# Reference\n\nMade by `cargo xtask reference` from the tables that read scenarios. Units are in the names.\n",
    );
    let blocks: [(&str, &[Field]); 9] = [
        ("Scenario", ScenarioText::FIELDS),
        ("`world`", WorldText::FIELDS),
        ("`world.obstacles.NAME`", ObstacleText::FIELDS),
        ("`run`", RunText::FIELDS),
        ("A robot", RobotText::FIELDS),
        ("Every `motion`", MotionText::FIELDS),
        ("Every `driver` and `controller`", DriverText::FIELDS),
        ("Every sensor", SensorText::FIELDS),
        ("`expect`", ExpectText::FIELDS),
    ];
    for (title, fields) in blocks {
        _ = writeln!(page, "\n## {title}\n");
        table(&mut page, fields);
    }
    family(&mut page, "Motions", REGISTRY.motions);
    family(&mut page, "Drivers and controllers", REGISTRY.drivers);
    family(&mut page, "Sensors", REGISTRY.sensors);
    family(&mut page, "Modifiers", REGISTRY.modifiers);
    family(&mut page, "Winds", REGISTRY.winds);
    page
}

fn family<T: ?Sized>(page: &mut String, title: &str, kinds: &[Kind<T>]) {
    _ = writeln!(page, "\n## {title}");
    for kind in kinds {
        _ = writeln!(page, "\n### `{}`\n\n{}\n", kind.name, kind.doc);
        table(page, kind.fields);
    }
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
