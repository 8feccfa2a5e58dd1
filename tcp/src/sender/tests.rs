//! A sender and a receiver over a pipe: everything arrives, whatever is lost. Behaviour step by
//! step is in `packetdrill/scripts`.

use super::*;
use crate::cca::{Algorithm, CaState};
use crate::receiver::Receiver;
use crate::rtt::as_us;
use dumbbell_spec::Tcp;
use dumbbell_spec::tcp::Ecn;
use proptest::prelude::*;
use std::collections::BTreeMap;

const ONE_WAY: Time = Time::from_ns(20_000_000);
const ROUND_TRIP: Time = Time::from_ns(40_000_000);
/// A full packet at 12 Mbit/s.
const SERVICE: Time = Time::from_ns(1_000_000);

/// A pipe with a transmitter and a queue one way.
struct Pipe {
    sender: Sender,
    receiver: Receiver,
    now: Time,
    /// By arrival: to the receiver or the sender.
    flying: BTreeMap<(Time, u64), (bool, Segment)>,
    count: u64,
    free_at: Time,
    data_segments: u64,
}

impl Pipe {
    fn new(settings: &Arc<Settings>) -> Pipe {
        let mut sender = Sender::new(settings, stream(), Time::ZERO);
        sender.connect(Time::ZERO);
        Pipe {
            sender,
            receiver: Receiver::new(settings),
            now: Time::ZERO,
            flying: BTreeMap::new(),
            count: 0,
            free_at: Time::ZERO,
            data_segments: 0,
        }
    }

    /// Sends what can be sent; `is_lost` judges each data segment by its number.
    fn pump(&mut self, is_lost: &mut dyn FnMut(u64) -> bool) {
        while let Some(sent) = self.sender.poll_transmit(self.now) {
            let segment = Segment::from(sent.header);
            if segment.payload_bytes > 0 {
                self.data_segments += 1;
                if is_lost(self.data_segments) {
                    continue;
                }
            }
            self.free_at = self.free_at.max(self.now) + SERVICE;
            self.count += 1;
            let due = (self.free_at + ONE_WAY, self.count);
            self.flying.insert(due, (true, segment));
        }
        while let Some(segment) = self.receiver.poll_transmit(self.now) {
            self.count += 1;
            let due = (self.now + ONE_WAY, self.count);
            self.flying.insert(due, (false, segment));
        }
    }

    /// Does what is next. Returns false when nothing is pending before `end`.
    fn step(&mut self, end: Time, is_lost: &mut dyn FnMut(u64) -> bool) -> bool {
        self.pump(is_lost);
        let arrival = self.flying.keys().next().map_or(Time::NEVER, |key| key.0);
        let timers = self.sender.next_timer().min(self.receiver.next_timer());
        let next = arrival.min(timers);
        if next >= end {
            return false;
        }
        assert!(next >= self.now, "time goes back");
        self.now = next;
        if arrival <= timers {
            let (_, (to_receiver, segment)) = self.flying.pop_first().unwrap();
            if to_receiver {
                self.receiver.on_segment(&segment, self.now);
            } else {
                self.sender.on_segment(&segment, self.now);
            }
        } else {
            self.sender.on_timer(self.now);
            self.receiver.on_timer(self.now);
        }
        true
    }

    fn run(&mut self, end: Time, mut is_lost: impl FnMut(u64) -> bool) {
        let mut steps = 0u64;
        while self.step(end, &mut is_lost) {
            steps += 1;
            assert!(steps < 10_000_000, "no progress at {} ns", self.now.as_ns());
            self.check();
        }
    }

    fn check(&self) {
        let board = self.sender.board();
        assert!(board.sacked_out() + board.lost_out() <= board.packets_out());
        assert!(board.retrans_out() <= board.packets_out());
        assert!(self.sender.window().cwnd_pkts >= 1);
    }
}

fn stream() -> Stream {
    Stream::new(0, 0, "connection")
}

fn settings(change: impl FnOnce(&mut dumbbell_spec::Tcp)) -> Arc<Settings> {
    let mut tcp = Tcp::linux("reno");
    change(&mut tcp);
    let algorithm = Algorithm::named(&tcp.congestion_control).unwrap();
    Arc::new(Settings::new(tcp, algorithm, 1500, 1000))
}

