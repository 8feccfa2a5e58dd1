"""Queue disciplines and policers as typed to tc, with random parameters.

The sizes fit short runs: limits are reached, targets exceeded and buckets emptied within a second.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from dumbbell import _engine

_Maker = Callable[[random.Random, int], str]


def discipline(draw: random.Random, rate_bps: int) -> str:
    """One of all disciplines for a link of about such a rate."""
    if draw.random() < 0.3:
        return draw.choice(_CLASSFUL)(draw, rate_bps)
    return draw.choice((*_LEAVES, *_ROOTS))(draw, rate_bps)


def leaf(draw: random.Random, rate_bps: int) -> str:
    """One that no other can be put into."""
    return draw.choice(_LEAVES)(draw, rate_bps)


def policer(draw: random.Random, rate_bps: int) -> str:
    """What follows ``action``."""
    rate = _rate(draw, rate_bps)
    words = [f"rate {rate}bit", f"burst {draw.randrange(1600, 30_000)}"]
    if draw.random() < 0.3:
        words += [f"peakrate {2 * rate}bit", f"mtu {draw.randrange(1514, 4000)}"]
    return " ".join(["police", *words, "drop"])


# --- parameters -----------------------------------------------------------------------------


def _rate(draw: random.Random, around_bps: int) -> int:
    """A rate near another, in whole bytes per second."""
    return max(800, 8 * int(around_bps * 2 ** draw.uniform(-2, 1) / 8))


def _time(draw: random.Random, least_us: int, most_us: int) -> str:
    return f"{draw.randrange(least_us, most_us)}us"


def _percent(draw: random.Random, most: float) -> str:
    return f"{draw.uniform(0, most):.3f}%"


def _some(draw: random.Random, words: list[str], share: float = 0.4) -> list[str]:
    """Some of these words, in any order."""
    kept = [word for word in words if draw.random() < share]
    draw.shuffle(kept)
    return kept


def _packets(draw: random.Random) -> int:
    return int(10 ** draw.uniform(0, 3))


def _bytes(draw: random.Random) -> int:
    return int(10 ** draw.uniform(3.2, 5.5))


# --- disciplines that hold packets ----------------------------------------------------------


def _pfifo(draw: random.Random, _: int) -> str:
    return " ".join(["pfifo", *_some(draw, [f"limit {_packets(draw)}"], 0.8)])


def _pfifo_fast(_: random.Random, __: int) -> str:
    return "pfifo_fast"


def _bfifo(draw: random.Random, _: int) -> str:
    return " ".join(["bfifo", *_some(draw, [f"limit {_bytes(draw)}"], 0.8)])


def _codel_words(draw: random.Random) -> list[str]:
    return [
        f"limit {_packets(draw)}",
        f"target {_time(draw, 1, 20_000)}",
        f"interval {_time(draw, 1000, 200_000)}",
        draw.choice(["ecn", "noecn"]),
        f"ce_threshold {_time(draw, 1, 10_000)}",
    ]


def _codel(draw: random.Random, _: int) -> str:
    return " ".join(["codel", *_some(draw, _codel_words(draw))])


def _fq(draw: random.Random, rate_bps: int) -> str:
    words = [
        f"limit {_packets(draw)}",
        f"flow_limit {_packets(draw)}",
        f"quantum {draw.randrange(200, 9000)}",
        f"initial_quantum {draw.choice([0, 500, 30_000])}",
        f"maxrate {_rate(draw, rate_bps)}bit",
        draw.choice(["pacing", "nopacing"]),
        f"refill_delay {_time(draw, 0, 100_000)}",
        f"low_rate_threshold {_rate(draw, rate_bps)}bit",
        f"timer_slack {_time(draw, 0, 2000)}",
        f"ce_threshold {_time(draw, 1, 10_000)}",
        f"horizon {_time(draw, 1000, 1_000_000)}",
        draw.choice(["horizon_drop", "horizon_cap"]),
    ]
    return " ".join(["fq", *_some(draw, words, draw.choice([0.0, 0.3]))])


def _fq_codel(draw: random.Random, _: int) -> str:
    words = [
        *_codel_words(draw),
        f"flows {draw.choice([1, 2, 7, 64, 1024])}",
        f"quantum {draw.randrange(256, 9000)}",
        f"memory_limit {_bytes(draw)}",
        f"drop_batch {draw.choice([1, 2, 64])}",
    ]
    return " ".join(["fq_codel", *_some(draw, words)])


def _cake(draw: random.Random, rate_bps: int) -> str:
    words = [
        f"bandwidth {_rate(draw, rate_bps)}bit",
        draw.choice(["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"]),
        draw.choice(["flowblind", "srchost", "hosts", "flows", "dual-dsthost", "triple-isolate"]),
        f"rtt {_time(draw, 1000, 200_000)}",
        draw.choice(["conservative", "docsis", "pppoe-ptm", f"overhead {draw.randrange(-20, 60)}"]),
        f"mpu {draw.randrange(257)}",
        draw.choice(["atm", "ptm", "noatm"]),
        draw.choice(["wash", "nowash"]),
        draw.choice(["ingress", "egress"]),
        draw.choice(["split-gso", "no-split-gso"]),
        f"memlimit {_bytes(draw)}",
    ]
    return " ".join(["cake", *_some(draw, words)])


def _sfq(draw: random.Random, _: int) -> str:
    depth, divisor = draw.randrange(1, 128), draw.choice([1, 2, 64, 1024])
    flows = draw.randrange(1, min(divisor, 128) + 1)
    most = draw.randrange(3000, 60_000)
    red = f"redflowlimit 60000 min {most // 3} max {most} burst {most // 1000 + 1} probability 0.1"
    words = [
        f"quantum {draw.randrange(256, 9000)}",
        f"perturb {draw.randrange(1, 4)}",
        "headdrop",
        draw.choice([red, f"{red} ecn", f"{red} ecn harddrop"]),
    ]
    counts = [f"depth {depth} divisor {divisor} flows {flows}"]
    if depth * flows > max(flows, 2):
        counts.append(f"limit {draw.randrange(max(flows, 2), depth * flows + 1)}")
    return " ".join(["sfq", *draw.choice([[], counts[:1], counts]), *_some(draw, words)])


def _pie_words(draw: random.Random) -> list[str]:
    return [
        f"limit {_packets(draw)}",
        f"target {_time(draw, 1, 30_000)}",
        f"tupdate {_time(draw, 1000, 40_000)}",
        f"alpha {draw.randrange(1, 33)}",
        f"beta {draw.randrange(1, 33)}",
        draw.choice(["ecn", "noecn"]),
        draw.choice(["bytemode", "nobytemode"]),
        draw.choice(["dq_rate_estimator", "no_dq_rate_estimator"]),
    ]


def _pie(draw: random.Random, _: int) -> str:
    return " ".join(["pie", *_some(draw, [*_pie_words(draw), "linux_3_14"])])


def _fq_pie(draw: random.Random, _: int) -> str:
    words = [
        *_pie_words(draw),
        f"flows {draw.choice([1, 2, 7, 64, 1024])}",
        f"quantum {draw.randrange(256, 9000)}",
        f"memory_limit {_bytes(draw)}",
        f"ecn_prob {draw.randrange(1, 100)}",
    ]
    return " ".join(["fq_pie", *_some(draw, words)])


def _dualpi2(draw: random.Random, _: int) -> str:
    words = [
        f"limit {_packets(draw)}",
        f"memlimit {_bytes(draw)}",
        f"target {_time(draw, 1, 30_000)}",
        f"tupdate {_time(draw, 100, 40_000)}",
        f"alpha {draw.uniform(0.01, 20):.4f}",
        f"beta {draw.uniform(0.01, 60):.4f}",
        f"step_thresh {draw.choice([_time(draw, 1, 5000), f'{draw.randrange(1, 9)}p'])}",
        f"min_qlen_step {draw.randrange(4)}",
        f"coupling_factor {draw.choice([0, 1, 2, 2, 3, 255])}",
        f"classic_protection {draw.randrange(101)}%",
        draw.choice(["drop_on_overload", "overflow"]),
        draw.choice(["drop_dequeue", "drop_enqueue"]),
        draw.choice(["l4s_ect", "any_ect"]),
        draw.choice(["split_gso", "no_split_gso"]),
    ]
    return " ".join(["dualpi2", *_some(draw, words)])


def _choke(draw: random.Random, rate_bps: int) -> str:
    least = draw.randrange(2, 40)
    most = least * draw.randrange(2, 5)
    words = [
        f"limit {most + draw.randrange(200)}",
        f"bandwidth {min(_rate(draw, rate_bps), 8_000_000_000)}bit",
        f"min {least}",
        f"max {most}",
        f"burst {least + draw.randrange(1, 20)}",
    ]
    optional = [f"probability {draw.choice(['0.01', '0.1', '0.5', '0.999'])}", "ecn"]
    return " ".join(["choke", *words, *_some(draw, optional)])


def _sfb(draw: random.Random, _: int) -> str:
    target = draw.randrange(1, 30)
    words = [
        f"rehash {draw.choice([0, 5, 300, 2000])}",
        f"db {draw.choice([0, 3, 100, 9000])}",
        f"limit {_packets(draw)}",
        f"target {target}",
        f"max {target * draw.choice([1, 2, 20])}",
        f"increment {draw.choice(['0', '0.0005', '0.03', '1'])}",
        f"decrement {draw.choice(['0', '0.00005', '0.005', '1'])}",
        f"penalty_rate {draw.choice([0, 10, 100, 4294967295])}",
        f"penalty_burst {draw.choice([0, 1, 20, 4294967295])}",
    ]
    return " ".join(["sfb", *_some(draw, words)])


def _red(draw: random.Random, rate_bps: int) -> str:
    average = draw.randrange(100, 1500)
    # Where the least is no longer than a packet, no weight lets a burst pass.
    least = average * draw.randrange(2, 20)
    most = least * draw.randrange(3, 5)
    burst = least // average + draw.randrange(1, 20)
    words = [
        f"limit {most + (burst + 4) * average + draw.randrange(0, 100_000)}",
        f"min {least}",
        f"max {most}",
        f"avpkt {average}",
        f"burst {burst}",
    ]
    optional = [
        f"probability {draw.choice(['0.01', '0.1', '0.5', '0.999'])}",
        # At more an average packet takes no microsecond, by which tc divides.
        f"bandwidth {min(_rate(draw, rate_bps), 8_000_000 * average)}bit",
        draw.choice(["ecn", "ecn nodrop"]),
        "harddrop",
        "adaptive",
    ]
    return " ".join(["red", *words, *_some(draw, optional)])


def _netem(draw: random.Random, rate_bps: int) -> str:
    words = [f"limit {_packets(draw)}"]
    if draw.random() < 0.6:
        words.append(_netem_delay(draw))
    loss = draw.choice(
        [
            f"loss {_percent(draw, 20)}",
            f"loss random {_percent(draw, 20)} {_percent(draw, 100)}",
            f"loss state {_percent(draw, 10)} 30% 20% 80% 0.5%",
            f"loss gemodel {_percent(draw, 5)} 30% 70% 1%",
        ]
    )
    if draw.random() < 0.4:
        words.append(loss)
        words += _some(draw, ["ecn"]) if loss.split()[1] not in ("state", "gemodel") else []
    words += _some(draw, [f"duplicate {_percent(draw, 20)}"], 0.3)
    if draw.random() < 0.4:
        cells = draw.choice(["", f" {draw.randrange(-20, 50)}", " 10 48 5", " 0 1000"])
        words.append(f"rate {_rate(draw, rate_bps)}bit{cells}")
    words += _some(draw, [f"corrupt {_percent(draw, 10)}", _netem_slot(draw)], 0.2)
    return " ".join(["netem", *words])


def _netem_delay(draw: random.Random) -> str:
    words = [f"delay {_time(draw, 100, 20_000)}"]
    if draw.random() < 0.5:
        words.append(_time(draw, 1, 10_000))
        words += _some(draw, [_percent(draw, 100)])
        words += _some(draw, [f"distribution {draw.choice(['normal', 'pareto', 'paretonormal'])}"])
    if draw.random() < 0.3:
        words.append(f"reorder {_percent(draw, 50)}")
        words += _some(draw, [f"gap {draw.randrange(1, 8)}"])
    return " ".join(words)


def _netem_slot(draw: random.Random) -> str:
    delay = draw.choice(["200us", "1ms 5ms", "distribution normal 3ms 1ms"])
    limits = _some(draw, ["packets 4", "bytes 9000"])
    return " ".join([f"slot {delay}", *sorted(limits, reverse=True)])  # tc takes no other order


def _other(name: str, example: str) -> _Maker:
    """One that has no function here: its table's short example, with a limit of any size."""

    def typed(draw: random.Random, _: int) -> str:
        return example.replace(" limit 5", f" limit {_packets(draw)}")

    typed.__name__ = f"_{name}"
    return typed


