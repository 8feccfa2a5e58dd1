//! Set-up of `dualpi2` over route netlink: few distributions have a `tc` that knows it, and its attributes have
//! other numbers in the L4S team's kernels than in Linux from 6.17 on (linux/pkt_sched.h, `TCA_DUALPI2_*`).

use crate::error::GuestError;
use crate::netlink::{self, Place, SetUp, written};
use crate::sys::Socket;
use dumbbell_tc::qdisc::Dualpi2;
use serde::Serialize;

const KIND: &str = "dualpi2";
/// An attribute whose length tells the two numberings apart: a number of packets, or a flag of one byte.
const TELLING: u16 = 9;

/// Which attributes a kernel's `dualpi2` has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Numbering {
    /// Linux from 6.17 on.
    Linux,
    /// Kernels of the L4S team before: no `memlimit`, no `min_qlen_step`.
    BeforeLinux,
}

/// Sets up the discipline of a description.
pub fn add(socket: &Socket, place: Place, asked: &Dualpi2) -> Result<(), GuestError> {
    netlink::set_up(socket, SetUp::Create, place, KIND, &[])?;
    let options = match numbering(socket, place)? {
        Numbering::Linux => of_linux(asked),
        Numbering::BeforeLinux => before_linux(asked),
    };
    netlink::set_up(socket, SetUp::Change, place, KIND, &options)
}

/// Which attributes this kernel has, found by making a discipline; None if it has no `dualpi2`.
pub fn try_out(socket: &Socket, place: Place) -> Result<Option<Numbering>, GuestError> {
    match netlink::set_up(socket, SetUp::Create, place, KIND, &[]) {
        Ok(()) => numbering(socket, place).map(Some),
        Err(_) => Ok(None),
    }
}

/// The numbering of a discipline that is there.
fn numbering(socket: &Socket, place: Place) -> Result<Numbering, GuestError> {
    let options = netlink::options(socket, (place.device, place.handle))?.unwrap_or_default();
    match netlink::attribute(&options, TELLING).map(<[u8]>::len) {
        Some(4) => Ok(Numbering::Linux),
        Some(1) => Ok(Numbering::BeforeLinux),
        _ => Err(GuestError::Internal(format!(
            "the options of this kernel's {KIND} are not known"
        ))),
    }
}

fn of_linux(asked: &Dualpi2) -> Vec<u8> {
    let mut options = Options::default();
    options.number(1, asked.limit_packets);
    if let Some(bytes) = asked.memlimit_bytes {
        options.number(2, bytes);
    }
    options.number(3, microseconds(asked.target_ns));
    options.number(4, microseconds(asked.tupdate_ns));
    options.number(5, asked.alpha);
    options.number(6, asked.beta);
    if let Some(packets) = asked.step_thresh_packets {
        options.number(7, packets);
    }
    if let Some(ns) = asked.step_thresh_ns {
        options.number(8, microseconds(ns));
    }
    options.number(9, asked.min_qlen_step_packets);
    options.flags(10, asked);
    options.0
}

fn before_linux(asked: &Dualpi2) -> Vec<u8> {
    let mut options = Options::default();
    options.number(1, asked.limit_packets);
    options.number(2, microseconds(asked.target_ns));
    options.number(3, microseconds(asked.tupdate_ns));
    options.number(4, asked.alpha);
    options.number(5, asked.beta);
    options.number(6, asked.step_thresh_ns.map_or(0, microseconds));
    options.byte(7, 0); // the threshold is a time
    options.flags(8, asked);
    options.0
}

fn microseconds(ns: u64) -> u32 {
    u32::try_from(ns / 1000).unwrap_or(u32::MAX)
}

/// Attributes, one after the other.
#[derive(Debug, Default)]
struct Options(Vec<u8>);

impl Options {
    fn number(&mut self, kind: u16, value: u32) {
        self.0.extend(written(kind, &value.to_ne_bytes()));
    }

    fn byte(&mut self, kind: u16, value: u8) {
        self.0.extend(written(kind, &[value]));
    }

    /// The six that follow each other in both numberings, from this number on.
    fn flags(&mut self, first: u16, asked: &Dualpi2) {
        let l4s_mask = if asked.l4s_ect { 1 } else { 3 };
        let values = [
            asked.coupling_factor,
            u8::from(asked.drop_on_overload),
            u8::from(!asked.drop_dequeue),
            asked.classic_protection_percent,
            l4s_mask,
            u8::from(asked.split_gso),
        ];
        for (kind, value) in (first..).zip(values) {
            self.byte(kind, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dumbbell_tc::qdisc::{self, Qdisc};

    fn asked(text: &str) -> Dualpi2 {
        let parsed = qdisc::parse(text).expect("it is right");
        let Qdisc::Dualpi2(found) = parsed else {
            panic!("{text}")
        };
        found
    }

    fn number(options: &[u8], kind: u16) -> Option<u32> {
        netlink::attribute(options, kind).map(|value| match value {
            [byte] => u32::from(*byte),
            word => netlink::u32_at(word, 0),
        })
    }

    #[test]
    fn both_numberings_say_the_same() {
        let asked = asked("dualpi2 limit 90 target 7ms step_thresh 3ms min_qlen_step 2 any_ect");
        let (linux, before) = (of_linux(&asked), before_linux(&asked));
        let told = |options: &[u8], kinds: [u16; 4]| kinds.map(|kind| number(options, kind));
        let expected = [Some(90), Some(7000), Some(3000), Some(3)];
        assert_eq!(told(&linux, [1, 3, 8, 14]), expected);
        assert_eq!(told(&before, [1, 2, 6, 12]), expected);
        assert_eq!(number(&linux, 9), Some(2));
        assert_eq!(number(&linux, 2), None); // the kernel's own limit
    }

    #[test]
    fn a_threshold_in_packets_is_one() {
        let options = of_linux(&asked("dualpi2 step_thresh 5p"));
        assert_eq!((number(&options, 7), number(&options, 8)), (Some(5), None));
    }
}
