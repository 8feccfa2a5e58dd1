"""nsperf's coexist: one CUBIC flow, and another flow 2 s later, with buffers of 0.1 to 16 BDP."""

from __future__ import annotations

from dumbbell.judge.description import above, bdp_words
from dumbbell.judge.nsperf.network import FORWARD, NSPERF, bulk, links, netem
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial

_MBIT = 50
_RTT_MS = 30
_BDPS = (0.1, 1, 2, 4, 8, 16)


def _trial(request: JudgeRequest) -> Trial:
    expectations = []
    for bdps in _BDPS:
        where, told = {FORWARD: netem(_MBIT, _RTT_MS, bdps)}, f"in a buffer of {bdp_words(bdps)}"
        expectations += [
            Expectation(
                f"tested-{bdps}bdp",
                f"{request.name} has a tenth of {_MBIT} Mbit/s or more beside CUBIC, {told}",
                "flow[tested].goodput_bps",
                above(f"{_MBIT / 10:g}mbit"),
                where,
                bdp_words(bdps),
            ),
            Expectation(
                f"cubic-{bdps}bdp",
                f"CUBIC has a tenth of {_MBIT} Mbit/s or more beside {request.name}, {told}",
                "flow[cubic].goodput_bps",
                above(f"{_MBIT / 10:g}mbit"),
                where,
                f"CUBIC, {bdp_words(bdps)}",
            ),
        ]
    document = {
        "duration": "182s",
        "links": links(netem(_MBIT, _RTT_MS, _BDPS[0]), _RTT_MS),
        "flows": [
            bulk("cubic", "cubic", stop="180s"),
            bulk("tested", request.controller, start="2s", stop="182s"),
        ],
    }
    return Trial(document, expectations)


COEXIST = Section(
    id="nsperf-coexist",
    suite=NSPERF,
    reference="coexist",
    title="Beside CUBIC",
    short="",
    question="What does one flow get in three minutes beside one of CUBIC that has come 2 s "
    "before, at 50 Mbit/s and 30 ms?",
    trouble="beside CUBIC",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_trial,
    not_covered="More flows, and runs of more than three minutes.",
)
