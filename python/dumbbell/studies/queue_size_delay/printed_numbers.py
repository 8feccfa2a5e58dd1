"""Every number printed in the source, and the attempts to reproduce it."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.claims import Arm, Cost, NumberClaim, PrintedNumber, PrintedNumbers
from dumbbell.studies.queue_size_delay import claims, listing, published
from dumbbell.studies.queue_size_delay.arms import SourceKind

AS_TYPED = Arm(
    name="at the load that was typed, by queueing theory's sender",
    cost=Cost.AS_PRINTED,
    why="rho = 1.25 as the source reckons it, without headers: the delay would grow by 250 ms "
    "from ping to ping, and it grows by 66.",
)
AS_SENT = Arm(
    name="at the load that was typed, by what ITGSend sends",
    cost=Cost.KNOWN,
    why="With headers and fragments, and with sleeps that overshoot by what was measured on "
    "another machine. Nearer, and still twice too fast.",
)
LESS = Arm(
    name="with senders that send less, slower ones or such as oversleep",
    cost=Cost.ONE_NUMBER,
    why="One number for all ten pings: a load of queueing theory's sender, or how long each of "
    "ITGSend's sleeps overshoots. Both are tried over a grid.",
)
BEFORE = Arm(
    name="before the traffic began",
    cost=Cost.KNOWN,
    why="The first ping printed met an empty queue: it is taken for the path's own round-trip "
    "time, of which the source says nothing.",
)


def _numbers() -> Iterator[PrintedNumber]:
    for number, ms in published.LISTING_MS.items():
        if number < listing.FIRST:
            spoken = [NumberClaim(claims.BASE_RTT, BEFORE)]
        else:
            spoken = [
                NumberClaim(claims.growth_id(SourceKind.IDEAL), AS_TYPED),
                NumberClaim(claims.growth_id(SourceKind.DITG), AS_SENT),
                NumberClaim(claims.LISTING_TOGETHER, LESS, listing.level_name(number)),
                NumberClaim(claims.LOAD_FITTED, LESS),
            ]
        yield PrintedNumber(
            key=f"icmp-seq-{number}",
            group="Round-trip times behind 2 mb",
            name=f"icmp_seq {number}",
            printed=f"{ms:g}",
            unit="ms",
            spoken=tuple(spoken),
        )


PRINTED = PrintedNumbers(
    numbers=tuple(_numbers()),
    story=(
        "The source's finding, that a full queue makes a packet wait its size over its rate, needs "
        "no numbers and is reproduced at every size. What it prints are eleven round-trip times of "
        "one run behind 2 mb, a size that ten seconds cannot fill. So they do not show the worst "
        "case; they show how fast the queue grew, and thereby what was sent.",
        "It grew by 66 ms from one ping to the next on average, where the typed load would give "
        "250. A sender that sends less gives that average, by a load that these pings chose: so "
        "they are a calibration. How unevenly it grew is less easy. Between icmp_seq 7 and 8 the "
        "delay fell by 62 ms, for which a sender must have been all but silent for a tenth of a "
        "second. A Poisson sender's second differs from the next by 36 ms (standard deviation), "
        "the printed ones by 60. Held together the ten pings are at the edge of what one run of "
        "such a sender gives, and well beyond it for ITGSend's sizes with longer sleeps. A machine "
        "that stopped now and then, sender and all, would do it; nothing printed says so.",
        "No one number fits both studies of this testbed: what would make ITGSend slow enough here "
        "is an oversleep near 0.13 ms, and in the study of statistical multiplexing 3 ms.",
    ),
)
