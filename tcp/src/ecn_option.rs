//! The option of accurate ECN: counters of received bytes by the IP-ECN field (RFC 9768 section 3.2.3).
//!
//! | clause | here |
//! | --- | --- |
//! | RFC 9768 section 3.2.1, initial values: 1 for ECT(0) and ECT(1), 0 for CE | `ByteCounters::INITIAL` |
//! | RFC 9768 section 3.2.3, kinds 172 and 174, lengths 2, 5, 8 and 11 (table 5) | `EcnOption` |
//! | RFC 9768 section 3.2.3.1, the 24 lowest bits of each counter | yes |
//! | RFC 9768 section 3.2.3.2.1, no option on the SYN; one on the SYN-ACK, on the first ACK and on the first data | yes; first data that fill a segment carry none |
//! | RFC 9768 section 3.2.3.2.2, none on a repeated SYN-ACK, and none after it or after first data were lost | yes, unless the option is to persist; acknowledgements that are lost are not noticed |
//! | RFC 9768 section 3.2.3.2.3, an option that comes though there was none in the handshake | is used |
//! | RFC 9768 section 3.2.3.2.4, a first option whose ECT counters are zero | this and later options are ignored |
//! | RFC 9768 section 3.2.3.2.5, more marked bytes and no mark in the ACE field, which cannot have wrapped | data are no longer ECN-capable |
//! | RFC 9768 section 3.2.3.3, the recommended simple scheme: on every acknowledgement if a counter has moved, with each counter that ever did | `full` |
//! | RFC 9768 section 3.2.3.3, change-triggered options, continual repetition, once for every 2^22 bytes | `minimum` |
//! | RFC 9768 section 3.2.3.3, SACK has precedence: two blocks | yes; a third and fourth make room |
//! | RFC 9768 section 3.2.3.3, an option without room for what has moved is left out | yes |
//!
//! A segment full of data carries no option: a segment's size never depends on it.

use crate::segment::Flags;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::EcnOptionUse;

/// Bytes of a header that options can take (RFC 9293 section 3.1).
pub const OPTION_SPACE_BYTES: u32 = 40;
/// The largest option with its padding.
pub const LARGEST_BYTES: u32 = 12;
/// Counters are sent modulo this.
const MODULUS: u32 = 1 << 24;
/// A counter is sent at least once for each of this number of bytes.
const MOST_UNSENT_BYTES: u32 = 1 << 22;

/// Which counter comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// ECT(0), CE, ECT(1): AccECN0.
    Ect0First,
    /// ECT(1), CE, ECT(0): AccECN1.
    Ect1First,
}

/// An IP-ECN field whose bytes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codepoint {
    Ect0,
    Ce,
    Ect1,
}

impl Codepoint {
    /// That of a segment; None if it is not ECN-capable.
    fn of(flags: Flags) -> Option<Codepoint> {
        if flags.has(Flags::CE) {
            Some(Codepoint::Ce)
        } else if flags.has(Flags::ECT | Flags::ECT1) {
            Some(Codepoint::Ect1)
        } else {
            flags.has(Flags::ECT).then_some(Codepoint::Ect0)
        }
    }
}

impl Order {
    /// The kind of the option.
    pub fn kind(self) -> u8 {
        match self {
            Order::Ect0First => 172,
            Order::Ect1First => 174,
        }
    }

    /// Its fields.
    fn codepoints(self) -> [Codepoint; 3] {
        match self {
            Order::Ect0First => [Codepoint::Ect0, Codepoint::Ce, Codepoint::Ect1],
            Order::Ect1First => [Codepoint::Ect1, Codepoint::Ce, Codepoint::Ect0],
        }
    }

    /// How many fields include all of these.
    fn fields_with(self, is_wanted: impl Fn(Codepoint) -> bool) -> usize {
        let last = self.codepoints().into_iter().rposition(is_wanted);
        last.map_or(0, |index| index + 1)
    }
}

/// An option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcnOption {
    order: Order,
    count: u8,
    fields: [u32; 3],
}

impl EcnOption {
    /// With these fields, at most three, modulo 2^24.
    pub fn new(order: Order, fields: &[u32]) -> EcnOption {
        let mut option = EcnOption {
            order,
            count: fields.len().min(3) as u8,
            fields: [0; 3],
        };
        for (place, field) in option.fields.iter_mut().zip(fields) {
            *place = *field % MODULUS;
        }
        option
    }

