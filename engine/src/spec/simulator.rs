//! What the simulator cannot do yet. A description may be one that only the kernel runs, so
//! this is apart from the checks of the description itself.

use super::{Experiment, Flow, Transport};
use crate::capture::{self, addresses};
use crate::cca;
use crate::error::EngineError;
use crate::net::route::Routes;
use crate::qdisc;
use crate::tcp::{IP_HEADER_BYTES, segment};

/// Headers and options of any segment, and a byte of payload.
const LEAST_TCP_MTU: u32 = IP_HEADER_BYTES + segment::LARGEST_HEADER_BYTES + 1;

impl Experiment {
    /// Refuses what a simulated network cannot have.
    pub fn check_simulator(&self) -> Result<(), EngineError> {
        if self
            .link_ends()
            .any(|(_, _, end)| capture::is_at_queue(end))
        {
            let most = [
                ("flows", self.flows.len(), addresses::MOST_FLOWS),
                ("probes", self.probes.len(), addresses::MOST_PROBES),
            ];
            for (path, count, most) in most {
                if count > most {
                    let allowed = format!("at most {most}, where packets are captured");
                    return Err(EngineError::spec(path, count, allowed));
                }
            }
        }
        for (index, flow) in self.flows.iter().enumerate() {
            if flow.transport == Transport::Tcp {
                self.check_tcp(&format!("flows[{index}]"), flow)?;
            }
        }
        Ok(())
    }

    fn check_tcp(&self, path: &str, flow: &Flow) -> Result<(), EngineError> {
        let name = flow.tcp.as_ref().map_or("", |tcp| &tcp.congestion_control);
        if !cca::NAMES.contains(&name) {
            let path = format!("{path}.tcp.congestion_control");
            let names = cca::NAMES.join(", ");
            let allowed = format!("{names} in the simulator; others run on the kernel");
            return Err(EngineError::spec(path, name, allowed));
        }
        let ends: Vec<_> = self.link_ends().map(|(_, _, end)| end).collect();
        let (out, back) = (
            self.way(&flow.from, &flow.to),
            self.way(&flow.to, &flow.from),
        );
        if back.is_empty() {
            let allowed = "a host that links lead back from, for acknowledgements";
            return Err(EngineError::spec(format!("{path}.to"), &flow.to, allowed));
        }
        let mut way = out.iter().chain(&back).map(|link| ends[*link as usize]);
        let mtu = way.clone().map(|end| end.mtu_bytes).min().unwrap_or(0);
        if mtu < LEAST_TCP_MTU {
            let allowed = format!("a way whose links take packets of {LEAST_TCP_MTU} bytes");
            return Err(EngineError::spec(format!("{path}.to"), mtu, allowed));
        }
        // Without any delay a window would be sent, acknowledged and sent again for ever in one
        // instant.
        let takes_time = way
            .any(|end| end.rate_bps > 0 || end.delay_ns > 0 || !qdisc::is_plain_fifo(&end.qdisc));
        if takes_time {
            return Ok(());
        }
        let allowed = "a host on whose way a link has a rate or a delay";
        Err(EngineError::spec(format!("{path}.to"), &flow.to, allowed))
    }

    /// The links from one host to another; none where there is no way.
    fn way(&self, from: &str, to: &str) -> Vec<u32> {
        let hops = self.hops();
        let index = |name: &str| self.host_index(name).expect("hosts were checked");
        let ends = [index(from), index(to)];
        let routes = Routes::new(self.hosts.len(), &hops, ends);
        let row = routes.row(index(to));
        let path = routes.path(&hops, row, index(from), index(to));
        path.unwrap_or_default()
    }
}
