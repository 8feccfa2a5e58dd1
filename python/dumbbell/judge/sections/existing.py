"""RFC 9743 section 5.2.1: beside Reno, CUBIC and BBR; shares, starvation and harm."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.judge.description import (
    QDISC,
    SILENT,
    above,
    at_least,
    bdp_words,
    fifo,
    greedy,
    line,
)
from dumbbell.judge.request import JudgeRequest, short_name
from dumbbell.judge.section import Expectation, Harm, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_RIVAL = "flows[rival].tcp.congestion_control"
_TESTED = "flows[tested].tcp.congestion_control"
_GOODPUT = "flow[rival].goodput_bps"


def _trial(request: JudgeRequest) -> Trial | None:
    if not request.rivals:
        return None
    cells = [(rival, bdps) for rival in request.rivals for bdps in request.cells([0.5, 8], [1, 32])]
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("tested", request.controller), greedy("rival", request.rivals[0])],
    }
    return Trial(
        document,
        [each for cell in cells for each in _beside(request, *cell)],
        [_harm(*cell) for cell in cells],
    )


def _beside(request: JudgeRequest, rival: str, bdps: float) -> Iterator[Expectation]:
    name, where = request.name, {QDISC: fifo(bdps), _RIVAL: rival}
    told, label = f"in a buffer of {bdp_words(bdps)}", f"{rival}, {bdp_words(bdps)}"
    key = f"{short_name(rival)}-{bdps}bdp"
    yield Expectation(
        f"rival-{key}",
        f"{rival} has a tenth of the goodput or more beside {name}, {told}",
        "flow[rival].goodput_share",
        at_least(0.1),
        where,
        label,
    )
    yield Expectation(
        f"own-{key}",
        f"{name} has a tenth of the goodput or more beside {rival}, {told}",
        "flow[tested].goodput_share",
        at_least(0.1),
        where,
    )
    yield Expectation(
        f"harm-{key}",
        f"{name} does {rival} no more harm than {rival} does, give or take 10 % of the link, "
        f"{told}",
        _GOODPUT,
        above({"where": {_TESTED: rival}}, slack="2mbit"),
        where,
        source="Ware, Mukerjee, Seshan and Sherry, HotNets 2019: no more harm than what is "
        "deployed; the margin is ours",
    )
    yield Expectation(
        f"alone-{key}",
        f"{rival} alone gets 60 % of the link or more {told}, of which it may lose some",
        _GOODPUT,
        above("12mbit"),
        {**where, "flows[tested].source": SILENT},
    )


def _harm(rival: str, bdps: float) -> Harm:
    where = {QDISC: fifo(bdps), _RIVAL: rival}
    return Harm(
        rival,
        bdp_words(bdps),
        _GOODPUT,
        alone={**where, "flows[tested].source": SILENT},
        own={**where, _TESTED: rival},
        beside=where,
    )


EXISTING = Section(
    id="existing",
    suite=RFC_9743,
    reference="5.2.1",
    title="Beside what is deployed",
    short="Others",
    question="Does one flow starve one of another controller, is it starved, and does it do more "
    "harm than the other does to its own kind?",
    trouble="beside what is deployed",
    drawn=SectionFigure("goodput_share", "share of the other controller"),
    trial=_trial,
    not_covered="QUIC's controllers (RFC 9002), BBR after its first version, and mixes of more "
    "than two "
    "flows but for what is known (below).",
)
