//! Filters: they assign packets to classes (tc(8), tc-u32(8), tc-flower(8), tc-fw(8), tc-matchall(8)).
//!
//! | clause | here |
//! | --- | --- |
//! | `matchall flowid H:C` | yes |
//! | `u32 match ip src\|dst\|sport\|dport\|protocol\|dsfield\|tos\|precedence\|icmp_type\|icmp_code ...` | yes |
//! | `u32 match u8\|u16\|u32 VALUE MASK at OFFSET` | yes, of the fields above |
//! | `flower src_ip\|dst_ip\|ip_proto\|src_port\|dst_port\|ip_tos ...` | yes |
//! | `basic match 'meta(priority eq N)'` | yes, as u32 |
//! | `handle MARK[/MASK] fw` | yes; no simulated packet has a mark, so it matches none |
//! | `protocol ip` or `all` | yes; every simulated packet is IPv4 |
//! | `prio` (or `pref`): the lowest first | yes |
//! | without `prio`: 49152, then one less than the lowest above 32767 | yes |
//! | several filters of one `prio`: of one kind and protocol, in the order given | yes |
//! | flower, one `prio`: filters on the same fields are grouped, in the order of the first of each group | yes |
//! | `flowid` (or `classid`) `H:C` | yes |
//! | `:C` or `C` | for prio and ets, where it means the same |
//! | filters at a class, actions, `police`, hash tables, `bpf`, `flow` | no |

pub(super) mod basic;
mod condition;
mod flower;
mod u32;

pub use crate::notice::Notice;
pub use condition::{Condition, Field, Fragment, Header, Wanted};

use super::QdiscError;
use crate::c_numbers::{Base, strtol};
use crate::nearest::nearest;
use crate::reason::Reason;
use crate::units::shortened;
use serde::{Deserialize, Serialize};

/// Priority that Linux gives the first filter without `prio` (`tcf_auto_prio`). Each further one gets the
/// lowest priority not below [`FIRST_AUTOMATIC`], minus one.
const FIRST_PRIORITY: u16 = 0xC000;
/// Lower bound of the search for that lowest priority (`tc_new_tfilter`).
const FIRST_AUTOMATIC: u16 = 0x8000;

/// A filter of a classful discipline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filter {
    /// Filters are evaluated in ascending order of this number, at least 1.
    pub priority: u16,
    /// The packets that it is evaluated for.
    pub protocol: Protocol,
    /// The tc syntax in which it is written.
    pub kind: Kind,
    /// The conditions, in ascending order of the fields; without conditions every packet matches.
    pub conditions: Vec<Condition>,
    /// The class of matching packets.
    pub minor: u16,
}

/// The protocol of a filter, as `tc filter` names it. All packets here are IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Any protocol.
    All,
    /// IPv4.
    Ip,
}

/// The kind of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Matches every packet.
    Matchall,
    /// Matches bits of the headers.
    U32,
    /// Matches fields of the headers.
    Flower,
    /// Matches the firewall mark.
    Fw,
}

/// Disciplines that evaluate only the minor number of a class. In others the class `:C` is not found, and
/// packets are treated as unmatched.
pub(super) const MINORS_ALONE: [&str; 2] = ["prio", "ets"];

const KINDS: &[(&str, Kind)] = &[
    ("matchall", Kind::Matchall),
    ("u32", Kind::U32),
    ("flower", Kind::Flower),
    ("fw", Kind::Fw),
];
/// Filter kinds of tc that are not implemented.
const OTHER_KINDS: &[&str] = &["bpf", "flow", "route", "rsvp", "tcindex", "xt"];
/// Protocols of tc that no simulated packet has.
const OTHER_PROTOCOLS: &[&str] = &[
    "ipv6", "arp", "802.1q", "802.1Q", "802_3", "802.1ad", "802.1AD", "rarp", "ppp_ses",
    "ppp_disc", "mpls_uc", "mpls_mc", "ipx", "atalk", "aarp", "loop", "batman", "tipc", "lldp",
];

