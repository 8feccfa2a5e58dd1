"""The page's live figure: the same arrivals in one fast queue and in separate slow queues."""

from __future__ import annotations

import math

import numpy as np

from dumbbell import theory
from dumbbell.report import (
    ControlKind,
    Form,
    LiveArm,
    LiveBet,
    LiveControl,
    LiveCurve,
    LiveHero,
    LiveStop,
)
from dumbbell.spec import Experiment
from dumbbell.studies.statistical_multiplexing import arms, published

PACKETS = 200_000
"""Packets of a run, total of all streams: a browser runs it in a tenth of a second."""
STREAMS = (2, 4, 8)
LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85)
BEYOND = (0.925, 0.95)
SAMPLE_INTERVAL_NS = 250_000_000
MOST_MS = 260
"""Top of the axis: higher values are drawn at the edge."""
LABELS = {"SM": "one fast lane", "TDM": "a slow lane for each"}
IDS = {arm: arm.lower() for arm in published.ARMS}


def _experiment(arm: str, streams: int, seed: int) -> Experiment:
    seconds = PACKETS / (published.PACKETS_PER_SECOND * streams)
    ideal = arms.ideal(arm, streams, seconds, seed)
    return Experiment.from_resolved(ideal.resolved() | {"sample_interval_ns": SAMPLE_INTERVAL_NS})


def _queues(experiment: Experiment) -> list[str]:
    return [name for name in experiment.queue_names if name.startswith(arms.SHAPED)]


def _load_at(packets_per_second: float) -> float:
    """Return the load by the commands' parameters, without headers."""
    return 8 * published.MEAN_PAYLOAD_BYTES * packets_per_second / published.STREAM_RATE_BPS


AS_TYPED = _load_at(published.PACKETS_PER_SECOND)
"""0.90."""


def _with_headers() -> float:
    """Return the load by the commands' parameters, with all headers and with fragments."""
    service = theory.itgsend_service(published.STREAM_RATE_BPS, published.MEAN_PAYLOAD_BYTES)
    return theory.MXG1(published.PACKETS_PER_SECOND, service.batch).rho


def _load_stop(load: float) -> LiveStop:
    mean_s = 8 * published.MEAN_PAYLOAD_BYTES / (load * published.STREAM_RATE_BPS)
    words = f"{load:.3g}" + (" (as published)" if load == AS_TYPED else "")
    return LiveStop(value=load, words=words, changes={"flows[stream].source.gap.mean": mean_s})


def _theory(arm: str, streams: int) -> LiveCurve:
    """Return the median time in M/M/1, with more loads where the curve is steep."""
    load = 1 - np.geomspace(1, 5e-3, 90)
    rate_bps = published.STREAM_RATE_BPS * (streams if arm == "SM" else 1)
    mu = rate_bps / (8 * published.MEAN_PAYLOAD_BYTES)
    median_ms = [1e3 * theory.MM1(rho * mu, mu).T_quantile(0.5) for rho in load[1:]]
    return LiveCurve(
        label="theory, 1 / (1 - load)",
        x=[0.0, *load[1:].tolist()],
        y=[1e3 * math.log(2) / mu, *median_ms],
        arm=IDS[arm],
        when={"lanes": streams},
    )


def _printed(arm: str, with_headers: bool) -> LiveCurve:
    """Return the printed median, at the load of the commands."""
    (median,) = [each.ms for each in published.QUARTILES if each.arm == arm and each.level == 0.5]
    load = _with_headers() if with_headers else AS_TYPED
    return LiveCurve(
        label="printed in the source",
        x=[load],
        y=[median],
        arm=IDS[arm],
        when={"lanes": 2, "headers": float(with_headers)},
        is_published=True,
    )


def hero(seed: int) -> LiveHero:
    """The live figure.

    Args:
        seed: Seed of the study.
    """
    loads = sorted([*LOADS, AS_TYPED, *BEYOND])
    with_headers = {"flows[stream].source.size_at": "payload"}
    controls = [
        LiveControl(
            id="load",
            label="Load that is asked for",
            stops=[_load_stop(load) for load in loads],
            start=loads.index(0.5),
        ),
        LiveControl(
            id="lanes",
            label="Streams",
            stops=[
                LiveStop(value=m, words=str(m), variant=place) for place, m in enumerate(STREAMS)
            ],
        ),
        LiveControl(
            id="headers",
            label="With headers",
            kind=ControlKind.SWITCH,
            stops=[
                LiveStop(value=0, words="no"),
                LiveStop(value=1, words="yes", changes=with_headers),
            ],
        ),
    ]
    variants = {
        arm: [_experiment(arm, streams, seed) for streams in STREAMS] for arm in published.ARMS
    }
    return LiveHero(
        form=Form.CLIMB,
        watch="The same packets go into one fast lane and into slow lanes of their own. Each dot "
        "is a run: how long half of its packets took at most, at the load that the link had.",
        arms=[
            LiveArm(
                id=IDS[arm],
                label=LABELS[arm],
                variants=variants[arm],
                queues=[_queues(each) for each in variants[arm]],
            )
            for arm in published.ARMS
        ],
        controls=controls,
        curves=[
            *(_theory(arm, streams) for arm in published.ARMS for streams in STREAMS),
            *(_printed(arm, each) for arm in published.ARMS for each in (False, True)),
        ],
        bet=LiveBet(
            question="At load 0.5 packets take some 6 ms in the fast lane. How many milliseconds "
            "at load 0.95? Drag the mark, then find out.",
            settings={"load": loads.index(0.95), "headers": 0, "lanes": 0},
            arm=IDS["SM"],
            number="median_ms",
            least=0,
            most=MOST_MS,
            start=20,
            unit="ms",
            lesson="From 0.5 to 0.95 the load has not doubled, and the time is ten times as long: "
            "it goes as 1 / (1 - load).",
        ),
        options={
            "most_ms": MOST_MS,
            "window_s": 60,
            "packet_bytes": published.MEAN_PAYLOAD_BYTES,
        },
    )
