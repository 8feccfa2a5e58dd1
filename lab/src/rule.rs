//! A congestion controller implemented as a rule by the page. The engine calls it through a
//! function that the page passes to the module (`interface`).
//!
//! Events, their fields and their units are those of the C interface
//! (`python/dumbbell/backends/native/dumbbell_cc.h`). Window, fields and state are exchanged as
//! JavaScript numbers: times are exact below 2^53 ns, and NaN stands for a missing value.

use dumbbell_engine::cca::external::{
    Event, EventContext, ExternalCode, Module, ModuleLoader, Traits,
};
use dumbbell_engine::cca::{Ack, CaState, RttSample, Snapshot, Window};
use dumbbell_engine::spec::tcp::Controller;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of state variables of a connection.
pub const MOST_STATE_NUMBERS: usize = 64;

/// Events for which a rule may define a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is a field of `dumbbell_cc_ops`")]
#[repr(u32)]
pub enum RuleEvent {
    Init,
    OnAck,
    OnLoss,
    OnRtt,
    OnRto,
    OnEnterLoss,
    OnEcn,
    OnExitRecovery,
    OnUndo,
    OnTransmitStart,
    OnIdleRestart,
}

/// Properties of the rule of equal flows that the engine needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Common name of the flows.
    pub group: String,
    /// Events for which it has a function.
    pub heeds: Vec<RuleEvent>,
    /// Number of state variables of each connection, at most [`MOST_STATE_NUMBERS`]; they start at
    /// 0.
    pub state_numbers: usize,
    /// Whether it sets the window during recovery as well.
    pub owns_recovery: bool,
    /// Whether segments are paced at its pacing rate.
    pub wants_pacing: bool,
}

/// Calls the page's function with the event and the exchanged values; the rule returns its results
/// in the same array.
pub type RuleFn = fn(RuleEvent, &mut [f64], &mut EventContext);

/// Names of the exchanged values, in order: the window, then fields of the event, then the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fields {
    /// Fields of the window. All except the last are written back.
    pub window: Vec<&'static str>,
    /// Fields of each event.
    pub events: BTreeMap<&'static str, &'static [&'static str]>,
    /// Events in the order of their numbers.
    pub order: Vec<RuleEvent>,
}

/// Lists field names with their values.
macro_rules! fields {
    ($names:ident, $values:ident, $of:ident: $kind:ty { $($name:literal = $value:expr;)+ }) => {
        const $names: &[&str] = &[$($name),+];

        fn $values($of: &$kind, exchanged: &mut Vec<f64>) {
            exchanged.extend([$($value),+]);
        }
    };
}

/// A time in nanoseconds.
macro_rules! ns {
    ($time:expr) => {
        $time.as_ns() as f64
    };
}

macro_rules! known_ns {
    ($time:expr) => {
        $time.map_or(f64::NAN, |time| ns!(time))
    };
}

fields!(WINDOW, window_numbers, window: Window {
    "cwnd_pkts" = f64::from(window.cwnd_pkts);
    "ssthresh_pkts" = f64::from(window.ssthresh_pkts);
    "pacing_rate_bytes_per_s" = window.pacing_rate_bytes_per_s as f64;
    "prior_cwnd_pkts" = f64::from(window.prior_cwnd_pkts);
    "acked_since_growth_pkts" = f64::from(window.acked_since_growth_pkts);
    "mss_bytes" = f64::from(window.mss_bytes);
});