/// Why the words of a filter are refused.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) said: String,
    /// The reason, if tc accepts them.
    pub(super) why: Option<Reason>,
    pub(super) hint: Option<String>,
}

impl Refused {
    fn wrong(said: impl Into<String>) -> Refused {
        let said = said.into();
        Refused {
            said,
            why: None,
            hint: None,
        }
    }

    /// Words that tc accepts.
    pub(super) fn not_modelled(said: impl Into<String>) -> Refused {
        let why = Some(Reason::NotModelled);
        Refused {
            why,
            ..Refused::wrong(said)
        }
    }

    fn with_hint(mut self, word: &str, known: &[&'static str]) -> Refused {
        self.hint = nearest(word, known.iter().copied()).map(str::to_owned);
        self
    }
}

/// The words of a line before the filter kind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Heading<'a> {
    pub(super) protocol: Option<Protocol>,
    pub(super) handle: Option<&'a str>,
}

impl Protocol {
    /// None for a protocol that no simulated packet has.
    pub(super) fn read(word: &str) -> Result<Option<Protocol>, Refused> {
        let said = shortened(word);
        match word {
            "all" => Ok(Some(Protocol::All)),
            "ip" | "ipv4" => Ok(Some(Protocol::Ip)),
            other if OTHER_PROTOCOLS.contains(&other) => Ok(None),
            _ => {
                let refused = Refused::wrong(format!("protocol {said:?} is neither ip nor all"));
                Err(refused.with_hint(word, &["ip", "all"]))
            }
        }
    }

    fn word(self) -> &'static str {
        match self {
            Protocol::All => "all",
            Protocol::Ip => "ip",
        }
    }
}

impl Filter {
    /// Whether a packet with these headers matches.
    pub fn matches(&self, header: &Header) -> bool {
        let looks = condition::Looks {
            into_first_fragments: self.kind != Kind::Flower,
        };
        { self.conditions.iter() }.all(|condition| condition.holds(header, looks))
    }

    /// Whether it uses more than the TOS byte (DSCP and ECN).
    pub fn looks_past_tos(&self) -> bool {
        { self.conditions.iter() }.any(|condition| condition.field != Field::Tos)
    }

    /// Whether it matches the firewall mark, which no packet has.
    pub fn is_of_marks(&self) -> bool {
        self.kind == Kind::Fw
    }

    /// The notice that no flow matches.
    pub fn matches_no_flow(&self) -> Notice {
        let mut ports = self.conditions.iter().filter_map(|each| match *each {
            Condition {
                field: Field::DestinationPort,
                wanted:
                    Wanted::Masked {
                        value,
                        mask: 0xffff,
                    },
            } => Some(value),
            _ => None,
        });
        let instead = match ports.next() {
            Some(port) => format!("port = {port}"),
            None => "u32 match ip dport 10000 0xffff".to_owned(),
        };
        Notice::MatchesNoFlow {
            value: self.matched_words(),
            means: "no packet".to_owned(),
            instead,
        }
    }

    /// The words after `filter add dev X parent H:`, with `handle` as the major number of the class.
    pub(super) fn words(&self, handle: u16) -> String {
        let Filter {
            priority, minor, ..
        } = self;
        let protocol = self.protocol.word();
        let of = format!("protocol {protocol} prio {priority}");
        let to = format!("flowid {handle:x}:{minor:x}");
        match self.kind {
            Kind::Matchall => format!("{of} matchall {to}"),
            Kind::Fw => format!("{of} handle {} fw {to}", fw_words(&self.conditions)),
            Kind::U32 => format!("{of} u32 {} {to}", u32::words(&self.conditions)),
            Kind::Flower => match flower::words(&self.conditions) {
                words if words.is_empty() => format!("{of} flower {to}"),
                words => format!("{of} flower {words} {to}"),
            },
        }
    }

