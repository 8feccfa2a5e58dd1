//! Packet headers of each conversation, as filters see them.

use crate::capture::addresses;
use crate::qdisc::filter::Header;
use crate::qdisc::headers::{ICMP, TCP, UDP, there};
use crate::spec::{Experiment, Transport};
use std::sync::Arc;

/// Forward headers of flows, then probes; empty if no filter uses more than DSCP and ECN.
pub fn of(experiment: &Experiment) -> Arc<[Header]> {
    if !are_looked_at(experiment) {
        return Arc::default();
    }
    of_all(experiment).into()
}

/// The same, whether or not filters use them.
pub fn of_all(experiment: &Experiment) -> Vec<Header> {
    let addressed = addresses::of(experiment);
    let headers = addressed.iter().enumerate().map(|(index, addressed)| {
        let flow = experiment.flows.get(index);
        let protocol = match flow.map(|flow| flow.transport) {
            Some(Transport::Tcp) => TCP,
            _ if addressed.is_icmp => ICMP,
            _ => UDP,
        };
        let number = u32::from_be_bytes;
        there(
            protocol,
            (number(addressed.source), addressed.source_port),
            (number(addressed.destination), addressed.destination_port),
        )
    });
    headers.collect()
}

/// Whether any filter uses more than DSCP and ECN.
pub fn are_looked_at(experiment: &Experiment) -> bool {
    { experiment.link_ends() }.any(|(_, _, end)| end.qdisc.looks_past_tos())
}
