"""A run's senders as ss prints them, and the output parsed again by the log readers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from log_samples import FOLDER

from dumbbell.backends import simulate
from dumbbell.compare.program_logs import ping_files, ss_files, tc_files
from dumbbell.errors import DumbbellError
from dumbbell.formats import ss_hosts, ss_iterate_text
from dumbbell.formats.logs import LogText, PingLog, SsLog, TcLog, log_of_text
from dumbbell.metrics.logs import log_numbers
from dumbbell.metrics.logs.run_numbers import SAME, counterpart, run_numbers
from dumbbell.spec import Experiment
from dumbbell.tables import Run

TOML = """
name = "three-logs"
duration = "6s"
sample_interval = "100ms"
[[links]]
a = "client"
b = "router"
rate = "inf"
[[links]]
a = "router"
b = "server"
rate = "10mbit"
delay = "10ms"
qdisc = "pfifo limit 30"
[[flows]]
name = "bulk"
from = "client"
to = "server"
source = { kind = "greedy" }
[[flows]]
name = "paced"
from = "client"
to = "server"
start = "1s"
source = { kind = "greedy" }
tcp = { congestion_control = "bbr" }
[[flows]]
name = "files"
from = "server"
to = "client"
source = { kind = "sized", size = "100kB" }
[[probes]]
name = "echo"
from = "client"
to = "server"
interval = "100ms"
"""


@pytest.fixture(scope="module")
def run() -> Run:
    return simulate(Experiment.from_toml(TOML))


def sockets(run: Run) -> SsLog:
    (text,) = ss_files(run).values()
    log = log_of_text(LogText("ss.txt", text))
    assert isinstance(log, SsLog)
    return log


def test_only_flows_over_one_connection_are_shown(run: Run) -> None:
    assert ss_hosts(run) == ["client"]
    with pytest.raises(DumbbellError):
        ss_iterate_text(run, "server")


def test_its_own_reader_gets_back_what_the_run_sampled(run: Run) -> None:
    log = sockets(run)
    assert str(log.unknown) == "" and log.has_times
    table = log.tables["sockets"]
    for index, name in enumerate(("bulk", "paced")):
        rows = np.flatnonzero(table["peer"] == f"10.10.2.2:{10_000 + index}")
        known = run.column("flow_samples", "cwnd_pkts", flow=name) >= 0
        assert len(rows) == known.sum() > 40
        assert (
            table["epoch_ns"][rows] == run.column("flow_samples", "t_ns", flow=name)[known]
        ).all()

        def sampled(column: str, flow: str = name, keep: object = known) -> np.ndarray:  # type: ignore[type-arg]
            values = run.column("flow_samples", column, flow=flow)[keep]
            assert isinstance(values, np.ndarray)
            return values

        for ours, theirs in (
            ("cwnd_pkts", "cwnd_pkts"),
            ("ssthresh_pkts", "ssthresh_pkts"),
            ("pacing_rate_bps", "pacing_rate_bps"),
        ):
            expected = sampled(theirs)
            # ss prints no rate that is not there.
            assert (table[ours][rows] == np.where(expected == 0, -1, expected)).all(), ours
        srtt_ns = sampled("srtt_ns")
        # Whole microseconds, six digits of them.
        error = np.abs(table["rtt_ns"][rows] - np.where(srtt_ns < 0, -1, srtt_ns // 1000 * 1000))
        assert error.max() <= srtt_ns.max() * 1e-5
        again = sampled("retransmitted_pkts")
        assert (np.maximum(table["retrans_total_pkts"][rows], 0) == again).all()
    assert (table["retrans_total_pkts"] > 0).any() and (table["pacing_rate_bps"] > 0).any()
    # A full segment: MTU less headers and timestamps, as the run's own packets have.
    payload = run.column("flow_samples", "delivered_payload_bytes", flow="bulk")[-1]
    pkts = run.column("flow_samples", "delivered_pkts", flow="bulk")[-1]
    assert table["mss_bytes"][0] == 1448 >= payload / pkts > 1440


def test_nothing_is_made_up(run: Run) -> None:
    table = sockets(run).tables["sockets"]
    for column in ("unacked_pkts", "bytes_acked", "bytes_sent", "segs_out", "rto_ns", "lost_pkts"):
        assert (table[column] == -1).all(), column


def test_keys_and_their_order_are_those_of_the_program(run: Run) -> None:
    """Every key that we print, ss prints too, and in that order."""
    (text,) = ss_files(run).values()
    real = (FOLDER / "ss-loop.txt").read_text() + (FOLDER / "ss-date.txt").read_text()

    def orders(lines: str) -> list[list[str]]:
        found = [line.split() for line in lines.splitlines() if line.startswith("\t ")]
        return [[re.sub(r":.*", ":", w) for w in words if w[0].isalpha()] for words in found]

    def is_part_of(ours: list[str], whole: list[str]) -> bool:
        left = iter(whole)
        return all(word in left for word in ours)

    theirs = orders(real)
    for words in orders(text):
        assert any(is_part_of(words[1:], whole) for whole in theirs), words
    assert text.splitlines()[1].split() == real.splitlines()[1].split()


def test_numbers_of_the_look_alikes_are_those_that_stand_beside_logs(run: Run) -> None:
    """Two ways to one number: through the text, and from the tables."""
    texts = {**ping_files(run), **tc_files(run), **ss_files(run)}
    for name, kind, of in (
        ("echo.txt", PingLog, ()),
        ("tc-router-_server.txt", TcLog, ("router->server",)),
        ("ss-client.txt", SsLog, ("bulk",)),
    ):
        log = log_of_text(LogText(name, texts[name]))
        assert isinstance(log, kind) and str(log.unknown) == ""
        beside = run_numbers(run, log.format, counterpart(run, log.format, of))
        ours = {}
        for number in log_numbers(log):
            if ":10001" not in number.of and number.name in SAME[log.format]:
                ours.setdefault(number.name, number.value)
        # 60 answers reach no 99th percentile.
        assert beside.keys() - ours.keys() <= {"rtt_p99_ms"} and len(beside) > 2
        for key in beside.keys() & ours.keys():
            value = beside[key]
            # ping prints three digits, tc kilobytes from 1 kB on.
            assert ours[key] == pytest.approx(value, rel=0.02, abs=0.02), (name, key)


def test_an_imported_run_has_no_senders(run: Run) -> None:
    with pytest.raises(DumbbellError):
        ss_hosts(Run("imported", 0, None, {}, {}))
