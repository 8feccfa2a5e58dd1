"""Random valid descriptions keep what every run must keep; one that does not is kept as a file.

DUMBBELL_FAILING=folder    where failing descriptions go, made small
"""

from __future__ import annotations

import copy
import itertools
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import random_checks
from random_checks import as_toml, faults, kept, shrunk
from random_descriptions import Description, description
from run_invariants import violations

from dumbbell import _engine
from dumbbell.backends import simulate
from dumbbell.spec import Experiment
from dumbbell.spec.tcp_settings import PROFILES
from dumbbell.tables import Run

PARTS = 10
IN_EACH = 30
LONG_PARTS = 20
LONG_IN_EACH = 100


def check(first: int, count: int, tmp_path: Path) -> None:
    folder = Path(os.environ.get("DUMBBELL_FAILING", tmp_path))
    for number in range(first, first + count):
        drawn = description(number)
        found = faults(drawn)
        if found:
            file, text = kept(drawn, folder)
            pytest.fail(f"description {number}: {found[0]}\n{file}\n{text}", pytrace=False)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_descriptions(part: int, tmp_path: Path) -> None:
    check(part * IN_EACH, IN_EACH, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("part", range(LONG_PARTS))
def test_more_random_descriptions(part: int, tmp_path: Path) -> None:
    check(1_000_000 + part * LONG_IN_EACH, LONG_IN_EACH, tmp_path)


# --- what draws, checks and makes small -----------------------------------------------------


def test_a_number_always_gives_the_same_description() -> None:
    assert description(7) == description(7)
    assert description(7) != description(8)


def test_everything_is_drawn() -> None:
    """Sources, disciplines, controllers and profiles, each in some of the descriptions."""
    resolved = [Experiment.read(description(number)).resolved() for number in range(300)]
    flows = [flow for each in resolved for flow in each["flows"]]
    links = [link for each in resolved for link in each["links"]]
    ends = [link[side] for link in links for side in ("forward", "reverse")]
    assert {flow["source"]["kind"] for flow in flows} == {
        "poisson", "cbr", "renewal", "ditg", "replay", "bursts",
        "greedy", "sized", "closed_loop", "arrivals",
    }  # fmt: skip
    disciplines = {each["name"] for each in json.loads(_engine.disciplines())}
    assert {end["qdisc"]["kind"] for end in ends} == disciplines
    tcp = {
        (flow["tcp"]["profile"], flow["tcp"]["congestion_control"]) for flow in flows if flow["tcp"]
    }
    assert tcp == set(itertools.product(PROFILES, _engine.congestion_controllers()))
    for key in ("police", "changes", "record_packets", "capture", "capture_flows"):
        assert any(end[key] for end in ends), key
    assert any(end.get("tso") for end in ends)
    assert {bool(end["gro_ns"]) for end in ends if "gro_ns" in end} == {True, False}
    assert any("first_write_bytes" in flow["source"] for flow in flows)
    assert any(map(_is_paced_by_its_host, resolved))
    assert {probe["kind"] for each in resolved for probe in each["probes"]} == {"ping", "udp"}


def _is_paced_by_its_host(resolved: Mapping[str, Any]) -> bool:
    """Whether a host that sends over TCP has fq at the root of a link of its own."""
    senders = {flow["from"] for flow in resolved["flows"] if flow["tcp"]}
    sides = (("a", "forward"), ("b", "reverse"))
    return any(
        link[host] in senders and link[side]["qdisc"]["kind"] == "fq"
        for link in resolved["links"]
        for host, side in sides
    )


def test_a_description_as_a_file_is_the_same() -> None:
    for number in range(20):
        drawn = description(number)
        assert Experiment.from_toml(as_toml(drawn)) == Experiment.read(copy.deepcopy(drawn))


def test_only_what_fails_is_left() -> None:
    def fails(each: Description) -> bool:
        return any("probe" in probe.get("name", "") for probe in each.get("probes", []))

    number = next(number for number in range(100) if len(description(number)["probes"]) > 1)
    small = shrunk(description(number), fails)
    assert set(small) == {"probes"}
    assert [set(probe) for probe in small["probes"]] == [{"name"}]


RECORDED = """
duration = "1s"
sample_interval = "100ms"
links = [{ a = "a", b = "b", rate = "1mbit", record_packets = true, qdisc = "pfifo limit 5" }]
flows = [
    { name = "f", from = "a", to = "b", source = { kind = "poisson", gap = "4ms", size = "512B" } },
    { name = "t", from = "a", to = "b", source = { kind = "greedy" } },
]
probes = [{ name = "p", from = "a", to = "b", interval = "50ms" }]
"""


def _add(table: str, column: str, what: float) -> Callable[[dict[str, Any]], None]:
    def change(tables: dict[str, Any]) -> None:
        columns = tables[table] = dict(tables[table])
        columns[column] = columns[column].copy()
        columns[column][-1] += what

    return change


@pytest.mark.parametrize(
    ("table", "column", "what"),
    [
        ("flows", "created_pkts", 1),
        ("flows", "delivered_bytes", -1),
        ("flows", "in_network_pkts", 1),
        ("flows", "dropped_bytes", -(2**40)),
        ("flows", "delay_mean_s", np.nan),
        ("queues", "arrived_pkts", 1),
        ("queues", "departed_bytes", 1),
        ("queues", "dropped_overlimit_pkts", 1),
        ("queues", "departed_pkts", 1),
        ("queues", "lost_pkts", 1),
        ("queues", "busy_s", 2.0),
        ("queues", "sojourn_count", 1),
        ("queue_samples", "departed_pkts", -(2**20)),
        ("queue_samples", "sojourn_sum_s", np.inf),
        ("flow_samples", "delivered_pkts", -1000),
        ("transfers", "created_pkts", 1),
        ("probes", "rtt_ns", 2),
        ("packets", "bytes", -10_000),
        ("distributions", "weight", 1.0),
        ("flow_delays", "pkts", 1),
        ("flow_delays", "low_ns", -1e9),
        ("flow_delays", "high_ns", -1e9),
    ],
)
def test_a_wrong_number_is_found(table: str, column: str, what: float) -> None:
    run = simulate(Experiment.from_toml(RECORDED))
    assert violations(run) == []
    tables = dict(run.tables)
    _add(table, column, what)(tables)
    wrong = Run(
        origin=run.origin,
        replication=run.replication,
        spec=run.spec,
        tables=tables,
        meta=run.meta,
        provenance=run.provenance,
    )
    assert violations(wrong)


def test_another_digest_and_a_higher_cost_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = description(3)
    assert faults(drawn) == []
    counter = iter(range(100))
    monkeypatch.setattr(random_checks, "_identity", lambda _: ("", next(counter)))
    assert faults(drawn) == ["replication 0 alone, by one thread, has another digest"]
    monkeypatch.undo()
    monkeypatch.setattr(random_checks, "MOST_TIMES_FORESEEN", 0)
    assert any("were foreseen" in fault for fault in faults(drawn))


def test_a_failing_description_is_kept_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_checks, "MOST_TIMES_FORESEEN", 0)
    file, text = kept(description(3), tmp_path)
    assert file == tmp_path / "random-3.toml"
    assert file.read_text() == text
    assert len(text) < len(as_toml(description(3)))
