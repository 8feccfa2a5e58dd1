//! The state of the page: a description, changes to it, and one run at a time.

use crate::capacity::traced_bps;
use crate::changes::{Change, ChangedExperiment, changed};
use crate::numbers::{column, groups, numbers};
use crate::problem::Problem;
use crate::request::{Answer, Request};
use crate::rule::{self, Fields, MOST_STATE_NUMBERS, Rule, RuleFn, Rules};
use crate::{tc_lines, toml_writer};
use dumbbell_engine::cca::external::{ModuleLoader, NoModules};
use dumbbell_engine::run::{Account, Budget, Estimate, IncrementalRun, Monitor};
use dumbbell_engine::spec::route::Routes;
use dumbbell_engine::spec::{Experiment, Flow};
use dumbbell_engine::tables::Tables;
use serde_json::Value;
use std::rc::Rc;
use std::sync::Arc;

/// Memory limit of a run in a browser tab; the largest of the studies is estimated at 750 MB.
const MOST_MEMORY_BYTES: u64 = 1 << 30;
/// Larger runs take minutes in a browser.
const MOST_EVENTS: u64 = 300_000_000;
/// Limit of a request's size.
const LARGEST_REQUEST: usize = 8 << 20;

/// Progress of a run after a step.
#[derive(Debug)]
pub enum RunProgress {
    /// More events are left.
    Going,
    /// The run has ended.
    AtItsEnd,
    /// The run has failed, without tables.
    Failed(Problem),
}

/// State kept between requests.
#[derive(Debug)]
pub struct Laboratory {
    ask: RuleFn,
    base: Value,
    current: Option<ChangedExperiment>,
    run: Option<IncrementalRun<Rc<Monitor>>>,
    is_at_its_end: bool,
    /// That of the run.
    replication: u64,
    /// Rates of the trace of a queue in the run, once they were asked for.
    traced: Option<(usize, Option<Vec<f64>>)>,
    tables: Tables,
}

impl Laboratory {
    /// The initial state; `ask` calls rules of the page.
    pub fn new(ask: RuleFn) -> Laboratory {
        Laboratory {
            ask,
            base: Value::Null,
            current: None,
            run: None,
            is_at_its_end: false,
            replication: 0,
            traced: None,
            tables: Tables::default(),
        }
    }

    /// Answers a request; both are JSON.
    pub fn answer(&mut self, request: &[u8]) -> String {
        match self.answered(request) {
            Ok(answer) => serde_json::json!(answer).to_string(),
            Err(problem) => problem.to_json(),
        }
    }

    fn answered(&mut self, request: &[u8]) -> Result<Answer, Problem> {
        if request.len() > LARGEST_REQUEST {
            let allowed = format!("at most {LARGEST_REQUEST} bytes");
            return Err(Problem::new(
                "",
                format!("{} bytes", request.len()),
                allowed,
            ));
        }
        let request: Request = serde_json::from_slice(request)
            .map_err(|error| Problem::new("", error, "a request of the laboratory"))?;
        match request {
            Request::Load { resolved } => self.load(resolved),
            Request::Change { changes } => self.change(&changes),
            Request::Toml => self.described(|experiment| Answer::Text {
                text: toml_writer::toml(experiment),
            }),
            Request::Tc { queue } => self.lines(queue),
            Request::Begin {
                replication,
                record,
                keeps_samples,
                rule,
            } => self.begin(replication, record, keeps_samples, rule),
            Request::RuleFields => Ok(Answer::Fields(Fields::all())),
            Request::AdvanceTo { until_ns } => self.advance_to(until_ns),
            Request::ChangeCwnd { group, cwnd_pkts } => self.change_cwnd(&group, cwnd_pkts),
            Request::Peek => self.peek(),
            Request::Forget => self.forget(),
            Request::Clock => self.clock(),
            Request::Trace { queue } => self.trace(queue),
            Request::Finish { queue, together } => self.finish(queue, &together),
        }
    }

    fn load(&mut self, resolved: Value) -> Result<Answer, Problem> {
        let found = changed(&resolved, &[])?;
        self.base = resolved;
        Ok(self.describe(found, Vec::new()))
    }

    fn change(&mut self, changes: &[Change]) -> Result<Answer, Problem> {
        let found = changed(&self.base, changes)?;
        let notices = changes.iter().flat_map(Change::notices).collect();
        Ok(self.describe(found, notices))
    }

