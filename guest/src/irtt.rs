//! Round-trip times measured by the program `irtt`: its server and clients run in the hosts, and the reports
//! of the clients are read at the end.
//!
//! Sources: irtt(1), irtt-client(1), irtt-server(1) of irtt 0.9.

use crate::error::{ErrorContext, GuestError};
use crate::hosts::Hosts;
use crate::probes::Echo;
use crate::sys;
use dumbbell_core::time::Time;
use dumbbell_spec::Probe;
use serde::Deserialize;
use std::fs::File;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Default port of the server.
pub const SERVER_PORT: u16 = 2112;
/// Bytes of a program's output quoted in an error.
const SAID_BYTES: usize = 300;

/// All servers and clients.
pub struct Sessions {
    /// Path of the program; None if no probe uses it.
    program: Option<String>,
    folder: PathBuf,
    servers: Vec<(Ipv4Addr, Child)>,
    clients: Vec<Client>,
    /// Wall clock at the run's time zero.
    zero_wall_ns: u64,
}

/// A running or ended client.
struct Client {
    probe: usize,
    name: String,
    child: Child,
    status: Option<ExitStatus>,
}

/// Parameters of a client.
pub struct ClientRequest<'a> {
    /// Index of the probe.
    pub index: usize,
    /// The probe.
    pub probe: &'a Probe,
    /// Its host.
    pub from: usize,
    /// Source port.
    pub port: u16,
    /// Address of the server.
    pub to: Ipv4Addr,
    /// Duration of sending.
    pub length: Time,
}

impl Sessions {
    /// No sessions.
    pub fn new(program: Option<String>, folder: PathBuf) -> Sessions {
        Sessions {
            program,
            folder,
            servers: Vec::new(),
            clients: Vec::new(),
            zero_wall_ns: 0,
        }
    }

    /// Starts a server at an address of a host, unless it is running.
    pub fn serve(&mut self, host: usize, at: Ipv4Addr, hosts: &Hosts) -> Result<(), GuestError> {
        if self.servers.iter().any(|(address, _)| *address == at) {
            return Ok(());
        }
        hosts.enter(host)?;
        // No minimum interval, and no timeout of sessions.
        let words = ["server", "-i", "0", "--timeout=0"].map(str::to_owned);
        let bind = ["-b".to_owned(), format!("{at}:{SERVER_PORT}")];
        let child = self.spawn(&format!("irtt-server-{at}"), words.into_iter().chain(bind))?;
        self.servers.push((at, child));
        Ok(())
    }

    /// Sets the run's time zero, on the monotonic clock.
    pub fn set_zero(&mut self, zero_ns: u64) {
        // Reading clocks takes virtual time, so a run without sessions does not.
        if !self.servers.is_empty() {
            self.zero_wall_ns = zero_ns + sys::wall_ahead_ns();
        }
    }

    /// Starts a client. Its first request leaves one round trip later, because a session is opened first.
    pub fn start(&mut self, asked: &ClientRequest<'_>, hosts: &Hosts) -> Result<(), GuestError> {
        hosts.enter(asked.from)?;
        let report = self.report(asked.index);
        let (port, server) = (asked.port, asked.to);
        // irtt's DSCP option is the whole TOS byte.
        let class = asked.probe.dscp << 2;
        let words = format!(
            "client -4 -Q --local=:{port} --dscp={class:#04x} -i {}ns -d {}ns -l {} -o",
            asked.probe.interval_ns,
            asked.length.as_ns(),
            asked.probe.payload_bytes,
        );
        let words = words.split(' ').map(str::to_owned);
        let places = [
            report.display().to_string(),
            format!("{server}:{SERVER_PORT}"),
        ];
        let words = words.chain(places);
        let child = self.spawn(&format!("irtt-{}", asked.index), words)?;
        self.clients.push(Client {
            probe: asked.index,
            name: asked.probe.name.clone(),
            child,
            status: None,
        });
        Ok(())
    }

    /// Whether a client is still running.
    pub fn are_running(&mut self) -> Result<bool, GuestError> {
        let mut running = false;
        for client in &mut self.clients {
            if client.status.is_none() {
                let ended = client.child.try_wait();
                client.status = ended.context(|| "waiting for irtt".to_owned())?;
                running |= client.status.is_none();
            }
        }
        Ok(running)
    }

    /// Probe index and round trips of every session.
    pub fn into_echoes(self) -> Result<Vec<(usize, Vec<Echo>)>, GuestError> {
        let read = |client: &Client| {
            if !client.status.is_some_and(|status| status.success()) {
                return Err(self.failed(client));
            }
            let what = || format!("reading what irtt wrote of {}", client.name);
            let text = std::fs::read(self.report(client.probe)).context(what)?;
            let echoes = echoes(&text, self.zero_wall_ns);
            let echoes = echoes.map_err(|error| {
                GuestError::Internal(format!("what irtt wrote of {}: {error}", client.name))
            })?;
            Ok((client.probe, echoes))
        };
        self.clients.iter().map(read).collect()
    }

