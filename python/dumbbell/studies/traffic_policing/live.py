"""The page's live figure: the same flow through a shaper and a policer with the same bucket."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from dumbbell.report.live import (
    Form,
    LiveArm,
    LiveBet,
    LiveControl,
    LiveCurve,
    LiveHero,
    LiveStop,
)
from dumbbell.spec import Experiment
from dumbbell.spec.ccperf import Policing
from dumbbell.studies.traffic_policing import arms, published

SHAPER, POLICER = "shaper", "policer"
END = "links[0].forward"
"""Direction of the bottleneck, in the experiments of `dumbbell.spec.ccperf`."""
SAMPLE_INTERVAL = "10ms"
BEGIN_S, CLIFF_S = 0.5, 1.0
"""Length of the first picture; time in which the losses of the cliff are counted."""
BURST_KB, LARGE_KB = arms.POLICE_BURST_BYTES / 1e3, 1000.0
_SENDERS: Mapping[str, Callable[[], Policing]] = {
    "NewReno (as published)": arms.source,
    "CUBIC of Linux": lambda: arms.linux("cubic"),
    "BBR of Linux": lambda: arms.linux("bbr"),
}


def _shaper(policing: Policing, seed: int) -> Experiment:
    """Return the shaper experiment, recorded at the bottleneck only, as the figure requires."""
    sampled = replace(policing, seed=seed, sample_interval=SAMPLE_INTERVAL)
    resolved = sampled.experiment().resolved()
    for link in resolved["links"][1:]:
        for end in ("forward", "reverse"):
            link[end]["record_packets"] = False
    return Experiment.from_resolved(resolved)


def _stops(name: str, field: str, scale: int, value: float) -> tuple[list[LiveStop], int]:
    """Return the stops of a sweep of the study, and the index of the published value.

    Args:
        name: Name of the sweep.
        field: Field of the bucket, in a resolved description.
        scale: Factor from the axis's unit to that of the field.
        value: The published value, on the sweep's axis.
    """
    (sweep,) = [each for each in arms.SWEEPS if each.name == name]
    stops = [
        LiveStop(
            value=x,
            words=f"{x:g} {sweep.unit}" + (" (as published)" if x == value else ""),
            of_arm={
                SHAPER: {f"{END}.qdisc.{field}": round(x * scale)},
                POLICER: {f"{END}.police.{field}": round(x * scale)},
            },
        )
        for x in sweep.x
    ]
    return stops, [stop.value for stop in stops].index(value)


def _slow_start(burst_kb: float, rate_mbps: float) -> LiveCurve:
    """Simulate slow start: the window doubles each round trip, beginning after the handshake.

    RFC 5681, section 3.1, with every segment acknowledged; the packets of a round trip leave as one
    burst, and the bucket refills in between.
    """
    kb_per_s = 1e3 * rate_mbps / 8
    rtt_s = published.BASE_RTT_MS / 1e3
    t_s, level_kb, window = [0.0], [burst_kb], arms.NS3_DEFAULTS.initial_window_pkts
    while level_kb[-1] > 0 and t_s[-1] < BEGIN_S:
        risen = min(burst_kb, level_kb[-1] + kb_per_s * rtt_s)
        left = max(0.0, risen - window * arms.PACKET_BYTES / 1e3)
        t_s += [t_s[-1] + rtt_s] * 2
        level_kb += [risen, left]
        window *= 2
    return LiveCurve(
        label="theory: slow start takes twice as much each round trip",
        x=t_s,
        y=level_kb,
        when={"burst": burst_kb, "rate": rate_mbps, "sender": 0.0},
        picture="tokens",
    )


def _printed(label: str, x: list[float], y: list[float], picture: str) -> LiveCurve:
    when = {"burst": BURST_KB, "rate": published.RATE_MBPS, "sender": 0.0}
    return LiveCurve(label=label, x=x, y=y, when=when, is_published=True, picture=picture)


def _published() -> list[LiveCurve]:
    values: Mapping[str, float] = published.VALUES
    in_flight = values["mean_in_flight_l4"]
    point = [values["mean_srtt_l4"]], [values["mean_throughput_l4"]]
    return [
        _printed(
            f"mean that the source prints: {in_flight:g}",
            [0.0, published.STOP_S],
            [in_flight, in_flight],
            "window",
        ),
        _printed("printed in the source", *point, "plane"),
    ]


def hero(seed: int) -> LiveHero:
    """The live figure.

    Args:
        seed: Seed of the study.
    """
    senders = [make() for make in _SENDERS.values()]
    shaped = [_shaper(each, seed) for each in senders]
    policed = [_shaper(arms.policed(each), seed) for each in senders]
    bursts, burst_start = _stops("burst", "burst_bytes", 1000, BURST_KB)
    rates, rate_start = _stops("rate", "rate_bps", 10**6, published.RATE_MBPS)
    options: dict[str, float | str] = {
        "begin_s": BEGIN_S,
        "cliff_s": CLIFF_S,
        "base_rtt_ms": published.BASE_RTT_MS,
        "packet_bytes": arms.PACKET_BYTES,
        "queue_pkts": published.QUEUE_PKTS,
    }
    return LiveHero(
        form=Form.BUCKET,
        watch="One flow, twice: through a shaper, whose packets wait for tokens in a queue of "
        f"{published.QUEUE_PKTS}, and through a policer, which drops what has no token. Watch the "
        "bucket run empty, and what the sender does then.",
        arms=[
            LiveArm(id=name, label=name, variants=variants, queues=[[arms.QUEUE] for _ in variants])
            for name, variants in ((SHAPER, shaped), (POLICER, policed))
        ],
        controls=[
            LiveControl(id="burst", label="Bucket (burst)", stops=bursts, start=burst_start),
            LiveControl(id="rate", label="Policing rate", stops=rates, start=rate_start),
            LiveControl(
                id="sender",
                label="Sender",
                stops=[
                    LiveStop(value=place, words=words, variant=place)
                    for place, words in enumerate(_SENDERS)
                ],
            ),
        ],
        curves=[
            *(_slow_start(burst.value, rate.value) for burst in bursts for rate in rates),
            *_published(),
        ],
        bet=LiveBet(
            question=f"The policer's bucket of {BURST_KB:g} kB is empty after 0.06 s. How long "
            f"does one of {LARGE_KB:g} kB last, eight times as large? Drag the mark, then find "
            "out.",
            settings={
                "burst": [stop.value for stop in bursts].index(LARGE_KB),
                "rate": rate_start,
                "sender": 0,
            },
            arm=POLICER,
            number="dry_s",
            least=0,
            most=BEGIN_S,
            start=0.3,
            unit="s",
            lesson="Slow start takes twice as much every round trip, so eight times the tokens "
            "last three round trips of 15 ms longer. The window has grown as well: the fall is "
            "from higher, and the policer drops more.",
        ),
        options=options,
    )
