"""The page's live figure: Flent's ellipse behind PIE, and behind fq_codel for comparison."""

from __future__ import annotations

import math

from dumbbell.report.live import (
    Form,
    LiveArm,
    LiveBet,
    LiveControl,
    LiveCurve,
    LiveHero,
    LiveStop,
)
from dumbbell.studies.pie_rrul import arms, published

TEST = arms.rrul(length_s=12, delay_s=1)
"""A fifth of the source's minute: a browser runs it in a second."""
SETTLED = arms.rrul(length_s=9, delay_s=4)
"""The measured part: in the source's minute the beginning has little weight."""
PIE, FQ_CODEL = "pie", "fq-codel"
SHAPED = "links[1].forward.qdisc"
"""The token bucket around the router's discipline, in the experiments of `arms`."""
TUPDATES_MS = (1, 4, 15, 30, 60)
"""The source's values, and the tick of the kernel's timer."""
RINGS_BYTES = (2 * published.WIRE_BYTES, arms.RING_BYTES // 2, arms.RING_BYTES, 2 * arms.RING_BYTES)
SHORT_MS = 5
MOST_MS, LEAST_MBPS, MOST_MBPS = 45, 76, 110
"""Ends of the plane's axes; the printed ranges are inside."""


def _ticks_ms(tupdate_ms: int) -> int:
    """Round up to whole ticks, as the kernel's timer does."""
    tick_ms = 1000 // published.TIMER_HZ
    return tick_ms * math.ceil(tupdate_ms / tick_ms)


def _target_stop(milliseconds: int) -> LiveStop:
    return LiveStop(
        value=milliseconds,
        words=f"{milliseconds} ms",
        of_arm={PIE: {f"{SHAPED}.child.target_ns": milliseconds * 1_000_000}},
    )


def _tupdate_stop(milliseconds: int) -> LiveStop:
    ticks = _ticks_ms(milliseconds)
    return LiveStop(
        value=milliseconds,
        words=f"{milliseconds} ms" + (f", {ticks} in ticks" if ticks != milliseconds else ""),
        of_arm={PIE: {f"{SHAPED}.child.tupdate_ns": milliseconds * 1_000_000}},
    )


def _ring_stop(size: int) -> LiveStop:
    remarks = {RINGS_BYTES[0]: " (two packets)", arms.RING_BYTES: " (fitted)"}
    words = f"{size / 1e3:.3g} kB{remarks.get(size, '')}"
    return LiveStop(value=size / 1e3, words=words, changes={f"{SHAPED}.burst_bytes": size})


def _printed(setting: arms.Setting, numbers: dict[str, float]) -> list[LiveCurve]:
    """Return the printed averages of a setting, and the ends of its ellipse."""
    when = {"target": float(setting.target_ms), "tupdate": float(setting.tupdate_ms)}
    latency, upload = numbers["latency"], numbers["throughput"]
    drawn = (
        ("mean", "printed in the source", [latency], [upload]),
        ("range", "", [numbers["latency-low"], numbers["latency-high"]], [upload, upload]),
        ("range", "", [latency, latency], [numbers["throughput-low"], numbers["throughput-high"]]),
    )
    return [
        LiveCurve(label=label, x=x, y=y, arm=PIE, when=when, is_published=True, picture=picture)
        for picture, label, x, y in drawn
    ]


def _theory(target_ms: int, ring_bytes: int) -> LiveCurve:
    """Return PIE's delay at its target plus that of a ring that is always full."""
    latency_ms = target_ms + ring_bytes * 8 / (1e3 * published.LINE_MBPS)
    return LiveCurve(
        label="theory: target and ring",
        x=[latency_ms, latency_ms],
        y=[float(LEAST_MBPS), float(MOST_MBPS)],
        arm=PIE,
        when={"target": float(target_ms), "ring": ring_bytes / 1e3},
        picture="theory",
    )


def hero(seed: int) -> LiveHero:
    """The live figure.

    Args:
        seed: Seed of the study.
    """
    printed = {arms.setting_of(*row): dict(numbers) for row, numbers in published.TABLES.items()}
    queue = [[arms.queue_name(arms.RING_BYTES)]]
    qdiscs = {PIE: arms.Setting().qdisc(), FQ_CODEL: "fq_codel"}
    return LiveHero(
        form=Form.ELLIPSE,
        watch="Four uploads and four downloads through the router, with probes beside them. PIE is "
        "to hold the queue at its target; how often it looks at the queue is tupdate. Move both, "
        "and watch where the ellipse goes.",
        arms=[
            LiveArm(
                id=name,
                label=label,
                variants=[arms.experiment(qdiscs[name], seed=seed, test=TEST)],
                queues=queue,
            )
            for name, label in ((PIE, "PIE"), (FQ_CODEL, "fq_codel"))
        ],
        controls=[
            LiveControl(
                id="target",
                label="Target",
                stops=[_target_stop(each) for each in arms.TARGETS_MS],
                start=arms.TARGETS_MS.index(arms.TARGET_MS),
            ),
            LiveControl(
                id="tupdate",
                label="tupdate",
                stops=[_tupdate_stop(each) for each in TUPDATES_MS],
                start=TUPDATES_MS.index(arms.TUPDATE_MS),
            ),
            LiveControl(
                id="ring",
                label="The driver holds",
                stops=[_ring_stop(each) for each in RINGS_BYTES],
                start=RINGS_BYTES.index(arms.RING_BYTES),
            ),
        ],
        curves=[
            *(curve for each, numbers in printed.items() for curve in _printed(each, numbers)),
            *(_theory(target, ring) for target in arms.TARGETS_MS for ring in RINGS_BYTES),
        ],
        bet=LiveBet(
            question=f"With a target of {arms.TARGET_MS} ms the latency is 26 ms. Set the target "
            f"to {SHORT_MS} ms, a quarter: what is the latency then?",
            settings={
                "target": arms.TARGETS_MS.index(SHORT_MS),
                "tupdate": TUPDATES_MS.index(arms.TUPDATE_MS),
                "ring": RINGS_BYTES.index(arms.RING_BYTES),
            },
            arm=PIE,
            number="latency_ms",
            least=0,
            most=MOST_MS,
            start=20,
            unit="ms",
            lesson="PIE holds its own queue at the target. Behind it stands the ring of the "
            "driver, 6 ms that PIE neither sees nor shortens; the throughput stays what it was.",
        ),
        options={
            "sender": TEST.client,
            "step_s": TEST.step_s,
            "from_s": SETTLED.delay_s,
            "until_s": SETTLED.delay_s + SETTLED.length_s,
            "most_ms": MOST_MS,
            "least_mbps": LEAST_MBPS,
            "most_mbps": MOST_MBPS,
            "line_mbps": published.LARGEST_MBPS,
        },
    )
