"""RFC 9743 section 5.1.1: does it back off under persistent heavy loss?"""

from __future__ import annotations

from dumbbell.judge.description import LINK, QUEUE, above, below, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_CHANGES = f"{LINK}.forward.changes"
_LATER = {"duration": "40s", "warm_up": "20s"}


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = [
        Expectation(
            "silence",
            f"From 5 s after the path stops delivering, {name} sends less than one packet a second",
            f"queue[{QUEUE}].arrival_rate_pps",
            below("1pps"),
            {"duration": "60s", "warm_up": "25s", _CHANGES: [{"at": "20s", "loss": 1.0}]},
            "nothing arrives",
            amended={
                "when": "2026-11-29",
                "what": "it asked for at most 5 packets a second from the first second on, which "
                "BBR did not keep (7.25): what is in flight is still sent then",
            },
        ),
        Expectation(
            "half-lost",
            f"With 50 % loss {name} sends at less than a tenth of the link's rate",
            f"queue[{QUEUE}].throughput_bps",
            below("2mbit"),
            {**_LATER, _CHANGES: [{"at": "20s", "loss": 0.5}]},
            "half is lost",
            amended={
                "when": "2026-11-29",
                "what": "it was about another quantity; what leaves the queue is what it sends",
            },
        ),
    ]
    for flows in request.cells([20], [100]):
        expectations.append(
            Expectation(
                f"useful-{flows}",
                f"{flows} flows of {name} share 2 Mbit/s, with room for six packets in the queue: "
                "80 % of the link is useful data",
                "network.total_goodput_bps",
                above("1.6mbit"),
                {
                    "flows[bulk].count": flows,
                    f"{LINK}.forward.rate": "2mbit",
                    f"{LINK}.forward.qdisc": "bfifo limit 10000",
                },
                f"{flows} flows at 2 Mbit/s",
            )
        )
    document = {
        "duration": "40s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


COLLAPSE = Section(
    id="collapse",
    suite=RFC_9743,
    reference="5.1.1",
    title="Congestion collapse",
    short="Collapse",
    question="Does it back off when hardly anything arrives, and does it keep a crowded link "
    "useful?",
    trouble="where a path is badly overloaded",
    drawn=SectionFigure("throughput_bps", "sent where half is lost"),
    trial=_trial,
    not_covered="Loss that begins after minutes, and senders that do not use TCP's retransmission "
    "timer: the timer is our TCP's, whatever the controller.",
)
