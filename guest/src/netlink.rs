//! Queueing disciplines over route netlink: counters, options, set-up (RFC 3549; linux/rtnetlink.h,
//! linux/gen_stats.h).

mod request;

use crate::discipline::XStats;
use crate::error::{ErrorContext, GuestError};
use crate::own_state;
use crate::sys::Socket;
use dumbbell_core::own_samples::OwnState;
use std::collections::HashMap;

pub use request::{Batch, Request, written};

const RTM_GETQDISC: u16 = 38;
const RTM_NEWQDISC: u16 = 36;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST_DUMP: u16 = 0x1 | 0x300;
const NLM_F_CREATE_EXCL: u16 = 0x400 | 0x200;
const TCA_KIND: u16 = 1;
/// Attribute of a discipline: its parameters.
pub const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
/// Attribute of statistics: the discipline's own.
pub const TCA_STATS_APP: u16 = 4;
const TCA_STATS_PKT64: u16 = 8;
const HEADER: usize = 16;
const TCMSG: usize = 20;

/// Counters of a discipline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QdiscCounters {
    /// Bytes sent.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Present backlog, packets.
    pub backlog_pkts: u32,
    /// Present backlog, bytes.
    pub backlog_bytes: u32,
    /// Packets dropped.
    pub drops: u32,
    /// Statistics of the discipline and its children.
    pub own: XStats,
}

/// A discipline of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QdiscEntry {
    parent: u32,
    counted: QdiscCounters,
    state: Option<OwnState>,
}

/// (device index, handle) to counters.
pub type Disciplines = HashMap<(u32, u32), QdiscEntry>;

/// The counters of a discipline, with the statistics of its children.
pub fn of(disciplines: &Disciplines, (device, handle): (u32, u32)) -> QdiscCounters {
    let Some(found) = disciplines.get(&(device, handle)) else {
        return QdiscCounters::default();
    };
    let mut counted = found.counted;
    for child in children(disciplines, (device, handle)) {
        counted.own = counted.own.with(of(disciplines, (device, child)).own);
    }
    counted
}

/// What a discipline counts by itself, or what its only child does.
pub fn own_state(disciplines: &Disciplines, (device, handle): (u32, u32)) -> Option<OwnState> {
    let own = disciplines.get(&(device, handle))?.state.clone();
    match children(disciplines, (device, handle))[..] {
        [child] if own.is_none() => own_state(disciplines, (device, child)),
        _ => own,
    }
}

/// Handles of the children of a discipline.
fn children(disciplines: &Disciplines, (device, handle): (u32, u32)) -> Vec<u32> {
    // The parent of a child is a class of the discipline: the same major number.
    let is_child = |(key, child): &(&(u32, u32), &QdiscEntry)| {
        key.0 == device && key.1 != handle && child.parent >> 16 == handle >> 16
    };
    let children = disciplines.iter().filter(is_child);
    let mut handles: Vec<u32> = children.map(|(key, _)| key.1).collect();
    handles.sort_unstable();
    handles
}

/// Packets in disciplines; parents count those of their children too.
pub fn held(disciplines: &Disciplines) -> u64 {
    let backlogs = disciplines.values();
    let backlogs = backlogs.map(|found| u64::from(found.counted.backlog_pkts));
    backlogs.sum()
}

/// Requests all disciplines of the socket's namespace.
pub fn disciplines(socket: &Socket) -> Result<Disciplines, GuestError> {
    let mut found = Disciplines::new();
    each_discipline(socket, &mut |body| insert(&mut found, body))?;
    Ok(found)
}

/// The options of a discipline (device index, handle) as attributes; None if it is not there.
pub fn options(
    socket: &Socket,
    (device, handle): (u32, u32),
) -> Result<Option<Vec<u8>>, GuestError> {
    let mut found = None;
    each_discipline(socket, &mut |body| {
        if (u32_at(body, 4), u32_at(body, 8)) == (device, handle) {
            found = attribute(&body[TCMSG..], TCA_OPTIONS).map(<[u8]>::to_vec);
        }
    })?;
    Ok(found)
}

