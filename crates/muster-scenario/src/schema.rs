//! The JSON schema (draft 2020-12) of scenario files, made from the same types that read them.

use crate::text::{RobotText, ScenarioText};
use muster_core::component::{Kind, Registry};
use muster_core::spec::{Field, Schema, Spec};
use serde_json::{Map, Value, json};

/// The schema of a scenario file, for the kinds of a registry.
pub fn schema(registry: Registry) -> Value {
    let mut scenario = object(ScenarioText::FIELDS, &registry, &[]);
    let robot = object(RobotText::FIELDS, &registry, &["about"]);
    // a robot may take anything from its library file, so nothing but its name must be written
    let mut robot = robot;
    robot["required"] = json!(["name"]);
    scenario["properties"]["robots"]["items"] = robot;
    scenario["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    scenario["title"] = json!("muster scenario");
    scenario
}

fn object(fields: &[Field], registry: &Registry, also: &[&str]) -> Value {
    let mut properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.to_owned(), property(field, registry))).collect();
    // any map may include a file
    for name in also.iter().chain(&["include"]) {
        properties.insert((*name).to_owned(), json!({ "type": ["string", "array"] }));
    }
    let required: Vec<&str> = fields.iter().filter(|field| must(field)).map(|field| field.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// True for fields without default that are not optional.
fn must(field: &Field) -> bool {
    let optional = matches!((field.schema)(), Schema::Any | Schema::MapOf(_));
    (field.default)().is_none() && !optional && field.name == "kind"
}

fn property(field: &Field, registry: &Registry) -> Value {
    let mut value = form(&(field.schema)(), registry);
    value["description"] = json!(field.doc.trim());
    if let Some(default) = (field.default)() {
        value["$comment"] = json!(format!("default: {default}"));
    }
    value
}

fn form(schema: &Schema, registry: &Registry) -> Value {
    match schema {
        Schema::Number { min, max } => limited("number", *min, *max),
        Schema::Integer { min, max } => limited("integer", *min, *max),
        Schema::Bool => json!({ "type": "boolean" }),
        Schema::Text => json!({ "type": "string" }),
        Schema::Choice(words) => json!({ "enum": words }),
        Schema::List { of, length } => {
            let mut list = json!({ "type": "array", "items": form(of, registry) });
            if let Some(length) = length {
                list["minItems"] = json!(length);
                list["maxItems"] = json!(length);
            }
            list
        }
        Schema::MapOf(of) => json!({ "type": "object", "additionalProperties": form(of, registry) }),
        Schema::Block(fields) => object(fields, registry, &[]),
        Schema::Any => json!({}),
        Schema::Either(forms) => json!({ "anyOf": forms.iter().map(|each| form(each, registry)).collect::<Vec<_>>() }),
        Schema::KindOf { registry: family, common } => kind_of(family, common, registry),
    }
}

fn limited(name: &str, min: f64, max: f64) -> Value {
    let mut value = json!({ "type": [name, "string"] });
    if min.is_finite() {
        value["minimum"] = json!(min);
    }
    if max.is_finite() {
        value["maximum"] = json!(max);
    }
    value
}

fn kind_of(family: &str, common: &[Field], registry: &Registry) -> Value {
    match family {
        "motions" => kinds(registry.motions, common, registry),
        "drivers" => kinds(registry.drivers, common, registry),
        "sensors" => kinds(registry.sensors, common, registry),
        "actuators" => kinds(registry.actuators, common, registry),
        "modifiers" => kinds(registry.modifiers, common, registry),
        "extensions" => kinds(registry.extensions, common, registry),
        "links" => {
            let each = registry.links.iter().map(|kind| ("to", kind.name, kind.doc, kind.options.fields));
            any_of(each, common, registry)
        }
        _ => kinds(registry.winds, common, registry),
    }
}

fn kinds<T: ?Sized + 'static>(kinds: &[Kind<T>], common: &[Field], registry: &Registry) -> Value {
    any_of(kinds.iter().map(|kind| ("kind", kind.name, kind.doc, kind.fields)), common, registry)
}

/// One of several blocks, each told by the word under a key.
fn any_of<'a>(
    kinds: impl Iterator<Item = (&'static str, &'static str, &'static str, &'a [Field])>,
    common: &[Field],
    registry: &Registry,
) -> Value {
    let each: Vec<Value> = kinds
        .map(|(key, name, doc, fields)| {
            let mut block = object(fields, registry, &[]);
            for field in common {
                block["properties"][field.name] = property(field, registry);
            }
            block["properties"][key] = json!({ "const": name });
            block["description"] = json!(doc);
            block
        })
        .collect();
    json!({ "anyOf": each })
}
