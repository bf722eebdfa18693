//! `muster fit-range`: the error model of a range sensor from what one measured at known distances.

use super::{FAILED, FitArguments, OK, USAGE};
use muster::library;
use muster_core::node::{Node, Value};
use muster_models::sensors::range::fit::{Fit, Pair, fit};
use serde_json::json;

/// Rays on known distances, and the names of the materials they met; the first is what names none.
struct Table {
    pairs: Vec<Pair>,
    materials: Vec<String>,
}

/// Fits, prints and returns the exit code.
pub(crate) fn fit_range(what: &FitArguments) -> u8 {
    let preset = match what.model.as_deref().map(preset).transpose() {
        Ok(preset) => preset,
        Err(wrong) => {
            eprintln!("error: --model: {wrong}");
            return USAGE;
        }
    };
    let text = std::fs::read_to_string(&what.scan).map_err(|error| error.to_string());
    let table = text.and_then(|text| read(&text));
    let found = table.and_then(|table| Ok((fit(&table.pairs, table.materials.len(), what.quadratic)?, table)));
    match found {
        Ok((fit, table)) if what.json => say!("{:#}", as_json(&fit, &table)),
        Ok((fit, table)) => print(&fit, &table, what.model.as_deref(), preset.as_ref()),
        Err(wrong) => {
            eprintln!("error: {}: {wrong}", what.scan.display());
            return FAILED;
        }
    }
    OK
}

/// The errors of a preset of the library.
fn preset(name: &str) -> Result<Node, String> {
    let file = format!("sensors/{name}.yaml");
    let Some((_, text)) = library::FILES.iter().find(|(known, _)| *known == file) else {
        let names = library::names("sensors");
        let near = muster_core::node::nearest(name, names).map(|near| format!(" (did you mean {near:?}?)"));
        return Err(format!("found {name:?}, expected a preset{}", near.unwrap_or_default()));
    };
    let node = muster_scenario::yaml::parse(text, 0).unwrap_or_default();
    Ok(node.get("errors").cloned().unwrap_or_default())
}

/// Reads a table with commas between columns; the first line names them.
fn read(text: &str) -> Result<Table, String> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let header: Vec<&str> = lines.next().map(|(_, line)| line.split(',').map(str::trim).collect()).unwrap_or_default();
    let column = |name: &str| header.iter().position(|known| *known == name);
    let (Some(truth), Some(measured)) = (column("true_m"), column("measured_m")) else {
        return Err(format!("found columns {}, expected true_m and measured_m", header.join(", ")));
    };
    let (material, incidence) = (column("material"), column("incidence_deg"));
    let mut table = Table { pairs: Vec::new(), materials: vec!["plain".to_owned()] };
    for (number, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default();
        let parse = |at: usize| {
            let wrong = || format!("line {number}: found {:?}, expected a number for {}", cell(at), header[at]);
            cell(at).parse::<f64>().ok().ok_or_else(wrong)
        };
        if cells.len() < header.len() {
            return Err(format!("line {number}: found {} columns, expected {}", cells.len(), header.len()));
        }
        let true_m = parse(truth)?;
        if !(true_m.is_finite() && true_m >= 0.0) {
            return Err(format!("line {number}: found {true_m}, expected a true distance of at least 0"));
        }
        let measured_m = if cell(measured).is_empty() { None } else { Some(parse(measured)?) };
        let incidence_rad = incidence.filter(|&at| !cell(at).is_empty()).map(parse).transpose()?.map(f64::to_radians);
        let name = material.map(cell).filter(|name| !name.is_empty()).unwrap_or("plain");
        let known = table.materials.iter().position(|known| known == name);
        let material = known.unwrap_or_else(|| {
            table.materials.push(name.to_owned());
            table.materials.len() - 1
        });
        let measured_m = measured_m.filter(|measured_m| measured_m.is_finite());
        table.pairs.push(Pair { true_m, measured_m, material, incidence_rad });
    }
    Ok(table)
}

