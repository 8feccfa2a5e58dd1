"""RFC 9743 section 7.5: paths with a high delay or a large bandwidth-delay product."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.judge.description import BUSY, LINK, QDISC, at_least, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743


@dataclass(frozen=True, slots=True)
class _Path:
    mbps: int
    rtt_ms: int

    @property
    def words(self) -> str:
        return f"{self.mbps} Mbit/s, {self.rtt_ms} ms"

    @property
    def bdp_bytes(self) -> int:
        return self.mbps * 1000 * self.rtt_ms // 8


def _trial(request: JudgeRequest) -> Trial:
    expectations = [
        Expectation(
            f"busy-{path.mbps}",
            f"After a minute {request.name} keeps a path of {path.words} round trip and a buffer "
            "of "
            "1 BDP 80 % busy or more",
            BUSY,
            at_least(0.8),
            {
                f"{LINK}.forward.rate": f"{path.mbps}mbit",
                f"{LINK}.delay": f"{path.rtt_ms // 2}ms",
                QDISC: f"bfifo limit {path.bdp_bytes}",
            },
            path.words,
        )
        for path in request.cells([_Path(20, 600)], [_Path(100, 200)])
    ]
    document = {
        "duration": "120s",
        "warm_up": "60s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


HIGH_DELAY = Section(
    id="high-delay",
    suite=RFC_9743,
    reference="7.5",
    title="Long paths",
    short="Long paths",
    question="Does it fill a path with the delay of a satellite, or a long fat one?",
    trouble="on paths as long as a satellite's",
    drawn=SectionFigure("utilization", "busy"),
    trial=_trial,
    not_covered="The first minute, and rates of a gigabit and more.",
)