    fn spawn(&self, log: &str, words: impl Iterator<Item = String>) -> Result<Child, GuestError> {
        let what = || "starting irtt".to_owned();
        let program = self.program.as_ref();
        let program = program.ok_or_else(|| GuestError::Job("no irtt was named".to_owned()))?;
        let log = File::create(self.log(log)).context(what)?;
        Command::new(program)
            .args(words)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(log.try_clone().context(what)?)
            .stderr(log)
            .spawn()
            .context(what)
    }

    fn report(&self, probe: usize) -> PathBuf {
        self.folder.join(format!("irtt-{probe}.json"))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    fn failed(&self, client: &Client) -> GuestError {
        let how = match client.status {
            Some(status) => format!("ended with {status}"),
            None => "did not end".to_owned(),
        };
        let logs = self
            .servers
            .iter()
            .map(|(at, _)| format!("irtt-server-{at}"));
        let logs = std::iter::once(format!("irtt-{}", client.probe)).chain(logs);
        let said: Vec<String> = logs.map(|name| self.said(&name)).collect();
        GuestError::Internal(format!(
            "irtt of {} {how}: {}",
            client.name,
            said.join("; ")
        ))
    }

    /// The start of a program's output, without its usage text.
    fn said(&self, log: &str) -> String {
        let said = std::fs::read(self.log(log)).unwrap_or_default();
        let said = String::from_utf8_lossy(&said[..said.len().min(SAID_BYTES)]);
        said.trim().to_owned()
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        let clients = self.clients.iter_mut().map(|client| &mut client.child);
        let servers = self.servers.iter_mut().map(|(_, child)| child);
        for child in clients.chain(servers) {
            // A process that has ended cannot be killed.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The fields read from a client's report.
#[derive(Deserialize)]
struct IrttOutput {
    round_trips: Vec<RoundTrip>,
}

#[derive(Deserialize)]
struct RoundTrip {
    delay: Delay,
    timestamps: TimeStamps,
}

#[derive(Deserialize)]
struct Delay {
    /// Nanoseconds, excluding the server's processing time; missing if the packet was lost.
    rtt: Option<u64>,
}

#[derive(Deserialize)]
struct TimeStamps {
    client: ClientStamps,
}

#[derive(Deserialize)]
struct ClientStamps {
    send: Stamp,
}

#[derive(Deserialize)]
struct Stamp {
    wall: u64,
}

/// The round trips in a client's report.
fn echoes(report: &[u8], zero_wall_ns: u64) -> Result<Vec<Echo>, serde_json::Error> {
    let written: IrttOutput = serde_json::from_slice(report)?;
    let echo = |trip: RoundTrip| {
        let sent_ns = trip
            .timestamps
            .client
            .send
            .wall
            .saturating_sub(zero_wall_ns);
        let sent = Time::from_ns(sent_ns);
        let received = |rtt| sent.saturating_add(Time::from_ns(rtt));
        Echo {
            sent,
            answered: Time::NEVER,
            received: trip.delay.rtt.map_or(Time::NEVER, received),
        }
    };
    Ok(written.round_trips.into_iter().map(echo).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_read_with_the_instant_it_began_and_a_lost_one_is_lost() {
        let report = br#"{"version": {"irtt": "0.9.0"}, "round_trips": [
            {"seqno": 0, "lost": "false", "delay": {"receive": 7, "rtt": 20115456, "send": 9},
             "timestamps": {"client": {"receive": {"wall": 1700000003020199712, "monotonic": 40},
                            "send": {"wall": 1700000003000084256, "monotonic": 20}},
                            "server": {"receive": {"wall": 5, "monotonic": 5}}}},
            {"seqno": 1, "lost": "true", "delay": {},
             "timestamps": {"client": {"receive": {}, "send": {"wall": 1700000003200000000}},
                            "server": {"receive": {}, "send": {}}}}]}"#;
        let found = echoes(report, 1_700_000_003_000_000_000).unwrap();
        assert_eq!(found[0].sent, Time::from_ns(84_256));
        assert_eq!(found[0].received, Time::from_ns(84_256 + 20_115_456));
        assert_eq!(found[1].sent, Time::from_ns(200_000_000));
        assert_eq!(found[1].received, Time::NEVER);
    }

    #[test]
    fn what_is_no_report_is_refused() {
        assert!(echoes(br#"{"round_trips": [{"delay": {}}]}"#, 0).is_err());
        assert!(echoes(b"Error: no reply from server", 0).is_err());
    }
}
