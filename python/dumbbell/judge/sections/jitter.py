"""RFC 9743 section 7.3: the delay varies from packet to packet, in order and with overtaking."""

from __future__ import annotations

from dumbbell.judge.description import LINK, above, fifo, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_TRACE = f"{LINK}.forward.trace"
_BEFORE = "links[sender->router].forward.qdisc"
_GOODPUT = "flow[bulk].goodput_bps"


def _in_order(hold_ms: int) -> dict[str, object]:
    """One-way delays of 20 and 40 ms, held for exponential times; packets stay in order."""
    hold = f"exponential {hold_ms}ms"
    states = [{"hold": hold, "delay": "20ms"}, {"hold": hold, "delay": "40ms"}]
    return {"kind": "markov", "states": states}


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    expectations = [
        *(
            Expectation(
                f"in-order-{hold_ms}ms",
                f"{name} gets 16 of 20 Mbit/s or more where the delay jumps by 20 ms at random, "
                f"every {hold_ms} ms on average, and packets stay in order",
                _GOODPUT,
                above("16mbit"),
                {_TRACE: _in_order(hold_ms)},
                f"in order, every {hold_ms} ms",
                amended={
                    "when": "2026-11-29",
                    "what": "it asked for a utilization of 80 %; the figure has the goodput of all "
                    "cells",
                },
            )
            for hold_ms in request.cells([5, 20], [100])
        ),
        *(
            Expectation(
                f"overtaking-{sd_ms}ms",
                f"{name} gets half of the link or more where each packet is delayed for itself, "
                f"with a standard deviation of {sd_ms} ms, so that packets overtake each other",
                _GOODPUT,
                above("10mbit"),
                {_BEFORE: f"netem limit 10000 delay 15ms {sd_ms}ms distribution normal"},
                f"overtaking, {sd_ms} ms",
            )
            for sd_ms in request.cells([1], [5])
        ),
        *(
            Expectation(
                f"aggregated-{kilobytes}kb",
                f"{name} gets half of 20 Mbit/s or more where bursts of {kilobytes} kB leave at "
                "random times, as from a Wi-Fi station that waits for the channel",
                _GOODPUT,
                above("10mbit"),
                {
                    f"{LINK}.forward": {
                        "qdisc": fifo(1),
                        "trace": {
                            "kind": "aggregation",
                            "gap": f"exponential {kilobytes * 8 / 20:g}ms",
                            "size": f"{kilobytes}kB",
                        },
                    }
                },
                f"bursts of {kilobytes} kB",
            )
            for kilobytes in request.cells([], [10, 50])
        ),
    ]
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller)],
    }
    return Trial(document, expectations)


JITTER = Section(
    id="jitter",
    suite=RFC_9743,
    reference="7.3",
    title="Jitter",
    short="Jitter",
    question="Does it keep the rate where each packet has another delay?",
    trouble="where packets have different delays",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_trial,
    not_covered="Jitter of acknowledgements, and delays as recorded on a real path: `--set "
    "'links[1].forward.trace=FILE'` takes a recording.",
)
