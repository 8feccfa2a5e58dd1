"""A change in the laboratory is what it would be in a file, which Python resolves to the same."""

from __future__ import annotations

import json
import random
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab_module import ROOT, asked

import dumbbell
from dumbbell.spec import queue_lines
from dumbbell.spec.unresolve import as_written

sys.path.insert(0, str(ROOT / "tests" / "random_runs"))
from random_descriptions import description
from random_disciplines import discipline, policer

FIRST = 60_000
"""Numbers of random descriptions that no other test draws."""
BASE = """
duration = "8s"
sample_interval = "100ms"

[[links]]
a = "left"
b = "right"
delay = "5ms"
rate = "4mbit"
police = "police rate 9mbit burst 9kb drop"

[[flows]]
name = "bulk"
count = 3
from = "left"
to = "right"
source = { kind = "greedy" }

[[flows]]
name = "stream"
from = "left"
to = "right"
source = { kind = "poisson", rate = "30pps", size = "exponential 512B" }
"""

Change = dict[str, Any]


def _resolved(source: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dumbbell.Experiment.read(source).resolved_json())
    return found


def _changes(draw: random.Random, resolved: dict[str, Any]) -> list[Change]:
    """A few, of what a page's controls and more can change."""
    ends = [f"links[{i}].{way}" for i in range(len(resolved["links"])) for way in _WAYS]
    end = draw.choice(ends)
    rate = draw.choice([0, draw.randrange(8_000, 10**9, 8)])
    offered = [
        (f"{end}.rate_bps", rate),
        (f"{end}.delay_ns", draw.randrange(1, 10**9)),
        (f"{end}.loss", draw.choice([0, 0.001, draw.random() / 2])),
        (f"{end}.qdisc", discipline(draw, 10**7)),
        (f"{end}.police", draw.choice(["none", policer(draw, 10**7)])),
        ("duration_ns", draw.randrange(resolved["warm_up_ns"] + 1, 10**11)),
        ("sample_interval_ns", draw.randrange(10**6, 10**9)),
        ("seed", draw.randrange(2**32)),
    ]
    for index, flow in enumerate(resolved["flows"]):
        name = f"flows[{flow['name']}]"
        offered.append((f"{name}.count", draw.randrange(4)))
        offered.append((f"flows[{index}].dscp", draw.randrange(64)))
        if flow["tcp"] is not None:
            controller = draw.choice(["reno", "cubic", "bbr"])
            offered.append((f"flows[{index}].tcp.congestion_control", controller))
            offered.append((f"flows[{index}].tcp.ecn", draw.random() < 0.5))
            offered.append((f"flows[{index}].tcp.send_buffer_bytes", draw.randrange(4096, 10**6)))
        if flow["source"].get("gap", {}).get("law") == "exponential":
            offered.append((f"flows[{index}].source.gap.mean", 10 ** draw.uniform(-5, 1)))
    chosen = draw.sample(offered, draw.randrange(min(6, len(offered))))
    # Places of flows hold until their number changes.
    chosen.sort(key=lambda pair: pair[0].endswith(".count"))
    return [{"path": path, "value": value} for path, value in chosen]


_WAYS = ("forward", "reverse")


def _check_files(module: Path, numbers: Sequence[int]) -> None:
    requests: list[dict[str, Any]] = []
    for number in numbers:
        resolved = _resolved(description(number))
        changes = _changes(random.Random(number), resolved)
        requests += [
            {"do": "load", "resolved": resolved},
            {"do": "change", "changes": changes},
            {"do": "toml"},
        ]
    answers = asked(module, requests)
    refused = 0
    for place in range(0, len(answers), 3):
        loaded, changed, file = answers[place : place + 3]
        described = loaded if "problem" in changed else changed
        refused += "problem" in changed
        again = dumbbell.Experiment.from_toml(file["text"])
        assert json.loads(again.resolved_json()) == described["resolved"], requests[place + 1]
        assert again.queue_names == described["queues"]
        assert _written_otherwise(file["text"], as_written(described["resolved"])) == []
    assert refused < len(numbers) / 3


