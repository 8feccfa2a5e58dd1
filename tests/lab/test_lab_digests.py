"""The simulator in WebAssembly gives what the native one gives, to the bit."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab_module import ROOT, asked
from lab_page import Opener, runs_of_workers

import dumbbell
from dumbbell.compare import summary_of

sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(ROOT / "tests" / "random_runs"))
import preset_digests
from digest_runs import QUEUES, descriptions, network
from random_descriptions import description

PIECES = 5000
FIRST = 70_000
"""Numbers of random descriptions that no other test draws."""
FEW = (
    *(f"example {name}" for name in ("chain", "cubic-and-bbr", "home-line", "mm1", "two-queues")),
    *(f"queue {kind}" for kind in QUEUES),
    "source bursts",
    "source arrivals",
    "controller bbr linux-6.1",
    "link records",
)
"""At least twenty: every queue, and one more with each that is added."""


def _experiments(names: Iterable[str]) -> dict[str, dumbbell.Experiment]:
    texts = descriptions()
    return {name: dumbbell.Experiment.from_toml(texts[name]) for name in names}


Answers = list[Mapping[str, Any]]
Workers = Callable[[Sequence[dumbbell.Experiment]], Answers]
"""Replication 0 of each."""


@pytest.fixture(params=["Node", pytest.param("Chromium", marks=pytest.mark.browser)])
def workers(request: pytest.FixtureRequest) -> Workers:
    if request.param == "Chromium":
        opener: Opener = request.getfixturevalue("opener")
        return lambda experiments: runs_of_workers(opener(), experiments)
    module: Path = request.getfixturevalue("module")
    return lambda experiments: _runs_of_node(module, experiments)


def _runs_of_node(module: Path, experiments: Iterable[dumbbell.Experiment]) -> Answers:
    requests: list[dict[str, Any]] = []
    for experiment in experiments:
        requests.append({"do": "load", "resolved": json.loads(experiment.resolved_json())})
        requests.append({"run": 0, "replication": 0, "pieces": PIECES})
    return list(asked(module, requests)[1::2])


def _check_digests(workers: Workers, experiments: Mapping[str, dumbbell.Experiment]) -> None:
    answers = workers(list(experiments.values()))
    native = dict(dumbbell.run_many([(each, 0) for each in experiments.values()]))
    expected = {
        name: (native[place].meta["digest"], native[place].meta["events"])
        for place, name in enumerate(experiments)
    }
    # A problem stands beside its name, in full.
    found = {
        name: (answer.get("digest", answer), answer.get("events"))
        for name, answer in zip(experiments, answers, strict=True)
    }
    assert found == expected


def test_digests_of_twenty_descriptions(workers: Workers) -> None:
    assert len(FEW) >= 20
    _check_digests(workers, _experiments(FEW))


@pytest.mark.long
def test_digests_of_all_kept_descriptions(workers: Workers) -> None:
    _check_digests(workers, _experiments(descriptions()))


@pytest.mark.long
def test_digests_of_random_descriptions(workers: Workers) -> None:
    numbers = range(FIRST, FIRST + 200)
    drawn = {str(number): dumbbell.Experiment.read(description(number)) for number in numbers}
    _check_digests(workers, drawn)


@pytest.fixture(scope="module")
def arms() -> list[preset_digests.Once]:
    """Of every study, run natively."""
    return list(preset_digests.runners())


@pytest.mark.long
def test_digests_of_every_arm_of_the_quick_presets(
    workers: Workers, arms: list[preset_digests.Once]
) -> None:
    experiments = {name: each for study in arms for name, each in study.experiments.items()}
    noted = {name: digest for study in arms for name, digest in study.noted.items()}
    assert set(noted) == set(preset_digests.kept()["digests"])
    answers = workers(list(experiments.values()))
    found = {
        name: answer["digest"][: preset_digests.DIGITS] if "digest" in answer else answer
        for name, answer in zip(experiments, answers, strict=True)
    }
    assert found == noted


def _check_numbers(module: Path, looked_at: Sequence[tuple[dumbbell.Experiment, int]]) -> int:
    """How many numbers were compared, of experiments seen from a queue."""
    requests: list[dict[str, Any]] = []
    for experiment, queue in looked_at:
        requests.append({"do": "load", "resolved": experiment.resolved()})
        requests.append({"run": queue, "replication": 1, "pieces": PIECES})
    compared = 0
    for (experiment, _), answer in zip(looked_at, asked(module, requests)[1::2], strict=True):
        values = summary_of(dumbbell.simulate(experiment, replication=1)).values
        expected = {quantity.path: value for quantity, value in values.items()}
        for number in answer["numbers"]:
            found = math.nan if number["value"] is None else number["value"]
            assert found == pytest.approx(expected[number["path"]], rel=1e-12, nan_ok=True), number
            compared += 1
    return compared


def test_numbers_are_those_of_metrics(module: Path) -> None:
    names = ["example cubic-and-bbr", "queue pie", "source poisson", "example home-line"]
    experiments = _experiments(names).values()
    queues = [each.queue_names.index(each.route(*_ends(each))[-1]) for each in experiments]
    assert _check_numbers(module, list(zip(experiments, queues, strict=True))) >= 9 * len(names)


def test_numbers_of_random_descriptions_are_those_of_metrics(module: Path) -> None:
    drawn = [dumbbell.Experiment.read(description(number)) for number in range(FIRST, FIRST + 60)]
    looked_at = [(each, place % len(each.queue_names)) for place, each in enumerate(drawn)]
    assert _check_numbers(module, looked_at) >= 9 * len(drawn)


def _ends(experiment: dumbbell.Experiment) -> tuple[str, str]:
    flow = experiment.flows[0]
    return flow.from_, flow.to


def test_a_run_that_goes_on_has_no_digest(module: Path) -> None:
    load = {"do": "load", "resolved": dumbbell.Experiment.from_toml(network()).resolved()}
    begin, finish = {"do": "begin", "replication": 0}, {"do": "finish", "queue": 0}
    *_, early, _, late = asked(module, [load, begin, finish, {"advance": 2**31}, finish])
    assert early["problem"]["value"] == "a run that goes on"
    assert late["digest"]


def test_pieces_of_a_run_do_not_matter(module: Path) -> None:
    experiment = dumbbell.Experiment.from_toml(network())
    load = {"do": "load", "resolved": experiment.resolved()}
    runs = [{"run": 0, "replication": 3, "pieces": pieces} for pieces in (1, 100, 10_000, 2**31)]
    digests = {answer["digest"] for answer in asked(module, [load, *runs])[1:]}
    assert len(digests) == 1


def test_what_is_peeked_at_is_the_beginning_of_what_comes_of_it(module: Path) -> None:
    (experiment,) = _experiments(["example home-line"]).values()
    columns = {"columns": ["queue_samples.t_ns", "queue_samples.system_pkts"]}
    requests = [
        {"do": "load", "resolved": experiment.resolved()},
        {"do": "begin", "replication": 0},
        {"advance": 50_000},
        {"do": "peek"},
        columns,
        {"advance": 2**31},
        {"do": "finish", "queue": 2},
        columns,
    ]
    _, _, going, peeked, first, ended, _, last = asked(module, requests)
    assert going["isGoing"]
    assert not ended["isGoing"]
    assert 5e9 < peeked["now_ns"] < 55e9
    for so_far, whole in zip(first["columns"], last["columns"], strict=True):
        assert 100 < len(so_far) < len(whole)
        assert so_far == whole[: len(so_far)]


def test_records_of_a_window_of_one_queue(module: Path) -> None:
    (experiment,) = _experiments(["example cubic-and-bbr"]).values()
    requests = [
        {"do": "load", "resolved": experiment.resolved()},
        {"do": "begin", "replication": 0, "record": 2},
        {"advance": 20_000},
        {"do": "forget"},
        {"advance": 10_000},
        {"do": "peek"},
        {"columns": ["packets.t_ns", "packets.queue"]},
    ]
    *_, forgotten, _, peeked, columns = asked(module, requests)
    times, queues = columns["columns"]
    assert len(times) > 1000
    assert set(queues) == {2}
    assert forgotten["now_ns"] <= min(times)
    assert max(times) <= peeked["now_ns"]
