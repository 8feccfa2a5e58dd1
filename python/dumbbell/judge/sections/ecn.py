"""RFC 9743 section 7.1: does it respond to ECN marks?"""

from __future__ import annotations

from dumbbell.judge.description import DROPPED, QDISC, SOJOURN, above, at_most, below, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_QDISCS = {
    "codel": "codel ecn",
    "pie": "pie ecn",
    "fq_codel": "fq_codel",
    "dualpi2": "dualpi2",
}


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = []
    for words in request.cells(["codel", "pie"], ["fq_codel", "dualpi2"]):
        where = {QDISC: _QDISCS[words]}
        expectations += [
            Expectation(
                f"wait-{words}",
                f"With ECN the mean sojourn time of two flows of {name} is less than 25 ms in "
                f"{words}",
                SOJOURN,
                below("25ms"),
                where,
                words,
            ),
            Expectation(
                f"lost-{words}",
                f"With ECN {words} drops at most 0.1 % of the packets of {name}: it marks",
                DROPPED,
                at_most(0.001),
                where,
            ),
            Expectation(
                f"goodput-{words}",
                f"With ECN two flows of {name} get 16 of 20 Mbit/s or more through {words}",
                "flows[bulk].total_goodput_bps",
                above("16mbit"),
                where,
            ),
        ]
    tcp = {"congestion_control": request.controller, "ecn": True}
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(qdisc=_QDISCS["codel"]),
        "flows": [greedy("bulk", request.controller, count=2, tcp=tcp)],
    }
    return Trial(document, expectations)


ECN = Section(
    id="ecn",
    suite=RFC_9743,
    reference="7.1",
    title="Explicit congestion notification",
    short="ECN",
    question="Where queues mark packets in place of dropping them, does it react?",
    trouble="with ECN",
    drawn=SectionFigure("mean_sojourn_s", "waiting time in the queue, mean"),
    trial=_trial,
    not_covered="Paths that remove or invent marks, and coexistence of ECT(0) and ECT(1) in one "
    "queue.",
)