    /// The option of a handshake: no byte has been counted. All three fields, in Linux's order.
    pub fn initial() -> EcnOption {
        ByteCounters::INITIAL.option(Order::Ect1First, 3)
    }

    /// Which counter comes first.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Its fields, in order.
    pub fn fields(&self) -> &[u32] {
        &self.fields[..usize::from(self.count)]
    }

    /// Its length field.
    pub fn length(&self) -> u8 {
        2 + 3 * self.count
    }

    /// Bytes of the header that it takes, with NOPs up to a multiple of four.
    pub fn padded_bytes(&self) -> u32 {
        padded_bytes(usize::from(self.count))
    }

    fn field(&self, of: Codepoint) -> Option<u32> {
        let index = self
            .order
            .codepoints()
            .into_iter()
            .position(|one| one == of)?;
        self.fields().get(index).copied()
    }
}

fn padded_bytes(fields: usize) -> u32 {
    (2 + 3 * fields as u32).next_multiple_of(4)
}

/// Counters of bytes, modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ByteCounters([u32; 3]);

impl ByteCounters {
    const INITIAL: ByteCounters = ByteCounters([1, 0, 1]);

    fn of(&self, codepoint: Codepoint) -> u32 {
        self.0[codepoint as usize]
    }

    fn add(&mut self, codepoint: Codepoint, bytes: u32) {
        let counter = &mut self.0[codepoint as usize];
        *counter = counter.wrapping_add(bytes);
    }

    fn option(&self, order: Order, fields: usize) -> EcnOption {
        let values = order.codepoints().map(|codepoint| self.of(codepoint));
        EcnOption::new(order, &values[..fields])
    }
}

/// A receiver's counters, and when it sends them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CountedBytes {
    used: EcnOptionUse,
    beacons: u32,
    counters: ByteCounters,
    /// The counters when an option was last sent.
    sent: ByteCounters,
    has_moved: [bool; 3],
    last: Option<Codepoint>,
    /// Number of acknowledgements that still have to carry an option, because another counter moves now.
    change_due: u8,
    sent_at: Time,
    /// The path may drop segments with the option.
    is_blocked: bool,
    /// An active opener's first acknowledgement, and its first data, carry one.
    owes_first_ack: bool,
    owes_first_data: bool,
    /// One past the first data that carried one, until they are acknowledged or lost.
    first_data_end: u64,
}

impl CountedBytes {
    /// At the start of a connection; None if no option is ever sent.
    pub(crate) fn new(used: EcnOptionUse, beacons: u32) -> Option<CountedBytes> {
        (used != EcnOptionUse::Never).then_some(CountedBytes {
            used,
            beacons,
            counters: ByteCounters::INITIAL,
            sent: ByteCounters::INITIAL,
            has_moved: [false; 3],
            last: None,
            change_due: 0,
            sent_at: Time::ZERO,
            is_blocked: false,
            owes_first_ack: false,
            owes_first_data: true,
            first_data_end: 0,
        })
    }

    /// This end has opened the connection.
    pub(crate) fn owe_first_ack(&mut self) {
        self.owes_first_ack = true;
    }

    /// The option of the SYN-ACK that is sent for the `times`th time.
    pub(crate) fn of_syn_ack(&mut self, times: u32) -> Option<EcnOption> {
        self.is_blocked |= times > 1;
        self.may_send().then(EcnOption::initial)
    }

    /// Its own data up to `end` are sent, perhaps again.
    pub(crate) fn on_own_data(&mut self, seq: u64) {
        self.is_blocked |= seq < self.first_data_end;
    }

    fn may_send(&self) -> bool {
        !self.is_blocked || self.used == EcnOptionUse::Persist
    }

    /// Counts the payload of an arriving segment.
    pub(crate) fn count(&mut self, flags: Flags, payload_bytes: u32) {
        let (Some(codepoint), true) = (Codepoint::of(flags), payload_bytes > 0) else {
            return;
        };
        if self.last != Some(codepoint) {
            // With the next acknowledgement, and with the one after it.
            self.change_due = 2;
        }
        self.last = Some(codepoint);
        self.has_moved[codepoint as usize] = true;
        self.counters.add(codepoint, payload_bytes);
    }

    fn is_unsent(&self, codepoint: Codepoint) -> bool {
        self.counters.of(codepoint) != self.sent.of(codepoint)
    }

