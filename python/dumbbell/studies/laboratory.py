"""Arms of the studies for the laboratory.

This module only selects arms: the `arms` of a study create the experiments, named by its title and
labels. Runs are short enough for a browser to take some seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dumbbell.spec import Experiment
from dumbbell.spec.ccperf import Policing
from dumbbell.studies import STUDIES
from dumbbell.studies.buffer_sizing import arms as sizing
from dumbbell.studies.pie_rrul import arms as pie
from dumbbell.studies.queue_size_delay import arms as delay
from dumbbell.studies.statistical_multiplexing import arms as multiplexing
from dumbbell.studies.traffic_policing import arms as policing

SEED = 1
IDEAL_PACKETS = 60_000
"""Load of both streams together."""
RRUL_S, RRUL_DELAY_S = 20, 2
"""Duration: part of the published 60 s, enough to show the queue."""
TREE_S = 20.0
"""Duration: part of the published 150 s."""


@dataclass(frozen=True, slots=True)
class StudyExperiment:
    """An arm of a study for the laboratory.

    Attributes:
        id: A unique id, which begins with the study's.
        study: Title of the study.
        label: Name of the arm for readers.
        question: A task in a sentence or two.
        experiment: The study's experiment, possibly shortened.
        queue: Name of the studied queue.
    """

    id: str
    study: str
    label: str
    question: str
    experiment: Experiment
    queue: str


def study_experiments() -> Iterator[StudyExperiment]:
    """Arms of every study, in the order of `STUDIES`."""
    made = {
        "statistical-multiplexing": _multiplexing,
        "queue-size-delay": _delay,
        "traffic-policing": _policing,
        "buffer-sizing": _sizing,
        "pie-rrul": _pie,
    }
    for name, study in STUDIES.items():
        for number, (label, question, experiment, queue) in enumerate(made[name](), start=1):
            identity = f"{name}-{number}"
            yield StudyExperiment(identity, study.title, label, question, experiment, queue)


_Arms = Iterator[tuple[str, str, Experiment, str]]
"""Label, question, experiment and queue of each arm."""


def _multiplexing() -> _Arms:
    for arm in multiplexing.ideal_arms(2, IDEAL_PACKETS, SEED):
        label = multiplexing.LABELS[arm.key]
        question = (
            "Two streams of packets, together 0.9 of the line. Note the mean time, then look at "
            "the other arm: by how much does it differ, and does that depend on the load?"
        )
        yield label, question, arm.experiment, f"{multiplexing.SHAPED}1"


def _delay() -> _Arms:
    for kind, limit in ((delay.SourceKind.IDEAL, "40kb"), (delay.SourceKind.DITG, "200kb")):
        question = (
            "A sender gives a token bucket more than it lets through. Change the limit of the "
            "queue in the discipline's line: how long does the last packet of a full queue wait?"
        )
        label = f"{delay.SOURCES[kind]} behind {limit}"
        yield label, question, delay.experiment(kind, limit, SEED), delay.QUEUE


def _policing() -> _Arms:
    quiet = replace(policing.linux("cubic"), record_packets=False)
    offered: Mapping[str, tuple[Policing, str]] = {
        "the source's flow through the shaper": (
            replace(policing.source(), record_packets=False),
            "A burst passes at the peak rate, then tokens run out. Change the burst, and watch the "
            "window and what is dropped.",
        ),
        "CUBIC through the shaper": (
            quiet,
            "The same with Linux's TCP: a queue of 20 packets holds what has no token. What does "
            "BBR do here?",
        ),
        "CUBIC through a policer": (
            policing.policed(quiet),
            "No queue: what has no token is dropped. Which of burst and rate decides how much gets "
            "through?",
        ),
    }
    for label, (experiment, question) in offered.items():
        yield label, question, experiment.experiment(), policing.QUEUE


def _sizing() -> _Arms:
    point = sizing.Point(load="light")
    small, large = sizing.BUFFERS["small"], sizing.BUFFERS["large"]
    for workload, words in sizing.WORKLOADS.items():
        question = (
            f"A tree of {point.hosts} source nodes, {words}, behind {small} packets. Move the "
            f"buffer to {large}: who gets less, and who waits less?"
        )
        made = sizing.experiment(point, workload, small, seed=SEED, duration_s=TREE_S)
        yield f"{words}, {small} packets", question, made, sizing.BOTTLENECK


def _pie() -> _Arms:
    test = pie.rrul(RRUL_S, RRUL_DELAY_S)
    question = (
        "Flent's rrul through a router with PIE. Change target and tupdate in the discipline's "
        "line: which of them moves the queue? Then write fq_codel."
    )
    for scenario, words in pie.SCENARIO_TITLES.items():
        made = pie.experiment(pie.Setting().qdisc(), scenario, seed=SEED, test=test)
        label = f"{pie.Setting().label}, {words}"
        yield label, question, made, pie.queue_name(pie.RING_BYTES)