# --- disciplines that others are put into ---------------------------------------------------


def _tbf(draw: random.Random, rate_bps: int) -> str:
    rate = _rate(draw, rate_bps)
    limit = draw.choice([f"limit {_bytes(draw)}", f"latency {_time(draw, 5000, 200_000)}"])
    words = [f"rate {rate}bit", f"burst {draw.randrange(1600, 30_000)}", limit]
    if draw.random() < 0.3:
        words += [f"peakrate {2 * rate}bit", f"mtu {draw.randrange(1514, 4000)}"]
    text = " ".join(["tbf", *words])
    if draw.random() < 0.5:
        return text
    return f"root handle 1: {text}; parent 1:1 handle 10: {leaf(draw, rate)}"


def _prio(draw: random.Random, rate_bps: int) -> str:
    bands = draw.randrange(2, 5)
    words = [f"root handle 1: prio bands {bands}"]
    # tc's own map names three bands.
    if bands == 2 or draw.random() < 0.5:
        words[0] += " priomap " + " ".join(str(draw.randrange(bands)) for _ in range(16))
    return "; ".join([*words, *_in_bands(draw, bands, rate_bps)])


def _in_bands(draw: random.Random, bands: int, rate_bps: int) -> list[str]:
    """What queues in some of the bands, and filters to them."""
    lines = [
        f"parent 1:{band} handle {band + 10}: {leaf(draw, rate_bps)}"
        for band in range(1, bands + 1)
        if draw.random() < 0.5
    ]
    return [*lines, *_filters(draw, [f"1:{band + 1}" for band in range(bands)])]