    /// Whether an acknowledgement sent now should carry it.
    fn is_due(&self, rtt: Time, now: Time) -> bool {
        if !Order::Ect0First
            .codepoints()
            .into_iter()
            .any(|codepoint| self.is_unsent(codepoint))
        {
            return false;
        }
        let unsent = |codepoint| {
            let (counter, sent) = (self.counters.of(codepoint), self.sent.of(codepoint));
            counter.wrapping_sub(sent)
        };
        match self.used {
            EcnOptionUse::Never => false,
            EcnOptionUse::Full | EcnOptionUse::Persist => true,
            EcnOptionUse::Minimum => {
                let since = now.saturating_sub(self.sent_at);
                self.change_due > 0
                    || self.is_unsent(Codepoint::Ce)
                    || unsent(Codepoint::Ect0).max(unsent(Codepoint::Ect1)) >= MOST_UNSENT_BYTES
                    || self.beacons > 0 && since.0 >= rtt.0 / u64::from(self.beacons)
            }
        }
    }

    /// The option of a segment of its own that is sent now, if any: at most `room_bytes` with its padding.
    /// `data`: the sequence numbers of its payload. `rtt`: the round-trip time.
    pub(crate) fn take(
        &mut self,
        room_bytes: u32,
        data: Option<(u64, u64)>,
        rtt: Time,
        now: Time,
    ) -> Option<EcnOption> {
        if !self.may_send() {
            return None;
        }
        let is_first_ack = std::mem::take(&mut self.owes_first_ack) && data.is_none();
        let option = if is_first_ack || self.owes_first_data && data.is_some() {
            self.all(room_bytes)
        } else if self.is_due(rtt, now) {
            self.best(room_bytes)
        } else {
            None
        };
        if let Some((_, end)) = data
            && std::mem::take(&mut self.owes_first_data)
            && option.is_some()
        {
            self.first_data_end = end;
        }
        self.change_due = self.change_due.saturating_sub(1);
        if option.is_some() {
            (self.sent, self.sent_at) = (self.counters, now);
        }
        option
    }

    /// With all counters, to show whether it traverses the path.
    fn all(&self, room_bytes: u32) -> Option<EcnOption> {
        let all = self.counters.option(Order::Ect1First, 3);
        (all.padded_bytes() <= room_bytes).then_some(all)
    }

    /// With every counter that ever moved, in the order that needs fewer fields; if that has no room, with
    /// those that moved since the last option.
    fn best(&self, room_bytes: u32) -> Option<EcnOption> {
        let fits = |fields: &usize| padded_bytes(*fields) <= room_bytes;
        let has_moved = |codepoint: Codepoint| self.has_moved[codepoint as usize];
        let of = |is_wanted: &dyn Fn(Codepoint) -> bool| {
            // Linux's order where both are alike.
            [Order::Ect1First, Order::Ect0First]
                .map(|order| (order.fields_with(is_wanted), order))
                .into_iter()
                .min_by_key(|(fields, _)| *fields)
                .filter(|(fields, _)| fits(fields))
        };
        let (fields, order) =
            of(&has_moved).or_else(|| of(&|codepoint| self.is_unsent(codepoint)))?;
        Some(self.counters.option(order, fields))
    }
}

/// A sender's copy of those counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EchoedBytes {
    counters: ByteCounters,
    has_begun: bool,
    /// The first option was zeroed on its way.
    is_ignored: bool,
}

impl Default for EchoedBytes {
    fn default() -> EchoedBytes {
        EchoedBytes {
            counters: ByteCounters::INITIAL,
            has_begun: false,
            is_ignored: false,
        }
    }
}

impl EchoedBytes {
    /// Evaluates an option. Returns the bytes that were marked since the last one, if it says.
    pub(crate) fn newly_marked_bytes(&mut self, option: &EcnOption) -> Option<u32> {
        if !std::mem::replace(&mut self.has_begun, true) {
            let is_zero = |codepoint| option.field(codepoint) == Some(0);
            self.is_ignored = is_zero(Codepoint::Ect0) || is_zero(Codepoint::Ect1);
        }
        if self.is_ignored {
            return None;
        }
        let mut marked = None;
        for codepoint in option.order.codepoints() {
            let Some(field) = option.field(codepoint) else {
                continue;
            };
            let more = field.wrapping_sub(self.counters.of(codepoint)) % MODULUS;
            if more >= MODULUS / 2 {
                // Overtaken by another acknowledgement.
                return None;
            }
            self.counters.add(codepoint, more);
            if codepoint == Codepoint::Ce {
                marked = Some(more);
            }
        }
        marked
    }

