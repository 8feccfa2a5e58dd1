//! Controllers in C: every field crosses the boundary, they are as good as our own, and what is
//! loaded shares nothing.

use dumbbell_core::random::Stream;
use dumbbell_core::time::Time;
use dumbbell_engine::net::plan::FastPaths;
use dumbbell_engine::run::{Monitor, RunOutput, run_captured};
use dumbbell_engine::spec::Experiment;
use dumbbell_native::{Objects, facts};
use dumbbell_spec::tcp::{Controller as Described, Profile, Tcp};
use dumbbell_tcp::cca::external::{ExternalController, ModuleLoader};
use dumbbell_tcp::cca::{
    Ack, CaState, Controller, Options, RateSample, RttSample, Snapshot, Window,
};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

const SHA256: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A shared object in a folder of the build.
fn compiled(name: &str, source: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let header = root.join("python/dumbbell/backends/native");
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.so"));
    let words = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"];
    let mut compiler = Command::new("cc");
    compiler.args(words).arg("-I").arg(header);
    let done = compiler.arg("-o").arg(&object).arg(source).output();
    let done = done.expect("a C compiler, `cc`");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    object
}

/// The same of text.
fn compiled_text(name: &str, text: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.c"));
    std::fs::write(&source, text).unwrap();
    compiled(name, &source)
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/controllers/my_cc.c")
}

fn objects(object: &Path) -> Objects {
    Objects(HashMap::from([(SHA256.to_owned(), object.to_owned())]))
}

fn described(parameters: &[(&str, i64)]) -> Described {
    let parameters = parameters.iter();
    Described {
        sha256: SHA256.to_owned(),
        class_name: None,
        parameters: parameters
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
    }
}

fn controller(object: &Path, parameters: &[(&str, i64)]) -> ExternalController {
    let module = objects(object).load(&described(parameters)).unwrap();
    let options = Options {
        module: Some(module),
        ..Options::from(&Tcp::linux("reno")).for_host(250, Stream::new(1, 0, "controller"))
    };
    Controller::new(&options, Time::ZERO)
}

fn snapshot() -> Snapshot {
    Snapshot {
        now: Time::from_ns(1),
        in_flight_pkts: 2,
        flight_size_pkts: 3,
        next_pkts: 8,
        is_app_limited: true,
        srtt: Some(Time::from_ns(4)),
        min_rtt: None,
        delivered_pkts: 5,
        delivered_time: Time::from_ns(6),
        lost_pkts: 7,
    }
}