    /// The match as tc text.
    pub fn matched_words(&self) -> String {
        match self.kind {
            Kind::Matchall => "matchall".to_owned(),
            Kind::Fw => format!("handle {} fw", fw_words(&self.conditions)),
            Kind::U32 => format!("u32 {}", u32::words(&self.conditions)),
            Kind::Flower => format!("flower {}", flower::words(&self.conditions)),
        }
    }

    /// Parses the words from the kind on. The class is `(major, minor)`, with major 0 if none is given.
    pub(super) fn read(words: &str, heading: Heading<'_>) -> Result<(Filter, (u16, u16)), Refused> {
        let mut rest = words.split_ascii_whitespace().peekable();
        let name = rest.next().unwrap_or_default();
        let kind = kind_of(name)?;
        let mut conditions = Conditions::default();
        let protocol = heading.protocol.unwrap_or(Protocol::All);
        match (kind, heading.handle) {
            (Kind::Fw, handle) => conditions.add(fw_mark(handle)?)?,
            (_, None) => {}
            (_, Some(handle)) => {
                let handle = shortened(handle);
                let said = format!("handle {handle:?} is only for fw filters; leave it out");
                return Err(Refused::not_modelled(said));
            }
        }
        let mut class = None;
        let mut flower = flower::Reader::new(protocol);
        while let Some(word) = rest.next() {
            match (kind, word) {
                (_, "flowid" | "classid") => class = Some(class_id(rest.next())?),
                (_, "action") => {
                    let action = shortened(rest.next().unwrap_or_default());
                    return Err(Refused::not_modelled(format!(
                        "action {action:?}: a filter here takes a flowid and no action"
                    )));
                }
                (Kind::U32, "match") => conditions.add_all(u32::read_match(&mut rest)?)?,
                (Kind::U32, word) => return Err(u32::refused(word)),
                (Kind::Flower, word) => flower.read(word, rest.next(), &mut conditions)?,
                (Kind::Fw, "police") => return Err(u32::refused(word)),
                _ => {
                    let said = format!("{name} has no word {:?}", shortened(word));
                    return Err(Refused::wrong(said));
                }
            }
        }
        if kind == Kind::U32 && !conditions.is_given {
            return Err(Refused::wrong("u32 has no match"));
        }
        let class = class.ok_or_else(|| Refused::not_modelled("it has no flowid"))?;
        if class == (0, 0) {
            let said = "flowid 0 names no class; write H:C, or H:0 for where packets go that no \
                        filter has";
            return Err(Refused::not_modelled(said));
        }
        let filter = Filter {
            priority: 0,
            protocol,
            kind,
            conditions: conditions.found,
            minor: class.1,
        };
        Ok((filter, class))
    }
}

/// Conditions read so far, one for each field.
#[derive(Default)]
struct Conditions {
    found: Vec<Condition>,
    /// Whether a match was given, even if it is no condition.
    is_given: bool,
}

impl Conditions {
    /// Adds a condition. If the field has one already, both must hold, as in tc.
    fn add(&mut self, new: Condition) -> Result<(), Refused> {
        self.is_given = true;
        if new.is_always() {
            return Ok(());
        }
        let place = self.found.partition_point(|old| old.field < new.field);
        match self
            .found
            .get_mut(place)
            .filter(|old| old.field == new.field)
        {
            Some(old) => {
                *old = { old.and(new) }.ok_or_else(|| {
                    let field = new.field.name();
                    Refused::wrong(format!("it requires two values of the {field}"))
                })?;
            }
            None => self.found.insert(place, new),
        }
        Ok(())
    }

    fn add_all(&mut self, new: Vec<Condition>) -> Result<(), Refused> {
        self.is_given = true;
        new.into_iter().try_for_each(|each| self.add(each))
    }
}

fn kind_of(name: &str) -> Result<Kind, Refused> {
    if let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) {
        return Ok(*kind);
    }
    let said = shortened(name);
    if OTHER_KINDS.contains(&name) {
        return Err(Refused::not_modelled(format!(
            "filter {said:?} is not implemented; u32 and flower look at addresses, ports, protocol \
             and DSCP"
        )));
    }
    let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
    let refused = Refused::wrong(format!("{said:?} is not a filter kind"));
    Err(refused.with_hint(name, &known))
}

