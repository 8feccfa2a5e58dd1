"""RFC 9743 section 5.2.2: a real-time call beside it."""

from __future__ import annotations

from dumbbell.judge.description import QDISC, at_most, bdp_words, below, fifo, greedy, line
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial
from dumbbell.judge.sections.rfc9743 import RFC_9743

_DELAY = "flow[call].delay_p95_s"


def _trial(request: JudgeRequest) -> Trial:
    name = request.name
    queues = {bdp_words(bdps): fifo(bdps) for bdps in request.cells([1, 4], [16])}
    expectations = []
    for words, qdisc in (queues | {"fq_codel": "fq_codel"}).items():
        where = {QDISC: qdisc}
        expectations += [
            Expectation(
                f"delay-{words.replace(' ', '').lower()}",
                f"95 % of a call's packets beside {name} arrive within 150 ms, with {words}",
                _DELAY,
                below("150ms"),
                where,
                words,
                "RFC 9743 section 5.2.2; ITU-T G.114 has 150 ms for a whole call",
            ),
            Expectation(
                f"lost-{words.replace(' ', '').lower()}",
                f"A call beside {name} loses at most 1 % of its packets, with {words}",
                "flow[call].loss_ratio",
                at_most(0.01),
                where,
            ),
        ]
        if request.controller != "cubic":
            expectations.append(
                Expectation(
                    f"harm-{words.replace(' ', '').lower()}",
                    f"A call waits no longer beside {name} than beside CUBIC, give or take 10 ms, "
                    f"with {words}",
                    _DELAY,
                    below({"where": {"flows[bulk].tcp.congestion_control": "cubic"}}, slack="10ms"),
                    where,
                )
            )
    # 20 ms of G.711 (160 bytes) and a header of RTP (12 bytes).
    call = {
        "name": "call",
        "from": "sender",
        "to": "receiver",
        "start_jitter": "20ms",
        "source": {"kind": "cbr", "rate": "50pps", "size": "172B", "size_at": "payload"},
    }
    document = {
        "duration": "60s",
        "warm_up": "10s",
        "links": line(),
        "flows": [greedy("bulk", request.controller), call],
    }
    return Trial(document, expectations)


REAL_TIME = Section(
    id="real-time",
    suite=RFC_9743,
    reference="5.2.2",
    title="A call beside it",
    short="Calls",
    question="What do 95 % of a call's packets wait beside one long flow, and how many are lost?",
    trouble="where calls share a queue with it",
    drawn=SectionFigure("delay_p95_s", "delay of a call's packets, 95 %"),
    trial=_trial,
    not_covered="Real-time congestion control: the call sends 50 packets a second whatever happens "
    "(RFC 8836 and those after it are not modelled).",
)