    fn describe(&mut self, found: ChangedExperiment, notices: Vec<String>) -> Answer {
        let experiment = &found.experiment;
        let ends = || experiment.link_ends().map(|(_, _, end)| end);
        let answer = Answer::Described {
            notices,
            qdiscs: ends().map(|end| end.qdisc.to_string()).collect(),
            polices: (ends().map(|end| end.police.map(|police| police.to_string()))).collect(),
            resolved: found.resolved.clone(),
            queues: experiment.queue_names(),
            groups: groups(&experiment.flows),
            ways: ways(experiment),
        };
        self.current = Some(found);
        answer
    }

    fn experiment(&self) -> Result<&Experiment, Problem> {
        let nothing = || Problem::new("", "nothing", "a description to be loaded first");
        let current = self.current.as_ref().ok_or_else(nothing)?;
        Ok(&current.experiment)
    }

    fn described(&self, answer: impl Fn(&Experiment) -> Answer) -> Result<Answer, Problem> {
        Ok(answer(self.experiment()?))
    }

    fn lines(&self, queue: usize) -> Result<Answer, Problem> {
        let found = self.experiment()?.link_ends().nth(queue);
        let (_, _, end) = found.ok_or_else(|| Problem::new("", queue, "the number of a queue"))?;
        Ok(Answer::Lines {
            queue: tc_lines::at_the_queue(end, "eth0"),
            far_end: tc_lines::at_the_far_end(end, "eth0"),
        })
    }

    fn begin(
        &mut self,
        replication: u64,
        record: Option<usize>,
        keeps_samples: bool,
        rule: Option<Rule>,
    ) -> Result<Answer, Problem> {
        self.run = None;
        self.is_at_its_end = false;
        self.replication = replication;
        self.traced = None;
        self.tables = Tables::default();
        let mut experiment = self.experiment()?.clone();
        if let Some(queue) = record {
            record_only(&mut experiment, queue);
            if !keeps_samples {
                experiment.sample_interval_ns = 0;
            }
        }
        let rules = { rule }
            .map(|rule| self.ruled(&mut experiment, rule))
            .transpose()?;
        let expected = Estimate::of(&experiment);
        if expected.events > MOST_EVENTS || expected.memory_bytes > MOST_MEMORY_BYTES {
            let value = format!(
                "{} events and {} MB are estimated",
                expected.events,
                expected.memory_bytes / 1_000_000
            );
            let allowed =
                "less traffic, a lower rate or a shorter run; `dumbbell run` takes this one";
            return Err(Problem::new("duration_ns", value, allowed));
        }
        let budget = Arc::new(Budget::new(MOST_MEMORY_BYTES, 1));
        let monitor = Monitor {
            memory: Account::of(budget),
            ..Monitor::default()
        };
        let modules: &dyn ModuleLoader = rules.as_ref().map_or(&NoModules, |rules| rules);
        let run =
            IncrementalRun::with_modules(&experiment, replication, Rc::new(monitor), modules)?;
        self.run = Some(run);
        Ok(Answer::Begun {
            expected_events: expected.events,
            expected_memory_bytes: expected.memory_bytes,
        })
    }

    /// Applies a rule to flows.
    fn ruled(&self, experiment: &mut Experiment, rule: Rule) -> Result<Rules, Problem> {
        if rule.state_numbers > MOST_STATE_NUMBERS {
            let allowed = format!("at most {MOST_STATE_NUMBERS} numbers of state");
            return Err(Problem::new("", rule.state_numbers, allowed));
        }
        for flow in members(&experiment.flows, &rule.group)? {
            let Some(tcp) = &mut experiment.flows[flow].tcp else {
                let allowed = "flows over TCP, which have a window";
                return Err(Problem::new("flows", &rule.group, allowed));
            };
            tcp.controller = Some(rule::described());
        }
        Ok(Rules::of(rule, self.ask))
    }

    /// Advances the run by `events` events.
    pub fn advance(&mut self, events: u32) -> RunProgress {
        let Some(run) = &mut self.run else {
            return RunProgress::Failed(no_run());
        };
        match run.advance(u64::from(events)) {
            Ok(true) => RunProgress::Going,
            Ok(false) => {
                self.is_at_its_end = true;
                RunProgress::AtItsEnd
            }
            Err(error) => {
                self.run = None;
                RunProgress::Failed(error.into())
            }
        }
    }

    fn advance_to(&mut self, until_ns: u64) -> Result<Answer, Problem> {
        let run = self.run.as_mut().ok_or_else(no_run)?;
        let is_going = run.advance_to(until_ns)?;
        let now_ns = run.now_ns();
        self.is_at_its_end = !is_going;
        Ok(Answer::Reached { now_ns, is_going })
    }