/// Sums of fields with powers of a base, so that none can stand in another's place.
const ECHO: &str = r#"
#include <dumbbell_cc.h>
struct state { uint64_t sum, events; };
#define S(flow) ((struct state *)(flow)->state)
static void mix(struct state *s, uint64_t value) { s->sum = s->sum * 1000003u + value; }
static void snap(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n)
{
	struct state *s = S(f);
	s->events++;
	mix(s, n->now_ns); mix(s, n->srtt_ns); mix(s, n->min_rtt_ns); mix(s, n->delivered_pkts);
	mix(s, n->delivered_time_ns); mix(s, n->lost_pkts); mix(s, n->in_flight_pkts);
	mix(s, n->flight_size_pkts); mix(s, n->is_app_limited);
	mix(s, f->timer_hz); mix(s, f->is_linux); mix(s, f->hystart); mix(s, f->is_paced);
	f->window->pacing_rate_bytes_per_s = s->sum;
}
static void ack(struct dumbbell_cc_flow *f, const struct dumbbell_cc_ack *a)
{
	struct state *s = S(f);
	mix(s, a->now_ns); mix(s, a->rtt_ns); mix(s, a->srtt_ns); mix(s, a->min_rtt_ns);
	mix(s, a->una_pkts); mix(s, a->next_pkts); mix(s, a->delivered_pkts);
	mix(s, a->delivered_time_ns); mix(s, a->lost_pkts); mix(s, a->earliest_departure_ns);
	mix(s, a->acked_pkts); mix(s, a->newly_delivered_pkts); mix(s, a->in_flight_pkts);
	mix(s, a->state); mix(s, a->is_cwnd_limited);
	mix(s, a->rate.delivered_pkts); mix(s, a->rate.prior_delivered_pkts);
	mix(s, a->rate.prior_time_ns); mix(s, a->rate.interval_ns); mix(s, a->rate.rtt_ns);
	mix(s, a->rate.losses_pkts); mix(s, a->rate.prior_in_flight_pkts);
	mix(s, a->rate.acked_sacked_pkts); mix(s, a->rate.is_app_limited);
	mix(s, a->rate.is_ack_delayed);
	f->window->pacing_rate_bytes_per_s = s->sum;
}
static void rtt(struct dumbbell_cc_flow *f, const struct dumbbell_cc_rtt_sample *r)
{
	struct state *s = S(f);
	mix(s, r->now_ns); mix(s, r->rtt_ns); mix(s, r->una_pkts); mix(s, r->next_pkts); mix(s, r->is_echo);
	f->window->pacing_rate_bytes_per_s = s->sum;
}
static void undo(struct dumbbell_cc_flow *f)
{
	struct dumbbell_cc_window *w = f->window;
	struct state *s = S(f);
	mix(s, w->cwnd_pkts); mix(s, w->ssthresh_pkts); mix(s, w->cwnd_clamp_pkts);
	mix(s, w->acked_since_growth_pkts); mix(s, w->prior_cwnd_pkts); mix(s, w->mss_bytes);
	w->cwnd_pkts = 11; w->ssthresh_pkts = 12; w->cwnd_clamp_pkts = 13;
	w->acked_since_growth_pkts = 14; w->prior_cwnd_pkts = 15; w->mss_bytes = 16;
	w->pacing_rate_bytes_per_s = s->sum;
}
static void start(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n, uint64_t last)
{
	(void)n;
	mix(S(f), last);
	f->window->pacing_rate_bytes_per_s = S(f)->sum;
}
static bool limits(const void *state) { return ((const struct state *)state)->events == 1; }
static uint32_t burst(const void *state, const struct dumbbell_cc_window *w)
{
	(void)state;
	return w->cwnd_pkts + 1;
}
static void draw(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n)
{
	(void)n;
	f->window->pacing_rate_bytes_per_s = f->below(f->stream, 1000);
}
const struct dumbbell_cc_ops dumbbell_cc = {
	.version = DUMBBELL_CC_VERSION, .state_bytes = sizeof(struct state), .name = "echo",
	.send_buffer_windows = 3, .owns_recovery = true, .wants_pacing = true,
	.init = snap, .on_ack = ack, .on_loss = snap, .on_rtt = rtt, .on_undo = undo,
	.on_transmit_start = start, .limits_itself = limits, .least_burst_pkts = burst,
	.on_exit_recovery = draw,
};
"#;

#[derive(Default)]
struct Sum(u64);

impl Sum {
    fn of(&mut self, values: &[u64]) -> u64 {
        for value in values {
            self.0 = self.0.wrapping_mul(1_000_003).wrapping_add(*value);
        }
        self.0
    }
}