/// `MARK` or `MARK/MASK`.
fn fw_mark(handle: Option<&str>) -> Result<Condition, Refused> {
    let text = handle.ok_or_else(|| Refused::wrong("fw needs a handle, the mark"))?;
    let (mark, mask) = text.split_once('/').unwrap_or((text, "0xffffffff"));
    let number = |text: &str| unsigned(text, Base::ByPrefix, u64::from(u32::MAX));
    let (mark, mask) = (number(mark)?, number(mask)?);
    if mark & mask == 0 {
        // Without a flowid Linux takes the mark itself as the class, as its first versions did.
        return Err(Refused::not_modelled("fw needs a nonzero mark"));
    }
    Ok(Condition::masked(Field::Mark, mark as u32, mask as u32))
}

fn fw_words(conditions: &[Condition]) -> String {
    match conditions.first().map(|mark| mark.wanted) {
        Some(Wanted::Masked {
            value,
            mask: u32::MAX,
        }) => format!("{value:#x}"),
        Some(Wanted::Masked { value, mask }) => format!("{value:#x}/{mask:#x}"),
        _ => "0".to_owned(),
    }
}

/// Why no simulated packet can match the words of a filter, if so.
pub(super) fn of_others(words: &str) -> Option<&'static str> {
    let mut words = words.split_ascii_whitespace();
    let kind = words.next();
    let mut has_ether = || words.any(|word| word == "ether");
    match kind {
        Some("cgroup") => Some("no simulated program is in a control group with a class"),
        Some("u32") if has_ether() => Some("no simulated device has this Ethernet address"),
        _ => None,
    }
}

/// Lists of filters as one list, in which each list is evaluated after the one before. Priorities are numbered
/// anew, from 1.
pub(super) fn in_sequence(lists: [Vec<Filter>; 3]) -> Vec<Filter> {
    let mut all: Vec<Filter> = Vec::new();
    for list in lists {
        let mut before = None;
        for mut filter in list {
            let last = all.last().map_or(0, |filter| filter.priority);
            let is_same = before == Some(filter.priority);
            before = Some(filter.priority);
            filter.priority = if is_same { last } else { last + 1 };
            all.push(filter);
        }
    }
    all
}

/// Inserts a filter in evaluation order.
pub(super) fn insert(
    filters: &mut Vec<Filter>,
    mut filter: Filter,
    priority: Option<u16>,
) -> Result<(), Refused> {
    filter.priority = match priority {
        Some(priority) => priority,
        None => automatic(filters)?,
    };
    let of_priority = |other: &&Filter| other.priority == filter.priority;
    let is_alike = |other: &Filter| other.looks_as(&filter);
    let after_alike = { filters.iter() }
        .rposition(|other| of_priority(&other) && is_alike(other))
        .filter(|_| filter.kind == Kind::Flower);
    let place = match after_alike {
        Some(alike) => alike + 1,
        None => filters.partition_point(|other| other.priority <= filter.priority),
    };
    filters.insert(place, filter);
    Ok(())
}

fn automatic(filters: &[Filter]) -> Result<u16, Refused> {
    let mut later = { filters.iter() }.filter(|other| other.priority >= FIRST_AUTOMATIC);
    match later.next().map(|lowest| lowest.priority) {
        None => Ok(FIRST_PRIORITY),
        Some(FIRST_AUTOMATIC) => Err(Refused::wrong(
            "it needs a prio: 32768, the lowest automatic one, is taken",
        )),
        Some(lowest) => Ok(lowest - 1),
    }
}

impl Filter {
    /// Whether two filters use the same bits.
    fn looks_as(&self, other: &Filter) -> bool {
        let shape = |filter: &Filter| -> Vec<_> {
            let conditions = filter.conditions.iter();
            conditions
                .map(|each| (each.field, each.wanted.mask()))
                .collect()
        };
        shape(self) == shape(other)
    }
}

