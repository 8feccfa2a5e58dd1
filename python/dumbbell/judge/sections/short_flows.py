"""RFC 9743 sections 5.1.5 and 5.2.3: short transfers beside a long flow."""

from __future__ import annotations

from dumbbell.judge.description import above, below, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_SIZES = {"10kB": "10000B", "100kB": "100000B", "1MB": "1000000B"}
_LONG = "flows[long].tcp.congestion_control"
_SHORT = "flows[short].tcp.congestion_control"
_TIME = "flow[short].mean_completion_time_s"


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = []
    for words in request.cells(["10kB", "100kB"], ["1MB"]):
        where = {
            "flows[short].source": {
                "kind": "arrivals",
                "gap": "exponential 0.5pps" if words == "1MB" else "exponential 2pps",
                "size": _SIZES[words],
            }
        }
        limit = {"10kB": "500ms", "100kB": "1s", "1MB": "4s"}[words]
        expectations.append(
            Expectation(
                f"own-{words}",
                f"The mean completion time of transfers of {words} with {name} beside a long flow "
                f"of {name} is less than {limit}",
                _TIME,
                below(limit),
                where,
                f"{words} beside {name}",
            )
        )
        if request.controller != "cubic":
            expectations.append(
                Expectation(
                    f"cubic-{words}",
                    f"Transfers of {words} with CUBIC take no longer beside a long flow of {name} "
                    "than beside one of CUBIC, give or take 0.1 s",
                    _TIME,
                    below({"where": {_LONG: "cubic"}}, slack="100ms"),
                    {**where, _SHORT: "cubic"},
                    f"{words} of CUBIC beside {name}",
                )
            )
    expectations.append(
        Expectation(
            "long-keeps",
            f"A long flow of {name} keeps half of the link beside short transfers that take 8 %",
            "flow[long].goodput_bps",
            above("10mbit"),
            {},
        )
    )
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [
            greedy("long", request.controller),
            {
                **greedy("short", request.controller),
                "source": {
                    "kind": "arrivals",
                    "gap": "exponential 2pps",
                    "size": _SIZES["100kB"],
                },
            },
        ],
    }
    return Trial(document, expectations)


SHORT_FLOWS = Section(
    id="short-flows",
    suite=RFC_9743,
    reference="5.1.5",
    title="Short flows beside long ones",
    short="Short flows",
    question="How long do short transfers take beside a long flow, by size, and what is left for "
    "the long one?",
    trouble="where short transfers share a link with long ones",
    drawn=SectionFigure("mean_completion_time_s", "completion time, mean"),
    trial=_trial,
    not_covered="Web pages with many connections; and transfers over a connection that exists "
    "already, for which see App-limited.",
)
