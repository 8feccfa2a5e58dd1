"""RFC 9743 section 5.1.4: do flows of the same controller share a link fairly?"""

from __future__ import annotations

from dumbbell.judge.description import SILENT, at_least, at_most, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_OTHER = "flows[other].source"


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    equal = [
        Expectation(
            f"equal-{flows}",
            f"{flows} flows of {name} with equal round trips share the link with Jain's index 0.9 "
            "or more",
            "flows[bulk].jain_index",
            at_least(0.9),
            {"flows[bulk].count": flows, _OTHER: SILENT},
            f"{flows} equal flows",
        )
        for flows in request.cells([2, 4], [16, 64, 100])
    ]
    late = Expectation(
        "late",
        f"A flow of {name} that starts 20 s later has a quarter of the goodput or more, another "
        "20 s on",
        "flow[other].goodput_share",
        at_least(0.25),
        {"flows[other].start": "20s", "warm_up": "40s"},
        "starts 20 s later",
    )
    far = {"links[far->router].delay": "60ms"}
    apart = [
        Expectation(
            "far",
            f"A flow of {name} with four times the round trip has an eighth of the goodput or more",
            "flow[other].goodput_share",
            at_least(0.125),
            far,
            "four times the round trip",
        ),
        Expectation(
            "near",
            f"A flow of {name} with four times the round trip takes seven eighths at most",
            "flow[other].goodput_share",
            at_most(0.875),
            far,
        ),
    ]
    document = {
        "duration": "60s",
        "warm_up": "20s",
        "links": [*line(), {"a": "far", "b": "router"}],
        "flows": [
            greedy("bulk", request.controller),
            {**greedy("other", request.controller), "from": "far"},
        ],
    }
    return Trial(document, [*equal, late, *apart])


FAIRNESS = Section(
    id="fairness",
    suite=RFC_9743,
    reference="5.1.4",
    title="Fairness among its own kind",
    short="Own kind",
    question="How do flows of this controller share a link: equal ones, one that comes later, one "
    "from farther away?",
    trouble="where flows of its own kind must share fairly",
    drawn=SectionFigure("goodput_share", "share of the second flow"),
    trial=_trial,
    not_covered="Fairness over a few round trips, and flows of unequal demand.",
)
