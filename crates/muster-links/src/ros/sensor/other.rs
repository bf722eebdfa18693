//! Sensors for which there is no common message: one of their own, with their fields by name.

use super::{Form, Made, Mouth, Place, Source, Vocabulary};
use crate::ros::cdr::{Definition, Field, Writer, schema_text};
use crate::ros::messages::Header;
use crate::ros::names;
use muster_core::component::Sense;
use muster_core::time::SimTime;

/// A message with a header and the sensor's fields as `float64`; with a list of records if a sample holds any number.
pub(super) fn other(source: &Source<'_>, vocabulary: &mut Vocabulary) -> Made {
    let mut fields = String::new();
    for field in source.slot.fields().iter().filter(|field| field.len > 0) {
        let name = field_name(field.name, field.down);
        match field.len {
            1 => fields.push_str(&format!("float64 {name}\n")),
            len => fields.push_str(&format!("float64[{len}] {name}\n")),
        }
    }
    let records = matches!(source.slot.sensor.sense(), Sense::World(_));
    let name = vocabulary.name(&names::type_word(source.slot.kind), &format!("{records}\n{fields}"));
    let mut definitions = Vec::new();
    let text = match records {
        true => format!("std_msgs/Header header\nmuster_msgs/{name}Record[] records\n"),
        false => format!("std_msgs/Header header\n{fields}"),
    };
    definitions.push(Definition { name: format!("muster_msgs/{name}"), text });
    if records {
        definitions.push(Definition { name: format!("muster_msgs/{name}Record"), text: fields });
    }
    Header::define(&mut definitions);
    let form = Other { header: source.header(), record: source.record().max(1), records };
    let topics = vec![("", format!("muster_msgs/msg/{name}"), schema_text(&definitions))];
    Made { place: Place::Own, topics, form: Box::new(form) }
}

/// The name of a field as definitions allow it; axes with z down are told by the ending REP-103 has for them.
fn field_name(name: &str, down: bool) -> String {
    let mut text = names::token(name).to_ascii_lowercase();
    if down {
        text.push_str("_ned");
    }
    while text.contains("__") {
        text = text.replace("__", "_");
    }
    text.trim_matches('_').to_owned()
}

struct Other {
    header: Header,
    record: usize,
    records: bool,
}

impl Form for Other {
    fn say(&mut self, stamp: SimTime, values: &[f64], mouth: &mut Mouth<'_>) {
        self.header.stamp = stamp.into();
        let writer: &mut Writer = mouth.writer;
        writer.begin();
        self.header.write(writer);
        let whole = values.len() - values.len() % self.record;
        if self.records {
            writer.length(whole / self.record);
        } else if whole != self.record {
            return;
        }
        f64::write_all(&values[..whole], writer);
        (mouth.hear)(0, writer.bytes());
    }
}