/// Whether a discipline is created or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetUp {
    /// It must not be there.
    Create,
    /// It must be there.
    Change,
}

/// Where a discipline is: the number of its device, its handle, and that of the class it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the device.
    pub device: u32,
    /// Handle.
    pub handle: u32,
    /// The class, or `TC_H_ROOT`.
    pub parent: u32,
}

/// Creates or changes a discipline.
pub fn set_up(
    socket: &Socket,
    set_up: SetUp,
    place: Place,
    kind: &str,
    options: &[u8],
) -> Result<(), GuestError> {
    let mut kind_text = kind.as_bytes().to_vec();
    kind_text.push(0);
    let flags = match set_up {
        SetUp::Create => NLM_F_CREATE_EXCL,
        SetUp::Change => 0,
    };
    let mut request = Request::new(RTM_NEWQDISC, flags, format!("setting up {kind}"));
    request.header(&[0; 4]);
    for number in [place.device, place.handle, place.parent, 0] {
        request.header(&number.to_ne_bytes());
    }
    request.attribute(TCA_KIND, &kind_text);
    if !options.is_empty() {
        request.attribute(TCA_OPTIONS, options);
    }
    let mut batch = Batch::default();
    batch.add(request);
    batch.send(socket)
}

/// The message that asks for all disciplines of a namespace.
pub fn request() -> [u8; HEADER + TCMSG] {
    let mut request = [0u8; HEADER + TCMSG];
    request[0..4].copy_from_slice(&((HEADER + TCMSG) as u32).to_ne_bytes());
    request[4..6].copy_from_slice(&RTM_GETQDISC.to_ne_bytes());
    request[6..8].copy_from_slice(&NLM_F_REQUEST_DUMP.to_ne_bytes());
    request
}

/// Requests all disciplines of the socket's namespace, and takes the body of each.
fn each_discipline(socket: &Socket, take: &mut dyn FnMut(&[u8])) -> Result<(), GuestError> {
    let what = || "reading counters of queues".to_owned();
    socket.send(&request()).context(what)?;
    let mut buffer = vec![0u8; 1 << 16];
    // The kernel answers a dump synchronously, so no waiting is needed.
    while let Some(length) = socket.receive(&mut buffer).context(what)? {
        if each_message(&buffer[..length.min(buffer.len())], take) {
            return Ok(());
        }
    }
    Err(GuestError::Internal(
        "the list of queues broke off".to_owned(),
    ))
}

/// Reads the disciplines of messages. Returns whether the last message was among them.
pub fn messages(bytes: &[u8], found: &mut Disciplines) -> bool {
    each_message(bytes, &mut |body| insert(found, body))
}

