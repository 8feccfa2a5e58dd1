"""Programs of this machine in hosts: each twice with the same bytes; and those that fail."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dumbbell import metrics
from dumbbell.backends import simulate
from dumbbell.backends.kernel import backend as kernel_backend
from dumbbell.backends.kernel.programs import are_installed
from dumbbell.cli.app import app
from dumbbell.compare import MeasureSubject, summary_of
from dumbbell.errors import RunError
from dumbbell.formats.capture import read_capture
from dumbbell.formats.flent import read_flent
from dumbbell.formats.program_tables import ParsedProgram, PrintedFile, read_printed
from dumbbell.spec import CommandProgram, Experiment
from dumbbell.spec.programs import OutputReader, Tool, tools_of
from dumbbell.tables import PROGRAMS_ONLY, Run, read_parquet, write_parquet

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel")]

BETWEEN = {"from": "sender", "to": "receiver"}
PROGRAMS: dict[str, list[dict[str, Any]]] = {
    "ditg": [
        {"kind": "ditg", **BETWEEN, "gap": "exponential 200pps", "size": "exponential 512B"}
        | {"duration": "3s", "log": "both"}
    ],
    "iperf3": [{"kind": "iperf3", **BETWEEN, "duration": "3s", "start": "500ms"}],
    "iperf3 over UDP, back": [
        {
            "kind": "iperf3",
            **BETWEEN,
            "duration": "3s",
            "udp": True,
            "rate": "1mbit",
            "length": "1kb",
        }
        | {"reverse": True, "interval": "0.5s"}
    ],
    "iperf": [{"kind": "iperf", **BETWEEN, "duration": "3s", "parallel": 2}],
    "iperf over UDP": [
        {
            "kind": "iperf",
            **BETWEEN,
            "duration": "3s",
            "udp": True,
            "rate": "8mbit",
            "length": "1kb",
        }
    ],
    "ping": [{"kind": "ping", **BETWEEN, "interval": "100ms", "count": 20, "dscp": "EF"}],
    "curl": [{"kind": "curl", **BETWEEN, "size": "50kb", "count": 3}],
    "curl over one connection": [
        {"kind": "curl", **BETWEEN, "size": "50kb", "count": 3, "keep_alive": True}
    ],
    "tcpdump and tshark": [
        {"kind": "tcpdump", "name": "seen", "host": "router", "neighbor": "receiver"}
        | {"direction": "out", "protocol": "icmp"},
        {"kind": "ping", **BETWEEN, "interval": "100ms", "count": 5},
        {"kind": "tshark", "host": "router", "of": "seen", "fields": ["icmp.seq", "ip.len"]},
    ],
    "flent": [{"kind": "flent", **BETWEEN, "test": "ping", "length": "1s"}],
    "flent with netperf": [
        {"kind": "flent", **BETWEEN, "test": "tcp_1up", "length": "1s", "delay": "1s"}
    ],
    "netperf": [{"kind": "netperf", **BETWEEN, "duration": "2s", "interval": "200ms"}],
    "netperf's round trips": [{"kind": "netperf", **BETWEEN, "test": "UDP_RR", "duration": "2s"}],
}
"""Each with what it needs beside it."""
NOT_FREE = {"netperf", "netserver"}
"""In no section of Debian that continuous integration may use."""


def needed(programs: list[dict[str, Any]]) -> None:
    """Skip, or in continuous integration fail, where a program is not there."""
    tools = {tool.name for tool in tools_of(experiment(programs).resolved())}
    for tool in sorted(tools):
        if not are_installed((Tool(tool, ""),)):
            if os.environ.get("CI") and tool not in NOT_FREE:
                pytest.fail(f"{tool} is not installed")
            pytest.skip(f"{tool} is not installed")


def experiment(programs: list[dict[str, Any]], **more: Any) -> Experiment:
    named = [{"name": f"it-{index}", **each} for index, each in enumerate(programs)]
    router = {"a": "router", "b": "receiver", "delay": "5ms"}
    return Experiment(
        duration="4s",
        links=[
            {"a": "sender", "b": "router"},
            {**router, "forward": {"rate": "4mbit", "qdisc": "pfifo limit 30"}},
        ],
        programs=named,
        **more,
    )


def command(*words: str, **more: Any) -> Experiment:
    return experiment([]).with_(
        programs=[CommandProgram(name="it", host="sender", command=words, **more)]
    )


def printed(run: Run, name: str) -> str:
    return run.files[name].path.read_text(encoding="utf-8", errors="replace")


@pytest.fixture(scope="module")
def runs() -> dict[str, Run]:
    """One of each, made when it is asked for."""
    return {}


def run_of(which: str, runs: dict[str, Run]) -> Run:
    needed(PROGRAMS[which])
    if which not in runs:
        runs[which] = simulate(experiment(PROGRAMS[which]), backend="kernel")
    return runs[which]


@pytest.mark.parametrize(
    "which",
    [pytest.param(name, marks=pytest.mark.long) if "flent" in name else name for name in PROGRAMS],
)
def test_the_same_seed_gives_the_same_bytes(which: str, runs: dict[str, Run]) -> None:
    """Of all files that it printed or wrote, and of all tables."""
    first = run_of(which, runs)
    again = simulate(experiment(PROGRAMS[which]), backend="kernel")
    assert again.meta["files"] == first.meta["files"]
    assert again.meta["digest"] == first.meta["digest"]
    assert first.tables.keys() >= PROGRAMS_ONLY
    versions = first.meta["versions"]
    for _ in PROGRAMS[which][:1]:
        for tool in tools_of(experiment(PROGRAMS[which]).resolved()):
            assert re.fullmatch("[0-9a-f]{64}", versions[f"{tool.name}_sha256"])


def test_ditg_logs_every_packet_at_both_ends(runs: dict[str, Run]) -> None:
    run = run_of("ditg", runs)
    sent = run.column("program_packets", "seq", side=0)
    got = run.column("program_packets", "seq", side=1)
    assert sent.tolist() == list(range(1, len(sent) + 1))
    assert got.tolist() == sent.tolist()
    assert abs(len(sent) - 600) < 4 * math.sqrt(600)
    (lost,) = run.column("programs", "lost_pkts")
    assert lost == 0
    sizes = run.column("program_packets", "payload_bytes", side=1)
    assert (run.column("programs", "received_bytes") == sizes.sum()).all()
    times = [run.column("program_packets", name, side=1) for name in ("sent_ns", "received_ns")]
    # 5 ms on the way, and at least the time of 42 bytes at 4 Mbit/s; stamps of whole microseconds.
    assert (times[1] - times[0]).min() >= 5_000_000 + 42 * 8 * 250 - 2000
    assert 0 <= times[0][0] < times[1][-1] < 4 * 10**9


def test_a_summary_has_round_trips_of_ping_and_throughput_of_iperf(runs: dict[str, Run]) -> None:
    (pings,) = run_of("ping", runs).program_names
    assert 5 < summary_of(run_of("ping", runs))[f"program[{pings}].rtt_p50_ms"] < 15
    (bulk,) = run_of("iperf3", runs).program_names
    numbers = summary_of(run_of("iperf3", runs)).of(MeasureSubject.PROGRAM, bulk)
    assert 1e6 < numbers["interval_throughput_p5_bps"] <= numbers["interval_throughput_p95_bps"]
    assert numbers["interval_throughput_p95_bps"] < 4e6
    assert numbers["throughput_bps"] < 4e6


def test_another_replication_sends_other_packets(runs: dict[str, Run]) -> None:
    first = run_of("ditg", runs)
    other = simulate(experiment(PROGRAMS["ditg"]), 1, backend="kernel")
    sizes = [run.column("program_packets", "payload_bytes", side=0)[:50] for run in (first, other)]
    assert not np.array_equal(*sizes)


def test_iperf3_fills_the_link(runs: dict[str, Run]) -> None:
    run = run_of("iperf3", runs)
    (rate,) = run.column("programs", "throughput_bps")
    assert 3.5e6 < rate < 4e6 * 1448 / 1514
    starts = run.column("program_intervals", "start_ns", side=0)
    assert starts.tolist() == sorted(starts.tolist())
    assert 0.5e9 <= starts[0] < 0.6e9
    assert (run.column("program_intervals", "cwnd_bytes", side=0) > 0).all()
    # Our own look at the queue knows the same packets.
    (departed,) = run.column("queues", "departed_bytes", queue="router->receiver")
    (received,) = run.column("programs", "received_bytes")
    assert received < departed < 1.12 * received
    assert not run.meta["unknown_queues"]


@pytest.mark.parametrize(
    "program",
    [
        {"kind": "iperf3", "from": "sender", "to": "router", "duration": "3s"},
        {"kind": "iperf3", "from": "router", "to": "sender", "duration": "3s", "reverse": True},
        {"kind": "curl", "from": "router", "to": "sender", "size": "3MB", "count": 1},
    ],
    ids=["iperf3", "iperf3 back", "curl"],
)
def test_a_host_whose_own_link_counts_more_waits_at_its_qdisc(program: dict[str, Any]) -> None:
    """500 bytes more of each frame, however many segments TCP hands down at once.

    Where bursts counted them once, a mean packet would wait for 94 ms, behind the qdisc.
    """
    needed([program])
    made = Experiment(
        duration="4s",
        links=[{"a": "sender", "b": "router", "forward": {"rate": "20mbit", "overhead": "500B"}}],
        programs=[{"name": "it", **program}],
    )
    run = simulate(made, backend="kernel")
    (rate,) = run.column("programs", "throughput_bps")
    assert 13e6 < rate <= 20e6 * 1448 / (1500 + 500)
    assert metrics.mean_sojourn_s(run, "sender->router") < 0.01


def test_datagrams_of_iperf3_come_back_at_their_rate(runs: dict[str, Run]) -> None:
    run = run_of("iperf3 over UDP, back", runs)
    (rate,) = run.column("programs", "throughput_bps")
    assert abs(rate - 1e6) < 0.02e6
    assert run.column("programs", "lost_pkts").tolist() == [0]


def test_two_streams_of_iperf_share_the_link(runs: dict[str, Run]) -> None:
    run = run_of("iperf", runs)
    assert set(run.column("program_intervals", "stream").tolist()) == {1, 2}
    (rate,) = run.column("programs", "throughput_bps")
    assert 3e6 < rate < 4e6


def test_too_many_datagrams_of_iperf_are_lost(runs: dict[str, Run]) -> None:
    """8 Mbit/s of payload in frames of 1066 bytes onto 4 Mbit/s."""
    run = run_of("iperf over UDP", runs)
    (lost,), (sent,) = (run.column("programs", name) for name in ("lost_pkts", "sent_pkts"))
    assert 0.45 < lost / sent < 0.6


def test_ping_finds_the_delay(runs: dict[str, Run]) -> None:
    run = run_of("ping", runs)
    rtt = run.column("program_round_trips", "rtt_ns")
    assert len(rtt) == 20
    # 5 ms each way, and 98 bytes at 4 Mbit/s out; ping prints three digits.
    assert (np.abs(rtt - (10_000_000 + 98 * 8 * 250)) < 60_000).all()
    gaps = np.diff(run.column("program_round_trips", "sent_ns"))
    assert (np.abs(gaps - 100_000_000) < 2_000_000).all()
    assert "20 packets transmitted, 20 received" in printed(run, "it-0.ping.txt")


def test_curl_gets_whole_pages(runs: dict[str, Run]) -> None:
    several, one = (run_of(name, runs) for name in ("curl", "curl over one connection"))
    for run in (several, one):
        assert run.column("program_transfers", "bytes").tolist() == [51200] * 3
        assert run.column("program_transfers", "status").tolist() == [200] * 3
        first = run.column("program_transfers", "first_byte_s")
        connected = run.column("program_transfers", "connect_s")
        assert (first - connected > 0.01).all()
        assert (run.column("program_transfers", "total_s") >= first).all()
    assert (several.column("program_transfers", "connect_s") > 0.01).all()
    assert (one.column("program_transfers", "connect_s")[1:] < 0.001).all()


def test_a_capture_is_kept_read_and_asked_for_fields(runs: dict[str, Run], tmp_path: Path) -> None:
    run = run_of("tcpdump and tshark", runs)
    assert printed(run, "it-2.tshark.csv").split() == [f"{n},84" for n in range(1, 6)]
    captured = read_capture(run.files["seen.pcap"].path)
    assert captured.column("captured_flows", "pkts").sum() == 5
    folder = write_parquet(run, tmp_path / "run")
    assert (folder / "seen.pcap").is_file()
    again = read_parquet(folder)
    assert again.column("programs", "exit_status").tolist() == [-1, 0, 0]
    asked = CliRunner().invoke(app, ["analyze", str(folder / "seen.pcap")])
    assert asked.exit_code == 0, asked.output


def test_flents_file_is_kept_and_read(runs: dict[str, Run], tmp_path: Path) -> None:
    run = run_of("flent", runs)
    assert run.series_names == ["it-0: Ping (ms) ICMP", "it-0: Ping (ms) UDP"]
    kept = read_flent(run.files["it-0.flent.gz"].path)
    assert (kept.text("NAME"), kept.text("LOCAL_HOST")) == ("ping", "sender")
    for series, size in (("it-0: Ping (ms) ICMP", 98), ("it-0: Ping (ms) UDP", 102)):
        rtt = run.column("program_samples", "rtt_ns", series=series)
        assert len(rtt) >= 4
        # 5 ms each way, and the request in its frame at 4 Mbit/s; a ping has four digits.
        assert (np.abs(rtt - (10_000_000 + size * 8 * 250)) < 100_000).all()
        instants = run.column("program_samples", "t_ns", series=series)
        assert 0 < instants[0] < instants[-1] < 2e9
    folder = write_parquet(run, tmp_path / "run")
    asked = CliRunner().invoke(app, ["flent", str(folder / "it-0.flent.gz"), "-f", "summary"])
    assert asked.exit_code == 0, asked.output
    assert "Ping (ms) UDP" in asked.output


@pytest.mark.long
def test_flent_starts_netperf(runs: dict[str, Run]) -> None:
    run = run_of("flent with netperf", runs)
    rates = run.column("program_samples", "rate_bps", series="it-0: TCP upload")
    assert len(rates) >= 3
    assert 1e6 < np.mean(rates) < 6e6, "its first writes fill the send buffer"


def test_netperf_fills_the_link(runs: dict[str, Run]) -> None:
    (rate,) = run_of("netperf", runs).column("programs", "throughput_bps")
    assert 3e6 < rate < 4e6 * 1448 / 1514
    (rtt,) = run_of("netperf's round trips", runs).column("programs", "rtt_mean_s")
    assert 0.01 < rtt < 0.0105


NETPERF_STAND_IN = """#!/usr/bin/python3
import sys, time
if "-0.2" in sys.argv:
    sys.exit("establish control: are you sure there is a netserver listening?")
