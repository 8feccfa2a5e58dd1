"""RFC 9743 section 7.3: paths with varying delay."""

from __future__ import annotations

from typing import Any

from dumbbell.judge.description import BUSY, LINK, at_least, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_CHANGES = f"{LINK}.forward.changes"


def _alternating_delay(every_ms: int) -> list[dict[str, Any]]:
    """The one-way delay alternates between 20 and 40 ms."""
    return [
        {"at": f"{at}ms", "delay": "40ms" if place % 2 else "20ms"}
        for place, at in enumerate(range(every_ms, 60_000, every_ms), start=1)
    ]


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = [
        Expectation(
            f"swings-{every}ms",
            f"{name} keeps the link 80 % busy where the delay of the path changes by 20 ms every "
            f"{shown}",
            BUSY,
            at_least(0.8),
            {_CHANGES: _alternating_delay(every)},
            f"every {shown}",
        )
        for every in request.cells([500, 5000], [100])
        for shown in [f"{every / 1000:g} s" if every >= 1000 else f"{every} ms"]
    ]
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


VARYING_DELAY = Section(
    id="varying-delay",
    suite=RFC_9743,
    reference="7.3",
    title="Varying delay",
    short="Varying delay",
    question="Does it take a delay that varies by itself for congestion?",
    trouble="where the delay of the path varies",
    drawn=SectionFigure("utilization", "busy"),
    trial=_trial,
    not_covered="Delays that vary from packet to packet: see Jitter.",
)
