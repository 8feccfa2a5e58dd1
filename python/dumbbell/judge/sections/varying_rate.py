"""RFC 9743 section 6.4: the rate of a radio link varies all the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.judge.description import BUSY, LINK, SOJOURN, at_least, below, fifo, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_STAY = "exponential 2s"


@dataclass(frozen=True, slots=True)
class _Varying:
    """A link whose rate varies.

    Attributes:
        id: Last part of the claims' names.
        words: What it is, in a sentence.
        label: In figures.
        trace: Random process of the link.
        qdisc: Its queue.
        amended: What was changed after a run; empty if nothing was.
    """

    id: str
    words: str
    label: str
    trace: Mapping[str, Any]
    qdisc: str = fifo(1)
    amended: str = ""


_MOBILE = {
    "kind": "markov",
    "states": [{"hold": _STAY, "rate": rate} for rate in ("20mbit", "10mbit", "4mbit")],
}
_HANDOVER = {
    "kind": "markov",
    "states": [
        {"hold": "15s", "rate": rate, "delay": delay}
        for rate, delay in (
            ("20mbit", "20ms"),
            ("40mbit", "20ms"),
            ("10mbit", "40ms"),
            ("20mbit", "40ms"),
        )
    ],
}
_HANDOVER_AND_OUTAGE = {
    "kind": "handover",
    "least_rate": "10mbit",
    "most_rate": "40mbit",
    "least_delay": "20ms",
    "most_delay": "40ms",
}
_QUICK = (
    _Varying(
        "mobile",
        "the rate jumps between 20, 10 and 4 Mbit/s every 2 s on average, as on a mobile network",
        "20, 10, 4 Mbit/s",
        _MOBILE,
    ),
    _Varying(
        "handover",
        "every 15 s the path has another rate (10, 20 or 40 Mbit/s) or delay (20 or 40 ms), as at "
        "a satellite's handover",
        "handover every 15 s",
        _HANDOVER,
        amended="rates and delays were uniform between these; as steps the kernel can follow them",
    ),
)
_MORE = (
    _Varying(
        "mobile-fq-codel",
        "the rate jumps between 20, 10 and 4 Mbit/s every 2 s on average and fq_codel has the "
        "queue",
        "20, 10, 4 Mbit/s, fq_codel",
        _MOBILE,
        "fq_codel",
    ),
    _Varying(
        "handover-outage",
        "every 15 s, after an outage of 20 to 100 ms, the path has another rate (10 to 40 Mbit/s) "
        "and delay (20 to 40 ms)",
        "handover with outage",
        {**_HANDOVER_AND_OUTAGE, "outage": "uniform 20ms 100ms"},
    ),
    _Varying(
        "on-off",
        "20 Mbit/s are on for 2 s and off for 0.2 s on average",
        "outages of 0.2 s",
        {"kind": "on-off", "rate": "20mbit", "on": _STAY, "off": "exponential 200ms"},
    ),
)


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for each in request.cells(_QUICK, _MORE):
        where = {f"{LINK}.forward": {"qdisc": each.qdisc, "trace": dict(each.trace)}}
        amended = {"when": "2026-11-29", "what": each.amended} if each.amended else {}
        expectations += [
            Expectation(
                f"busy-{each.id}",
                f"{request.name} uses 80 % of the capacity or more where {each.words}",
                BUSY,
                at_least(0.8),
                where,
                each.label,
                amended=amended,
            ),
            Expectation(
                f"wait-{each.id}",
                f"The mean sojourn time of {request.name} is less than 100 ms where {each.words}",
                SOJOURN,
                below("100ms"),
                where,
                amended=amended,
            ),
        ]
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


VARYING_RATE = Section(
    id="varying-rate",
    suite=RFC_9743,
    reference="6.4",
    title="Varying rate, as on radio links",
    short="Varying rate",
    question="Does it follow a rate that varies all the time, without a long queue?",
    trouble="where the rate of the link varies",
    drawn=SectionFigure("utilization", "busy"),
    trial=_trial,
    not_covered="Recorded traces, since those of operators may not be passed on: `dumbbell run "
    "varying-rate.toml --set 'links[1].forward.trace=FILE'` takes one of Mahimahi or a CSV file.",
)