/// Takes the body of each message that has a discipline. Returns whether the last one was among them.
fn each_message(mut bytes: &[u8], take: &mut dyn FnMut(&[u8])) -> bool {
    while bytes.len() >= HEADER {
        let length = u32_at(bytes, 0) as usize;
        if length < HEADER || length > bytes.len() {
            return false;
        }
        match u16_at(bytes, 4) {
            NLMSG_DONE => return true,
            RTM_NEWQDISC if length >= HEADER + TCMSG => take(&bytes[HEADER..length]),
            _ => {}
        }
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    false
}

fn insert(found: &mut Disciplines, body: &[u8]) {
    found.insert((u32_at(body, 4), u32_at(body, 8)), entry(body));
}

fn entry(body: &[u8]) -> QdiscEntry {
    let attributes = &body[TCMSG..];
    let kind = attribute(attributes, TCA_KIND).unwrap_or_default();
    let kind = kind.strip_suffix(&[0]).unwrap_or(kind);
    let kind = std::str::from_utf8(kind).unwrap_or_default();
    let stats = attribute(attributes, TCA_STATS2);
    let state = stats.and_then(|stats| own_state::read(kind, attributes, stats));
    let mut counted = stats.map(|stats| counted(kind, stats)).unwrap_or_default();
    if let Some(state) = &state {
        counted.own = own_state::xstats(state, counted.drops);
    }
    QdiscEntry {
        parent: u32_at(body, 12),
        counted,
        state,
    }
}

fn counted(kind: &str, stats: &[u8]) -> QdiscCounters {
    let mut counted = QdiscCounters::default();
    if let Some(basic) = attribute(stats, TCA_STATS_BASIC).filter(|basic| basic.len() >= 12) {
        counted.bytes = u64_at(basic, 0);
        counted.packets = u64::from(u32_at(basic, 8));
    }
    if let Some(packets) = attribute(stats, TCA_STATS_PKT64).filter(|packets| packets.len() >= 8) {
        counted.packets = u64_at(packets, 0);
    }
    if let Some(queue) = attribute(stats, TCA_STATS_QUEUE).filter(|queue| queue.len() >= 12) {
        counted.backlog_pkts = u32_at(queue, 0);
        counted.backlog_bytes = u32_at(queue, 4);
        counted.drops = u32_at(queue, 8);
    }
    // Of what was dropped at its limit dualpi2 says no more than this.
    let queue = attribute(stats, TCA_STATS_QUEUE).filter(|queue| queue.len() >= 20);
    let over_limit = queue.map_or(0, |queue| u32_at(queue, 16));
    let xstats = attribute(stats, TCA_STATS_APP).unwrap_or_default();
    let read = match kind {
        "dualpi2" => XStats::of_dualpi2(counted.drops.wrapping_sub(over_limit), xstats),
        _ => XStats::read(kind, counted.drops, xstats),
    };
    counted.own = read.unwrap_or_default();
    counted
}

/// The value of the first attribute of this type.
pub fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut all = attributes(bytes);
    all.find(|(kind, _)| *kind == wanted)
        .map(|(_, value)| value)
}

/// Types and values of attributes, up to one that is broken.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes.get(..4)?, 0));
        let value = bytes.get(4..length)?;
        // The two upper bits are flags.
        let kind = u16_at(bytes, 2) & 0x3fff;
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
        Some((kind, value))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_among_other_attributes() {
        let basic = [
            500u64.to_ne_bytes().as_slice(),
            &7u32.to_ne_bytes(),
            &[0; 4],
        ]
        .concat();
        let queue: Vec<u8> = [3u32, 42, 9, 0, 0]
            .iter()
            .flat_map(|n| n.to_ne_bytes())
            .collect();
        let stats = [
            written(TCA_STATS_BASIC, &basic),
            written(2, &[1; 5]),
            written(TCA_STATS_QUEUE, &queue),
        ];
        let found = counted("pfifo", &stats.concat());
        let expected = QdiscCounters {
            bytes: 500,
            packets: 7,
            backlog_pkts: 3,
            backlog_bytes: 42,
            drops: 9,
            own: XStats::default(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_parent_says_what_its_child_says() {
        let own = XStats {
            marked: 3,
            ..XStats::default()
        };
        let with = |parent, own| QdiscEntry {
            parent,
            counted: QdiscCounters {
                own,
                ..QdiscCounters::default()
            },
            state: None,
        };
        let found = Disciplines::from([
            ((1, 0x10_0000), with(u32::MAX, XStats::default())),
            ((1, 0x20_0000), with(0x10_0001, own)),
            ((2, 0x30_0000), with(0x10_0001, own)),
        ]);
        assert_eq!(of(&found, (1, 0x10_0000)).own, own);
        assert_eq!(of(&found, (1, 0x40_0000)), QdiscCounters::default());
    }

    #[test]
    fn broken_lengths_end_the_search() {
        assert_eq!(attribute(&[200, 0, 1, 0], 1), None);
        assert_eq!(attribute(&[0, 0, 1, 0], 1), None);
        let mut found = Disciplines::new();
        assert!(!messages(&[255; 20], &mut found));
        assert!(found.is_empty());
    }
}