fields!(ACK, ack_numbers, ack: Ack {
    "now_ns" = ns!(ack.now);
    "rtt_ns" = known_ns!(ack.rtt);
    "srtt_ns" = known_ns!(ack.srtt);
    "min_rtt_ns" = known_ns!(ack.min_rtt);
    "una_pkts" = ack.una_pkts as f64;
    "next_pkts" = ack.next_pkts as f64;
    "delivered_pkts" = ack.delivered_pkts as f64;
    "delivered_time_ns" = ns!(ack.delivered_time);
    "lost_pkts" = ack.lost_pkts as f64;
    "earliest_departure_ns" = ns!(ack.earliest_departure);
    "acked_pkts" = f64::from(ack.acked_pkts);
    "newly_delivered_pkts" = f64::from(ack.newly_delivered_pkts);
    "in_flight_pkts" = f64::from(ack.in_flight_pkts);
    "state" = state_number(ack.state);
    "is_cwnd_limited" = f64::from(u8::from(ack.is_cwnd_limited));
    "rate.delivered_pkts" = ack.rate.delivered_pkts as f64;
    "rate.prior_delivered_pkts" = ack.rate.prior_delivered_pkts as f64;
    "rate.prior_time_ns" = ns!(ack.rate.prior_time);
    "rate.interval_ns" = ns!(ack.rate.interval);
    "rate.rtt_ns" = known_ns!(ack.rate.rtt);
    "rate.losses_pkts" = f64::from(ack.rate.losses_pkts);
    "rate.prior_in_flight_pkts" = f64::from(ack.rate.prior_in_flight_pkts);
    "rate.acked_sacked_pkts" = f64::from(ack.rate.acked_sacked_pkts);
    "rate.is_app_limited" = f64::from(u8::from(ack.rate.is_app_limited));
    "rate.is_ack_delayed" = f64::from(u8::from(ack.rate.is_ack_delayed));
});

fields!(RTT, rtt_numbers, sample: RttSample {
    "now_ns" = ns!(sample.now);
    "rtt_ns" = ns!(sample.rtt);
    "una_pkts" = sample.una_pkts as f64;
    "next_pkts" = sample.next_pkts as f64;
    "is_echo" = f64::from(u8::from(sample.is_echo));
});

fields!(SNAPSHOT, snapshot_numbers, snapshot: Snapshot {
    "now_ns" = ns!(snapshot.now);
    "srtt_ns" = known_ns!(snapshot.srtt);
    "min_rtt_ns" = known_ns!(snapshot.min_rtt);
    "delivered_pkts" = snapshot.delivered_pkts as f64;
    "delivered_time_ns" = ns!(snapshot.delivered_time);
    "lost_pkts" = snapshot.lost_pkts as f64;
    "in_flight_pkts" = f64::from(snapshot.in_flight_pkts);
    "flight_size_pkts" = f64::from(snapshot.flight_size_pkts);
    "is_app_limited" = f64::from(u8::from(snapshot.is_app_limited));
});

/// `enum dumbbell_cc_state`.
fn state_number(state: CaState) -> f64 {
    match state {
        CaState::Open => 0.0,
        CaState::Disorder => 1.0,
        CaState::Cwr => 2.0,
        CaState::Recovery => 3.0,
        CaState::Loss => 4.0,
    }
}

const ORDER: [(RuleEvent, &str, &[&str]); 11] = [
    (RuleEvent::Init, "init", SNAPSHOT),
    (RuleEvent::OnAck, "on_ack", ACK),
    (RuleEvent::OnLoss, "on_loss", SNAPSHOT),
    (RuleEvent::OnRtt, "on_rtt", RTT),
    (RuleEvent::OnRto, "on_rto", SNAPSHOT),
    (RuleEvent::OnEnterLoss, "on_enter_loss", SNAPSHOT),
    (RuleEvent::OnEcn, "on_ecn", SNAPSHOT),
    (RuleEvent::OnExitRecovery, "on_exit_recovery", SNAPSHOT),
    (RuleEvent::OnUndo, "on_undo", &[]),
    (RuleEvent::OnTransmitStart, "on_transmit_start", SNAPSHOT),
    (RuleEvent::OnIdleRestart, "on_idle_restart", SNAPSHOT),
];

impl Fields {
    /// The fields of all events.
    pub fn all() -> Fields {
        Fields {
            window: WINDOW.to_vec(),
            events: ORDER
                .iter()
                .map(|(_, name, fields)| (*name, *fields))
                .collect(),
            order: ORDER.iter().map(|(heeded, _, _)| *heeded).collect(),
        }
    }
}

/// The rule with the sender's interface for controllers.
#[derive(Debug, Clone)]
struct PageRule {
    rule: Rule,
    ask: RuleFn,
}