/// Keys and values of the sensor's errors.
fn of_sensor(fit: &Fit) -> [(&'static str, f64); 7] {
    let [noise_m, noise_per_m, noise_per_m2] = fit.noise;
    [
        ("bias_m", fit.bias_m),
        ("bias_per_m", fit.bias_per_m),
        ("noise_m", noise_m),
        ("noise_per_m", noise_per_m),
        ("noise_per_m2", noise_per_m2),
        ("dropout", fit.dropout),
        ("outliers", fit.outliers),
    ]
}

/// Name, rays, and keys and values of each material; that of reference too, as the library may say otherwise of it, unless
/// it is what names none.
fn of_materials<'a>(
    fit: &'a Fit,
    table: &'a Table,
) -> impl Iterator<Item = (&'a str, usize, [(&'static str, f64); 4])> {
    let others = fit.materials.iter().zip(&table.materials).enumerate();
    let met = others.filter(|(at, (material, _))| (*at != fit.reference || *at > 0) && material.rays > 0);
    met.map(|(_, (material, name))| {
        let values = [
            ("bias_m", material.bias_m),
            ("noise_factor", material.noise_factor),
            ("dropout", material.dropout),
            ("dropout_from_deg", material.dropout_from_rad.to_degrees()),
        ];
        (name.as_str(), material.rays, values)
    })
}

fn as_json(fit: &Fit, table: &Table) -> serde_json::Value {
    let map = |values: &[(&'static str, f64)]| {
        let pairs = values.iter().map(|(key, value)| ((*key).to_owned(), json!(value)));
        serde_json::Value::Object(pairs.collect())
    };
    let materials = of_materials(fit, table).map(|(name, _, values)| (name.to_owned(), map(&values)));
    json!({
        "rays": table.pairs.len(),
        "lost": table.pairs.iter().filter(|pair| pair.measured_m.is_none()).count(),
        "reference": table.materials[fit.reference],
        "residual": fit.residual,
        "errors": map(&of_sensor(fit)),
        "materials": serde_json::Value::Object(materials.collect()),
    })
}

fn print(fit: &Fit, table: &Table, model: Option<&str>, preset: Option<&Node>) {
    let lost = table.pairs.iter().filter(|pair| pair.measured_m.is_none()).count();
    say!("{} rays, {lost} lost; residuals of {:.3} standard deviations", table.pairs.len(), fit.residual);
    say!("materials are compared with {}", table.materials[fit.reference]);
    say!("\n{:<14} {:>12} {:>12}", "errors", "fitted", model.unwrap_or_default());
    for (key, value) in of_sensor(fit) {
        let known = preset.map(|preset| match preset.get(key).map(|node| &node.value) {
            Some(Value::Number(known)) => format!("{known:.5}"),
            Some(Value::Integer(known)) => known.to_string(),
            _ => "0".to_owned(),
        });
        say!("{key:<14} {value:>12.5} {:>12}", known.unwrap_or_default());
    }
    if of_materials(fit, table).next().is_some() {
        let [a, b, c, d] = ["bias_m", "noise_factor", "dropout", "from_deg"];
        say!("\n{:<14} {:>8} {a:>12} {b:>12} {c:>12} {d:>12}", "material", "rays");
        for (name, rays, [a, b, c, d]) in of_materials(fit, table) {
            say!("{name:<14} {rays:>8} {:>12.5} {:>12.3} {:>12.4} {:>12.1}", a.1, b.1, c.1, d.1);
        }
    }
    say!("\n# into the sensor");
    if let Some(model) = model {
        say!("preset: {model}");
    }
    say!("accuracy: {}", if of_materials(fit, table).next().is_some() { "material" } else { "sensor" });
    let block = |values: &[(&str, f64)]| {
        let pairs: Vec<String> = values.iter().map(|(key, value)| format!("{key}: {value:.6}")).collect();
        format!("{{{}}}", pairs.join(", "))
    };
    say!("errors: {}", block(&of_sensor(fit)));
    for (at, (name, _, values)) in of_materials(fit, table).enumerate() {
        if at == 0 {
            say!("\n# into the world\nmaterials:");
        }
        say!("  {name}: {}", block(&values));
    }
}