#[test]
fn every_field_crosses_the_boundary() {
    const NONE: u64 = u64::MAX;
    let mut echo = controller(&compiled_text("echo", ECHO), &[]);
    let mut window = Window::new(10, 1448);
    let mut sum = Sum::default();
    assert!(echo.owns_recovery() && echo.wants_pacing());
    assert_eq!(echo.send_buffer_windows(), 3);
    assert_eq!(echo.least_burst_pkts(&window), Some(11));
    assert!(!echo.limits_itself());
    echo.init(&mut window, &snapshot());
    assert!(echo.limits_itself());
    let told = sum.of(&[1, 4, NONE, 5, 6, 7, 2, 3, 1, 250, 1, 1, 0]);
    assert_eq!(window.pacing_rate_bytes_per_s, told);
    let at = Time::from_ns;
    let states = [
        CaState::Open,
        CaState::Disorder,
        CaState::Cwr,
        CaState::Recovery,
        CaState::Loss,
    ];
    for (index, state) in states.into_iter().enumerate() {
        let ack = Ack {
            marked_pkts: 0,
            now: at(1),
            acked_pkts: 2,
            cleaned_pkts: 2,
            newly_delivered_pkts: 3,
            rtt: Some(at(4)),
            srtt: Some(at(5)),
            min_rtt: Some(at(6)),
            in_flight_pkts: 7,
            is_cwnd_limited: true,
            is_window_full: true,
            state,
            una_pkts: 8,
            next_pkts: 9,
            delivered_pkts: 10,
            delivered_time: at(11),
            lost_pkts: 12,
            earliest_departure: at(13),
            rate: RateSample {
                delivered_pkts: -1,
                prior_delivered_pkts: 14,
                prior_time: at(15),
                interval: at(16),
                is_app_limited: true,
                rtt: None,
                losses_pkts: 17,
                prior_in_flight_pkts: 18,
                acked_sacked_pkts: 19,
                is_ack_delayed: false,
                newest_sent: None,
            },
        };
        echo.on_ack(&mut window, &ack);
        let state = index as u64;
        let told = [1, 4, 5, 6, 8, 9, 10, 11, 12, 13, 2, 3, 7, state, 1];
        let rate = [NONE, 14, 15, 16, NONE, 17, 18, 19, 1, 0];
        sum.of(&told);
        assert_eq!(window.pacing_rate_bytes_per_s, sum.of(&rate));
    }
    let sample = RttSample {
        now: at(1),
        rtt: at(2),
        una_pkts: 3,
        next_pkts: 4,
        is_echo: true,
    };
    echo.on_rtt(&mut window, &sample);
    assert_eq!(window.pacing_rate_bytes_per_s, sum.of(&[1, 2, 3, 4, 1]));
    // As for a loss, which is not left out.
    echo.on_ecn(&mut window, &snapshot());
    let snapped = [1, 4, NONE, 5, 6, 7, 2, 3, 1, 250, 1, 1, 0];
    assert_eq!(window.pacing_rate_bytes_per_s, sum.of(&snapped));
    echo.on_rto(&mut window, &snapshot());
    assert_eq!(window.pacing_rate_bytes_per_s, sum.of(&snapped));
    echo.on_transmit_start(&mut window, Some(at(5)), &snapshot());
    assert_eq!(window.pacing_rate_bytes_per_s, sum.of(&[5]));
    echo.on_transmit_start(&mut window, None, &snapshot());
    assert_eq!(window.pacing_rate_bytes_per_s, sum.of(&[NONE]));
    let mut stream = Stream::new(1, 0, "controller");
    for _ in 0..10 {
        echo.on_exit_recovery(&mut window, &snapshot());
        assert_eq!(window.pacing_rate_bytes_per_s, stream.below(1000));
    }
    let infinite = u64::from(dumbbell_tcp::cca::INFINITE_SSTHRESH);
    echo.on_undo(&mut window);
    let told = sum.of(&[10, infinite, u64::from(u32::MAX), 0, 0, 1448]);
    let changed = Window {
        cwnd_pkts: 11,
        ssthresh_pkts: 12,
        cwnd_clamp_pkts: 13,
        acked_since_growth_pkts: 14,
        prior_cwnd_pkts: 15,
        pacing_rate_bytes_per_s: told,
        mss_bytes: 1448,
    };
    assert_eq!(window, changed);
}

