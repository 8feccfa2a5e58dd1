"""RFC 9743 section 5.1.5: a sender that the application limits, and one that resumes after idling.

A transfer over a connection that exists already is a short flow with an old window. RFC 5681
section 4.1 and RFC 7661 say what a sender may do with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.judge.description import DROPPED, QUEUE, SOJOURN, above, at_most, below, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_SOURCE = "flows[bulk].source"
_GOODPUT = "flow[bulk].goodput_bps"
_JITTER_MS = 100
"""Small, since the measured window begins when the sender resumes."""
_OLD_WINDOW = "RFC 5681 section 4.1 and RFC 7661: an old window is not to be used at once; {}"
_OURS = "threshold of ours"


def _trial(request: JudgeRequest) -> Trial:
    resumed = [each for idle_s in request.cells([20], [5]) for each in _resumes(request, idle_s)]
    document = {
        "duration": "40s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller, start_jitter=f"{_JITTER_MS}ms")],
    }
    return Trial(document, [*_steady(request), *_bursty(request), *resumed])


def _steady(request: JudgeRequest) -> Iterator[Expectation]:
    """The application writes a segment of 1448 bytes 700 times a second."""
    name = request.name
    where = {_SOURCE: {"kind": "cbr", "rate": "700pps", "size": "1448B"}}
    yield Expectation(
        "steady-goodput",
        f"An application writes 8.1 Mbit/s at a constant rate, and {name} delivers 7.7 Mbit/s "
        "or more of them",
        _GOODPUT,
        above("7.7mbit"),
        where,
        "writes 8.1 Mbit/s, constant",
    )
    yield Expectation(
        "steady-wait",
        f"At 8.1 Mbit/s of the application, less than half of the link, the mean sojourn time of "
        f"{name} is less than 5 ms",
        SOJOURN,
        below("5ms"),
        where,
    )
    yield Expectation(
        "steady-lost",
        f"At 8.1 Mbit/s of the application at most 1 % of the packets of {name} are dropped",
        DROPPED,
        at_most(0.01),
        where,
    )


def _bursty(request: JudgeRequest) -> Iterator[Expectation]:
    """The application writes 64 kB at random times, ten times a second."""
    name = request.name
    where = {_SOURCE: {"kind": "renewal", "gap": "exponential 100ms", "size": "64kB"}}
    yield Expectation(
        "bursty-goodput",
        f"An application writes 64 kB ten times a second, at random times (5.1 Mbit/s), and "
        f"{name} delivers 4.5 Mbit/s or more",
        _GOODPUT,
        above("4.5mbit"),
        where,
        "writes 64 kB at random, 5.1 Mbit/s",
    )
    yield Expectation(
        "bursty-wait",
        f"With writes of 64 kB at random times 95 % of the packets of {name} wait less than a "
        "round trip (40 ms)",
        f"queue[{QUEUE}].sojourn_p95_s",
        below("40ms"),
        where,
    )
    yield Expectation(
        "bursty-lost",
        f"With writes of 64 kB at random times at most 1 % of the packets of {name} are dropped",
        DROPPED,
        at_most(0.01),
        where,
    )


def _resumes(request: JudgeRequest, resumes_s: int) -> Iterator[Expectation]:
    """4 MB at the start take about 2 s; the application then writes nothing until `resumes_s`."""
    name = request.name
    where = {
        _SOURCE: {"kind": "greedy", "first_write": "4MB", "rest_after": f"{resumes_s}s"},
        "warm_up": f"{1000 * resumes_s + _JITTER_MS}ms",
        "duration": f"{resumes_s + 2}s",
    }
    idle = f"{resumes_s - 2} s without data"
    yield Expectation(
        f"resumed-goodput-{resumes_s}s",
        f"In the two seconds after some {idle} {name} gets half of the link or more",
        _GOODPUT,
        above("10mbit"),
        where,
        f"after {idle}",
    )
    yield Expectation(
        f"resumed-lost-{resumes_s}s",
        f"In the two seconds after some {idle} at most 2 % of the packets of {name} are dropped",
        DROPPED,
        at_most(0.02),
        where,
        source=_OLD_WINDOW.format(_OURS),
    )


APP_LIMITED = Section(
    id="app-limited",
    suite=RFC_9743,
    reference="5.1.5",
    title="Limited by the application, and after idling",
    short="App-limited",
    question="What does it do when the application writes less than the link carries, and when "
    "data come again after a pause?",
    trouble="where applications write little, or pause",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_trial,
    not_covered="An application that writes little for a while and then as much as it can; video, "
    "whose application adapts to the rate; pauses shorter than three seconds.",
)