def _ets(draw: random.Random, rate_bps: int) -> str:
    bands = draw.randrange(1, 5)
    strict = draw.randrange(bands + 1)
    quanta = [str(draw.choice((1, 300, 1514, 4500, 65536))) for _ in range(bands - strict)]
    words = [f"root handle 1: ets bands {bands} strict {strict}"]
    if quanta:
        words[0] += " quanta " + " ".join(quanta)
    words[0] += " priomap " + " ".join(str(draw.randrange(bands)) for _ in range(16))
    return "; ".join([*words, *_in_bands(draw, bands, rate_bps)])


def _htb(draw: random.Random, rate_bps: int) -> str:
    ceil = _rate(draw, rate_bps)
    leaves = [f"1:{10 * number}" for number in range(1, draw.randrange(2, 5))]
    default = draw.choice([leaves[-1].split(":")[1], "77", ""])
    lines = [
        f"root handle 1: htb{f' default {default}' if default else ''}",
        f"class add parent 1: classid 1:1 htb rate {ceil}bit",
    ]
    for each in leaves:
        words = [f"rate {max(800, 8 * int(ceil * draw.uniform(0.1, 0.9) / 8))}bit"]
        words += _some(
            draw,
            [
                f"ceil {ceil}bit",
                f"prio {draw.randrange(8)}",
                f"quantum {draw.randrange(1500, 20_000)}",
                f"burst {draw.randrange(1600, 30_000)}",
                f"cburst {draw.randrange(1600, 30_000)}",
            ],
        )
        lines.append(f"class add parent 1:1 classid {each} htb {' '.join(words)}")
    for each in leaves:
        if draw.random() < 0.5:
            lines.append(f"parent {each} handle {each.split(':')[1]}: {leaf(draw, rate_bps)}")
    return "; ".join([*lines, *_filters(draw, leaves)])


