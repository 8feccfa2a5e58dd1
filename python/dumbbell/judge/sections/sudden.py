"""RFC 9743 section 7.9: sudden changes of the path's rate or delay."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.judge.description import BUSY, DROPPED, LINK, at_least, at_most, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_CHANGES = f"{LINK}.forward.changes"


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    slower = {_CHANGES: [{"at": "20s", "rate": "5mbit"}], "warm_up": "25s"}
    expectations = [
        Expectation(
            "slower-busy",
            f"From 5 s after the rate fell from 20 to 5 Mbit/s {name} keeps the link 85 % busy or "
            "more",
            BUSY,
            at_least(0.85),
            slower,
            "20 to 5 Mbit/s",
        ),
        Expectation(
            "slower-lost",
            f"From 5 s after the rate fell from 20 to 5 Mbit/s {name} loses at most 5 % of its "
            "packets",
            DROPPED,
            at_most(0.05),
            slower,
        ),
        Expectation(
            "faster",
            f"From 10 s after the rate rose from 5 to 20 Mbit/s {name} keeps the link 85 % busy "
            "or more",
            BUSY,
            at_least(0.85),
            {
                f"{LINK}.forward.rate": "5mbit",
                _CHANGES: [{"at": "20s", "rate": "20mbit"}],
                "warm_up": "30s",
            },
            "5 to 20 Mbit/s",
        ),
        Expectation(
            "longer",
            f"From 10 s after the round trip rose from 40 to 120 ms {name} keeps the link 85 % "
            "busy or more",
            BUSY,
            at_least(0.85),
            {_CHANGES: [{"at": "20s", "delay": "100ms"}], "warm_up": "30s"},
            "40 to 120 ms",
        ),
        Expectation(
            "shorter",
            f"From 10 s after the round trip fell from 120 to 40 ms {name} keeps the link 85 % "
            "busy or more",
            BUSY,
            at_least(0.85),
            {
                f"{LINK}.delay": "100ms",
                _CHANGES: [{"at": "20s", "delay": "20ms"}],
                "warm_up": "30s",
            },
            "120 to 40 ms",
        ),
        *_other_paths(name),
    ]
    document = {
        "duration": "60s",
        "warm_up": "25s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


def _other_paths(name: str) -> Iterator[Expectation]:
    """Rate and delay change at once, as when the route changes or a host changes its network."""
    worse = {_CHANGES: [{"at": "20s", "rate": "5mbit", "delay": "60ms"}], "warm_up": "30s"}
    better = {
        f"{LINK}.forward.rate": "5mbit",
        f"{LINK}.delay": "60ms",
        _CHANGES: [{"at": "20s", "rate": "20mbit", "delay": "20ms"}],
        "warm_up": "30s",
    }
    for id_, where, told, label in (
        ("worse-path", worse, "from 20 Mbit/s and 40 ms to 5 Mbit/s and 80 ms", "worse path"),
        ("better-path", better, "from 5 Mbit/s and 80 ms to 20 Mbit/s and 40 ms", "better path"),
    ):
        yield Expectation(
            id_,
            f"From 10 s after the path changed {told} {name} keeps the link 85 % busy or more",
            BUSY,
            at_least(0.85),
            where,
            label,
        )


SUDDEN = Section(
    id="sudden",
    suite=RFC_9743,
    reference="7.9",
    title="Sudden changes of the path",
    short="Path changes",
    question="Does it find the new rate after rate or delay of the path changed at once?",
    trouble="where rate or delay of the path change at once",
    drawn=SectionFigure("utilization", "busy"),
    trial=_trial,
    not_covered="The seconds right after a change; and changes that come again and again, for "
    "which see Varying rate and Varying delay.",
)
