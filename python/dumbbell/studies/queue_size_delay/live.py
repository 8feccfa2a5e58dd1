"""The page's live figure: a queue that fills to its limit under any overload."""

from __future__ import annotations

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
from dumbbell.report.live import Value
from dumbbell.spec import Experiment
from dumbbell.studies.queue_size_delay import arms, limits, listing, published
from dumbbell.studies.queue_size_delay.arms import SourceKind

LOADS = (0.8, 0.9, 1.0, 1.1, published.RHO, 1.5, 2.0, 2.5, 3.0)
SIZES = {**published.LIMITS, published.LARGE: published.LARGE_BYTES}
BEGIN = "40kb"
SAMPLE_INTERVAL_NS = 4_000_000
PACKETS_PER_S_AT_ONE = published.PACKETS_PER_SECOND / published.RHO
"""Packets/s of 512 bytes that fill the link."""
QUEUE = "links[1].forward.qdisc"
ARM = "queue"


def _sampled(experiment: Experiment) -> Experiment:
    return Experiment.from_resolved(
        experiment.resolved() | {"sample_interval_ns": SAMPLE_INTERVAL_NS}
    )


def _fluid(load: float, size: str) -> LiveCurve:
    """Compute the fluid model of constant gaps: the bucket empties, then the queue fills."""
    rim_ms = limits.largest_delay_ms(SIZES[size])
    head_start_ms = limits.largest_delay_ms(published.BURST_BYTES)
    label, end_s = "theory: fills at load − 1", published.DURATION_S
    when = {"load": load, "size": float(SIZES[size]), "source": 0.0}
    if load <= 1:
        return LiveCurve(label=label, x=[0.0, end_s], y=[0.0, 0.0], arm=ARM, when=when)
    empty_s = head_start_ms / (load - 1) / 1e3
    full_s = (head_start_ms + rim_ms) / (load - 1) / 1e3
    return LiveCurve(
        label=label,
        x=[0.0, empty_s, full_s, max(full_s, end_s)],
        y=[0.0, 0.0, rim_ms, rim_ms],
        arm=ARM,
        when=when,
    )


def _listing() -> LiveCurve:
    """Return the pings printed for 2 mb; the first was sent before the traffic began."""
    shown = {seq: rtt for seq, rtt in published.LISTING_MS.items() if seq >= listing.FIRST}
    return LiveCurve(
        label="printed in the source",
        x=[seq - listing.FIRST + 0.5 for seq in shown],
        y=list(shown.values()),
        when={"size": float(published.LARGE_BYTES), "load": published.RHO},
        is_published=True,
    )


def _source(kind: SourceKind) -> dict[str, Value]:
    flow = arms.experiment(kind, BEGIN, 1).resolved()["flows"][0]
    return {f"flows[{arms.FLOW}].source": flow["source"]}


def hero(seed: int) -> LiveHero:
    """The live figure.

    Args:
        seed: Seed of the study.
    """
    experiment = _sampled(arms.experiment(SourceKind.IDEAL, BEGIN, seed))
    sizes = list(SIZES)
    source = LiveControl(
        id="source",
        label="As the testbed sent",
        kind=ControlKind.SWITCH,
        stops=[
            LiveStop(value=0, words="no", changes=_source(SourceKind.IDEAL)),
            LiveStop(value=1, words="yes", changes=_source(SourceKind.DITG)),
        ],
    )
    load = LiveControl(
        id="load",
        label="Load that is asked for",
        stops=[
            LiveStop(
                value=each,
                words=f"{each:g}" + (" (as published)" if each == published.RHO else ""),
                changes={f"flows[{arms.FLOW}].source.gap.mean": 1 / (each * PACKETS_PER_S_AT_ONE)},
            )
            for each in LOADS
        ],
        start=LOADS.index(published.RHO),
    )
    size = LiveControl(
        id="size",
        label="Size of the queue",
        stops=[
            LiveStop(
                value=SIZES[each],
                words=each,
                changes={QUEUE: f"tbf rate 6.55mbit limit {each} burst 10kb"},
            )
            for each in sizes
        ],
        start=sizes.index(BEGIN),
    )
    rim_ms = limits.largest_delay_ms(SIZES[BEGIN])
    return LiveHero(
        form=Form.TANK,
        watch="A queue is a tank: what comes faster than it leaves fills it, and what comes when "
        "it is full is lost. Its level is shown as the time that a packet at the end waits. Sizes "
        "are as typed to tc, whose kb is 1024 bytes.",
        arms=[LiveArm(id=ARM, label="the queue", variants=[experiment], queues=[[arms.QUEUE]])],
        controls=[size, load, source],
        curves=[*(_fluid(rho, each) for rho in LOADS for each in sizes), _listing()],
        bet=LiveBet(
            question=f"At load 1.25 the longest stay behind {BEGIN} is about {rim_ms:.0f} ms. "
            "Send twice as much, load 2.5: how long is the longest stay then?",
            settings={
                "load": LOADS.index(2.5),
                "size": sizes.index(BEGIN),
                "source": 0,
            },
            arm=ARM,
            number="longest_ms",
            least=0,
            most=2.4 * rim_ms,
            start=1.5 * rim_ms,
            unit="ms",
            lesson="The rim is the queue's size over the link's rate, m/µ. The load moves the "
            "time until it is full, not the rim.",
        ),
        options={
            "rate_bps": published.RATE_BPS,
            "burst_bytes": published.BURST_BYTES,
            "sending_s": published.DURATION_S,
        },
    )
