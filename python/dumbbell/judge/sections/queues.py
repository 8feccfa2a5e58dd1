"""RFC 9743 section 7.1: active queue management (AQM)."""

from __future__ import annotations

from dumbbell.judge.description import QDISC, SOJOURN, above, below, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_QDISCS = {
    "codel": "codel",
    "fq_codel": "fq_codel",
    "pie": "pie",
    "red": "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 bandwidth 20mbit probability "
    "0.02",
    "cake": "cake bandwidth 20mbit",
    "dualpi2": "dualpi2",
}


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = []
    for words in request.cells(["codel", "fq_codel", "pie"], ["red", "cake", "dualpi2"]):
        where = {QDISC: _QDISCS[words], "flows[bulk].count": 2}
        if words == "cake":
            # It shapes by itself; the transmitter behind it must not be slower.
            where["links[router->receiver].forward.rate"] = "100mbit"
        expectations += [
            Expectation(
                f"goodput-{words}",
                f"Two flows of {name} get 16 of 20 Mbit/s or more through {words}",
                "flows[bulk].total_goodput_bps",
                above("16mbit"),
                where,
            ),
            Expectation(
                f"wait-{words}",
                f"The mean sojourn time of two flows of {name} is less than 25 ms in {words}",
                SOJOURN,
                below("25ms"),
                where,
                words,
            ),
        ]
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


QUEUES = Section(
    id="aqm",
    suite=RFC_9743,
    reference="7.1",
    title="Active queue management",
    short="AQM",
    question="Do flows leave the queue as short as the discipline wants it, and still use the "
    "link?",
    trouble="where an AQM controls the queue by drops",
    drawn=SectionFigure("mean_sojourn_s", "waiting time in the queue, mean"),
    trial=_trial,
    not_covered="Settings of a discipline other than its defaults (of RED: those for this line).",
)
