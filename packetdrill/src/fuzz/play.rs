//! Plays a case with the engine's sender, a path and the receiver, and writes the script of it.

use super::case::{AckFate, Case, Controller, Fate};
use super::receiver::{AckTiming, Receiver, WINDOW_SCALE};
use crate::clock::{instant, since_start};
use crate::endpoint::{Endpoint, OWN_MSS_BYTES, Setup};
use crate::language::script::{EcnMark, TcpFlags, TcpOption, TcpPacket};
use crate::plan::host_settings::{Ecn, HostSetting, HostSettings};
use crate::run::field;
use crate::segments::shown;
use dumbbell_core::time::Time;
use dumbbell_spec::tcp::Profile;
use dumbbell_tcp::segment::TIMESTAMPS_BYTES;
use dumbbell_tcp::sender::FollowedBy;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Largest segment that the receiver accepts, with options, bytes.
const MSS_BYTES: u16 = 1000;
/// Time limit of a script, microseconds.
const LONGEST_US: u64 = 8_000_000;
/// Maximum number of acknowledgements in a script.
const MOST_ACKS: u64 = 120;
/// Delay of a delayed acknowledgement, microseconds.
const DELAYED_ACK_US: u64 = 40_000;
/// Minimum spacing of acknowledgements, microseconds.
const ACK_SPACING_US: u64 = 10;
/// Timing error of packetdrill, microseconds. The order of two events closer to each other than
/// this, one of them a timer, is undefined.
const NEAR_US: u64 = 50;
/// packetdrill is late by three microseconds at most. An event less than this before a kernel timer
/// tick could fall after the tick there, and timers that it sets would then expire one tick later.
/// Microseconds.
const EDGE_US: u64 = 5;
/// Period of the kernel's timer tick, microseconds.
const TICK_US: u64 = 1_000;
/// Larger than any window.
const SEND_BUFFER: &str = "4096 4194304 4194304";

/// The `tcp_info` fields asserted after each acknowledgement.
const FIELDS: [&str; 6] = [
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_ca_state",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
];

/// A script with its statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedScript {
    /// The script.
    pub script: String,
    /// The first line at which an acknowledgement arrived within `NEAR_US` of a timer.
    pub near_timer_line: Option<u32>,
    /// Number of data packets sent.
    pub sent_pkts: u64,
}

enum Event {
    Writes(u64),
    Closes,
    Arrives(TcpPacket, EcnMark),
    OwesAck,
    Acknowledged(TcpPacket),
}

struct Player<'a> {
    case: &'a Case,
    connection: Endpoint,
    receiver: Receiver,
    /// Ordered by time, then by creation.
    events: BTreeMap<(u64, u64), Event>,
    made: u64,
    text: String,
    lines: u32,
    near_timer_line: Option<u32>,
    last_timer_us: Option<u64>,
    sent_pkts: u64,
    acks: u64,
    /// When the path becomes idle, and the earliest arrival of the next acknowledgement.
    free_us: u64,
    ack_free_us: u64,
}

impl Case {
    /// Plays the case.
    pub fn played(&self) -> PlayedScript {
        let mut play = Player::new(self);
        play.opens();
        play.runs();
        PlayedScript {
            script: play.text,
            near_timer_line: play.near_timer_line,
            sent_pkts: play.sent_pkts,
        }
    }

    fn host_settings(&self) -> HostSettings {
        let mut host = HostSettings::of(Profile::Linux61);
        let ecn = if self.ecn { Ecn::On } else { Ecn::Off };
        for setting in [
            HostSetting::CongestionControl(self.controller.algorithm()),
            HostSetting::Sack(self.sack),
            HostSetting::Timestamps(self.timestamps),
            HostSetting::Ecn(ecn),
            HostSetting::Rack(self.rack),
            HostSetting::Probes(self.probes),
            HostSetting::GsoMaxSegs(self.gso_max_segs),
            HostSetting::SendMemory(4 << 20),
        ] {
            host.set(&setting);
        }
        host
    }

    fn payload_bytes(&self) -> u64 {
        let options = if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
        u64::from(u32::from(MSS_BYTES) - options)
    }

    /// Whether `tcp_congestion_control` can select it. In Linux only these can be the congestion
    /// control of a fresh network namespace (`tcp_allowed_congestion_control` lists those that a
    /// socket may select).
    fn is_set_by_sysctl(&self) -> bool {
        Controller::drawn_from().any(|each| each == self.controller)
    }

    fn settings_line(&self) -> String {
        let set = match self.is_set_by_sysctl() {
            true => self.controller.name(),
            false => "reno",
        };
        let number = |on: bool, value: u8| if on { value } else { 0 };
        format!(
            "`sysctl -q net.ipv4.tcp_congestion_control={} net.ipv4.tcp_sack={} \
             net.ipv4.tcp_timestamps={} net.ipv4.tcp_ecn={} net.ipv4.tcp_recovery={} \
             net.ipv4.tcp_early_retrans={} net.ipv4.tcp_wmem=\"{SEND_BUFFER}\"`",
            set,
            number(self.sack, 1),
            number(self.timestamps, 1),
            number(self.ecn, 1),
            number(self.rack, 1),
            number(self.probes, 3),
        )
    }
}

