"""Every number printed in the source, and the attempts to reproduce it."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.claims import Arm, Cost, NumberClaim, PrintedNumber, PrintedNumbers
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.senders import OVERSLEEPING, SLOWER

AS_TYPED = Arm(
    name="at the load that was typed",
    cost=Cost.AS_PRINTED,
    why="110 packets/s from each sender, as on the command line. On the wire that is a load of "
    "0.986, with headers, fragments and pings, and delays are some twenty times those printed.",
)
EITHER = Arm(
    name="with senders that send less, slower ones or such as oversleep",
    cost=Cost.ONE_NUMBER,
    why="One number for all six quartiles, with a base RTT that is not printed either. A sender "
    "whose every sleep is longer keeps its random gaps; one that is slower stretches them. Both "
    "are tried over a grid, each with three base RTTs. That a virtual machine's clock of 2016 "
    "wakes late is common; by milliseconds it is much.",
)
_FITTED = {
    OVERSLEEPING: Arm(
        name="with senders that oversleep, by the time that the quartiles chose",
        cost=Cost.ONE_NUMBER,
        why="D-ITG sleeps between packets, and a timer that wakes late adds the same to every "
        "gap. What was not used for the choice, the maxima and the ratio of the means, is held "
        "against it.",
    ),
    SLOWER: Arm(
        name="with senders slower than asked, by the rate that the quartiles chose",
        cost=Cost.ONE_NUMBER,
        why="A sender short of processor time sends less, but what would stretch all its gaps in "
        "proportion is not known. The maxima and the ratio of the means are compared with it too.",
    ),
}


def _numbers() -> Iterator[PrintedNumber]:
    for printed in published.RTT:
        name = f"{printed.arm.lower()}-{printed.name}"
        spoken = [NumberClaim(f"nominal-{name}", AS_TYPED)]
        if printed in published.QUARTILES:
            spoken.append(
                NumberClaim("quartiles-together", EITHER, f"{printed.arm} {printed.name}")
            )
            spoken += [NumberClaim(sender.calibration, arm) for sender, arm in _FITTED.items()]
        else:
            spoken += [
                NumberClaim(f"{sender.label}-{name}", arm) for sender, arm in _FITTED.items()
            ]
        yield PrintedNumber(
            key=name,
            group="Round-trip times: quartiles"
            if printed in published.QUARTILES
            else "Round-trip times: maxima",
            name=f"{printed.arm} {printed.what}",
            printed=f"{printed.ms:g}",
            unit="ms",
            spoken=tuple(spoken),
        )
    yield PrintedNumber(
        key="mean-ratio",
        group="Means",
        name="mean delay of SM over that of TDM",
        printed="0.546 %, read as 0.546",
        unit="1",
        spoken=(
            NumberClaim("nominal-mean-ratio", AS_TYPED),
            *(NumberClaim(f"{sender.label}-mean-ratio", arm) for sender, arm in _FITTED.items()),
        ),
    )


PRINTED = PrintedNumbers(
    numbers=tuple(_numbers()),
    story=(
        "Nothing printed here comes out at the load that was typed. A queue near its limit "
        "magnifies what its senders do: a load a quarter smaller makes delays twenty times "
        "shorter. So the printed milliseconds say something about the senders, and the question is "
        "whether one kind of sender gives all of them together.",
        "Two kinds with one free number each were compared with all six quartiles at once, which "
        "is harder than against each alone: the quartiles of one run rise and fall together, and "
        "a sender may give every one of them in some run but never all in the same. The numbers "
        "that took no part in the choice, two maxima and the ratio of the means, then follow.",
        "The source's other figures (244.14 and 122.07 packets/s, the factor m) are arithmetic and "
        "theory, not results.",
    ),
)
