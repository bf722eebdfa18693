//! `muster ports`: where programs reach the robots of a scenario.

use super::{OK, PortsArguments, unloaded};
use muster::Simulation;
use serde_json::json;

/// Prints the addresses of the links of a scenario, without opening them.
pub(crate) fn ports(arguments: &PortsArguments) -> u8 {
    let path = arguments.scenario.to_string_lossy();
    let sim = match Simulation::load(&path, &arguments.over.setup()) {
        Ok(sim) => sim,
        Err(error) => return unloaded(&error),
    };
    let addresses = match sim.planned_addresses(arguments.port_base) {
        Ok(addresses) => addresses,
        Err(error) => return unloaded(&error),
    };
    if arguments.json {
        let each = addresses.iter().map(|address| {
            json!({ "link": address.link, "channel": address.channel, "direction": address.direction, "at": address.at })
        });
        say!("{:#}", serde_json::Value::Array(each.collect()));
        return OK;
    }
    if addresses.is_empty() {
        say!("no links: nothing of this scenario is bound to one (see links: in the reference)");
        return OK;
    }
    let width = |text: fn(&muster_links::link::Address) -> &str, title: &str| {
        addresses.iter().map(|address| text(address).chars().count()).chain([title.len()]).max().unwrap_or(0)
    };
    let (link, channel, direction) =
        (width(|each| each.link, "link"), width(|each| &each.channel, "channel"), width(|each| each.direction, "way"));
    say!("{:link$}  {:channel$}  {:direction$}  address", "link", "channel", "way");
    for each in &addresses {
        say!("{:link$}  {:channel$}  {:direction$}  {}", each.link, each.channel, each.direction, each.at);
    }
    OK
}