for place in range(5 * int(sys.argv[sys.argv.index("-l") + 1])):
    time.sleep(0.2)
    print(f"NETPERF_INTERIM_RESULT[{place}]={3 + place / 10:.2f}")
    print(f"NETPERF_UNITS[{place}]=10^6bits/s")
    print(f"NETPERF_INTERVAL[{place}]=0.200")
    print(f"NETPERF_ENDING[{place}]={time.time():.3f}")
print("THROUGHPUT=3.20", "ELAPSED_TIME=1.00", "PROTOCOL=TCP", "DIRECTION=Send", sep="\\n")
print("LOCAL_SOCKET_TOS=0x00", "REMOTE_SOCKET_TOS=0x00", "TRANSPORT_MSS=1448", sep="\\n")
"""
"""Prints what the real one (2.7.1, in demo mode with ``-k``) prints for Flent; sends nothing."""


@pytest.mark.long
def test_what_flent_reads_of_netperf_becomes_samples_tried_with_a_stand_in_for_netperf() -> None:
    needed(PROGRAMS["flent"])
    script = (
        f"import os,sys;os.mkdir('/tmp/b');open('/tmp/b/netperf','w').write(bytes.fromhex("
        f"'{NETPERF_STAND_IN.encode().hex()}').decode());os.chmod('/tmp/b/netperf',0o755);"
        "os.environ['PATH']='/tmp/b:'+os.environ['PATH'];os.execvp('flent',sys.argv[1:])"
    )
    flent = ("flent", "tcp_1up", "-H", "receiver", "-l", "1", "-d", "1", "-t", "it", "-D", ".")
    run = simulate(command("python3", "-c", script, *flent), backend="kernel")
    (name,) = (name for name in run.files if name.endswith(".it.flent.gz"))
    found = ParsedProgram()
    read_printed(PrintedFile(run.files[name].path, OutputReader.FLENT, 0, 0, 0), found)
    assert found.series == ["TCP upload", "Ping (ms) ICMP"]
    rates = [row["rate_bps"] for row in found.rows["program_samples"] if row["series"] == 0]
    assert rates == [3e6, 3.1e6, 3.2e6, 3.3e6, 3.4e6]
    assert found.rows["program_samples"][0]["interval_ns"] == 200_000_000


def test_flows_probes_and_programs_share_the_links() -> None:
    needed(PROGRAMS["ping"])
    flow = {"name": "ours", **BETWEEN, "source": {"kind": "cbr", "gap": "10ms", "size": "500B"}}
    probe = {"name": "probe", **BETWEEN, "interval": "100ms", "count": 20}
    made = experiment(PROGRAMS["ping"], flows=[flow], probes=[probe])
    run = simulate(made, backend="kernel")
    theirs = run.column("program_round_trips", "rtt_ns")
    ours = run.column("probes", "rtt_ns")
    assert len(theirs) == len(ours) == 20
    assert np.abs(np.median(theirs) - np.median(ours)) < 1_500_000
    # 400 datagrams, and twice 20 requests.
    (arrived,) = run.column("queues", "arrived_pkts", queue="router->receiver")
    assert arrived == 400 + 40


# --- programs that fail, and command lines ------------------------------------------------------


def failure(made: Experiment) -> str:
    with pytest.raises(RunError) as raised:
        simulate(made, backend="kernel")
    return str(raised.value)


def test_one_that_crashes_is_named_with_what_it_said() -> None:
    said = failure(command("sh", "-c", "echo some words; printf '\\033[2J'; exit 3"))
    assert "program it (any): sh ended with status 3" in said
    assert "some words" in said
    assert "\x1b" not in said


def test_one_that_is_killed_is_named() -> None:
    assert "was ended by signal 11" in failure(command("sh", "-c", "kill -SEGV $$"))


def test_one_that_is_not_there_is_missed_before_anything_runs() -> None:
    said = failure(command("no-such-program"))
    assert "programs[0]: it (any) needs no-such-program, which is not installed in /usr" in said


def test_one_that_hangs_is_named() -> None:
    assert "program it (any): sleep did not end" in failure(command("sleep", "1000000"))


def test_one_that_floods_its_output_is_ended() -> None:
    said = failure(command("yes"))
    assert "program it (any): yes wrote more than 16777216 bytes" in said


def test_one_that_spins_is_named_when_the_guest_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time stands still meanwhile, so only wall time can end it."""
    monkeypatch.setattr(kernel_backend, "_LEAST_WALL_LIMIT_S", 10.0)
    monkeypatch.setattr(kernel_backend, "_PATIENCE", 0)
    said = failure(command("sh", "-c", "echo begun; while :; do :; done"))
    assert "did not end within" in said
    assert "programs that had not ended: it (any), which printed last 'begun'" in said