/// This script time, or the tick that it immediately precedes.
fn off_edges(at_us: u64) -> u64 {
    let to_tick_us = TICK_US - instant(at_us).as_ns() / 1_000 % TICK_US;
    if to_tick_us < EDGE_US {
        at_us + to_tick_us
    } else {
        at_us
    }
}

impl Player<'_> {
    fn new(case: &Case) -> Player<'_> {
        let host = case.host_settings();
        let setup = Setup {
            syn_retries: host.syn_retries,
            host,
            nodelay: true,
            corks: false,
            send_memory_bytes: None,
            most_unsent_bytes: 0,
            mss_bytes: OWN_MSS_BYTES,
            first_phase: case.first_phase,
        };
        Player {
            case,
            connection: Endpoint::connect(&setup, instant(0)),
            receiver: Receiver::new(case),
            events: BTreeMap::new(),
            made: 0,
            text: String::new(),
            lines: 0,
            near_timer_line: None,
            last_timer_us: None,
            sent_pkts: 0,
            acks: 0,
            free_us: 0,
            ack_free_us: 0,
        }
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
        self.lines += 1;
    }

    fn line_at(&mut self, at_us: u64, text: &str) {
        let line = format!("{}.{:06} {text}", at_us / 1_000_000, at_us % 1_000_000);
        self.line(&line);
    }

    fn plan(&mut self, at_us: u64, event: Event) {
        self.made += 1;
        self.events.insert((off_edges(at_us), self.made), event);
    }

    /// Performs the handshake, then schedules the application's writes.
    fn opens(&mut self) {
        self.line(&self.case.settings_line());
        if self.case.gso_max_segs > 1 {
            let segments = self.case.gso_max_segs;
            self.line(&format!("0 `ip link set dev tun0 gso_max_segs {segments}`"));
        }
        self.line("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3");
        let name = self.case.controller.name();
        if !self.case.is_set_by_sysctl() {
            let length = name.len();
            self.line(&format!(
                "+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"{name}\", {length}) = 0"
            ));
        }
        self.line_at(0, "setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0");
        self.line_at(0, "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0");
        let waits = "connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)";
        self.line_at(0, waits);
        self.connection.poll(instant(0));
        self.transmit(0);
        let rtt_us = self.case.rtt_us;
        let answer = self.answer(rtt_us);
        self.deliver(rtt_us, &answer);
        self.line_at(rtt_us, "fcntl(3, F_SETFL, O_RDWR) = 0");
        let mut at_us = rtt_us;
        for write in &self.case.writes {
            at_us += write.after_us;
            self.plan(at_us, Event::Writes(write.pkts * self.case.payload_bytes()));
        }
        if self.case.closes {
            self.plan(at_us, Event::Closes);
        }
    }

    /// The receiver's SYN-ACK.
    fn answer(&self, at_us: u64) -> TcpPacket {
        let mut flags = TcpFlags::SYN.with(TcpFlags::ACK);
        if self.case.ecn {
            flags = flags.with(TcpFlags::ECE);
        }
        let mut options = vec![TcpOption::Mss(MSS_BYTES)];
        // Padded to multiples of four bytes, as Linux does.
        match (self.case.sack, self.case.timestamps) {
            (true, true) => options.push(TcpOption::SackPermitted),
            (true, false) => {
                options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::SackPermitted]);
            }
            (false, true) => options.extend([TcpOption::Nop, TcpOption::Nop]),
            (false, false) => {}
        }
        if self.case.timestamps {
            options.push(TcpOption::Timestamps {
                value: Receiver::timestamp(at_us),
                echo: self.receiver.echo(),
            });
        }
        options.extend([TcpOption::Nop, TcpOption::WindowScale(WINDOW_SCALE)]);
        TcpPacket {
            flags,
            seq: 0,
            payload_bytes: 0,
            ack: Some(1),
            window: Some(self.case.window_bytes.min(65_535)),
            urgent: None,
            options: Some(options),
        }
    }

    fn runs(&mut self) {
        loop {
            let timer = self.connection.next_timer();
            // A script's times are whole microseconds.
            let timer_us = match timer {
                Time::NEVER => u64::MAX,
                timer => since_start(timer).as_ns().div_ceil(1000),
            };
            let next = self.events.first_key_value().map(|(key, _)| *key);
            let event_us = next.map_or(u64::MAX, |(at_us, _)| at_us);
            let at_us = timer_us.min(event_us);
            if at_us > LONGEST_US || self.acks >= MOST_ACKS {
                return;
            }
            if timer_us <= event_us {
                if self.connection.pending_timer() <= timer {
                    self.last_timer_us = Some(timer_us);
                }
                self.connection.on_timer(timer);
                self.transmit(timer_us);
                continue;
            }
            let event = next.and_then(|key| self.events.remove(&key));
            if let Some(event) = event {
                self.schedule(at_us, event);
            }
        }
    }

    fn schedule(&mut self, at_us: u64, event: Event) {
        match event {
            Event::Writes(bytes) => {
                self.line_at(at_us, &format!("write(3, ..., {bytes}) = {bytes}"));
                self.connection
                    .write(bytes, FollowedBy::Anything, instant(at_us));
                self.transmit(at_us);
            }
            Event::Closes => {
                self.line_at(at_us, "shutdown(3, SHUT_WR) = 0");
                self.connection.shut_down(instant(at_us));
                self.transmit(at_us);
            }
            Event::Arrives(packet, mark) => match self.receiver.on_data(&packet, mark) {
                AckTiming::Now => self.acknowledges(at_us),
                AckTiming::Delayed => self.plan(at_us + DELAYED_ACK_US, Event::OwesAck),
            },
            Event::OwesAck => {
                if self.receiver.owes_ack() {
                    self.acknowledges(at_us);
                }
            }
            Event::Acknowledged(packet) => {
                self.notes_timers(at_us);
                self.deliver(at_us, &packet);
                self.asserts(at_us);
            }
        }
    }

    /// Records acknowledgements near a timer; their order relative to the timer is undefined.
    fn notes_timers(&mut self, at_us: u64) {
        let due_us = since_start(self.connection.pending_timer()).as_ns() / 1000;
        let is_near = due_us < at_us + NEAR_US
            || self
                .last_timer_us
                .is_some_and(|last_us| at_us < last_us + NEAR_US);
        if is_near && self.near_timer_line.is_none() {
            self.near_timer_line = Some(self.lines + 1);
        }
    }

    /// The receiver sends an acknowledgement; the return path may lose or delay it.
    fn acknowledges(&mut self, at_us: u64) {
        let packet = self.receiver.acknowledgement(at_us);
        let fate = self.case.ack_fate(self.acks);
        self.acks += 1;
        let held_us = match fate {
            Some(AckFate::Lost) => return,
            Some(AckFate::Held(held_us)) => held_us,
            None => 0,
        };
        // Later acknowledgements do not overtake this one, and no two arrive at the same time:
        // RACK's decision on which of two packets was sent first would depend on it.
        let back_us = (at_us + self.case.rtt_us / 2 + held_us).max(self.ack_free_us);
        self.ack_free_us = back_us + ACK_SPACING_US;
        self.plan(back_us, Event::Acknowledged(packet));
    }

    /// A packet arrives at the engine.
    fn deliver(&mut self, at_us: u64, packet: &TcpPacket) {
        self.line_at(
            at_us,
            shown(None, packet, None).replacen('>', "<", 1).trim(),
        );
        self.connection
            .on_packet(packet, EcnMark::None, instant(at_us));
        self.transmit(at_us);
    }

    fn asserts(&mut self, at_us: u64) {
        let mut conditions = String::new();
        for name in FIELDS {
            let value = field(&self.connection, name, instant(at_us)).unwrap_or(0.0);
            let joint = if conditions.is_empty() { "" } else { " and " };
            let _ = write!(conditions, "{joint}{name} == {value}");
        }
        self.line_at(at_us, &format!("%{{ assert {conditions} }}%"));
    }

    /// Puts the packets that the engine has sent on the path.
    fn transmit(&mut self, at_us: u64) {
        while let Some(sent) = self.connection.sent.pop_front() {
            let mut packet = sent.packet;
            // The engine's own receive window is not under test.
            packet.window = None;
            self.line_at(at_us, &shown(None, &packet, None));
            if packet.flags.has(TcpFlags::SYN) {
                for option in packet.options.iter().flatten() {
                    if let TcpOption::Timestamps { value, .. } = option {
                        self.receiver.echoes(*value);
                    }
                }
            }
            if packet.payload_bytes > 0 || packet.flags.has(TcpFlags::FIN) {
                self.forward(at_us, packet);
            }
        }
    }

    fn forward(&mut self, at_us: u64, packet: TcpPacket) {
        let fate = self.case.fate(self.sent_pkts);
        self.sent_pkts += 1;
        self.free_us = self.free_us.max(at_us) + self.case.spacing_us;
        let there_us = self.free_us + self.case.rtt_us / 2;
        let mut mark = EcnMark::Ect0;
        let late_us = match fate {
            Some(Fate::Lost) => return,
            Some(Fate::Late(late_us)) => late_us,
            Some(Fate::Twice(late_us)) => {
                let again = Event::Arrives(packet.clone(), mark);
                self.plan(there_us + late_us, again);
                0
            }
            Some(Fate::Marked) => {
                mark = EcnMark::Ce;
                0
            }
            None => 0,
        };
        self.plan(there_us + late_us, Event::Arrives(packet, mark));
    }
}
