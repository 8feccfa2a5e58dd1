"""A module that reads and writes for flows and probes: what the process does, packet by packet."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from kernel_samples import missed_in, network, ping

from dumbbell.backends import Failure, get_backend, run_many, simulate
from dumbbell.backends.kernel import traffic
from dumbbell.backends.kernel.cache import find_kernel, how_to_build
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.tables import Run

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel", "modules")]

GUESTS = ["process", "module", "module"]
GREEDY = {"kind": "greedy"}
BOTTLENECK = {"rate": "10mbit", "delay": "10ms", "qdisc": "pfifo limit 50"}


def flow(name: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "from": "sender", "to": "receiver", "transport": "tcp", **keys}


def networks(
    *flows: dict[str, Any],
    qdisc: str = "pfifo limit 50",
    rate: str = "10mbit",
    of_link: Mapping[str, Any] = MappingProxyType({}),
    **keys: Any,
) -> Experiment:
    given = {"duration": "4s", "sample_interval": "100ms", "flows": list(flows), **keys}
    link = {**BOTTLENECK, "qdisc": qdisc, "rate": rate, "record_packets": True}
    return network(link={**link, **of_link}, **given)


def datagrams(name: str, source: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return flow(name, source=source, **{"transport": "udp", **keys})


def arrivals(name: str, gap: str, size: str = "uniform 1kb 40kb", **keys: Any) -> dict[str, Any]:
    """A flow of transfers that may overlap."""
    more = {"transfers": keys.pop("transfers")} if "transfers" in keys else {}
    return flow(name, source={"kind": "arrivals", "size": size, "gap": gap, **more}, **keys)


def backward(sent: dict[str, Any]) -> dict[str, Any]:
    return {**sent, "from": "receiver", "to": "sender"}


def by(guest: str, experiment: Experiment) -> Run:
    return simulate(experiment.with_(guest=guest), backend="kernel")


RED = "red limit 400kb min 30kb max 90kb avpkt 1000 burst 55 bandwidth 10mbit"
SIZED = {"kind": "sized", "size": "300kb"}
LOOP = {"kind": "closed_loop", "size": "uniform 1kb 100kb", "think": "exponential 20ms"}
STEADY = {"kind": "cbr", "rate": "200pps", "size": "500B", "size_at": "payload"}
EXPONENTIAL = {**STEADY, "kind": "poisson", "size": "exponential 512B"}
RANDOM = networks(
    flow("a", source=GREEDY, start_jitter="100ms"),
    flow("b", source=GREEDY, tcp={"congestion_control": "bbr"}, start_jitter="100ms"),
    qdisc=RED,
)
SAME = {
    "one cubic": networks(flow("a", source=GREEDY)),
    "controllers that share a queue": networks(
        flow("a", source=GREEDY, start_jitter="100ms"),
        flow("b", source=GREEDY, tcp={"congestion_control": "vegas"}, start="1s", stop="3s"),
        flow("c", source=GREEDY, tcp={"congestion_control": "reno"}, start_jitter="100ms"),
    ),
    "both ways through fq_codel": networks(
        flow("a", source=GREEDY),
        {**flow("b", source=GREEDY), "from": "receiver", "to": "sender"},
        qdisc="fq_codel",
    ),
    "a window and a send buffer that are held": networks(
        flow("a", source=GREEDY, tcp={"receive_window": "28960B"}),
        flow("b", source=GREEDY, tcp={"send_buffer": "64kb"}),
    ),
    "a transfer": networks(flow("a", source=SIZED)),
    "transfers one after the other": networks(flow("a", source=LOOP), flow("b", source=LOOP)),
    "transfers that overlap": networks(arrivals("a", "exponential 20pps")),
    "a thousand mice through fq_codel": networks(
        arrivals("a", "exponential 1000pps", "uniform 1kb 15kb"),
        qdisc="fq_codel",
        rate="100mbit",
        duration="1s",
    ),
    "loops and mice both ways beside a greedy flow, in a measured window": networks(
        arrivals("a", "exponential 30pps"),
        flow("b", source=LOOP),
        flow("c", source=GREEDY),
        backward(arrivals("d", "exponential 20pps", start="200ms")),
        backward(flow("e", source=LOOP, dscp=8)),
        qdisc="fq_codel",
        warm_up="1s",
        sample_interval="7ms",
    ),
    "a loop that hardly thinks, for more transfers than the module gets at a time": networks(
        flow("a", source={**LOOP, "size": "2kB", "think": "1ns"}), rate="1gbit", duration="16s"
    ),
    "settings of TCP for transfers": networks(
        arrivals("a", "exponential 10pps", tcp={"receive_window": "28960B"}),
        arrivals("b", "exponential 10pps", tcp={"send_buffer": "20kb"}),
        flow("c", source=LOOP, tcp={"congestion_control": "bbr"}),
        flow("d", source=LOOP, tcp={"congestion_control": "reno", "pacing": True}),
    ),
    "a number of transfers": networks(
        arrivals("a", "exponential 20pps", transfers=9),
        flow("b", source={**LOOP, "transfers": 4}),
        datagrams("u", STEADY),
    ),
    "flows that stop amid their transfers": networks(
        arrivals("a", "exponential 100pps", start="300ms", stop="1500ms"),
        flow("b", source={**LOOP, "size": "1MB"}, stop="2s"),
        flow("c", source={**LOOP, "think": "700ms"}, stop="2200ms"),
    ),
    "transfers that are due together, and more than wait to be accepted": networks(
        *(arrivals(name, "20ms", "3kB") for name in "ab"),
        arrivals("c", "1us", "1kB", transfers=400, start="1s"),
    ),
    "a transfer that does not end": networks(flow("a", source={**SIZED, "size": "100MB"})),
    "writes by a schedule": networks(
        flow("a", source={"kind": "poisson", "rate": "200pps", "size": "2000B"})
    ),
    "writes as iperf3 makes them": networks(flow("a", source={"kind": "iperf3"})),
    "long enough for rare orders of clock and interrupt": networks(
        flow("a", source=GREEDY), duration="20s", sample_interval="30ms"
    ),
    "more packets than are recorded before process 1 reads them": networks(
        flow("a", source=GREEDY), qdisc="pfifo limit 200", rate="100mbit", duration="3s"
    ),
    "super-packets that reach the queue, and leave it": networks(
        flow("a", source=GREEDY),
        backward(flow("b", source=LOOP)),
        qdisc="fq_codel",
        rate="100mbit",
        of_link={"tso": True},
        duration="2s",
    ),
    "packets that a policer drops after they were seen": networks(
        flow("a", source=GREEDY),
        datagrams("u", EXPONENTIAL),
        of_link={"police": "police rate 4mbit burst 30kb drop"},
    ),
    "packets that are damaged": networks(
        flow("a", source=GREEDY, tcp={"receive_window": "28960B"}),
        datagrams("u", EXPONENTIAL),
        qdisc="netem limit 100 corrupt 1%",
        rate="inf",
    ),
    "samples of cake while flows come and go": networks(
        flow("a", source=GREEDY, start="300ms", stop="2s"),
        flow("b", source=LOOP),
        qdisc="cake bandwidth 8mbit",
        sample_interval="7ms",
    ),
    "more samples than the module keeps": networks(flow("a", source=GREEDY), sample_interval="1ms"),
    "no samples": networks(flow("a", source=GREEDY), sample_interval="0s"),
    "beside UDP and ping": networks(
        flow("a", source=GREEDY), datagrams("u", STEADY), probes=[ping(interval="20ms")]
    ),
    "datagrams at exponential times, of exponential sizes": networks(
        datagrams("u", EXPONENTIAL), rate="1mbit", duration="10s"
    ),
    "datagrams both ways, between samples": networks(
        datagrams("u", {**EXPONENTIAL, "rate": "400pps"}, start_jitter="100ms"),
        backward(datagrams("v", EXPONENTIAL, start="300ms", stop="2s")),
        sample_interval="7ms",
    ),
    "more datagrams than the link carries, and than the module gets at a time": networks(
        datagrams("u", {"kind": "cbr", "rate": "1500pps", "size": "1000B"}), duration="3s"
    ),
    "bursts": networks(
        datagrams(
            "u",
            {
                "kind": "bursts",
                "packets": 20,
                "gap": "exponential 20pps",
                "size": "uniform 60B 900B",
            },
        )
    ),
    "sources that are due at the same time, and a link that changes then": networks(
        *(datagrams(name, STEADY) for name in "uv"),
        probes=[ping(interval="5ms"), ping(name="second", kind="udp", interval="10ms", count=30)],
        of_link={"changes": [{"at": "1s", "rate": "2mbit"}, {"at": "2s", "rate": "20mbit"}]},
    ),
    "datagrams too short for their number": networks(
        datagrams("u", {**EXPONENTIAL, "size": "uniform 1B 6B"})
    ),
    "datagrams in fragments": networks(
        datagrams("u", {**EXPONENTIAL, "rate": "50pps", "size": "uniform 1kB 20kB"})
    ),
    "datagrams, probes of both kinds and TCP, both ways through fq_codel": networks(
        datagrams("u", STEADY, dscp=46),
        flow("a", source=GREEDY),
        backward(flow("b", source=LOOP)),
        backward(datagrams("v", {**EXPONENTIAL, "rate": "300pps"})),
        qdisc="fq_codel",
        probes=[
            ping(interval="10ms"),
            ping(name="marked", kind="udp", interval="7ms", dscp=46),
            backward(ping(name="back", kind="udp", interval="33ms", payload="2B")),
            backward(ping(name="empty", kind="udp", interval="41ms", payload="0B")),
        ],
    ),
    "random numbers of RED and BBR": RANDOM,
    "random numbers of PIE and of losses": networks(
        flow("a", source=GREEDY),
        datagrams("u", EXPONENTIAL),
        qdisc="pie limit 200",
        of_link={"loss": 0.001},
    ),
    "probes alone": networks(probes=[ping(interval="9ms"), ping(name="second", kind="udp")]),
}


@pytest.mark.parametrize("which", SAME)
def test_the_module_gives_the_packets_of_the_process(which: str) -> None:
    process, module = by("process", SAME[which]), by("module", SAME[which])
    received = sum(process.column("probes", "rtt_ns") > 0)
    assert received + process.column("flows", "delivered_pkts").sum() > 100
    for column in ("t_ns", "queue", "event", "flow", "bytes"):
        ours, theirs = (run.tables["packets"][column] for run in (module, process))
        assert ours.tolist() == theirs.tolist(), column
    for key in ("longest_lateness_ns", "events"):
        assert module.meta[key] == process.meta[key], key
    assert module.meta["digest"] == process.meta["digest"]


def test_connections_that_are_never_made_are_given_up_alike() -> None:
    """TCP repeats a SYN six times, for 127 s altogether."""
    lossy = networks(
        flow("a", source=SIZED),
        flow("b", source=LOOP),
        arrivals("c", "20s"),
        of_link={"loss": 1},
        duration="150s",
        sample_interval="1s",
    )
    process, module = by("process", lossy), by("module", lossy)
    begun = module.column("transfers", "flow")
    assert np.bincount(begun).tolist() == [1, 1, 7]
    assert (module.column("transfers", "completed_ns") < 0).all()
    assert module.meta["events"] == process.meta["events"]
    assert module.meta["digest"] == process.meta["digest"]


@pytest.mark.parametrize(
    "which",
    [
        "loops and mice both ways beside a greedy flow, in a measured window",
        "controllers that share a queue",
        "datagrams, probes of both kinds and TCP, both ways through fq_codel",
    ],
)
def test_linux_6_12_gives_the_packets_of_its_process(which: str) -> None:
    module = on_another_kernel("6.12", "6.12.", SAME[which])
    unasked = simulate(SAME[which].with_(kernel="6.12"), backend="kernel")
    assert unasked.meta["guest"] == "module"
    assert unasked.meta["digest"] == module.meta["digest"]


@pytest.mark.parametrize(
    "which",
    [
        "one cubic",
        "controllers that share a queue",
        "more datagrams than the link carries, and than the module gets at a time",
    ],
)
def test_linux_5_15_gives_the_packets_of_its_process_where_nothing_is_random(which: str) -> None:
    """Where something is, its random numbers depend on what the kernel has allocated
    (PRANDOM_ADD_NOISE in include/linux/prandom.h), so the module is used only if asked for."""
    on_another_kernel("l4s", "5.15.", SAME[which])
    unasked = traffic.player_of(SAME[which].with_(kernel="l4s").resolved())
    assert unasked.module is None
    assert "on Linux 5.15 the kernel would draw other random numbers" in unasked.reason


def on_another_kernel(name: str, version: str, experiment: Experiment) -> Run:
    """Give the module's run, which has the digest of the process's."""
    if find_kernel(name=name) is None:
        pytest.skip(how_to_build(name=name))
    experiment = experiment.with_(kernel=name)
    process, module = by("process", experiment), by("module", experiment)
    assert module.meta["versions"]["kernel"].startswith(version)
    assert module.meta["flows_in_kernel"] == [flow.name for flow in experiment.flows]
    assert module.meta["digest"] == process.meta["digest"]
    return module


@pytest.mark.parametrize(
    "captured",
    [
        network(
            link={**BOTTLENECK, "rate": "50mbit", "qdisc": "fq_codel", "capture": True},
            duration="2s",
            flows=[flow("a", source=GREEDY)],
        ),
        networks(
            flow("a", source=GREEDY),
            backward(flow("b", source=LOOP)),
            datagrams("u", {**EXPONENTIAL, "rate": "50pps", "size": "uniform 1B 20kB"}),
            qdisc="red limit 400kb min 30kb max 90kb avpkt 1000 burst 55 ecn bandwidth 10mbit",
            probes=[ping(interval="20ms")],
            of_link={"capture": True},
        ),
    ],
    ids=["many packets", "packets of all kinds"],
)
def test_captures_are_the_same_files(captured: Experiment) -> None:
    # Numbers of ports and packets are the kernel's random ones.
    process, module = by("process", captured), by("module", captured)
    assert process.files.keys() == module.files.keys() and process.files
    for name, file in process.files.items():
        assert file.path.read_bytes() == module.files[name].path.read_bytes()
    assert module.meta["digest"] == process.meta["digest"]


def test_a_run_says_which_it_was() -> None:
    experiment = SAME["beside UDP and ping"]
    process, module = by("process", experiment), by("module", experiment)
    unasked = simulate(experiment, backend="kernel")
    assert unasked.meta["digest"] == process.meta["digest"] == module.meta["digest"]
    assert [run.meta["guest"] for run in (process, module, unasked)] == GUESTS
    assert not any("guest_reason" in run.meta for run in (process, module, unasked))
    assert module.meta["flows_in_kernel"] == ["a", "u"]
    assert module.meta["probes_in_kernel"] == ["ping"]
    assert len(module.meta["versions"]["traffic_module_sha256"]) == 64
    assert "flows_in_kernel" not in process.meta
    assert "traffic_module_sha256" not in process.meta["versions"]
    assert "guest" not in experiment.resolved()
    assert experiment.with_(guest="module").resolved()["guest"] == "module"
    assert experiment.with_(guest="process").resolved()["guest"] == "process"


def test_beside_programs_it_is_the_process() -> None:
    with_irtt = network(
        link=BOTTLENECK, flows=[flow("a", source=GREEDY)], probes=[ping(kind="irtt")]
    )
    without = network(link=BOTTLENECK, flows=[flow("a", source=GREEDY)])
    idle = network(link=BOTTLENECK)
    players = [traffic.player_of(each.resolved()) for each in (with_irtt, without, idle)]
    assert players[1].module is not None and not players[1].is_required
    assert players[0].module is None and players[2].module is None
    assert "irtt" in players[0].reason and "no flows" in players[2].reason


def test_a_module_that_does_not_load_leaves_the_run_to_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is no module of Linux, so the guest's kernel refuses it."""
    broken = tmp_path / "dumbbell_traffic.ko"
    broken.write_bytes(b"of no kernel")
    monkeypatch.setattr(traffic, "traffic_module_of", lambda kernel: broken)
    traffic._usual_on.cache_clear()
    try:
        run = simulate(SAME["one cubic"], backend="kernel")
        again = simulate(SAME["one cubic"], backend="kernel")
        failures: list[Failure] = []
        required = SAME["one cubic"].with_(guest="module")
        assert not list(run_many([(required, 0)], backend="kernel", on_failure=failures.append))
    finally:
        traffic._usual_on.cache_clear()
    assert run.meta["guest"] == "process" and "flows_in_kernel" not in run.meta
    assert "did not load the module: loading" in run.meta["guest_reason"]
    assert run.meta["digest"] == again.meta["digest"]
    assert "dumbbell_traffic.ko" in failures[0].message


