//! Packet scripts in packetdrill's language (N. Cardwell et al., "packetdrill: Scriptable Network
//! Stack Testing", USENIX ATC 2013), as far as these tests need it.
//!
//! | event | meaning here |
//! | --- | --- |
//! | `connect(...)` | the sender is under test |
//! | `listen(...)` | the receiver is under test |
//! | `write(3, ..., N)`, `close(3)`, `read(3, ..., N)` | what the application does; the receiver's application reads by itself until `read(3, ..., 0)`, which makes it stop, or a larger number, which makes it read on |
//! | `setsockopt(3, SOL_TCP, TCP_CONGESTION, "NAME", n)`, `TCP_NODELAY` | settings |
//! | `` `sysctl -q net.ipv4.NAME=VALUE` `` | settings: `tcp_sack`, `tcp_recovery` (0: no RACK), `tcp_timestamps`, `tcp_ecn`, `profile` (`rfc`) |
//! | `` `ip route replace ... initcwnd N` `` | the initial window, packets |
//! | `` `host-queue keeps` ``, `` `host-queue loses N` `` | data sent from here on stay in the queue of the host; so many of them, the first, are gone from there |
//! | `< FLAGS SEQ:END(LEN) ack A win W <OPTIONS>` | a segment arrives |
//! | `> ...` | a segment is sent, then; nothing else may be |
//! | `%{ assert FIELD OP VALUE, ... }%` | fields of `tcp_info` |
//!
//! Times are as in packetdrill: `0.5`, `+0.5`, `+0.1~+0.3`, `*`. A segment may be sent 4 ms off
//! (`--tolerance_usecs`). Windows and sequence numbers too; timestamps are not shifted: they count
//! milliseconds from 1.

mod parse;

use dumbbell_engine::cca::{Algorithm, State};
use dumbbell_engine::sim::time::Time;
use dumbbell_engine::spec::tcp::{Profile, Prr, Tcp};
use dumbbell_engine::tcp::Settings;
use dumbbell_engine::tcp::receiver::Receiver;
use dumbbell_engine::tcp::segment::{Flags, Segment};
use dumbbell_engine::tcp::sender::Sender;
use std::collections::VecDeque;

use parse::{Action, Assertion, Event, Expected, When};

const TOLERANCE_US: u64 = 4_000;
/// What windows are scaled by after the handshake when a receiver is under test.
const RECEIVER_SCALE: u32 = 7;

fn us(us: u64) -> Time {
    Time::from_ns(us * 1000)
}

#[allow(clippy::large_enum_variant, reason = "there is one of them")]
enum Machine {
    None,
    Sender(Sender),
    Receiver(Receiver),
}

struct Run {
    tcp: Tcp,
    mss_bytes: u32,
    nodelay: bool,
    machine: Machine,
    now: Time,
    /// Sent and not yet compared.
    sent: VecDeque<(Time, Segment)>,
    /// What windows that arrive are scaled by.
    scale: u32,
    /// Payloads in the queue of the host, where that keeps them.
    host_queue: Option<VecDeque<u32>>,
}

/// Runs a script. The error names the line.
pub fn run(text: &str, defaults: Tcp) -> Result<(), String> {
    let events = parse::script(text)?;
    let mss_bytes = events.iter().find_map(|event| match &event.action {
        Action::Inject(segment, options) if segment.flags.has(Flags::SYN) => options.mss_bytes,
        _ => None,
    });
    let mut run = Run {
        tcp: defaults,
        mss_bytes: mss_bytes.unwrap_or(1460),
        nodelay: false,
        machine: Machine::None,
        now: Time::ZERO,
        sent: Default::default(),
        scale: 0,
        host_queue: None,
    };
    for event in &events {
        run.event(event)
            .map_err(|error| format!("line {}: {error}\n    {}", event.line, event.text))?;
    }
    match run.sent.front() {
        Some((time, segment)) => Err(format!("at the end: {}", describe(*time, segment))),
        None => Ok(()),
    }
}