def _written_otherwise(text: str, whole: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Where a file, which leaves out defaults, has another value than Python writes for the key.

    Args:
        text: The file of the laboratory (``lab/src/written.rs``).
        whole: What `as_written` makes of the same description: every key.
    """
    file = tomllib.loads(text)
    links: list[dict[str, Any]] = []
    flows: list[dict[str, Any]] = []
    for link in file.pop("links"):
        ends = {end: link.pop(end, {}) for end in ("forward", "reverse")}
        between = {"a": link.pop("a"), "b": link.pop("b")}
        links.append({**between, **{end: link | own for end, own in ends.items()}})
    for flow in file.pop("flows", []):
        count = flow.pop("count", None)
        names = [flow["name"]]
        if count is not None:
            names = [f"{flow['name']}-{number}" for number in range(1, count + 1)]
        flows += [{**flow, "name": name} for name in names]
    return [*_otherwise("", {**file, "links": links, "flows": flows}, whole)]


def _otherwise(path: str, one: Any, whole: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, dict) and isinstance(whole, dict):
        for key, value in one.items():
            yield from _otherwise(f"{path}.{key}", value, whole.get(key))
    elif isinstance(one, list) and isinstance(whole, list) and len(one) == len(whole):
        for index, value in enumerate(one):
            yield from _otherwise(f"{path}[{index}]", value, whole[index])
    elif (type(one), one) != (type(whole), whole):
        yield path, one, whole


def test_another_value_is_seen() -> None:
    whole = as_written(dumbbell.Experiment.from_toml(BASE).resolved())
    before = _written_otherwise(BASE, whole)  # as a person has it: the words of a policer
    found = _written_otherwise(BASE.replace('"5ms"', '"5000us"'), whole)
    ends = ("forward", "reverse")
    assert [each for each in found if each not in before] == [
        (f".links[0].{end}.delay", "5000us", "5ms") for end in ends
    ]


@pytest.mark.slow
def test_files_of_changed_descriptions(module: Path) -> None:
    _check_files(module, range(FIRST, FIRST + 200))


@pytest.mark.long
def test_files_of_thousands_of_changed_descriptions(module: Path) -> None:
    _check_files(module, range(FIRST + 1000, FIRST + 4000))


def test_tc_lines_are_those_of_a_testbed(module: Path) -> None:
    resolved = [_resolved(description(number)) for number in range(FIRST, FIRST + 60)]
    requests: list[dict[str, Any]] = []
    ends = []
    for each in resolved:
        requests.append({"do": "load", "resolved": each})
        ends.append(None)
        for place, link in enumerate(each["links"]):
            for way in _WAYS:
                requests.append({"do": "tc", "queue": 2 * place + _WAYS.index(way)})
                ends.append(link[way])
    for end, answer in zip(ends, asked(module, requests), strict=True):
        if end is not None:
            queue = queue_lines.queue_lines(end, "eth0")
            policer = queue_lines.egress_lines(end, "eth0", has_hook=False)
            assert answer["queue"] == queue + policer
            delayed = queue_lines.is_delayed(end)
            far_end = queue_lines.delay_lines(end, "eth0") if delayed else []
            assert answer["far_end"] == far_end


def test_a_count_names_flows_as_a_file_does(module: Path) -> None:
    base = dumbbell.Experiment.from_toml(BASE)
    for count in (1, 3, 12):
        change = {"path": "flows[bulk].count", "value": count}
        _, changed = asked(
            module,
            [
                {"do": "load", "resolved": base.resolved()},
                {"do": "change", "changes": [change]},
            ],
        )
        expected = base.with_flow("bulk", count=count)
        assert changed["resolved"] == json.loads(expected.resolved_json())


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("links[0].forward.qdisc", "fq_codle", {"value": "fq_codle", "hint": "fq_codel"}),
        ("links[0].forward.qdisc", "pfifo limit x", {"value": "x"}),
        ("links[0].forward.rate_bps", -1, {"value": "-1"}),
        ("links[0].forward.rate_bps", "10mbit", {"value": "10mbit"}),
        ("links[0].forward.speed", 1, {"value": "1"}),
        ("links[7].forward.rate_bps", 1, {"value": "1"}),
        ("flows[bulc].count", 1, {"value": "bulc"}),
        ("flows[bulk].count", 10_001, {"value": "10001"}),
        ("flows[bulk].tcp.congestion_control", "cubik", {"value": "cubik"}),
        ("flows[bulk]", 1, {}),
        ("", 1, {}),
    ],
)
def test_what_is_refused_says_where(
    module: Path, path: str, value: Any, problem: dict[str, str]
) -> None:
    resolved = dumbbell.Experiment.from_toml(BASE).resolved()
    requests = [
        {"do": "load", "resolved": resolved},
        {"do": "change", "changes": [{"path": path, "value": value}]},
        {"do": "toml"},
    ]
    _, refused, file = asked(module, requests)
    found = refused["problem"]
    assert found["allowed"]
    assert {key: found[key] for key in problem} == problem
    if "bulk" not in path:
        assert found["path"] == path
    # The description before is still there.
    assert dumbbell.Experiment.from_toml(file["text"]).resolved() == resolved


def test_a_run_does_not_end_before_a_flow_begins(module: Path) -> None:
    """As a file of that is refused."""
    later = BASE.replace('name = "stream"\n', 'name = "stream"\nstart = "5s"\n')
    load = {"do": "load", "resolved": dumbbell.Experiment.from_toml(later).resolved()}
    ends = [
        {"do": "change", "changes": [{"path": "duration_ns", "value": seconds * 10**9}]}
        for seconds in (4, 5, 6)
    ]
    _, early, at_once, enough = asked(module, [load, *ends])
    for refused in (early, at_once):
        found = refused["problem"]
        assert (found["path"], found["value"]) == ("flows[3].start_ns", "5000000000")
        assert "before the end of the run" in found["allowed"]
    assert enough["resolved"]["duration_ns"] == 6 * 10**9


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "nothing"},
        {"do": "load", "resolved": []},
        {"do": "load", "resolved": {"schema": 1}},
        {"do": "begin", "replication": 0},
        {"do": "finish", "queue": 0},
        {"do": "tc", "queue": 99},
        {"do": "change", "changes": [{"path": "a" * 10_000, "value": 1}]},
    ],
    ids=lambda request: str(request)[:40],
)
def test_bad_requests_are_answered(module: Path, request_: dict[str, Any]) -> None:
    (answer,) = asked(module, [request_])
    assert answer["problem"]["allowed"]
