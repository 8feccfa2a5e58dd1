//! The table `captured_flows`.

use super::Capture;
use super::addresses::{FIRST_LOCAL_PORT, FIRST_PROBE_PORT, LOCAL_PORTS};
use crate::sim::table::{Column, Table, Values};
use dumbbell_capture::flows::{FlowRow, NUMBERS};
use dumbbell_capture::frame::{ICMP, TCP};
use std::net::IpAddr;

/// Marks the absence of a flow or probe.
const NONE: i32 = -1;

struct QueueFlow {
    queue: i32,
    place: i8,
    row: FlowRow,
    /// None for probes.
    flow: Option<i32>,
}

/// Where a flow is received: protocol, address and port.
pub(super) type Receiver = (u8, IpAddr, u16);

impl QueueFlow {
    /// The port of the passive side; for ICMP the identifier.
    fn called_port(&self) -> u16 {
        match self.row.is_reply {
            false => self.row.ends.destination_port,
            true => self.row.ends.source_port,
        }
    }

    fn calling_port(&self) -> u16 {
        match self.row.is_reply {
            false => self.row.ends.source_port,
            true => self.row.ends.destination_port,
        }
    }

    fn flow(&self) -> i32 {
        self.flow.unwrap_or(NONE)
    }

    fn probe(&self) -> i32 {
        match (self.flow, self.row.ends.protocol) {
            (Some(_), _) => NONE,
            (None, ICMP) => i32::from(self.called_port()),
            (None, _) => i32::from(self.calling_port().saturating_sub(FIRST_PROBE_PORT)),
        }
    }

    /// Number of the connection, from its source port; ports repeat after the range is used up.
    fn connection(&self) -> i64 {
        if self.row.ends.protocol != TCP {
            return i64::from(self.row.connection);
        }
        let place = self.calling_port().saturating_sub(FIRST_LOCAL_PORT);
        i64::from(place) + 1 + i64::from(self.row.connection - 1) * i64::from(LOCAL_PORTS)
    }
}

impl Capture {
    /// The flow counters of every queue that asks for them; None if no queue does.
    pub fn table(&self) -> Option<Table> {
        let mut rows = Vec::new();
        let flow_of = |row: &FlowRow| {
            let ends = &row.ends;
            let receiver = match row.is_reply {
                false => (ends.protocol, ends.destination, ends.destination_port),
                true => (ends.protocol, ends.source, ends.source_port),
            };
            self.receivers.get(&receiver).copied()
        };
        let mut is_asked_for = false;
        for (queue, point) in (0..).zip(&self.points) {
            for (place, flows) in (0..).zip(point.flows.iter().flat_map(|both| both.iter())) {
                is_asked_for = true;
                rows.extend(flows.rows().map(|row| QueueFlow {
                    queue,
                    place,
                    flow: flow_of(&row),
                    row,
                }));
            }
        }
        if !is_asked_for {
            return None;
        }
        let mut columns = vec![
            column(
                "queue",
                Values::I32(rows.iter().map(|row| row.queue).collect()),
            ),
            column(
                "place",
                Values::I8(rows.iter().map(|row| row.place).collect()),
            ),
            column(
                "flow",
                Values::I32(rows.iter().map(QueueFlow::flow).collect()),
            ),
            column(
                "probe",
                Values::I32(rows.iter().map(QueueFlow::probe).collect()),
            ),
            column(
                "connection",
                Values::I64(rows.iter().map(QueueFlow::connection).collect()),
            ),
            column(
                "is_reply",
                Values::I8(rows.iter().map(|row| i8::from(row.row.is_reply)).collect()),
            ),
        ];
        for (name, value) in NUMBERS {
            let values = rows.iter().map(|row| value(&row.row)).collect();
            columns.push(column(name, Values::I64(values)));
        }
        Some(Table {
            name: "captured_flows",
            columns,
        })
    }
}

fn column(name: &'static str, values: Values) -> Column {
    Column { name, values }
}