    fn change_cwnd(&mut self, group: &str, cwnd_pkts: u32) -> Result<Answer, Problem> {
        let members = members(&self.experiment()?.flows, group)?;
        let run = self.run.as_mut().ok_or_else(no_run)?;
        Ok(Answer::Moved(run.change_cwnd(&members, cwnd_pkts)?))
    }

    fn peek(&mut self) -> Result<Answer, Problem> {
        let run = self.run.as_ref().ok_or_else(no_run)?;
        self.tables = run.tables_so_far();
        self.tables.0.push(run.activities());
        self.tables.0.push(run.packet_classes());
        let now_ns = run.now_ns();
        Ok(Answer::Peeked { now_ns })
    }

    fn forget(&mut self) -> Result<Answer, Problem> {
        let run = self.run.as_mut().ok_or_else(no_run)?;
        run.forget_records();
        let now_ns = run.now_ns();
        Ok(Answer::Peeked { now_ns })
    }

    fn clock(&self) -> Result<Answer, Problem> {
        let run = self.run.as_ref().ok_or_else(no_run)?;
        let now_ns = run.now_ns();
        Ok(Answer::Peeked { now_ns })
    }

    fn trace(&mut self, queue: usize) -> Result<Answer, Problem> {
        let known = self.traced.take().filter(|(of, _)| *of == queue);
        let rates_bps = match known {
            Some((_, rates_bps)) => rates_bps,
            None => traced_bps(self.experiment()?, self.replication, queue),
        };
        self.traced = Some((queue, rates_bps.clone()));
        Ok(Answer::Traced {
            traced_bps: rates_bps,
        })
    }

    fn finish(&mut self, queue: usize, together: &[usize]) -> Result<Answer, Problem> {
        if self.run.is_some() && !self.is_at_its_end {
            let allowed = "a run that is at its end: what goes on has no digest";
            return Err(Problem::new("", "a run that goes on", allowed));
        }
        let run = self.run.take().ok_or_else(no_run)?;
        let beside = [run.activities(), run.packet_classes()];
        let output = run.finish()?;
        self.tables = output.tables;
        self.tables.0.extend(beside);
        let experiment = self.experiment()?;
        let numbers = numbers(
            experiment,
            self.replication,
            &self.tables,
            &ways(experiment),
            queue,
            together,
        );
        Ok(Answer::Finished {
            digest: output.digest,
            events: output.events,
            numbers,
        })
    }

    /// The values of the column `TABLE.COLUMN`, as bytes.
    pub fn column(&self, name: &[u8]) -> Option<Vec<u8>> {
        let (table, name) = str::from_utf8(name).ok()?.split_once('.')?;
        let values = column(&self.tables, table, name)?;
        Some(values.into_iter().flat_map(f64::to_le_bytes).collect())
    }
}

/// Indices of equal flows.
fn members(flows: &[Flow], group: &str) -> Result<Vec<usize>, Problem> {
    let members = groups(flows).into_iter().enumerate();
    let members = members.filter(|(_, name)| name == group);
    let members: Vec<usize> = members.map(|(index, _)| index).collect();
    match members.is_empty() {
        true => Err(Problem::new("flows", group, "the name of equal flows")),
        false => Ok(members),
    }
}

fn no_run() -> Problem {
    Problem::new("", "nothing", "a run that has begun")
}

/// Turns on records for one queue only.
fn record_only(experiment: &mut Experiment, queue: usize) {
    let ends = experiment.links.iter_mut();
    let ends = ends.flat_map(|link| [&mut link.forward, &mut link.reverse]);
    for (place, end) in ends.enumerate() {
        end.record_packets = place == queue;
        end.capture = false;
        end.capture_flows = false;
    }
}

/// The queues on each flow's path.
fn ways(experiment: &Experiment) -> Vec<Vec<u32>> {
    let hosts = experiment.host_indices();
    let hops = experiment.hops();
    let ends = experiment
        .flows
        .iter()
        .flat_map(|flow| [&flow.from, &flow.to]);
    let index = |name: &String| hosts.get(name.as_str()).copied();
    let routes = Routes::new(experiment.hosts.len(), &hops, ends.filter_map(index));
    let way = |from: &String, to: &String| {
        let (from, to) = (index(from)?, index(to)?);
        routes.path(&hops, routes.handle(to), from, to)
    };
    let flows = experiment.flows.iter();
    flows
        .map(|flow| way(&flow.from, &flow.to).unwrap_or_default())
        .collect()
}