def _hfsc(draw: random.Random, rate_bps: int) -> str:
    rate = _rate(draw, rate_bps)
    leaves = [f"1:{10 * number}" for number in range(1, draw.randrange(2, 5))]
    lines = ["root handle 1: hfsc default 10"]
    inside = draw.random() < 0.5
    if inside:
        limit = draw.choice(["", f" ul m2 {rate}bit"])
        lines.append(f"class add parent 1: classid 1:1 hfsc ls m2 {rate}bit{limit}")
    for each in leaves:
        words = draw.choice(
            [
                [f"sc {_curve(draw, rate)}"],
                [f"rt {_curve(draw, rate)}"],
                [f"ls {_curve(draw, rate)}"],
                [f"rt {_curve(draw, rate)}", f"ls {_curve(draw, rate)}"],
            ]
        )
        if not words[0].startswith("rt") and draw.random() < 0.3:
            words.append(f"ul {_curve(draw, rate)}")
        parent = "1:1" if inside else "1:"
        lines.append(f"class add parent {parent} classid {each} hfsc {' '.join(words)}")
    for each in leaves:
        if draw.random() < 0.4:
            lines.append(f"parent {each} handle {each.split(':')[1]}: {leaf(draw, rate_bps)}")
    return "; ".join([*lines, *_filters(draw, leaves)])