fn transfer(settings: &Arc<Settings>, bytes: u64, is_lost: impl FnMut(u64) -> bool) -> Pipe {
    let mut pipe = Pipe::new(settings);
    pipe.sender.write(bytes, Time::ZERO);
    pipe.sender.close();
    pipe.run(Time::from_ns(300_000_000_000), is_lost);
    assert_eq!(pipe.receiver.received_payload_bytes(), bytes);
    assert!(pipe.receiver.is_complete() && pipe.sender.is_done());
    assert_eq!(pipe.sender.next_timer(), Time::NEVER);
    assert_eq!(pipe.receiver.next_timer(), Time::NEVER);
    pipe
}

#[test]
fn without_loss_nothing_is_sent_again() {
    let pipe = transfer(&settings(|_| {}), 1_000_000, |_| false);
    let statistics = pipe.sender.statistics();
    assert_eq!(statistics.retransmitted_pkts, 0);
    assert_eq!(statistics.sent_payload_bytes, 1_000_000);
    assert_eq!(statistics.sent_pkts, 1_000_000u64.div_ceil(1448));
}

/// The first byte is there after half a round trip, not one and a half; nothing is known of the
/// round trip when it is lost, so its timer runs a second (RFC 6298 section 2.1).
#[test]
fn without_a_handshake_data_go_out_at_once() {
    for (is_lost, arrives) in [(false, Time::ZERO), (true, Time::from_ns(1_000_000_000))] {
        let mut pipe = Pipe::new(&settings(|tcp| tcp.handshake = false));
        pipe.sender.write(1000, Time::ZERO);
        pipe.sender.close();
        let mut losses = |number: u64| is_lost && number == 1;
        while pipe.receiver.received_payload_bytes() == 0 {
            assert!(pipe.step(Time::from_ns(3_000_000_000), &mut losses));
        }
        let due = arrives + SERVICE + ONE_WAY;
        // The kernel has the coarser timers the longer they run.
        let late = pipe.now.saturating_sub(due);
        assert!(
            pipe.now >= due && late < Time::from_ns(64_000_000),
            "{}",
            pipe.now.as_ns()
        );
        pipe.run(Time::from_ns(3_000_000_000), losses);
        assert!(pipe.receiver.is_complete() && pipe.sender.is_done());
        let statistics = pipe.sender.statistics();
        assert_eq!(statistics.retransmitted_pkts > 0, is_lost);
    }
}

#[test]
fn one_loss_costs_one_retransmission_and_half_the_window() {
    let pipe = transfer(&settings(|_| {}), 1_000_000, |number| number == 100);
    let statistics = pipe.sender.statistics();
    assert_eq!(
        (statistics.retransmitted_pkts, statistics.rto_count),
        (1, 0)
    );
    assert_eq!(statistics.recovery_count, 1);
    let window = pipe.sender.window();
    assert_eq!(window.ssthresh_pkts, window.prior_cwnd_pkts / 2);
}

#[test]
fn the_last_segment_is_repaired_by_a_probe() {
    let last = 100_000u64.div_ceil(1448);
    let pipe = transfer(&settings(|_| {}), 100_000, |number| number == last);
    let statistics = pipe.sender.statistics();
    assert_eq!((statistics.probe_count, statistics.rto_count), (1, 0));
}

/// RACK notices that a retransmission was lost (RFC 8985 section 3.1); counting duplicates cannot.
#[test]
fn a_lost_retransmission_needs_no_timeout_with_rack() {
    for (rack, timeouts) in [(true, 0), (false, 1)] {
        let mut pipe = Pipe::new(&settings(|tcp| tcp.rack = rack));
        pipe.sender.write(500_000, Time::ZERO);
        pipe.sender.close();
        let (end, mut copy) = (Time::from_ns(60_000_000_000), None);
        while pipe.step(end, &mut |number| number == 50 || copy == Some(number)) {
            // Fast retransmit sends the copy first of all.
            if copy.is_none() && pipe.sender.state() == CaState::Recovery {
                copy = Some(pipe.data_segments + 1);
            }
        }
        assert_eq!(pipe.receiver.received_payload_bytes(), 500_000);
        assert_eq!(pipe.sender.statistics().rto_count, timeouts, "rack: {rack}");
    }
}