def test_it_is_refused_where_there_is_nothing_for_it_to_do() -> None:
    experiment = network(link=BOTTLENECK, guest="module", probes=[ping(kind="irtt")])
    with pytest.raises(SpecError, match="process where only programs send"):
        get_backend("kernel").check(experiment.resolved_json())
    with pytest.raises(SpecError, match="one of process, module"):
        experiment.with_(guest="modul")


def test_irtt_stays_a_program() -> None:
    """It shares the guest's instants with process 1, so that times differ by less than 2 us, and by
    one packet's transmission where two meet at the queue in the other order."""
    if shutil.which("irtt", path="/usr/bin:/bin") is None:
        pytest.skip("irtt is not installed (Debian: apt-get install irtt)")
    experiment = networks(
        datagrams("u", EXPONENTIAL), probes=[ping(), ping(name="program", kind="irtt")]
    )
    process, module, again = (by(guest, experiment) for guest in ("process", "module", "module"))
    assert module.meta["probes_in_kernel"] == ["ping"]
    assert module.meta["digest"] == again.meta["digest"]
    assert module.column("probes", "seq").tolist() == process.column("probes", "seq").tolist()
    for column in ("sent_ns", "received_ns"):
        apart = module.column("probes", column) - process.column("probes", column)
        assert np.median(abs(apart)) < 2_000, column
        assert abs(apart).max() < 5_000_000, column