#[test]
fn what_is_left_out_has_its_default_and_windows_are_kept_in_bounds() {
    let text = r#"
#include <dumbbell_cc.h>
static void ack(struct dumbbell_cc_flow *f, const struct dumbbell_cc_ack *a)
{ (void)a; f->window->cwnd_pkts = 0; f->window->ssthresh_pkts = 0; }
static void loss(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n)
{ (void)n; f->window->cwnd_pkts = 4000000000u; f->window->cwnd_clamp_pkts = 50; }
const struct dumbbell_cc_ops dumbbell_cc = {
	.version = DUMBBELL_CC_VERSION, .name = "wild", .on_ack = ack, .on_loss = loss };
"#;
    let mut wild = controller(&compiled_text("wild", text), &[]);
    let mut window = Window::new(10, 1448);
    let untouched = window;
    wild.init(&mut window, &snapshot());
    wild.on_enter_loss(&mut window, &snapshot());
    wild.on_exit_recovery(&mut window, &snapshot());
    wild.on_idle_restart(&mut window, &snapshot());
    assert_eq!(window, untouched);
    assert_eq!(
        (wild.send_buffer_windows(), wild.least_burst_pkts(&window)),
        (2, None)
    );
    assert!(!wild.owns_recovery() && !wild.wants_pacing() && !wild.limits_itself());
    window.prior_cwnd_pkts = 30;
    wild.on_undo(&mut window);
    assert_eq!(window.cwnd_pkts, 30);
    wild.on_loss(&mut window, &snapshot());
    assert_eq!(window.cwnd_pkts, 50);
    let ack = dumbbell_ack();
    wild.on_ack(&mut window, &ack);
    assert_eq!((window.cwnd_pkts, window.ssthresh_pkts), (1, 1));
}

fn dumbbell_ack() -> Ack {
    Ack {
        marked_pkts: 0,
        now: Time::ZERO,
        acked_pkts: 1,
        cleaned_pkts: 1,
        newly_delivered_pkts: 1,
        rtt: None,
        srtt: None,
        min_rtt: None,
        in_flight_pkts: 0,
        is_cwnd_limited: true,
        is_window_full: true,
        state: CaState::Open,
        una_pkts: 0,
        next_pkts: 0,
        delivered_pkts: 0,
        delivered_time: Time::ZERO,
        lost_pkts: 0,
        earliest_departure: Time::ZERO,
        rate: RateSample::none(1),
    }
}

const COUNTS: &str = r#"
#include <dumbbell_cc.h>
static unsigned int calls, most = 7;
static const struct dumbbell_cc_parameter parameters[] = { DUMBBELL_CC_PARAMETER(most, 1, 9) };
static void ack(struct dumbbell_cc_flow *f, const struct dumbbell_cc_ack *a)
{ (void)a; f->window->cwnd_pkts = ++calls + 10 * most; }
static void loss(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n)
{ (void)f; (void)n; }
const struct dumbbell_cc_ops dumbbell_cc = {
	.version = DUMBBELL_CC_VERSION, .name = "counts", .on_ack = ack, .on_loss = loss,
	.parameters = parameters, .parameters_count = 1 };
"#;