impl ExternalCode for PageRule {
    fn traits(&self) -> Traits {
        Traits {
            state_words: self.rule.state_numbers,
            owns_recovery: self.rule.owns_recovery,
            wants_pacing: self.rule.wants_pacing,
            send_buffer_windows: 2,
            sees_sender: false,
            needs_ecn: false,
        }
    }

    fn on(
        &self,
        event: Event<'_>,
        state: &mut [u64],
        window: &mut Window,
        asked: &mut EventContext,
    ) -> bool {
        let heeded = match event {
            Event::Init(_) => RuleEvent::Init,
            Event::Rtt(_) => RuleEvent::OnRtt,
            Event::Ack(_) => RuleEvent::OnAck,
            Event::Loss(_) => RuleEvent::OnLoss,
            Event::Rto(_) => RuleEvent::OnRto,
            Event::EnterLoss(_) => RuleEvent::OnEnterLoss,
            Event::Ecn(_) => RuleEvent::OnEcn,
            Event::ExitRecovery(_) => RuleEvent::OnExitRecovery,
            Event::Undo => RuleEvent::OnUndo,
            Event::TransmitStart(..) => RuleEvent::OnTransmitStart,
            Event::IdleRestart(_) => RuleEvent::OnIdleRestart,
            // Only for controllers that use the sender's fields.
            Event::State(_) | Event::AckBegins(_) | Event::Acked(_) => return false,
        };
        if !self.rule.heeds.contains(&heeded) {
            return false;
        }
        let mut exchanged = Vec::with_capacity(WINDOW.len() + ACK.len() + state.len());
        window_numbers(window, &mut exchanged);
        match event {
            Event::Ack(ack) => ack_numbers(ack, &mut exchanged),
            Event::Rtt(sample) => rtt_numbers(sample, &mut exchanged),
            Event::Undo | Event::State(_) | Event::AckBegins(_) | Event::Acked(_) => {}
            Event::Init(snapshot)
            | Event::Loss(snapshot)
            | Event::Rto(snapshot)
            | Event::EnterLoss(snapshot)
            | Event::Ecn(snapshot)
            | Event::ExitRecovery(snapshot)
            | Event::TransmitStart(_, snapshot)
            | Event::IdleRestart(snapshot) => snapshot_numbers(snapshot, &mut exchanged),
        }
        let first = exchanged.len();
        exchanged.extend(state.iter().map(|word| f64::from_bits(*word)));
        (self.ask)(heeded, &mut exchanged, asked);
        // Rust's float conversions saturate, so every number gives a window, which the sender then
        // limits to its bounds. The page has rejected values that are not numbers.
        window.cwnd_pkts = exchanged[0] as u32;
        window.ssthresh_pkts = exchanged[1] as u32;
        window.pacing_rate_bytes_per_s = exchanged[2] as u64;
        window.prior_cwnd_pkts = exchanged[3] as u32;
        window.acked_since_growth_pkts = exchanged[4] as u32;
        for (word, number) in state.iter_mut().zip(&exchanged[first..]) {
            *word = number.to_bits();
        }
        true
    }

    fn limits_itself(&self, _state: &[u64]) -> bool {
        false
    }

    fn least_burst_pkts(&self, _state: &[u64], _window: &Window) -> Option<u32> {
        None
    }
}

/// The only module of a run with a rule.
#[derive(Debug, Clone)]
pub struct Rules(Module);

impl Rules {
    /// Makes the module of a rule that is called through `ask`.
    pub fn of(rule: Rule, ask: RuleFn) -> Rules {
        Rules(Module(Arc::new(PageRule { rule, ask })))
    }
}

impl ModuleLoader for Rules {
    fn load(&self, _described: &Controller) -> Result<Module, String> {
        Ok(self.0.clone())
    }
}

/// Placeholder for the rule in a description, which does not contain it.
pub fn described() -> Controller {
    Controller {
        sha256: "0".repeat(64),
        parameters: BTreeMap::new(),
        class_name: None,
    }
}