@pytest.mark.usefixtures("cache")
def test_a_fault_in_the_module_ends_its_run_with_the_kernels_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "traffic"
    shutil.copytree(traffic._SOURCES, sources)
    file = sources / "ends.c"
    text = file.read_text(encoding="utf-8")
    before = "static int serve_receiver(struct end *end, u64 now_ns)\n{\n\tint got;\n"
    assert before in text
    crash = "\n\tif (end->count.bytes > 1000000)\n\t\t*(volatile int *)8 = 1;\n"
    file.write_text(text.replace(before, before + crash), encoding="utf-8")
    monkeypatch.setattr(traffic, "_SOURCES", sources)
    traffic._built.cache_clear()
    try:
        failures: list[Failure] = []
        both = [(SAME["one cubic"].with_(guest=guest), 0) for guest in ("module", "process")]
        runs = list(run_many(both, backend="kernel", on_failure=failures.append))
    finally:
        traffic._built.cache_clear()
    assert [index for index, _ in runs] == [1]
    (failure,) = failures
    assert "panicked" in failure.message
    assert "serve_receiver" in failure.message or "serve_turns" in failure.message


@pytest.mark.usefixtures("cache")
def test_a_queue_whose_packets_found_no_memory_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory for records is full long before process 1 would read them."""
    sources = tmp_path / "traffic"
    shutil.copytree(traffic._SOURCES, sources)
    file = sources / "taps.c"
    text = file.read_text(encoding="utf-8")
    assert "#define MOST_PIECES 512UL\n" in text
    file.write_text(text.replace("PIECES 512UL", "PIECES 1UL"), encoding="utf-8")
    experiment = networks(
        flow("a", source=GREEDY),
        qdisc="pfifo limit 200",
        rate="100mbit",
        of_link={"capture": True},
        duration="2s",
    )
    whole = by("module", experiment)
    monkeypatch.setattr(traffic, "_SOURCES", sources)
    traffic._built.cache_clear()
    try:
        run = by("module", experiment)
    finally:
        traffic._built.cache_clear()
    assert whole.meta["unknown_queues"] == []
    assert run.meta["unknown_queues"] == ["router->receiver"]
    # All else is the same, and the capture says how many packets are not in it.
    arrived = [each.column("queues", "arrived_pkts").tolist() for each in (whole, run)]
    assert arrived[0] == arrived[1]
    files = [each.files["capture.pcapng"].path for each in (whole, run)]
    assert 1_000_000 < files[1].stat().st_size < files[0].stat().st_size
    assert missed_in(files[0]) == [0, 0] and min(missed_in(files[1])) > 1000


@pytest.mark.usefixtures("cache")
def test_one_that_does_not_compile_is_refused_with_the_compilers_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = tmp_path / "traffic"
    shutil.copytree(traffic._SOURCES, sources)
    (sources / "ends.c").write_text("int of_no_use(void) { return nothing; }\n")
    monkeypatch.setattr(traffic, "_SOURCES", sources)
    traffic._built.cache_clear()
    try:
        with pytest.raises(SpecError, match="nothing") as refused:
            get_backend("kernel").check(SAME["one cubic"].with_(guest="module").resolved_json())
        traffic._usual_on.cache_clear()
        unasked = simulate(SAME["one cubic"], backend="kernel")
    finally:
        traffic._built.cache_clear()
        traffic._usual_on.cache_clear()
    assert refused.value.path == "guest"
    assert unasked.meta["guest"] == "process"
    assert "no module for this kernel" in unasked.meta["guest_reason"]
    assert "nothing" in unasked.meta["guest_reason"]
    assert "traffic_module_sha256" not in unasked.meta["versions"]
    assert unasked.meta["digest"] == by("process", SAME["one cubic"]).meta["digest"]
