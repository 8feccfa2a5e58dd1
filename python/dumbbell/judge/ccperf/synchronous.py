"""CCPerf's synchronous fairness: equal flows that start together."""

from __future__ import annotations

from dumbbell.judge.ccperf.network import CCPERF, experiment, greedy_flow, lost
from dumbbell.judge.description import at_least
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for flows in request.cells([2, 4], [8]):
        where = {"flows[flow].count": flows}
        expectations += [
            Expectation(
                f"jain-{flows}",
                f"{flows} flows of {request.name} that start together have Jain's index 0.9 or "
                "more",
                "network.jain_index_l4",
                at_least(0.9),
                where,
                f"{flows} flows",
            ),
            lost(f"{flows}", f"{flows} flows of {request.name} that start together", where),
        ]
    return Trial(experiment([greedy_flow("flow", request.controller, count=2)]), expectations)


SYNCHRONOUS = Section(
    id="ccperf-synchronous",
    suite=CCPERF,
    reference="synchronous",
    title="Equal flows that start together",
    short="",
    question="How do flows of one controller share the bottleneck if they start at the same time "
    "on equal paths?",
    trouble="where equal flows share a small FIFO",
    drawn=SectionFigure("jain_index_l4", "Jain's index"),
    trial=_trial,
    not_covered="Starts at exactly one instant: each flow starts within 10 ms.",
)