#[test]
fn each_load_has_static_variables_of_its_own() {
    let object = compiled_text("counts", COUNTS);
    let mut window = Window::new(10, 1448);
    let mut all: Vec<_> = (0..20)
        .map(|index| controller(&object, &[("most", 1 + index % 9)]))
        .collect();
    for round in 1..5 {
        for (index, each) in all.iter_mut().enumerate() {
            each.on_ack(&mut window, &dumbbell_ack());
            assert_eq!(window.cwnd_pkts, round + 10 * (1 + index as u32 % 9));
        }
    }
    // And connections of one load have them together.
    let mut twin = all[0].clone();
    twin.on_ack(&mut window, &dumbbell_ack());
    assert_eq!(window.cwnd_pkts, 15);
    assert_eq!(twin, all[0]);
    assert_ne!(all[0], all[9]);
    let left = std::fs::read_dir(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(!names.any(|name| name.starts_with("counts.so.")));
}

#[test]
fn parameters_are_refused_by_name_and_range() {
    let object = compiled("example_parameters", &example());
    let load = |parameters: &[(&str, i64)]| objects(&object).load(&described(parameters)).err();
    assert_eq!(load(&[("keep", 70)]), None);
    let said = load(&[("kepe", 70)]).unwrap();
    assert_eq!(said, "parameters that it has (increase, keep): not kepe");
    let said = load(&[("keep", 100)]).unwrap();
    assert_eq!(said, "keep from 10 to 99: not 100");
    let found = facts(&object).unwrap();
    let found: BTreeMap<_, _> = { found.parameters.into_iter() }
        .map(|each| (each.name, (each.least, each.most, each.value)))
        .collect();
    assert_eq!(found["keep"], (10, 99, 50));
    assert_eq!(found["increase"], (1, 100, 1));
}

#[test]
fn what_is_no_controller_is_refused() {
    let refused = |name: &str, text: &str| facts(&compiled_text(name, text)).unwrap_err();
    let said = refused("empty", "int nothing;\n");
    assert!(said.contains("defines `dumbbell_cc`"), "{said}");
    let old = COUNTS.replace("= DUMBBELL_CC_VERSION", "= 77");
    let said = refused("old", &old);
    assert!(
        said.contains("version 2 of dumbbell_cc.h: this one says 77"),
        "{said}"
    );
    let said = refused(
        "deaf",
        &COUNTS
            .replace(".on_ack = ack,", ".on_rto = loss,")
            .replace("static void ack", "void ack"),
    );
    assert!(said.contains("on_ack and on_loss"), "{said}");
    let said = refused(
        "large",
        &COUNTS.replace(".name", ".state_bytes = 65537, .name"),
    );
    assert!(said.contains("at most 65536 bytes of state"), "{said}");
    let said = facts(Path::new("/nowhere/none.so")).unwrap_err();
    assert!(said.contains("/nowhere/none.so"), "{said}");
    let unknown = Objects::default().load(&described(&[])).unwrap_err();
    assert!(unknown.contains(SHA256), "{unknown}");
}

/// Two flows over a queue that is too short, at this seed, delay and loss.
fn experiment(tcp: &Tcp, seed: u64) -> Experiment {
    let end = |rate: u64, delay_ns: u64, loss: f64| {
        format!(
            r#"{{"rate_bps":{rate},"delay_ns":{delay_ns},"mtu_bytes":1500,"overhead_bytes":14,
            "loss":{loss},"loss_every_pkts":0,"qdisc":{{"kind":"pfifo","limit_packets":{}}},"changes":[],
            "record_packets":false,"capture":false,"capture_flows":false,"police":null}}"#,
            10 + seed % 40
        )
    };
    let flow = |name: &str, start_ns: u64| {
        let tcp = serde_json::to_string(tcp).unwrap();
        format!(
            r#"{{"name":"{name}","from":"a","to":"b","start_ns":{start_ns},"stop_ns":4000000000,
            "start_jitter_ns":0,"dscp":0,"ecn":"not-ect","transport":"tcp","tcp":{tcp},
            "source":{{"kind":"greedy"}}}}"#
        )
    };
    let delay_ns = 1_000_000 * (1 + seed % 60);
    let loss = [0.0, 0.001, 0.02][(seed % 3) as usize];
    let text = format!(
        r#"{{"schema":1,"name":"twins","seed":{seed},"duration_ns":4000000000,"warm_up_ns":0,
        "sample_interval_ns":100000000,"timer_hz":1000,"hosts":[{{"name":"a"}},{{"name":"b"}}],
        "links":[{{"a":"a","b":"b","forward":{},"reverse":{}}}],
        "flows":[{},{}],"probes":[]}}"#,
        end(8_000_000, delay_ns, loss),
        end(100_000_000, delay_ns, 0.0),
        flow("one", 0),
        flow("two", 1_500_000_000),
    );
    Experiment::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(tcp: &Tcp, seed: u64, modules: &dyn ModuleLoader) -> RunOutput {
    let experiment = experiment(tcp, seed);
    run_captured(
        &experiment,
        0,
        &Monitor::default(),
        None,
        FastPaths::On,
        modules,
    )
    .unwrap()
}

