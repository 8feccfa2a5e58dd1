//! What packets of each conversation have in their headers, as filters see it.

use crate::capture::addresses;
use crate::qdisc::filter::Header;
use crate::qdisc::headers::{ICMP, TCP, UDP, there};
use crate::spec::{Experiment, Transport};
use std::sync::Arc;

/// On the way there, of flows, then of probes; none where no filter looks at more than DSCP and ECN.
pub fn of(experiment: &Experiment) -> Arc<[Header]> {
    if !are_looked_at(experiment) {
        return Arc::default();
    }
    of_all(experiment).into()
}

/// The same, whoever looks at them.
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

/// Whether a filter looks at more of packets than DSCP and ECN.
pub fn are_looked_at(experiment: &Experiment) -> bool {
    { experiment.link_ends() }.any(|(_, _, end)| end.qdisc.looks_past_tos())
}
