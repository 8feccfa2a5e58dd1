"""Every one of these faults must be caught by the engine's own tests.

Each is put into a copy of the sources, one at a time; a fault that no test notices is a hole in
the tests. The faults are those that published simulators and labs have had.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTED_CRATES = ("core", "spec", "qdisc", "tcp", "engine")
CRATES = (*TESTED_CRATES, "tc", "capture")
BESIDE = ("guest", "packetdrill")
"""Not built: the engine's test of floors reads what they import."""
TESTED = tuple(word for crate in TESTED_CRATES for word in ("-p", f"dumbbell-{crate}"))


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    before: str
    after: str


MUTANTS = (
    Mutant(
        "of two equal times the wrong component goes first",
        "core/src/tournament.rs",
        "let other_wins = key(other) < key(self);",
        "let other_wins = (other.time, self.turn) < (self.time, other.turn);",
    ),
    Mutant(
        "at one instant a link changes after its packet has left",
        "engine/src/sim/world.rs",
        "if time >= self.wheel_due && self.wheel_is_first(time, Turn(turn))",
        "if time > self.wheel_due && self.wheel_is_first(time, Turn(turn))",
    ),
    Mutant(
        "a drop is not counted",
        "engine/src/traffic/conversation.rs",
        "seldom.dropped.add(packet);",
        "seldom.replies_duplicated.add(packet);",
    ),
    Mutant(
        "a flow's delay is missing from its histogram",
        "core/src/delays.rs",
        "self.histogram.record(delay.0);",
        "self.histogram.record_many(delay.0, 0);",
    ),
    Mutant(
        "a histogram that grows downwards leaves its counts where they were",
        "core/src/histogram.rs",
        "self.counts.splice(0..0, std::iter::repeat_n(0, below));",
        "self.counts.resize(self.counts.len() + below, 0);",
    ),
    Mutant(
        "the IP header is forgotten",
        "core/src/datagram.rs",
        "let bytes = (carried + IP_HEADER_BYTES) as u16;",
        "let bytes = carried.max(IP_HEADER_BYTES + UDP_HEADER_BYTES) as u16;",
    ),
    Mutant(
        "the link's overhead is forgotten",
        "core/src/packet.rs",
        "0 => (bytes, 1),",
        "0 => (bytes, 0),",
    ),
    Mutant(
        "pfifo takes one packet too many",
        "qdisc/src/fifo.rs",
        "waiting_pkts < limit as usize",
        "waiting_pkts <= limit as usize",
    ),
    Mutant(
        "bfifo refuses the packet that just fits",
        "qdisc/src/fifo.rs",
        "waiting_bytes + bytes <= limit",
        "waiting_bytes + bytes < limit",
    ),
    Mutant(
        "a bucket of tokens has no bottom to its depth",
        "qdisc/src/token_bucket.rs",
        "let left = (self.tokens_ns + gain).min(self.depth_ns) - self.rate.ns_of(bytes) as i64;",
        "let left = self.tokens_ns + gain - self.rate.ns_of(bytes) as i64;",
    ),
    Mutant(
        "what a policer drops takes tokens",
        "engine/src/net/policer.rs",
        "self.bucket.take(wire_bytes, now.as_ns()).is_ok()",
        "(self.bucket.take(wire_bytes, now.as_ns()).is_ok()"
        " | self.bucket.take(40, now.as_ns()).is_err())",
    ),
    Mutant(
        "a policer is passed by",
        "engine/src/net/queued.rs",
        "&& !policer.passes(bytes, now)",
        "&& !policer.passes(bytes, now) & false",
    ),
    Mutant(
        "netem's limit leaves out the packet in transmission",
        "qdisc/src/netem.rs",
        "if self.len() + (self.held.packets + inside) as usize >= self.limit {",
        "if self.len() + (self.held.packets + inside) as usize > self.limit {",
    ),
    Mutant(
        "netem's delay is added after the wait",
        "qdisc/src/netem.rs",
        "last.map_or(ready, |last| ready.max(last))",
        "last.map_or(ready, |last| now.max(last) + self.delay)",
    ),
    Mutant(
        "the rest of a division is thrown away",
        "core/src/rate.rs",
        "u128::from(self.carry)",
        "u128::from(self.carry & 0)",
    ),
    Mutant(
        "the warm-up is measured too",
        "core/src/link_statistics.rs",
        "if arrived >= warm_up {",
        "if arrived >= Time::ZERO.min(warm_up) {",
    ),
    Mutant(
        "a wait holds the packet's own transmission",
        "core/src/link_statistics.rs",
        "sojourn.saturating_sub(service)",
        "sojourn.saturating_sub(Time(service.0 / 2))",
    ),
    Mutant(
        "replications share their random numbers",
        "core/src/random.rs",
        "hash.update(replication.to_le_bytes());",
        "hash.update((replication & 0).to_le_bytes());",
    ),
    Mutant(
        "a flow's place in the list decides its random numbers",
        "engine/src/sim/build.rs",
        "FlowStreams::new(self.experiment.seed, self.replication, &flow.name)",
        "FlowStreams::new(self.experiment.seed, self.replication, "
        '&format!("{}{}", flow.name, self.experiment.flows.len()))',
    ),
    Mutant(
        "a packet comes to a folded queue before the departures of its instant",
        "engine/src/sim/world/folded.rs",
        "let bound = self.now + Time(1);",
        "let bound = self.now;",
    ),
    Mutant(
        "what crosses a link without a delay arrives before the departures of its instant",
        "engine/src/sim/world.rs",
        "if self.arriving.is_empty() || self.departs_now() {",
        "if self.arriving.is_empty() {",
    ),
    Mutant(
        "hosts act before the departures of their instant",
        "engine/src/sim/world/tcp.rs",
        "flow.catch_up_with_host_queue(self.now + Time(1));",
        "flow.catch_up_with_host_queue(self.now);",
    ),
    Mutant(
        "a folded departure is not caught up with before a sample",
        "engine/src/sim/world.rs",
        "self.catch_up_all(self.now + Time(1));",
        "self.catch_up_all(Time::ZERO);",
    ),
    Mutant(
        "a host's packet goes before those that came to its link by others",
        "engine/src/sim/world/chained.rs",
        "self.merge_arrivals_before(index, (self.now, self.current));",
        "self.merge_arrivals_before(index, (Time::ZERO, self.current));",
    ),
    Mutant(
        "what several links bring is taken on a turn too early",
        "engine/src/sim/world/merged.rs",
        "self.merge_arrivals_before(index, (self.now, self.current));",
        "self.merge_arrivals_before(index, (self.now, Turn::new(class::SAMPLE, 0)));",
    ),
    Mutant(
        "a link that changes lets nothing overtake",
        "engine/src/net/link.rs",
        "self.delay = Time::from_ns(delay_ns);",
        "self.delay = self.delay.max(Time::from_ns(delay_ns));",
    ),
    Mutant(
        "codel's drops do not come closer together",
        "qdisc/src/codel.rs",
        "let step = (u64::from(interval) * u64::from(self.reciprocal_sqrt)) >> 16;",
        "let step = (u64::from(interval) * u64::from(self.reciprocal_sqrt.max(ONE))) >> 16;",
    ),
    Mutant(
        "codel's drops come after interval / count",
        "qdisc/src/codel.rs",
        "let square = (x * x) >> 32;",
        "let square = x;",
    ),
    Mutant(
        "codel forgets its count when dropping ends",
        "qdisc/src/codel.rs",
        "if drops > 1 && is_after(parameters.interval.wrapping_mul(16), since) {",
        "if drops > 1 && is_after(parameters.interval.wrapping_mul(0), since) {",
    ),
    Mutant(
        "codel resumes with all drops since the start",
        "qdisc/src/codel.rs",
        "let drops = self.count.wrapping_sub(self.last_count);",
        "let drops = self.count.wrapping_sub(0 * self.last_count);",
    ),
    Mutant(
        "codel drops when a whole MTU waits behind",
        "qdisc/src/codel.rs",
        "source.backlog_bytes() <= u64::from(parameters.mtu_bytes)",
        "source.backlog_bytes() < u64::from(parameters.mtu_bytes)",
    ),
    Mutant(
        "pie's gains stay the same below 1 %",
        "qdisc/src/pie/edition.rs",
        "2 * quarters.count() as u32",
        "0 * quarters.count() as u32",
    ),
    Mutant(
        "pie takes alpha for beta",
        "qdisc/src/pie/updates.rs",
        "(scale(parameters.alpha), scale(parameters.beta))",
        "(scale(parameters.beta), scale(parameters.alpha))",
    ),
    Mutant(
        "pie's drops are independent",
        "qdisc/src/pie/edition.rs",
        "if *accumulated < self.largest_probability / 100 * 85 {",
        "if *accumulated < self.largest_probability / 1000 {",
    ),
    Mutant(
        "pie's drops may stay out for ever",
        "qdisc/src/pie/edition.rs",
        "if *accumulated >= self.largest_probability / 2 * 17 {",
        "if *accumulated >= self.largest_probability / 2 * 170 {",
    ),
    Mutant(
        "pie begins half a second late",
        "qdisc/src/pie.rs",
        "next_update: clock.expiry(Time::ZERO, tupdate),",
        "next_update: clock.expiry(Time::ZERO, Time::from_ns(500_000_000)),",
    ),
    Mutant(
        "fq_codel's queues do not pay back what they sent too much",
        "qdisc/src/fq_codel.rs",
        "queue.deficit += self.quantum_bytes;",
        "queue.deficit = self.quantum_bytes;",
    ),
    Mutant(
        "fq_codel's new queue is new again at once",
        "qdisc/src/flow_queues.rs",
        "let waits = is_new && !self.old.is_empty();",
        "let waits = is_new && self.old.len() > 65_536;",
    ),
    Mutant(
        "fq_codel drops half a queue, however many packets",
        "qdisc/src/fq_codel.rs",
        "if dropped >= self.drop_batch_packets || bytes >= half {",
        "if bytes >= half {",
    ),
    Mutant(
        "fq_codel drops its batch, however few bytes the queue has",
        "qdisc/src/fq_codel.rs",
        "if dropped >= self.drop_batch_packets || bytes >= half {",
        "if dropped >= self.drop_batch_packets || bytes >= 2 * half {",
    ),
    Mutant(
        "red's average is the backlog",
        "qdisc/src/red.rs",
        "None => self.average + backlog_bytes - (self.average >> self.weight_log2),",
        "None => backlog_bytes << self.weight_log2,",
    ),
    Mutant(
        "red's drops are not spread by the count",
        "qdisc/src/red.rs",
        "if above_min_bytes * (self.count as u64) < u64::from(self.threshold) {",
        "if above_min_bytes < u64::from(self.threshold) {",
    ),
    Mutant(
        "what a shaper looks at is outside its child's limit",
        "qdisc/src/child.rs",
        "self.qdisc.set_held(self.held());",
        "self.qdisc.set_held(Held::NOTHING);",
    ),
    Mutant(
        "a shaper takes out of a prio what it looks at",
        "qdisc/src/prio.rs",
        "Some(first_of(&mut self.bands, |band| band.peek(now, events)))",
        "{ (_, _) = (now, events); None }",
    ),
    Mutant(
        "pfifo_fast's places are free at once",
        "qdisc/src/pfifo_fast.rs",
        "if self.empty == BATCH || self.place == 0 {",
        "if self.empty > 0 {",
    ),
    Mutant(
        "a class of htb pays with its own rate for what it borrows",
        "qdisc/src/htb.rs",
        "let pays_rate = self.tree.level(index) >= level;",
        "let pays_rate = self.tree.level(index) <= LEVELS.max(level);",
    ),
    Mutant(
        "tbf drops the packet that just fits its bucket",
        "qdisc/src/tbf.rs",
        "if packet.wire_bytes(self.overhead_bytes) > self.largest_bytes {",
        "if packet.wire_bytes(self.overhead_bytes) >= self.largest_bytes {",
    ),
    Mutant(
        "CUBIC leaves three tenths of the window after a loss",
        "tcp/src/cca/cubic/linux.rs",
        "const BETA: u64 = 717;",
        "const BETA: u64 = 307;",
    ),
    Mutant(
        "HyStart allows for no bursts",
        "tcp/src/cca/hystart.rs",
        "ack.delay_min_us + burst_allowance_us(ack.pacing_rate_bytes_per_s)",
        "ack.delay_min_us + burst_allowance_us(0 * ack.pacing_rate_bytes_per_s)",
    ),
    Mutant(
        "a packet that is SACKed takes as much of the send buffer as before",
        "tcp/src/sender/send_buffer.rs",
        "u64::from(self.board.sacked_out())",
        "u64::from(0 * self.board.sacked_out())",
    ),
    Mutant(
        "a segment is pushed after a whole window, not half of one",
        "tcp/src/sender/psh.rs",
        "write.largest_window_bytes / 2 + 1",
        "write.largest_window_bytes + 1",
    ),
    Mutant(
        "the send buffer ends with what fits",
        "tcp/src/sender/send_buffer.rs",
        "free.div_ceil(mss_bytes + STRUCTURE_BYTES)",
        "free / (mss_bytes + STRUCTURE_BYTES)",
    ),
    Mutant(
        "a sender may have one packet in its host's queue",
        "tcp/src/small_queue.rs",
        "by_rate.max(2 * self.truesize_bytes)",
        "by_rate.max(self.truesize_bytes)",
    ),
    Mutant(
        "a fast sender may have half a millisecond in its host's queue",
        "tcp/src/small_queue.rs",
        "rate => rate >> PACING_SHIFT,",
        "rate => rate >> (PACING_SHIFT + 1),",
    ),
    Mutant(
        "retransmissions have the limit of new data",
        "tcp/src/small_queue.rs",
        "limit.saturating_mul(1 + u64::from(self.is_retransmission))",
        "limit.saturating_mul(1 + 0 * u64::from(self.is_retransmission))",
    ),
    Mutant(
        "a sender waits although hardly anything is out",
        "tcp/src/small_queue.rs",
        "candidate.packets_out <= 1",
        "candidate.packets_out < 1",
    ),
    Mutant(
        "a sender is not woken when its host's queue has room",
        "tcp/src/small_queue.rs",
        "self.woken = now;",
        "let _ = now;",
    ),
    Mutant(
        "a sender does not hear what its host's queue drops",
        "engine/src/sim/world/hosts.rs",
        "self.leave_host_queue(packet, false);",
        "self.links[0].has_small_queues |= false;",
    ),
    Mutant(
        "a host's queue counts the segments of a burst",
        "engine/src/sim/world/tcp.rs",
        "let is_whole = self.links[link].takes_whole(&segments);",
        "let is_whole = self.links[link].takes_whole(&segments) & false;",
    ),
    Mutant(
        "a pipe counts segments whose first is in transmission",
        "engine/src/net/pipe.rs",
        "waiting.iter().take_while(|each| each.continues)",
        "waiting.iter().take_while(|each| each.continues & false)",
    ),
    Mutant(
        "the first segment in transmission counts as one that waits",
        "engine/src/net/pipe.rs",
        "self.pending.continuing() - usize::from(is_first)",
        "self.pending.continuing()",
    ),
    Mutant(
        "segments that have left a queue are counted as those of a packet in it",
        "engine/src/net/pending.rs",
        "self.continuing -= usize::from(first.continues && self.left < self.looked_at);",
        "",
    ),
    Mutant(
        "what leaves as the next comes was alone in its pipe",
        "core/src/link_statistics/crossings.rs",
        "if crossing.departure >= gone_before {",
        "if crossing.departure > gone_before {",
    ),
    Mutant(
        "what has tokens when it comes was in the queue",
        "core/src/link_statistics/crossings.rs",
        "while entering.server == Server::Tokens && order.departure <= crossing.arrived {",
        "while entering.server == Server::Tokens && order.departure < crossing.arrived {",
    ),
    Mutant(
        "a timer that was moved and moved back stays in its slot",
        "tcp/src/sender/timers.rs",
        "self.has_moved = true;",
        "self.has_moved &= true;",
    ),
    Mutant(
        "a sender that is paced goes on with full segments",
        "tcp/src/sender/header_prediction.rs",
        "let is_plain = self.bursts.is_none() && !self.pacing.is_on();",
        "let is_plain = self.bursts.is_none();",
    ),
    Mutant(
        "what is to be written later is written when something has come",
        "engine/src/traffic/connection.rs",
        "self.is_write_blocked = false;",
        "self.is_write_blocked &= true;",
    ),
    Mutant(
        "a burst leaves its host's queue one by one",
        "engine/src/sim/world/chained.rs",
        "if number == 0 {",
        "if number < 9 {",
    ),
    Mutant(
        "what a host's queue refuses is lost",
        "engine/src/traffic/connection.rs",
        "self.sender.on_refused(pkts, is_retransmission, now)",
        "self.sender.on_congested_host(now)",
    ),
    Mutant(
        "what a delay holds is in the host's queue",
        "qdisc/src/netem.rs",
        "if events.notes_delayed && self.takes_time {",
        "if events.notes_delayed & !self.takes_time & false {",
    ),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the crates with a workspace of its own, and one build folder."""
    folder = tmp_path_factory.mktemp("mutants")
    for crate in (*CRATES, *BESIDE):
        shutil.copytree(ROOT / crate, folder / crate)
    for name in ("Cargo.lock", "clippy.toml", "rust-toolchain.toml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "tests").mkdir()
    shutil.copytree(ROOT / "tests" / "golden", folder / "tests" / "golden")
    manifest = (ROOT / "Cargo.toml").read_text()
    only = rf"\1 = {json.dumps(CRATES)}"
    fewer, found = re.subn(r"^((?:default-)?members) = \[.*?\]", only, manifest, flags=re.M)
    assert found == 2
    (folder / "Cargo.toml").write_text(fewer)
    return folder


@dataclass(frozen=True)
class Outcome:
    """How the tests in the tree ended."""

    passed: bool
    seconds: float
    """That they took once they were built."""


LONGEST_S = 3600.0
"""Of building, and of the sources as they are."""
PATIENCE = 3.0
"""A fault after which the tests take this many times as long as all of them did is caught, too: it
has them wait for what never comes."""


def _outcome(tree: Path, at_most_s: float) -> Outcome:
    # A failing case is not made smaller, nor kept for the next mutant.
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(tree / "target"),
        "CARGO_INCREMENTAL": "1",
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "PROPTEST_MAX_SHRINK_ITERS": "0",
        "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        "INSTA_UPDATE": "no",
    }
    took_s = 0.0
    # The tests inside the crate are one program; those beside it are one each, all built before
    # the first is run. Few mutants come so far.
    for which in ("--lib", "--tests"):
        words = ["cargo", "test", "--quiet", *TESTED, which]
        assert _done([*words, "--no-run"], tree, environment, LONGEST_S), "it was not built"
        began = time.monotonic()
        passed = _done(words, tree, environment, at_most_s)
        took_s += time.monotonic() - began
        if not passed:
            return Outcome(False, took_s)
    return Outcome(True, took_s)


def _done(words: list[str], tree: Path, environment: dict[str, str], at_most_s: float) -> bool:
    """Whether it ended, in time and well. What cargo has started ends with it."""
    with subprocess.Popen(
        words,
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said = process.communicate(timeout=at_most_s)[1]
        except subprocess.TimeoutExpired:
            return False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert "could not compile" not in said, said
    return process.returncode == 0


@pytest.fixture(scope="module")
def patience_s(tree: Path) -> float:
    """Seconds after which a mutant's tests hang. The sources have to pass as they are: else every
    mutant would seem to be caught.
    """
    outcome = _outcome(tree, LONGEST_S)
    assert outcome.passed
    return PATIENCE * outcome.seconds


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_place_of_a_mutant_is_there_once(mutant: Mutant) -> None:
    """Else nothing, or something else, would be tried the next time the long tests run."""
    source = (ROOT / mutant.file).read_text()
    assert source.count(mutant.before) == 1, "the source has changed: write the mutant anew"
    assert mutant.after != mutant.before


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(tree: Path, patience_s: float, mutant: Mutant) -> None:
    file = tree / mutant.file
    original = file.read_text()
    assert original.count(mutant.before) == 1, "the source has changed: write the mutant anew"
    file.write_text(original.replace(mutant.before, mutant.after))
    try:
        assert not _outcome(tree, patience_s).passed, f"no test noticed that {mutant.name}"
    finally:
        file.write_text(original)
