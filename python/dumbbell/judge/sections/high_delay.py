"""RFC 9743 section 7.5: long paths, and long fat ones."""

from __future__ import annotations

from dumbbell.judge.asked import Asked
from dumbbell.judge.description import BUSY, LINK, QDISC, at_least, greedy, line
from dumbbell.judge.section import Drawn, Expectation, Section, Trial


def _trial(asked: Asked) -> Trial:
    name = asked.name
    paths = {
        "20 Mbit/s, 600 ms": ("20mbit", "300ms", 1_500_000),
        "100 Mbit/s, 200 ms": ("100mbit", "100ms", 2_500_000),
    }
    expectations = [
        Expectation(
            f"busy-{words.split()[0]}",
            f"After a minute {name} keeps a path of {words} round trip and a buffer of 1 BDP 80 % "
            "busy or more",
            BUSY,
            at_least(0.8),
            {
                f"{LINK}.forward.rate": paths[words][0],
                f"{LINK}.delay": paths[words][1],
                QDISC: f"bfifo limit {paths[words][2]}",
            },
            words,
        )
        for words in asked.cells(["20 Mbit/s, 600 ms"], ["100 Mbit/s, 200 ms"])
    ]
    document = {
        "duration": "120s",
        "warm_up": "60s",
        "links": line(),
        "flows": [greedy("bulk", asked.controller)],
    }
    return Trial(document, expectations)


HIGH_DELAY = Section(
    id="high-delay",
    rfc="7.5",
    title="Long paths",
    short="Long paths",
    question="Does it fill a path with the delay of a satellite, or a long fat one?",
    trouble="on paths as long as a satellite's",
    drawn=Drawn("utilization", "busy"),
    trial=_trial,
    unsaid="The first minute, and rates of a gigabit and more.",
)
