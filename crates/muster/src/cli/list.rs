//! `muster list`: what can be used in scenarios, made from the registries.

use super::OK;
use muster::library;
use muster_core::component::{Kind, Registry};
use muster_core::node::Node;
use muster_core::service::{Form, Parameter, Service};
use muster_core::spec::Field;
use serde_json::{Value, json};

/// What can be listed.
pub(crate) const FAMILIES: [&str; 16] = [
    "actuators",
    "components",
    "demos",
    "drivers",
    "extensions",
    "links",
    "materials",
    "modifiers",
    "motions",
    "objects",
    "presets",
    "robots",
    "sensors",
    "services",
    "winds",
    "worlds",
];

/// One thing that can be used.
struct Item {
    family: &'static str,
    name: String,
    doc: String,
    fields: &'static [Field],
    service: Option<&'static Service>,
}

/// Lists a family, or everything.
pub(crate) fn list(kinds: Registry, what: Option<&str>, as_json: bool) -> u8 {
    let components = ["actuators", "drivers", "extensions", "modifiers", "motions", "sensors", "winds"];
    let wanted = |item: &Item| match what {
        None => true,
        Some("components") => components.contains(&item.family),
        Some(family) => item.family == family,
    };
    let items: Vec<Item> = items(kinds).into_iter().filter(wanted).collect();
    if as_json {
        say!("{:#}", Value::from(items.iter().map(item_json).collect::<Vec<_>>()));
        return OK;
    }
    let mut family = "";
    for item in &items {
        if item.family != family {
            say!("{}{}:", if family.is_empty() { "" } else { "\n" }, item.family);
            family = item.family;
        }
        say!("  {:<16} {}", item.name, item.doc);
        if what.is_some_and(|what| what != "components") {
            print_fields(item.fields);
            item.service.into_iter().for_each(print_service);
        }
    }
    OK
}

fn print_fields(fields: &[Field]) {
    for field in fields {
        let default = (field.default)().map_or_else(String::new, |default| format!(" = {default}"));
        say!("    {}{default}  ({})  {}", field.name, (field.schema)().type_name(), field.doc.trim());
    }
}

fn print_service(service: &Service) {
    say!("    {}", service.usage());
    for parameter in service.parameters {
        say!("    {parameter}  {}", parameter.doc);
    }
}

fn items(kinds: Registry) -> Vec<Item> {
    let mut items = Vec::new();
    let library_item = |family, name: &str| {
        let text = library::FILES.iter().find(|(file, _)| *file == format!("{family}/{name}.yaml"));
        let node = text.and_then(|(_, text)| muster_scenario::yaml::parse(text, 0).ok()).unwrap_or_default();
        let about = node.get("about").and_then(Node::text).unwrap_or_default();
        let words: Vec<&str> = about.split_whitespace().collect();
        Item { family, name: name.to_owned(), doc: words.join(" "), fields: &[], service: None }
    };
    items.extend(kinds.actuators.iter().map(|kind| item("actuators", kind)));
    items.extend(library::names("demos").map(|name| library_item("demos", name)));
    items.extend(kinds.drivers.iter().map(|kind| item("drivers", kind)));
    items.extend(kinds.extensions.iter().map(|kind| item("extensions", kind)));
    items.extend(kinds.links.iter().map(|kind| Item {
        family: "links",
        name: kind.name.to_owned(),
        doc: kind.doc.to_owned(),
        fields: kind.options.fields,
        service: None,
    }));
    items.extend(materials());
    items.extend(kinds.modifiers.iter().map(|kind| item("modifiers", kind)));
    items.extend(kinds.motions.iter().map(|kind| item("motions", kind)));
    items.extend(library::names("objects").map(|name| library_item("objects", name)));
    items.extend(library::names("sensors").map(|name| Item { family: "presets", ..library_item("sensors", name) }));
    items.extend(library::names("robots").map(|name| library_item("robots", name)));
    items.extend(kinds.sensors.iter().map(|kind| item("sensors", kind)));
    items.extend(kinds.services.iter().map(|service| Item {
        family: "services",
        name: service.name.to_owned(),
        doc: service.doc.to_owned(),
        fields: &[],
        service: Some(service),
    }));
    items.extend(kinds.winds.iter().map(|kind| item("winds", kind)));
    items.extend(library::names("worlds").map(|name| library_item("worlds", name)));
    items
}

/// The materials of the library.
fn materials() -> Vec<Item> {
    let text = library::FILES.iter().find(|(file, _)| *file == "materials.yaml").map_or("", |(_, text)| text);
    let node = muster_scenario::yaml::parse(text, 0).unwrap_or_default();
    let all = node.get("materials").and_then(Node::entries).unwrap_or_default();
    let item = |entry: &muster_core::node::Entry| {
        let about = entry.value.get("about").and_then(Node::text).unwrap_or_default();
        Item { family: "materials", name: entry.key.clone(), doc: about.to_owned(), fields: &[], service: None }
    };
    all.iter().map(item).collect()
}

fn item<T: ?Sized + 'static>(family: &'static str, kind: &Kind<T>) -> Item {
    Item { family, name: kind.name.to_owned(), doc: kind.doc.to_owned(), fields: kind.fields, service: None }
}

/// A service as links see it: how it is called, and whether the answer comes at once.
fn service_json(service: &Service) -> Value {
    let parameter = |parameter: &Parameter| {
        let (form, default) = match parameter.form {
            Form::Word => ("word", Value::Null),
            Form::Robot => ("robot", Value::Null),
            Form::Number => ("number", Value::Null),
            Form::NumberOr(value) => ("number", json!(value)),
            Form::NumberOrKept => ("number", json!("kept")),
        };
        json!({ "name": parameter.name, "type": form, "default": default, "doc": parameter.doc })
    };
    let parameters: Vec<Value> = service.parameters.iter().map(parameter).collect();
    json!({ "service": service.name, "usage": service.usage(), "doc": service.doc, "parameters": parameters,
            "repeated": service.repeated, "takes_time": service.done.is_some() })
}

fn item_json(item: &Item) -> Value {
    if let Some(service) = item.service {
        return service_json(service);
    }
    let properties: Vec<Value> = item
        .fields
        .iter()
        .map(|field| {
            let default = (field.default)();
            json!({ "name": field.name, "type": (field.schema)().type_name(), "default": default,
                    "value": default, "doc": field.doc.trim() })
        })
        .collect();
    json!({ "kind": item.name, "class": item.family.trim_end_matches('s'), "doc": item.doc, "properties": properties })
}