    /// Bytes delivered as ECT(0), CE and ECT(1), as far as is known, modulo 2^32.
    pub(crate) fn delivered(&self) -> [u32; 3] {
        let (now, first) = (self.counters.0, ByteCounters::INITIAL.0);
        [0, 1, 2].map(|index| now[index].wrapping_sub(first[index]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECT1: Flags = Flags::ECT1;

    fn counted(used: EcnOptionUse) -> CountedBytes {
        CountedBytes::new(used, 3).unwrap()
    }

    fn taken(counted: &mut CountedBytes, room: u32) -> Option<(u8, u8, Vec<u32>)> {
        let rtt = Time::from_ns(100_000_000);
        let option = counted.take(room, None, rtt, Time::from_ns(1))?;
        let fields = option.fields().to_vec();
        Some((option.order().kind(), option.length(), fields))
    }

    /// The examples of RFC 9768 section 3.2.3.3.
    #[test]
    fn an_option_has_the_counters_that_ever_moved() {
        let mut bytes = counted(EcnOptionUse::Full);
        assert_eq!(taken(&mut bytes, 40), None);
        bytes.count(Flags::ECT, 1000);
        assert_eq!(taken(&mut bytes, 40), Some((172, 5, vec![1001])));
        assert_eq!(taken(&mut bytes, 40), None);
        bytes.count(Flags::ECT | Flags::CE, 500);
        bytes.count(Flags::ECT, 0);
        assert_eq!(taken(&mut bytes, 40), Some((172, 8, vec![1001, 500])));
        bytes.count(Flags::ECT, 1000);
        assert_eq!(taken(&mut bytes, 40), Some((172, 8, vec![2001, 500])));
        let mut bytes = counted(EcnOptionUse::Full);
        bytes.count(Flags::CE, 7);
        assert_eq!(taken(&mut bytes, 40), Some((174, 8, vec![1, 7])));
        bytes.count(Flags::ECT | ECT1, 3);
        bytes.count(Flags::ECT, 2);
        assert_eq!(taken(&mut bytes, 40), Some((174, 11, vec![4, 7, 3])));
    }

    #[test]
    fn an_option_shrinks_to_what_moved_or_is_left_out() {
        let mut bytes = counted(EcnOptionUse::Full);
        bytes.count(Flags::ECT, 10);
        bytes.count(Flags::ECT | ECT1, 10);
        assert_eq!(taken(&mut bytes, 8), None);
        assert_eq!(taken(&mut bytes, 12), Some((174, 11, vec![11, 0, 11])));
        bytes.count(Flags::ECT | ECT1, 10);
        assert_eq!(taken(&mut bytes, 8), Some((174, 5, vec![21])));
        bytes.count(Flags::ECT, 10);
        bytes.count(Flags::CE, 10);
        assert_eq!(taken(&mut bytes, 8), Some((172, 8, vec![21, 10])));
    }

    #[test]
    fn the_minimum_tells_of_changes_marks_and_every_four_mebibytes() {
        let mut bytes = counted(EcnOptionUse::Minimum);
        for (is_sent, flags) in [
            (true, Flags::ECT),
            (true, Flags::ECT),
            (false, Flags::ECT),
            (true, Flags::CE),
            (true, Flags::CE),
            (true, Flags::CE),
            (true, Flags::ECT),
            (true, Flags::ECT),
            (false, Flags::ECT),
        ] {
            bytes.count(flags, 1000);
            assert_eq!(taken(&mut bytes, 40).is_some(), is_sent, "{flags:?}");
        }
        bytes.count(Flags::ECT, MOST_UNSENT_BYTES);
        assert!(taken(&mut bytes, 40).is_some());
        // Three in each round trip of 100 ms.
        bytes.count(Flags::ECT, 1);
        let rtt = Time::from_ns(100_000_000);
        let at = |ms: u64| Time::from_ns(1_000_000 * ms);
        assert!(bytes.take(40, None, rtt, at(33)).is_none());
        assert!(bytes.take(40, None, rtt, at(34)).is_some());
    }

    #[test]
    fn a_repeated_syn_ack_has_none_and_nothing_after_it() {
        for (used, is_sent) in [(EcnOptionUse::Full, false), (EcnOptionUse::Persist, true)] {
            let mut bytes = counted(used);
            let first = bytes.of_syn_ack(1).unwrap();
            assert_eq!((first.length(), first.fields()), (11, &[1, 0, 1][..]));
            assert_eq!(bytes.of_syn_ack(2).is_some(), is_sent);
            bytes.count(Flags::CE, 1);
            assert_eq!(taken(&mut bytes, 40).is_some(), is_sent);
        }
    }

    #[test]
    fn a_segment_without_payload_moves_no_counter() {
        let mut bytes = counted(EcnOptionUse::Full);
        bytes.count(Flags::CE, 0);
        assert_eq!(taken(&mut bytes, 40), None);
        bytes.count(Flags::ECT, 5);
        assert_eq!(taken(&mut bytes, 40), Some((172, 5, vec![6])));
    }

    /// RFC 9768 section 3.2.3.2.2.
    #[test]
    fn first_data_that_are_sent_again_stop_it() {
        let (rtt, now) = (Time::from_ns(100_000_000), Time::from_ns(1));
        for (used, is_sent) in [(EcnOptionUse::Full, false), (EcnOptionUse::Persist, true)] {
            let mut bytes = counted(used);
            bytes.on_own_data(1);
            let first = bytes.take(12, Some((1, 1001)), rtt, now).unwrap();
            assert_eq!(first.fields(), &[1, 0, 1]);
            // New data that follow them do not.
            bytes.on_own_data(1001);
            bytes.count(Flags::CE, 1);
            assert!(bytes.take(12, Some((1001, 2001)), rtt, now).is_some());
            bytes.on_own_data(1);
            bytes.count(Flags::CE, 1);
            assert_eq!(bytes.take(12, None, rtt, now).is_some(), is_sent);
        }
        // Those that carried none, for want of room, do not either.
        let mut bytes = counted(EcnOptionUse::Full);
        assert_eq!(bytes.take(8, Some((1, 1001)), rtt, now), None);
        bytes.on_own_data(1);
        bytes.count(Flags::CE, 1);
        assert!(bytes.take(12, None, rtt, now).is_some());
    }

    #[test]
    fn the_first_acknowledgement_of_the_opener_has_all_counters() {
        let mut bytes = counted(EcnOptionUse::Minimum);
        bytes.owe_first_ack();
        assert_eq!(taken(&mut bytes, 40), Some((174, 11, vec![1, 0, 1])));
        assert_eq!(taken(&mut bytes, 40), None);
    }

    #[test]
    fn a_field_has_24_bits() {
        let option = EcnOption::new(Order::Ect0First, &[MODULUS + 5, MODULUS - 1]);
        assert_eq!(option.fields(), &[5, MODULUS - 1]);
    }

    /// RFC 9768 appendix A.1: from a counter that is 1 modulo 2^24 the field 1461 is 1460 bytes away.
    #[test]
    fn counters_wrap() {
        let mut echoed = EchoedBytes::default();
        let field = |ceb| EcnOption::new(Order::Ect1First, &[1, ceb]);
        for ceb in [7 << 20, 14 << 20, 5 << 20, 12 << 20, 3 << 20, 10 << 20, 1] {
            let ceb = ceb % MODULUS;
            assert!(echoed.newly_marked_bytes(&field(ceb)).is_some(), "{ceb}");
        }
        assert_eq!(echoed.delivered()[1] % MODULUS, 1);
        assert_eq!(echoed.newly_marked_bytes(&field(1461)), Some(1460));
        assert_eq!(echoed.newly_marked_bytes(&field(1400)), None);
        let without = EcnOption::new(Order::Ect1First, &[9]);
        assert_eq!(echoed.newly_marked_bytes(&without), None);
        assert_eq!(echoed.delivered()[2], 8);
    }

    #[test]
    fn a_zeroed_option_is_ignored() {
        let later = EcnOption::new(Order::Ect0First, &[1, 500, 1]);
        for zeroed in [[0, 0, 0], [0, 0, 1], [1, 0, 0]] {
            let mut echoed = EchoedBytes::default();
            let zeroed = EcnOption::new(Order::Ect0First, &zeroed);
            assert_eq!(echoed.newly_marked_bytes(&zeroed), None);
            assert_eq!(echoed.newly_marked_bytes(&later), None);
        }
        let mut echoed = EchoedBytes::default();
        let empty = EcnOption::new(Order::Ect0First, &[]);
        assert_eq!(echoed.newly_marked_bytes(&empty), None);
        assert_eq!(echoed.newly_marked_bytes(&later), Some(500));
    }
}
