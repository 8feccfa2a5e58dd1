//! Process 1 of the virtual-time kernel: sets up the hosts, runs the traffic, writes the results, and ends.
//!
//! Usage: `dumbbell-guest JOB` (or `DUMBBELL_JOB=JOB` in the environment). If it is not process 1 it mounts
//! nothing and runs in real time, for development: `unshare -n -m dumbbell-guest JOB`.
//!
//! `dumbbell-guest packet-scripts JOB` runs packetdrill scripts instead, `dumbbell-guest what-is-there FILE` says
//! what this kernel has.
//!
//! `dumbbell-guest place ...` and `dumbbell-guest enter ...` are started by it: the init process of a host,
//! and the launcher of a program in it.
//!
//! `dumbbell-guest confine ...` runs on the host: it restricts the kernel to the files that it needs.

mod cake;
mod capabilities;
mod capture;
mod capture_file;
mod checksum;
mod confine;
mod controllers;
mod discipline;
mod dualpi2;
mod error;
mod host_links;
mod hosts;
mod irtt;
mod job;
mod login;
mod messages;
mod netlink;
mod output;
mod own_state;
mod packet_scripts;
mod pairing;
mod paths;
mod probes;
mod programs;
mod records;
mod replay;
mod report;
mod samples;
mod shell;
mod sys;
mod tcp_flow;
mod tcp_info;
mod tokens;
mod traffic;
mod traffic_module;
mod udp_flow;
mod watched;
mod web_server;

use dumbbell_spec::Experiment;
use dumbbell_tc::qdisc::Qdisc;
use error::{ErrorContext, GuestError};
use hosts::{Hosts, Offloads};
use job::Job;
use netlink::Place;
use serde_json::json;
use std::io::Write;
use std::process::ExitCode;
use sys::Socket;

#[global_allocator]
static MEMORY: sys::PagesAtOnce = sys::PagesAtOnce;

/// Three for each of the largest number of flows on the kernel, with a margin.
const MOST_OPEN_FILES: u64 = 1 << 16;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some((word, rest)) = arguments.split_first()
        && word == confine::WORD
    {
        return confine::main(rest);
    }
    match arguments.split_first() {
        Some((word, _)) if word == login::place::WORD => return login::place::main(),
        Some((word, rest)) if word == login::enter::WORD => return login::enter::main(rest),
        Some((word, rest)) if word == web_server::WORD => return web_server::main(rest),
        _ => {}
    }
    let result = match arguments.split_first() {
        Some((word, [job])) if word == packet_scripts::WORD => packet_scripts::main(job),
        Some((word, [output])) if word == capabilities::WORD => capabilities::main(output),
        _ => run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The console is a file of the host, whose disk may be full.
            let _ = writeln!(std::io::stdout(), "dumbbell-guest: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), GuestError> {
    if std::process::id() == 1 {
        hosts::mount_all()?;
        sys::open_files(MOST_OPEN_FILES).context(|| "allowing many open files".to_owned())?;
    }
    let path = std::env::args().nth(1);
    let path = path.or_else(|| std::env::var("DUMBBELL_JOB").ok());
    let path = path.ok_or_else(|| GuestError::Job("no job was named".to_owned()))?;
    let job = Job::read(&path)?;
    let experiment = Experiment::from_json(&job.resolved);
    let mut experiment = experiment.map_err(|error| GuestError::Job(error.to_string()))?;
    controllers::load(&job.controllers, &mut experiment)?;
    let hosts = built(&job, &experiment)?;
    if job.shell.is_some() {
        return shell::run(&job, &hosts);
    }
    let mut records = traffic::Traffic::new(&job, &experiment, &hosts)?.run()?;
    controllers::keep_records(&job.controllers, &job.output)?;
    let told = records.programs.take();
    let refused = records.module_refused.take();
    let report = report::Report::new(&job, &experiment, &records);
    let (release, version) = sys::kernel_release();
    let mut result = json!({
        "events": records.events,
        "latest_ns": records.latest.as_ns(),
        "release": release,
        "version": version,
        "unknown_queues": report.unknown_queues(),
    });
    if let Some(refused) = refused {
        result["module_refused"] = json!(refused);
    }
    if let Some(told) = told {
        result["programs"] = told.ended;
        result["zero_wall_ns"] = json!(told.zero_wall_ns);
    }
    output::write(&job.output, &report.tables(), &report.beside(), result)
}

/// Sets up the hosts, their devices, queues and routes.
fn built(job: &Job, experiment: &Experiment) -> Result<Hosts, GuestError> {
    let mut hosts = Hosts::new(
        experiment.hosts.len(),
        &job.sysctl,
        &job.host_sysctl,
        job.tool_library.as_deref(),
    )?;
    hosts.link(&job.pairs, &job.host_links)?;
    for step in &job.steps {
        hosts.run(step)?;
    }
    for (queue, (_, _, end)) in job.queues.iter().zip(experiment.link_ends()) {
        if let (Some(parent), Qdisc::Dualpi2(asked)) = (queue.set_up_below, &end.qdisc) {
            hosts.enter(queue.host)?;
            let socket = Socket::netlink().context(|| "opening a socket".to_owned())?;
            let place = Place {
                device: hosts.device_number(queue.host, &queue.device)?,
                handle: queue.handle,
                parent,
            };
            dualpi2::add(&socket, place, asked)?;
        }
    }
    let of_queues = job.queues.iter().map(|queue| Offloads {
        host: queue.host,
        device: &queue.device,
        tso: queue.tso,
        gro: queue.gro,
    });
    // Copies of an sk_buff of several segments are seen as segments too.
    let of_copies = job.watched.iter().map(|watched| Offloads {
        host: watched.host,
        device: &watched.copies,
        tso: false,
        gro: false,
    });
    hosts.set_offloads(&of_queues.chain(of_copies).collect::<Vec<_>>())?;
    Ok(hosts)
}
