"""Traces of links: files, tables, and the way back; what is refused, with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dumbbell import SpecError, simulate
from dumbbell.backends.kernel.job import check_kernel_can
from dumbbell.spec import Experiment, Resolved
from dumbbell.spec.replay import file_inside
from dumbbell.spec.trace_changes import check_trace, traces_as_changes

_FILE = """
duration = "4s"
links = [{{ a = "s", b = "r", {link} }}]
[[flows]]
name = "f"
from = "s"
to = "r"
source = {{ kind = "cbr", rate = "2000pps", size = "1000B", size_at = "wire" }}
"""
_LAWS = [
    'kind = "on-off", rate = "10mbit", on = "exponential 1s", off = "constant 200ms"',
    'kind = "handover", every = "2s", outage = "uniform 1ms 9ms", least_rate = "1mbit", '
    'most_rate = "9mbit", least_delay = "1ms", most_delay = "5ms"',
    'kind = "aggregation", gap = "exponential 4ms", size = "32kB"',
    'kind = "opportunities", gaps = "0*3 2 1*4"',
    'kind = "steps", steps = "0r10md20ml1m 500mr0 100mr8m", repeat = "1s"',
    'kind = "markov", states = [{ hold = "exponential 1s", rate = "5mbit", loss = 0.01 }, '
    '{ hold = "200ms", rate = "0bit", delay = "3ms", next = [1.0, 0.0] }]',
]


def _experiment(folder: Path, link: str) -> Experiment:
    file = folder / "experiment.toml"
    file.write_text(_FILE.format(link=link), encoding="utf-8")
    return Experiment.from_toml(file)


def _trace(folder: Path, name: str, content: str) -> dict[str, Any]:
    (folder / name).write_text(content, encoding="utf-8")
    made = _experiment(folder, f'forward = {{ trace = "{name}" }}')
    end: dict[str, Any] = made.resolved()["links"][0]["forward"]
    return end


def test_without_a_trace_there_is_no_key(tmp_path: Path) -> None:
    end = _experiment(tmp_path, 'rate = "1mbit"').resolved()["links"][0]["forward"]
    assert "trace" not in end


def test_a_file_of_mahimahi_counts_the_bytes_that_mahimahi_counts(tmp_path: Path) -> None:
    end = _trace(tmp_path, "line.up", "0\n0\n3\n4\n5\n6\n6\n")
    assert end["trace"] == {"kind": "opportunities", "gaps_ms": "0*2 3 1*3 0", "size_bytes": 1504}
    assert end["overhead_bytes"] == 4


def test_columns_have_units_and_empty_cells_change_nothing(tmp_path: Path) -> None:
    text = "\ufefftime_ms,note,rate_mbit,delay_ms,loss\r\n0,a,10,20,0\r\n500,,0,,\r\n"
    text += "750.5,,2.5,20,\r\n800,,2.5,20,0\r\n900,,,,0.25\r\n"
    end = _trace(tmp_path, "line.csv", text)
    steps = "0r10md20ml0 500mr0 250500kr2500k 149500kl250m"
    assert end["trace"] == {"kind": "steps", "steps": steps}
    assert (end["overhead_bytes"], end["rate_bps"]) == (14, 0)


@pytest.mark.parametrize(
    ("content", "place", "allowed"),
    [
        ("", "", "a trace of at least one line"),
        ("1\nx\n", "line 2: x", "not before the line above"),
        ("5\n4\n", "line 2: 4", "from 5 to"),
        ("0\n0\n", "line 2: 0", "an opportunity later than 0 ms"),
        ("17280000001\n", "line 1", "a whole number of milliseconds"),
        ("rate\n1\n", "line 1: rate", "names of columns"),
        ("time,rate,rate_mbit\n", "line 1", "names of columns"),
        ("time,rate\n", "line 1: nothing", "at least one line"),
        ("time,rate\n0\n", "line 2: 0", "one cell for each name"),
        ("time,rate\n0,-1\n", "line 2: -1", "a rate from 0 (an outage) to 4 Tbit/s"),
        ("time,rate\n0,1e6\n", "line 2: 1e6", "plain decimals"),
        ("time,rate\n1,5\n1,6\n", "line 3: 1,6", "a time after"),
        ("time,loss\n0,1.5\n", "line 2: 1.5", "a probability from 0 to 1"),
        ("time,rate\n0,\n", "empty cells", "a rate, a delay or a loss"),
        ("9" * 2000, "line 1: a longer line", "lines of at most"),
        ("\x00\x01", "line 1", "names of columns"),
    ],
)
def test_a_file_that_is_no_trace_is_refused_with_its_line(
    tmp_path: Path, content: str, place: str, allowed: str
) -> None:
    with pytest.raises(SpecError) as refused:
        _trace(tmp_path, "line.csv", content)
    assert refused.value.path == "links[0].forward.trace.file"
    assert place in refused.value.value
    assert allowed in refused.value.allowed


def test_a_file_elsewhere_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("1\n", encoding="utf-8")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link").symlink_to("../outside")
    for name in ("../outside", str(tmp_path / "outside"), "link", "missing"):
        with pytest.raises(SpecError, match=r"links\[0\]\.forward\.trace\.file"):
            _experiment(inner, f'forward = {{ trace = "{name}" }}')
    assert file_inside("outside", tmp_path, 10) == (tmp_path / "outside").resolve()


@pytest.mark.parametrize("law", _LAWS)
def test_what_is_resolved_is_written_again(tmp_path: Path, law: str) -> None:
    resolved = _experiment(tmp_path, f"forward = {{ trace = {{ {law} }} }}").resolved_json()
    assert Experiment.from_resolved(json.loads(resolved)).resolved_json() == resolved
    assert Resolved(json.loads(resolved)).queue("s->r").trace is not None


@pytest.mark.parametrize(
    ("trace", "path"),
    [
        ('{ kind = "on-of" }', "links[0].forward.trace.kind"),
        ('{ rate = "1mbit" }', "links[0].forward.trace"),
        ('{ kind = "steps", steps = "5" }', "links[0].forward.trace.steps"),
        ('{ kind = "steps", steps = "1mr5", repeat = "1ms" }', "links[0].forward.trace.repeat_ns"),
        ('{ kind = "opportunities", gaps = "0*3" }', "links[0].forward.trace.gaps_ms"),
        ('{ kind = "on-off", rate = "1mbit", on = "1s" }', "links[0].forward.trace.off"),
        ('{ kind = "markov", states = [] }', "links[0].forward.trace.states"),
        (
            '{ kind = "markov", states = [{ hold = "1s", rate = 0 }] }',
            "links[0].forward.trace.states[0].rate",
        ),
    ],
)
def test_a_table_that_is_no_trace_is_refused_with_its_place(
    tmp_path: Path, trace: str, path: str
) -> None:
    with pytest.raises(SpecError) as refused:
        simulate(_experiment(tmp_path, f"forward = {{ trace = {trace} }}"))
    # pydantic names the kind of a table in a path of its own.
    assert refused.value.path == path


def test_a_trace_says_the_rate_alone_and_changes_are_its_steps(tmp_path: Path) -> None:
    trace = 'trace = { kind = "opportunities", gaps = "1" }'
    for more, path in (
        ('rate = "1mbit"', "links[0].forward.rate_bps"),
        ('changes = [{ at = "1s", delay = "1ms" }]', "links[0].forward.changes"),
    ):
        with pytest.raises(SpecError) as refused:
            simulate(_experiment(tmp_path, f"forward = {{ {trace}, {more} }}"))
        assert refused.value.path == path
    # A rate of the whole link is that of the other direction.
    both = _experiment(tmp_path, f'rate = "1mbit", forward = {{ {trace} }}').resolved()["links"][0]
    assert (both["forward"]["rate_bps"], both["reverse"]["rate_bps"]) == (0, 10**6)


def test_udp_at_saturation_gets_each_opportunity_of_a_round(tmp_path: Path) -> None:
    lines = [ms for ms in range(1, 1001) for _ in range((ms * 7919) % 3)]
    (tmp_path / "line.up").write_text("".join(f"{ms}\n" for ms in lines), encoding="utf-8")
    text = _FILE.format(link='forward = { trace = "line.up", record_packets = true }')
    text = text.replace("4s", "1001ms").replace("1000B", "1504B")
    (tmp_path / "experiment.toml").write_text(text, encoding="utf-8")
    run = simulate(Experiment.from_toml(tmp_path / "experiment.toml"))
    left = run.column("packets", "t_ns")[run.column("packets", "sojourn_ns") >= 0]
    assert [int(t_ns) for t_ns in left] == [ms * 1_000_000 for ms in lines]


def test_steps_are_changes_on_the_kernel_and_what_is_none_is_refused(tmp_path: Path) -> None:
    steps = 'trace = { kind = "steps", steps = "0r10md20m 500mr5ml10m 100md30m" }'
    resolved = _experiment(tmp_path, f"forward = {{ {steps} }}").resolved()
    check_trace("links[0].forward", resolved["links"][0]["forward"])
    end = traces_as_changes(resolved, 0)["links"][0]["forward"]
    assert "trace" not in end
    assert (end["rate_bps"], end["delay_ns"]) == (10**7, 20_000_000)
    assert end["changes"] == [
        {"at_ns": 500_000_000, "rate_bps": 5_000_000, "delay_ns": None, "loss": 0.01},
        {"at_ns": 600_000_000, "rate_bps": None, "delay_ns": 30_000_000, "loss": None},
    ]
    refused_ones = [*_LAWS, 'kind = "steps", steps = "10mr5m"']
    for law in refused_ones:
        found = _experiment(tmp_path, f"forward = {{ trace = {{ {law} }} }}").resolved()
        with pytest.raises(SpecError, match=r"links\[0\]\.forward\.trace.*on the kernel"):
            check_trace("links[0].forward", found["links"][0]["forward"])
    with pytest.raises(SpecError, match="more than 1 steps"):
        traces_as_changes(resolved, 0, 1)


@pytest.mark.parametrize("given", ["rate = '5mbit'", "trace = { kind = 'steps', steps = '0r5m' }"])
def test_a_traces_rate_is_refused_on_the_kernel_for_what_a_rate_is(
    tmp_path: Path, given: str
) -> None:
    text = _FILE.format(link=f"overhead = '4B', forward = {{ {given} }}")
    begin = text.index("source =")
    (tmp_path / "tcp.toml").write_text(text[:begin] + "source = { kind = 'greedy' }\n")
    with pytest.raises(SpecError, match=r"flows\[0\]\.tcp\.gso_max_segs.*overhead of 4B"):
        check_kernel_can(Experiment.from_toml(tmp_path / "tcp.toml").resolved())


@pytest.mark.slow
def test_ten_million_lines_become_short_text(tmp_path: Path) -> None:
    from dumbbell import _engine

    lines = 10_000_000
    piece = b"".join(b"%d\n" % ms for ms in range(1, 1001))

    def pieces(count: int):  # type: ignore[no-untyped-def]
        for thousand in range(count // 1000):
            base = thousand * 1000
            yield piece if base == 0 else b"".join(b"%d\n" % (base + ms) for ms in range(1, 1001))

    trace = json.loads(_engine.read_trace(pieces(lines)))
    assert trace["gaps_ms"] == "1*10m"
    with pytest.raises(_engine.SpecInvalid, match="at most 10000000 lines"):
        _engine.read_trace(b"1\n" * 1_000_000 for _ in range(11))