def test_a_server_that_cannot_serve_fails_before_the_run() -> None:
    made = command("sh", "-c", "echo no port >&2; exit 1", begins="before", stops="interrupted")
    assert "no port" in failure(made)


def test_a_command_line_sees_the_experiment_and_nothing_of_yours(tmp_path: Path) -> None:
    """Its hosts by name; no file of a user, no secret, no way out."""
    secret = tmp_path / "secret"
    secret.write_text("very secret")
    script = (
        f"hostname; ping -c 1 -W 1 receiver | tail -1; cat {secret}; cat /etc/shadow;"
        "ls /root /home; ip -br address; touch /usr/bin/x; ping -c 1 -W 1 9.9.9.9; exit 0"
    )
    run = simulate(command("sh", "-c", script), backend="kernel")
    text = printed(run, "it.txt")
    assert text.startswith("sender\n")
    assert "rtt min/avg/max" in text
    assert "very secret" not in text
    assert f"cat: {secret}: No such file" in text
    assert "/etc/shadow: No such file" in text
    assert "cannot touch '/usr/bin/x'" in text
    assert "Network is unreachable" in text
    assert set(re.findall(r"^(\w+)", text.split("/home")[-1], re.M)) >= {"lo", "eth1"}


def test_what_it_writes_at_home_is_kept_and_links_are_not() -> None:
    script = "echo mine > notes.txt; ln -s /etc/passwd link; mkdir folder; sleep 100000 & exit 0"
    run = simulate(command("sh", "-c", script), backend="kernel")
    assert printed(run, "sender.notes.txt") == "mine\n"
    assert not {"sender.link", "sender.folder"} & run.files.keys()


def test_a_file_is_run_with_what_it_says_and_only_if_allowed(tmp_path: Path) -> None:
    file = tmp_path / "it.toml"
    file.write_text(
        'duration = "1s"\nlinks = [{ a = "sender", b = "receiver" }]\n'
        '[[programs]]\nkind = "any"\nname = "it"\nhost = "sender"\ncommand = ["echo", "hello"]\n'
    )
    words = ["run", str(file), "--backend", "kernel", "--no-store", "--no-page"]
    refused = CliRunner().invoke(app, words)
    assert isinstance(refused.exception, Exception)
    assert "--allow-programs" in str(refused.exception)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, [*words, "--allow-programs", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert (out / "it.txt").read_text() == "hello\n"