fn describe(time: Time, segment: &Segment) -> String {
    let flags = [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::PSH, 'P'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::ACK, '.'),
    ];
    let flags: String = flags
        .iter()
        .filter(|(flag, _)| segment.flags.has(*flag))
        .map(|(_, letter)| letter)
        .collect();
    let sack: Vec<String> = segment
        .sack
        .as_slice()
        .iter()
        .map(|block| format!("{}:{}", block.start, block.end))
        .collect();
    let end = segment.seq + u64::from(segment.payload_bytes);
    format!(
        "sent at {:.6} s: {flags} {}:{end}({}) ack {} win {} sack {sack:?} ts {:?} ect {}",
        time.as_seconds(),
        segment.seq,
        segment.payload_bytes,
        segment.ack,
        segment.window_bytes,
        segment.timestamps,
        segment.flags.has(Flags::ECT),
    )
}

impl Run {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        let start = self.now;
        let (from, to) = match event.when {
            When::At(at_us) => (us(at_us), us(at_us)),
            When::After(span_us) => (start + us(span_us), start + us(span_us)),
            When::Between(first_us, last_us) => (start + us(first_us), start + us(last_us)),
            When::Any => (start, Time::NEVER),
        };
        match &event.action {
            Action::Expect(expected) => self.expect(expected, from, to),
            // What was sent in this instant may be compared afterwards.
            action @ Action::Assert(_) if from == self.now => self.act(action),
            action => {
                self.advance(from)?;
                self.act(action)
            }
        }
    }

    fn next_timer(&self) -> Time {
        match &self.machine {
            Machine::None => Time::NEVER,
            Machine::Sender(sender) => sender.next_timer(),
            Machine::Receiver(receiver) => receiver.next_timer(),
        }
    }

    fn on_timer(&mut self) {
        match &mut self.machine {
            Machine::None => {}
            Machine::Sender(sender) => sender.on_timer(self.now),
            Machine::Receiver(receiver) => receiver.on_timer(self.now),
        }
        self.poll();
    }

    fn poll(&mut self) {
        loop {
            let segment = match &mut self.machine {
                Machine::None => None,
                Machine::Sender(sender) => sender.poll_transmit(self.now),
                Machine::Receiver(receiver) => receiver.poll_transmit(self.now),
            };
            let Some(segment) = segment else {
                return;
            };
            if let (Machine::Sender(sender), Some(queue)) =
                (&mut self.machine, &mut self.host_queue)
                && segment.payload_bytes > 0
            {
                sender.enter_host_queue(segment.payload_bytes);
                queue.push_back(segment.payload_bytes);
            }
            self.sent.push_back((self.now, segment));
        }
    }

    /// Lets time pass, in which nothing may be sent.
    fn advance(&mut self, to: Time) -> Result<(), String> {
        loop {
            if let Some((time, segment)) = self.sent.front() {
                return Err(format!("not expected: {}", describe(*time, segment)));
            }
            let timer = self.next_timer();
            if timer > to {
                self.now = to.max(self.now);
                return Ok(());
            }
            self.now = timer.max(self.now);
            self.on_timer();
        }
    }

    fn expect(&mut self, expected: &Expected, from: Time, to: Time) -> Result<(), String> {
        let latest = to.saturating_add(us(TOLERANCE_US));
        while self.sent.is_empty() {
            let timer = self.next_timer();
            if timer == Time::NEVER || timer > latest {
                return Err(format!("nothing was sent; the next timer is at {timer:?}"));
            }
            self.now = timer.max(self.now);
            self.on_timer();
        }
        let (time, segment) = self.sent.pop_front().expect("there is one");
        let is_timely = time.saturating_add(us(TOLERANCE_US)) >= from && time <= latest;
        if !is_timely || !expected.matches(&segment, RECEIVER_SCALE) {
            return Err(describe(time, &segment));
        }
        Ok(())
    }

    fn settings(&self) -> Settings {
        let algorithm = Algorithm::named(&self.tcp.congestion_control);
        let algorithm = algorithm.expect("a controller of this name");
        let mut settings =
            Settings::new(std::sync::Arc::new(self.tcp.clone()), algorithm, 1500, 1000);
        let options = if self.tcp.timestamps { 12 } else { 0 };
        settings.mss_bytes = self.mss_bytes - options;
        settings
    }

    fn act(&mut self, action: &Action) -> Result<(), String> {
        let now = self.now;
        match action {
            Action::Expect(_) => unreachable!("handled by the caller"),
            Action::Ignore => {}
            Action::Set(name, value) => self.set(name, value)?,
            Action::Connect => {
                let mut sender = Sender::new(&self.settings(), now);
                if self.nodelay {
                    sender = sender.without_nagle();
                }
                sender.connect(now);
                self.machine = Machine::Sender(sender);
            }
            Action::Listen => self.machine = Machine::Receiver(Receiver::new(&self.settings())),
            Action::Write(bytes) => self.sender()?.write(*bytes, now),
            Action::Close => self.sender()?.close(),
            Action::HostQueueKeeps => self.host_queue = Some(VecDeque::new()),
            Action::HostQueueLoses(pkts) => self.leave_host_queue(*pkts)?,
            Action::Read(bytes) => match &mut self.machine {
                Machine::Receiver(receiver) => receiver.set_reading(*bytes > 0, now),
                _ => return Err("only a receiver reads".into()),
            },
            Action::Inject(segment, options) => {
                let mut segment = *segment;
                if segment.flags.has(Flags::SYN) {
                    self.scale = options.scale.unwrap_or(0);
                } else {
                    segment.window_bytes <<= self.scale;
                }
                match &mut self.machine {
                    Machine::None => return Err("no socket yet".into()),
                    Machine::Sender(sender) => sender.on_segment(&segment, now),
                    Machine::Receiver(receiver) => receiver.on_segment(&segment, now),
                }
            }
            Action::Assert(assertions) => {
                for assertion in assertions {
                    self.assert(assertion)?;
                }
            }
        }
        self.poll();
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let is_on = value != "0";
        match name {
            "tcp_sack" => self.tcp.sack = is_on,
            "tcp_recovery" => self.tcp.rack = is_on,
            "tcp_timestamps" => self.tcp.timestamps = is_on,
            "tcp_ecn" => self.tcp.ecn = is_on,
            "congestion" => self.tcp.congestion_control = value.to_owned(),
            "initcwnd" => {
                let pkts = value.parse();
                self.tcp.initial_window_pkts = pkts.map_err(|_| format!("initcwnd {value}"))?;
            }
            "nodelay" => self.nodelay = is_on,
            "profile" if value == "rfc" => {
                self.tcp.profile = Profile::Rfc;
                self.tcp.prr = Prr::Rfc9937;
                self.tcp.rack = false;
                self.tcp.min_rto_ns = 1_000_000_000;
            }
            _ => return Err(format!("no setting {name} = {value}")),
        }
        Ok(())
    }

    /// The sender must ask to be woken at once if it has something to send.
    fn leave_host_queue(&mut self, pkts: u64) -> Result<(), String> {
        let now = self.now;
        for _ in 0..pkts {
            let first = self.host_queue.as_mut().and_then(VecDeque::pop_front);
            let payload_bytes = first.ok_or("the host's queue is empty")?;
            let wakes = self.sender()?.leave_host_queue(payload_bytes, now);
            if wakes != (self.next_timer() <= now) {
                return Err("woken and no timer, or the other way round".into());
            }
            if wakes {
                self.on_timer();
            }
        }
        Ok(())
    }

    fn sender(&mut self) -> Result<&mut Sender, String> {
        match &mut self.machine {
            Machine::Sender(sender) => Ok(sender),
            _ => Err("only a sender writes and closes".into()),
        }
    }

    fn assert(&mut self, assertion: &Assertion) -> Result<(), String> {
        let sender = self.sender()?;
        let (board, window) = (sender.board(), sender.window());
        let statistics = sender.statistics();
        let value = match assertion.field.as_str() {
            "tcpi_snd_cwnd" => u64::from(window.cwnd_pkts),
            "tcpi_snd_ssthresh" => u64::from(window.ssthresh_pkts),
            "tcpi_unacked" => u64::from(board.packets_out()),
            "tcpi_sacked" => u64::from(board.sacked_out()),
            "tcpi_lost" => u64::from(board.lost_out()),
            "tcpi_retrans" => u64::from(board.retrans_out()),
            "tcpi_total_retrans" => statistics.retransmitted_pkts,
            "tcpi_rto" => sender.rto().as_ns() / 1000,
            "tcpi_rtt" => sender
                .round_trip()
                .srtt()
                .map_or(0, |rtt| rtt.as_ns() / 1000),
            "tcpi_ca_state" => match sender.state() {
                State::Open => 0,
                State::Disorder => 1,
                State::Cwr => 2,
                State::Recovery => 3,
                State::Loss => 4,
            },
            field => return Err(format!("no field {field}")),
        };
        if assertion.holds(value)? {
            return Ok(());
        }
        Err(format!("{} is {value}", assertion.field))
    }
}