/// Packets that both flows have sent again.
fn resent_pkts(run: &RunOutput) -> i64 {
    { run.tables.column_i64("flows", "retransmitted_pkts") }
        .iter()
        .sum()
}

#[test]
fn reno_in_c_gives_the_digests_of_our_own() {
    let object = compiled("example_reno", &example());
    let modules = objects(&object);
    let (mut others, mut lossy) = (0, 0);
    for seed in 0..24 {
        let own = run(&Tcp::linux("reno"), seed, &modules);
        let mut tcp = Tcp {
            controller: Some(described(&[])),
            ..Tcp::linux("file:my_cc.c")
        };
        assert_eq!(run(&tcp, seed, &modules).digest, own.digest, "seed {seed}");
        tcp.controller = Some(described(&[("keep", 80)]));
        let other = run(&tcp, seed, &modules);
        others += u32::from(other.digest != own.digest);
        lossy += u32::from(resent_pkts(&own) > 0);
        assert_eq!(run(&tcp, seed, &modules).digest, other.digest);
    }
    // Without a loss there is nothing to keep.
    assert!(lossy >= 12, "{lossy} of 24 lose packets");
    assert_eq!(others, lossy);
}

/// A window of 30 while each acknowledgement of data is told after what it acknowledges, else of 500.
const ORDER: &str = r#"
#include <dumbbell_cc.h>
struct state { uint32_t una_bytes, is_cleaned, wrong; };
#define S(flow) ((struct state *)(flow)->state)
static void acked(struct dumbbell_cc_flow *f, const struct dumbbell_cc_acked *a)
{ (void)a; S(f)->is_cleaned = 1; }
static void begins(struct dumbbell_cc_flow *f, uint32_t flags)
{
	struct state *s = S(f);
	uint32_t una_bytes = f->sender->una_bytes;
	(void)flags;
	s->wrong |= s->una_bytes != 0 && una_bytes != s->una_bytes && !s->is_cleaned;
	s->una_bytes = una_bytes; s->is_cleaned = 0;
}
static void ack(struct dumbbell_cc_flow *f, const struct dumbbell_cc_ack *a)
{ (void)a; f->window->cwnd_pkts = S(f)->wrong || S(f)->is_cleaned ? 500 : 30; }
static void loss(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n)
{ (void)n; f->window->ssthresh_pkts = 30; }
const struct dumbbell_cc_ops dumbbell_cc = {
	.version = DUMBBELL_CC_VERSION, .name = "order", .state_bytes = sizeof(struct state),
	.on_ack = ack, .on_loss = loss, .sees_sender = true, .on_acked = acked, .on_ack_begins = begins };
"#;

#[test]
fn an_acknowledgement_is_told_after_what_it_acknowledges() {
    let modules = objects(&compiled_text("order", ORDER));
    let tcp = Tcp {
        controller: Some(described(&[])),
        ..Tcp::linux("file:my_cc.c")
    };
    for seed in 0..6 {
        let output = run(&tcp, seed, &modules);
        let windows = output.tables.column_i64("flow_samples", "cwnd_pkts");
        assert!(windows.contains(&30), "{seed}: {windows:?}");
        assert!(!windows.contains(&500), "{seed}: {windows:?}");
    }
}

#[test]
fn nothing_is_loaded_that_was_not_given() {
    let tcp = Tcp {
        controller: Some(described(&[])),
        ..Tcp::linux("file:my_cc.c")
    };
    assert_eq!(tcp.profile, Profile::Linux61);
    let none = dumbbell_tcp::cca::external::NoModules;
    let experiment = experiment(&tcp, 1);
    let said = run_captured(
        &experiment,
        0,
        &Monitor::default(),
        None,
        FastPaths::On,
        &none,
    )
    .unwrap_err();
    let said = said.to_string();
    assert!(said.contains("flows[0].tcp.congestion_control"), "{said}");
    assert!(said.contains("no other is loaded here"), "{said}");
}