def _curve(draw: random.Random, rate_bps: int) -> str:
    m2 = max(800, 8 * int(rate_bps * draw.uniform(0.1, 0.9) / 8))
    if draw.random() < 0.4:
        return f"m2 {m2}bit"
    m1 = draw.choice([0, max(800, 8 * int(rate_bps * draw.uniform(0.1, 2) / 8))])
    return f"m1 {m1}bit d {_time(draw, 1000, 50_000)} m2 {m2}bit"


def _drr(draw: random.Random, rate_bps: int) -> str:
    classes = [f"1:{number}" for number in range(1, draw.randrange(2, 5))]
    quantum = ["", " quantum 1", " quantum 300", " quantum 4500", " quantum 64kb"]
    lines = ["root handle 1: drr"]
    lines += [f"class add parent 1: classid {each} drr{draw.choice(quantum)}" for each in classes]
    for each in classes:
        if draw.random() < 0.5:
            lines.append(f"parent {each} handle {int(each[2:]) + 10}: {leaf(draw, rate_bps)}")
    lines += _filters(draw, classes)
    # What no filter has would be dropped.
    if draw.random() < 0.8:
        lines.append(f"filter add parent 1: prio 99 matchall flowid {draw.choice(classes)}")
    return "; ".join(lines)


def _filters(draw: random.Random, classes: list[str]) -> list[str]:
    chosen = [each for each in classes if draw.random() < 0.4]
    lines = [
        f"filter add parent 1: protocol ip prio {number} u32 match ip dsfield "
        f"{draw.choice(['0x10', '0x28', '0xb8'])} 0xfc flowid {each}"
        for number, each in enumerate(chosen, 1)
    ]
    if draw.random() < 0.2:
        lines.append(
            f"filter add parent 1: protocol ip prio 90 matchall flowid {draw.choice(classes)}"
        )
    return lines


_OWN_LEAVES: tuple[_Maker, ...] = (
    _pfifo, _pfifo_fast, _bfifo, _codel, _fq, _fq_codel, _cake, _pie, _dualpi2, _red, _netem,
    _sfq, _fq_pie, _choke, _sfb,
)  # fmt: skip
_CLASSFUL: tuple[_Maker, ...] = (_tbf, _prio, _ets, _htb, _hfsc, _drr)
_OWN_NAMES = {maker.__name__[1:] for maker in (*_OWN_LEAVES, *_CLASSFUL)}
_ROOT_NAMES = {"noqueue"}
"""Disciplines that no class may have."""
_ROOTS = tuple(_other(name, name) for name in sorted(_ROOT_NAMES))
_LEAVES = (
    *_OWN_LEAVES,
    *(
        _other(each["name"], each["short_example"])
        for each in json.loads(_engine.disciplines())
        if each["name"] not in _OWN_NAMES | _ROOT_NAMES
    ),
)