/// The response to periodic loss (M. Mathis, J. Semke, J. Mahdavi, T. Ott 1997): sqrt(3/(2 b p)) packets
/// a round-trip time, b packets to an acknowledgement that makes the window grow. Linux counts
/// packets, whatever the receiver does; the RFC counts acknowledgements.
#[test]
fn reno_follows_the_square_root_formula() {
    use dumbbell_spec::tcp::Profile::{Linux61, Rfc};
    for (profile, every, delayed, constant) in [
        (Linux61, 200, false, 1.22),
        (Linux61, 800, false, 1.22),
        (Rfc, 200, false, 1.22),
        (Rfc, 800, true, 0.87),
        (Rfc, 2000, true, 0.87),
    ] {
        let settings = settings(|tcp| {
            tcp.profile = profile;
            tcp.delayed_ack = delayed;
        });
        let mut pipe = Pipe::new(&settings);
        pipe.sender.write(1 << 40, Time::ZERO);
        let end = Time::from_ns(200_000_000_000);
        let half = Time(end.0 / 2);
        let mut is_lost = |number: u64| number.is_multiple_of(every);
        let mut sent_by_half = 0;
        while pipe.step(end, &mut is_lost) {
            // A transmitter so fast that nothing queues.
            pipe.free_at = pipe.now.saturating_sub(SERVICE);
            if pipe.now <= half {
                sent_by_half = pipe.data_segments;
            }
        }
        let sent = (pipe.data_segments - sent_by_half) as f64;
        let rounds = (pipe.now - half).as_seconds() / (2.0 * ONE_WAY.as_seconds());
        let ratio = sent / rounds / (constant * (every as f64).sqrt());
        assert!(
            (0.9..1.1).contains(&ratio),
            "{profile:?} {every} {delayed}: {ratio}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever is lost, all bytes arrive, under every setting.
    #[test]
    fn everything_arrives(
        kilobytes in 1u64..300,
        losses in prop::collection::vec(0u64..400, 0..60),
        sack in any::<bool>(),
        rack in any::<bool>(),
        timestamps in any::<bool>(),
        delayed_ack in any::<bool>(),
        is_rfc in any::<bool>(),
        ecn in prop::sample::select(vec![Ecn::OFF, Ecn::CLASSIC, Ecn::ACCURATE]),
        handshake in any::<bool>(),
        gso_max_segs in prop::sample::select(vec![1, 2, 44, 65535]),
    ) {
        let settings = settings(|tcp| {
            if is_rfc {
                tcp.profile = dumbbell_spec::tcp::Profile::Rfc;
                tcp.prr = dumbbell_spec::tcp::Prr::Rfc9937;
            }
            tcp.sack = sack;
            tcp.rack = rack;
            tcp.timestamps = timestamps;
            tcp.delayed_ack = delayed_ack;
            tcp.ecn = ecn;
            tcp.handshake = handshake;
            tcp.gso_max_segs = if is_rfc { 1 } else { gso_max_segs };
        });
        transfer(&settings, kilobytes * 1000, |number| losses.contains(&number));
    }
}

/// A sender whose SYN has been answered.
fn established(change: impl FnOnce(&mut dumbbell_spec::Tcp)) -> Sender {
    let settings = settings(change);
    let mut sender = Sender::new(&settings, stream(), Time::ZERO);
    sender.connect(Time::ZERO);
    while sender.poll_transmit(Time::ZERO).is_some() {}
    let syn_ack = Segment {
        ack: 1,
        window_bytes: crate::receiver::initial_window_bytes(&settings),
        flags: Flags::SYN | Flags::ACK,
        ..Segment::default()
    };
    sender.on_segment(&syn_ack, ROUND_TRIP);
    sender
}

/// Sends all that goes at `now`.
fn send_all(sender: &mut Sender, now: Time) {
    while sender.poll_transmit(now).is_some() {}
}

/// Everything before `ack` has arrived.
fn acknowledge(sender: &mut Sender, ack: u64, now: Time) {
    let segment = Segment {
        seq: 1,
        ack,
        window_bytes: 1 << 20,
        flags: Flags::ACK,
        ..Segment::default()
    };
    sender.on_segment(&segment, now);
}

/// An established sender with a buffer of 52 full packets that an application has filled.
fn with_a_full_buffer() -> Sender {
    let mut sender = established(|tcp| {
        tcp.send_buffer_bytes = 25 * 2304;
        tcp.gso_max_segs = 1;
    });
    sender.write(sender.room_bytes(), ROUND_TRIP);
    send_all(&mut sender, ROUND_TRIP);
    sender
}

#[test]
fn packets_sacked_beside_others_give_their_structures_memory_back() {
    let mut sender = with_a_full_buffer();
    let mss = u64::from(sender.settings.mss_bytes);
    // 115,200 bytes: 42 packets of 2728 leave room for a part of one more.
    assert_eq!(sender.unacknowledged_bytes(), 43 * mss);
    assert_eq!((sender.room_bytes(), sender.is_writable()), (0, false));
    let mut blocks = crate::segment::SackBlocks::default();
    let (start, end) = (1 + mss, 1 + 10 * mss);
    blocks.push(crate::segment::SackBlock { start, end }, 3);
    let duplicate = Segment {
        seq: 1,
        ack: 1,
        window_bytes: 1 << 20,
        sack: blocks,
        flags: Flags::ACK,
        ..Segment::default()
    };
    sender.on_segment(&duplicate, Time(2 * ROUND_TRIP.0));
    // Nine packets of 2728 bytes of memory are down to 1448: room for three more, and the last
    // may be beyond.
    assert_eq!(sender.room_bytes(), 4 * mss);
    assert!(!sender.is_writable(), "a third must be free");
}

/// The first write takes 54 segments, as on Linux 6.1, where what is free before it begins would take 66. Its first
/// sk_buff has 22 segments, of which ten go two by two: each two have structures of their own. The
/// rest is filled to 22, another of 22 follows, and that is 87,152 bytes of memory where there are 87,040.
#[test]
fn a_write_takes_what_the_send_buffer_has_room_for_as_it_is_sent() {
    let mut sender = established(|_| {});
    let mss = u64::from(sender.settings.mss_bytes);
    assert_eq!(sender.room_bytes(), 66 * mss);
    sender.write_what_fits(1 << 18, ROUND_TRIP);
    send_all(&mut sender, ROUND_TRIP);
    assert_eq!(sender.board().packets_out(), 10);
    assert_eq!(sender.unacknowledged_bytes(), 54 * mss);
    let refused_bytes = u64::from(sender.take_refused());
    assert_eq!(refused_bytes, (1 << 18) - 54 * mss);
    assert_eq!(sender.take_refused(), 0, "it was told of");
    assert!(sender.is_full() && !sender.is_writable());
    // A write that finds it full is refused whole.
    sender.write_what_fits(1000, ROUND_TRIP);
    send_all(&mut sender, ROUND_TRIP);
    assert_eq!(sender.take_refused(), 1000);
    assert_eq!(sender.unacknowledged_bytes(), 54 * mss);
}

/// `tcp_min_tso_segs`: Prague's bursts of 250 us are one packet here, and two where its host says so; CUBIC
/// has two if it says nothing, and BBR its own number.
#[test]
fn a_host_may_ask_for_longer_bursts() {
    let most = |controller: &str, asked, largest| {
        let mut sender = established(|tcp| {
            tcp.congestion_control = controller.to_owned();
            (tcp.min_tso_segs, tcp.gso_max_segs) = (asked, largest);
        });
        sender.window.pacing_rate_bytes_per_s = 1_000_000;
        sender.most_pkts()
    };
    assert_eq!(
        [0, 1, 2, 3].map(|asked| most("prague", asked, 44)),
        [1, 1, 2, 3]
    );
    assert_eq!(
        [0, 1, 2, 3].map(|asked| most("cubic", asked, 44)),
        [2, 1, 2, 3]
    );
    assert_eq!([0, 3].map(|asked| most("bbr", asked, 44)), [2, 2]);
    assert_eq!([0, 2].map(|asked| most("prague", asked, 1)), [1, 1]);
}

/// Where each segment goes by itself, what is free before a write begins is what it takes, 32 of 2728 bytes;
/// it finds the buffer full when what can go of it is sent.
#[test]
fn a_write_of_single_segments_takes_what_is_free() {
    let mut sender = established(|tcp| tcp.gso_max_segs = 1);
    let mss = u64::from(sender.settings.mss_bytes);
    sender.write_what_fits(1 << 18, ROUND_TRIP);
    assert!(!sender.is_full());
    send_all(&mut sender, ROUND_TRIP);
    assert!(sender.is_full());
    assert_eq!(sender.unacknowledged_bytes(), 32 * mss);
    assert_eq!(u64::from(sender.take_refused()), (1 << 18) - 32 * mss);
    sender.write_what_fits(1000, ROUND_TRIP);
    assert!(sender.is_full());
    assert_eq!(sender.take_refused(), 1000);
}

/// Room for two windows of packets of 4352 bytes, once an application has found too little and an
/// sk_buff leaves the window open (`tcp_check_space`).
#[test]
fn the_send_buffer_grows_behind_what_is_sent() {
    for (bytes, is_full) in [(1 << 18, true), (40_000, false)] {
        let mut sender = established(|_| {});
        let mss = u64::from(sender.settings.mss_bytes);
        let now = Time(2 * ROUND_TRIP.0);
        let holds = |sender: &Sender| sender.send_buffer.memory_bytes as f64 / 4352.0;
        sender.write_what_fits(bytes, ROUND_TRIP);
        send_all(&mut sender, ROUND_TRIP);
        assert_eq!((sender.is_full(), holds(&sender)), (is_full, 20.0));
        // What is acknowledged lets nothing grow by itself: what it lets go is sent first.
        acknowledge(&mut sender, 1 + 2 * mss, now);
        let in_flight = sender.board().in_flight();
        assert_eq!((sender.window().cwnd_pkts, in_flight), (12, 8));
        let mut held = vec![holds(&sender)];
        while sender.poll_transmit(now).is_some() {
            held.push(holds(&sender));
        }
        // The first of two sk_buffs leaves the window open, when its last segment is sent.
        let grown = if is_full { 24.0 } else { 20.0 };
        assert_eq!(held, [20.0, 20.0, grown, grown, grown], "{bytes} bytes");
    }
}

/// What fills the congestion window does not let it grow (`tcp_should_expand_sndbuf`).
#[test]
fn a_full_window_keeps_the_send_buffer() {
    let mut sender = established(|_| {});
    let mss = u64::from(sender.settings.mss_bytes);
    let now = Time(2 * ROUND_TRIP.0);
    sender.write_what_fits(1 << 18, ROUND_TRIP);
    send_all(&mut sender, ROUND_TRIP);
    acknowledge(&mut sender, 1 + mss, now);
    send_all(&mut sender, now);
    let in_flight = sender.board().in_flight();
    assert_eq!((sender.window().cwnd_pkts, in_flight), (11, 11));
    assert_eq!(sender.send_buffer.memory_bytes, 20 * 4352);
}

/// An acknowledgement of what is before `ack`, sent at `value_ms`.
fn stamped(ack: u64, value_ms: u32) -> Segment {
    Segment {
        seq: 1,
        ack,
        window_bytes: 1 << 20,
        timestamps: Some(crate::segment::Timestamps {
            value_ms,
            echo_ms: 1,
        }),
        flags: Flags::ACK,
        ..Segment::default()
    }
}

/// RFC 7323 section 5.3, R1, of an acknowledgement: Linux lets one millisecond pass.
#[test]
fn acknowledgements_with_old_timestamps_are_dropped_and_answered() {
    for (value_ms, is_taken) in [(1998, false), (1999, true), (2000, true), (2001, true)] {
        let mut sender = established(|_| {});
        sender.write(100_000, ROUND_TRIP);
        send_all(&mut sender, ROUND_TRIP);
        let (mss, now) = (u64::from(sender.settings.mss_bytes), Time(2 * ROUND_TRIP.0));
        sender.on_segment(&stamped(1 + mss, 2000), now);
        send_all(&mut sender, now);
        sender.on_segment(&stamped(1 + 2 * mss, value_ms), now);
        let acked = if is_taken { 2 * mss } else { mss };
        assert_eq!(sender.acked_payload_bytes(), acked, "{value_ms}");
        let answer = sender.poll_transmit(now).unwrap().header;
        assert_eq!(answer.payload_bytes == 0, !is_taken);
        assert_eq!(answer.timestamps.unwrap().echo_ms, value_ms.max(2000));
        // Of those within half a second one has an answer.
        send_all(&mut sender, now);
        for is_answered in [is_taken, false] {
            sender.on_segment(&stamped(1 + mss, 1000), now);
            assert_eq!(sender.poll_transmit(now).is_some(), is_answered);
        }
    }
}

/// A duplicate acknowledgement that was overtaken counts, if its timestamp is no older than about a
/// retransmission timeout and it does not open the window (`tcp_disordered_ack`).
#[test]
fn a_duplicate_acknowledgement_may_be_old() {
    for (age_ms, window_bytes, is_taken) in [
        (5, 1 << 20, true),
        (100_000, 1 << 20, false),
        (5, 1 << 21, false),
    ] {
        let mut sender = established(|_| {});
        sender.write(100_000, ROUND_TRIP);
        send_all(&mut sender, ROUND_TRIP);
        let (mss, now) = (u64::from(sender.settings.mss_bytes), Time(2 * ROUND_TRIP.0));
        sender.on_segment(&stamped(1 + mss, 200_000), now);
        let mut duplicate = stamped(1 + mss, 200_000 - age_ms);
        let (start, end) = (1 + 2 * mss, 1 + 3 * mss);
        let block = crate::segment::SackBlock { start, end };
        duplicate.sack.push(block, 3);
        duplicate.window_bytes = window_bytes;
        sender.on_segment(&duplicate, now);
        assert_eq!(sender.board().sacked_out() == 1, is_taken, "{age_ms} ms");
    }
}

/// Linux counts ticks of its timer: a window is unused for a timeout at the tick, not what has passed
/// since (`tcp_cwnd_validate`, `tcp_cwnd_restart`).
#[test]
fn a_window_is_unused_for_a_timeout_in_ticks() {
    let at = |us: u64| Time(ROUND_TRIP.0 + Time::from_ns(1000 * us).0);
    for (later_us, shrinks) in [(-1, false), (0, true), (1, true)] {
        let mut sender = established(|_| {});
        sender.window.set_cwnd(20);
        sender.usage.renew(at(700));
        let rto_us = as_us(sender.timers.rto);
        let now = at(rto_us.saturating_add_signed(later_us));
        sender.validate_window(false, now);
        assert_eq!(sender.window.cwnd_pkts < 20, shrinks, "{later_us} us");
    }
}

/// Idle for longer than a timeout, in ticks (`tcp_slow_start_after_idle_check`): not for one.
#[test]
fn a_sender_is_idle_for_more_than_a_timeout_in_ticks() {
    for (later_us, halves) in [(-1, false), (0, false), (999, false), (1000, true)] {
        let mut sender = established(|_| {});
        let sent = Time(ROUND_TRIP.0 + Time::from_ns(700_000).0);
        sender.write(1000, sent);
        send_all(&mut sender, sent);
        acknowledge(&mut sender, 1001, Time(2 * ROUND_TRIP.0));
        sender.window.set_cwnd(20);
        let rto_us = as_us(sender.timers.rto);
        let now_us = as_us(ROUND_TRIP) + rto_us.saturating_add_signed(later_us);
        sender.restart_after_idle(Time::from_ns(1000 * now_us));
        assert_eq!(
            sender.window.cwnd_pkts,
            if halves { 10 } else { 20 },
            "{later_us}"
        );
    }
}