/// Whether the filters can exist together.
pub(super) fn check(discipline: &'static str, filters: &[Filter]) -> Result<(), QdiscError> {
    let refused = |value: String, allowed: &str| QdiscError::OutOfRange {
        discipline,
        parameter: "filter",
        value,
        allowed: allowed.to_owned(),
        hint: None,
    };
    for filter in filters {
        if filter.priority == 0 {
            return Err(refused("0".to_owned(), "prio 1 to 65535"));
        }
        if let Err(allowed) = condition::check(&filter.conditions) {
            return Err(refused(filter.matched_words(), allowed));
        }
        if let Some(field) = condition::of_local_ports(&filter.conditions) {
            return Err(QdiscError::NotTaken {
                discipline,
                parameter: "filter",
                value: filter.matched_words(),
                reason: Reason::NotModelled,
                allowed: format!(
                    "for the {} all or none of 32768 to 60999, the range of Linux's ephemeral ports",
                    field.name()
                ),
                hint: None,
            });
        }
        let fields = || filter.conditions.iter().map(|each| each.field);
        let fits = match filter.kind {
            Kind::Matchall => filter.conditions.is_empty(),
            Kind::Fw => fields().eq([Field::Mark]),
            Kind::U32 => u32::check(&filter.conditions),
            Kind::Flower => flower::check(filter.protocol, &filter.conditions),
        };
        if !fits {
            let allowed = "conditions that its filter kind can express";
            return Err(refused(filter.matched_words(), allowed));
        }
    }
    for (index, second) in filters.iter().enumerate() {
        let Some(first) = index.checked_sub(1).map(|before| &filters[before]) else {
            continue;
        };
        let priority = second.priority;
        if first.priority > priority {
            let allowed = "filters in ascending order of prio";
            return Err(refused(priority.to_string(), allowed));
        }
        if first.priority < priority {
            continue;
        }
        if (first.kind, first.protocol) != (second.kind, second.protocol) {
            let allowed = "one filter kind and one protocol in each prio";
            return Err(refused(priority.to_string(), allowed));
        }
        if second.kind == Kind::Matchall {
            let allowed = "matchall alone in its prio";
            return Err(refused(priority.to_string(), allowed));
        }
        if second.kind == Kind::Fw && !first.looks_as(second) {
            let allowed = "one mask for all fw filters of a prio";
            return Err(refused(priority.to_string(), allowed));
        }
        let same_priority = filters[..index].iter().rev();
        let mut same_priority = same_priority.take_while(|other| other.priority == priority);
        if second.kind != Kind::U32
            && same_priority.any(|other| other.conditions == second.conditions)
        {
            let allowed = "each match once in a prio";
            return Err(refused(second.matched_words(), allowed));
        }
    }
    Ok(())
}

/// A class as tc reads it: hexadecimal, optionally with the discipline's major number.
fn class_id(text: Option<&str>) -> Result<(u16, u16), Refused> {
    let text = text.unwrap_or_default();
    let hex = |digits: &str| u16::try_from(strtol(digits, Base::Sixteen)?).ok();
    let parts = match text.split_once(':') {
        // `:C` is a class of the filter's own discipline.
        Some(("", minor)) => hex(minor).map(|minor| (0, minor)),
        Some((major, minor)) => hex(major).zip(hex(minor)),
        None => hex(text).map(|minor| (0, minor)),
    };
    parts.ok_or_else(|| Refused::wrong(format!("flowid {:?} is not a class H:C", shortened(text))))
}

/// A number from 0 to `most`, as tc's `get_unsigned` reads it.
fn unsigned(text: &str, base: Base, most: u64) -> Result<u64, Refused> {
    let number = strtol(text, base).and_then(|number| u64::try_from(number).ok());
    number.filter(|number| *number <= most).ok_or_else(|| {
        let text = shortened(text);
        Refused::wrong(format!(
            "{text:?} is not a number from 0 to {most} ({most:#x})"
        ))
    })
}
