"""Every number printed in the source, and the attempts to reproduce it."""

from __future__ import annotations

from typing import get_args

from dumbbell.claims import Arm, Cost, NumberClaim, PrintedNumber, PrintedNumbers
from dumbbell.metrics.ccperf import ROWS, Layer
from dumbbell.studies.traffic_policing import claims, published
from dumbbell.studies.traffic_policing.titles import title_of

OPEN = Arm(
    name="over everything that its page leaves open",
    cost=Cost.LEFT_OPEN,
    why="Access rate, initial window, acknowledgements, SACK and the least timeout in every "
    "combination, with jitter of a packet's time. Any of them may be the source's, so a number "
    "comes out where the span of all runs holds it; where that span is so wide that nearly any "
    "number would, it tests nothing.",
)
BUFFER = Arm(
    name="with a send buffer of fixed size",
    cost=Cost.ONE_NUMBER,
    why="What was written beyond what arrived is 4 MB, whatever the network does.",
)
ASKED = Arm(
    name="as the command says",
    cost=Cost.AS_PRINTED,
    why="A greedy flow lives until it is told to stop.",
)

_APART = {
    "mean_sending_rate_l7": NumberClaim(claims.SEND_BUFFER.id, BUFFER),
    "flow_completion_time_l4": NumberClaim(claims.id_of("flow_completion_time_l4"), ASKED),
}


def _number(row: str, value: float) -> PrintedNumber:
    return PrintedNumber(
        key=row,
        group=ROWS[row].layer.capitalize(),
        name=title_of(row),
        printed=f"{value:.2f}",
        unit=ROWS[row].unit,
        spoken=(_APART.get(row) or NumberClaim(claims.id_of(row), OPEN),),
    )


PRINTED = PrintedNumbers(
    numbers=tuple(
        _number(row, value)
        for layer in get_args(Layer)
        for row, value in published.VALUES.items()
        if ROWS[row].layer == layer
    ),
    story=(
        "A table of one run of a program that is not published. Nothing in that run is random, so "
        "there is no chance to blame: a number either follows from the command, or from a choice "
        "that the command does not tell. All such choices were run, and most numbers come out of "
        "them, because a queue of 20 packets in front of 4 Mbit/s leaves TCP little freedom.",
        "What does not get a verdict is counts at the cliff (drops, retransmissions, timeouts) "
        "and the two coefficients of variation: the choices move them by more than half of their "
        "value. That no single combination of choices gives the whole table is said below, with "
        "the combinations that come nearest.",
        "The coefficient of variation of throughput, 0.47, says how long the flow can have stood "
        "still at most. Of n samples let k be zero. The others average n/(n \u2212 k) times the "
        "mean, and however even they are, the coefficient is at least \u221a(k/(n \u2212 k)). So "
        "0.47 allows at most 18 % of the samples to be zero, 2.7 s of 15 s. That is an upper end; "
        "a standstill that long would cost more rate than 3.92 Mbit/s on the wire leaves. The "
        "table on standstills below has both limits.",
    ),
)
