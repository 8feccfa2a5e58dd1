"""A run's queues as ``tc -s -d qdisc show`` prints them, in text and as ``tc -j`` does.

Layout and rounding are those of iproute2 6.1 (``tc/tc_qdisc.c``, ``tc/q_*.c``, ``lib/utils.c``),
compared with the program itself where the kernel has the discipline (``tests/formats``). What a
run does not record is not made up: *overlimits* and *requeues* are 0 as for most disciplines,
lines of which a run knows only a part (codel's count, fq_codel's new flows, ...) are left out,
and of what is inside a discipline with several classes there is the line that says what it is, with
the handle that the rendered ``tc`` lines give it, and no numbers: a run counts a queue as a whole.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.errors import DumbbellError
from dumbbell.spec import Resolved
from dumbbell.tables import Run

Config = Mapping[str, Any]
_TICKS_PER_US = 15.625
"""Of 64 ns, in which tc hands a bucket to the kernel and reads it back."""
_DEVICE_HEADER_BYTES = 14
_NS_PER_US = 1000
_PPB = 1_000_000_000
_U32_MAX = (1 << 32) - 1
_PRIO2BAND = (1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1)
"""``prio2band`` of the kernel's ``net/sched/sch_generic.c``."""


@dataclass(frozen=True, slots=True)
class _State:
    """What a queue has done and holds at an instant."""

    t_ns: int
    sent_bytes: int
    sent_pkts: int
    dropped: int
    backlog_bytes: int
    backlog_pkts: int
    drop_probability: float
    delay_estimate_ns: int


def tc_text(run: Run, queue: str | int) -> str:
    """What ``tc -s -d qdisc show dev DEV`` would print at the run's last sample.

    Of red, as without ``-d``.

    Args:
        run: A run with a description and samples.
        queue: Name or index.

    Raises:
        DumbbellError: The run was imported, or has no samples of this queue.
    """
    return _text(_config(run, queue), _states(run, queue)[-1])


def tc_json(run: Run, queue: str | int) -> str:
    """The same as ``tc -s -j qdisc show dev DEV`` prints it, on one line."""
    return _json(_config(run, queue), _states(run, queue)[-1])


def tc_iterate_text(run: Run, queue: str | int, *, t0_epoch_ns: int = 0) -> str:
    """What Flent's ``tc_iterate`` would have written: a block of text for every sample.

    Each block ends with ``Time: SECONDS.NANOSECONDS`` (Unix time) and a line ``---``.

    Args:
        run: A run with a description and samples.
        queue: Name or index.
        t0_epoch_ns: Unix time of the run's start.

    Raises:
        DumbbellError: The run was imported, or has no samples of this queue.
    """
    config = _config(run, queue)
    blocks = []
    for state in _states(run, queue):
        at_ns = t0_epoch_ns + state.t_ns
        time = f"Time: {at_ns // 10**9}.{at_ns % 10**9:09}"
        blocks.append(f"{_text(config, state)}{time}\n---\n")
    return "".join(blocks)


def _config(run: Run, queue: str | int) -> Config:
    if run.spec is None:
        raise DumbbellError("an imported run does not say which discipline its queue had")
    end = Resolved(run.spec).queue(run.queue(queue))
    return _complete(end.qdisc.mapping, end.mtu_bytes + _DEVICE_HEADER_BYTES)


def _complete(config: Config, device_mtu_bytes: int) -> Config:
    """What the kernel takes from the device where the words leave it out."""
    complete = dict(config)
    if complete["kind"] == "fq_codel" and not complete["quantum_bytes"]:
        complete["quantum_bytes"] = device_mtu_bytes
    if complete.get("child"):
        complete["child"] = _complete(complete["child"], device_mtu_bytes)
    for key in ("children", "classes"):
        if key in complete:
            complete[key] = [each and _inside(each, device_mtu_bytes) for each in complete[key]]
    return complete


def _inside(config: Config, device_mtu_bytes: int) -> Config:
    """A band's discipline; or a class, which has no kind, with its own."""
    if "kind" in config:
        return _complete(config, device_mtu_bytes)
    child = config["child"] and _complete(config["child"], device_mtu_bytes)
    return {**config, "child": child}


def _states(run: Run, queue: str | int) -> list[_State]:
    names = ("t_ns", "departed_bytes", "departed_pkts", "dropped_pkts", "backlog_bytes")
    more = ("backlog_pkts", "drop_probability", "delay_estimate_ns")
    columns = [run.column("queue_samples", name, queue=queue).tolist() for name in (*names, *more)]
    states = [_State(*values) for values in zip(*columns, strict=True)]
    if not states:
        raise DumbbellError("the run has no samples of its queues; set sample_interval")
    return states


@dataclass(frozen=True, slots=True)
class _Standing:
    """A discipline in its tree."""

    config: Config
    handle: str
    parent: str | None
    """The class it is in; None for the root."""
    is_whole: bool
    """Whether every packet of the queue goes through it, so that its numbers are the queue's."""


def _standing(config: Config) -> Iterator[_Standing]:
    """Each discipline that has a line of its own, in the order of `units.qdisc_lines`.

    Those that the kernel puts in by itself, such as the bands of a bare prio, tc does not show.
    """
    handles = itertools.count(1)

    def walk(config: Config, parent: str | None, is_whole: bool) -> Iterator[_Standing]:
        handle = f"{next(handles):x}:"
        yield _Standing(config, handle, parent, is_whole)
        if child := config.get("child"):
            yield from walk(child, f"{handle}1", is_whole)
        branches = [*enumerate(config.get("children", ()), start=1)]
        branches += [(each["minor"], each["child"]) for each in config.get("classes", ())]
        for minor, branch in branches:
            if branch:
                yield from walk(branch, f"{handle}{minor:x}", False)

    return walk(config, None, True)


def _text(config: Config, state: _State) -> str:
    lines = []
    for each in _standing(config):
        kind, place = each.config["kind"], "root refcnt 2"
        if each.parent is not None:
            place = f"parent {each.parent}"
        lines.append(f"qdisc {kind} {each.handle} {place} {_OPTIONS[kind](each.config)[0]}")
        if not each.is_whole:
            continue
        lines.append(
            f" Sent {state.sent_bytes} bytes {state.sent_pkts} pkt"
            f" (dropped {state.dropped}, overlimits 0 requeues 0) "
        )
        lines.append(f" backlog {_size(state.backlog_bytes)} {state.backlog_pkts}p requeues 0")
        if kind == "pie" and state.delay_estimate_ns >= 0:
            delay = _time(state.delay_estimate_ns // _NS_PER_US)
            lines.append(f"  prob {state.drop_probability:g} delay {delay}")
    return "\n".join(lines) + "\n"


def _json(config: Config, state: _State) -> str:
    disciplines = []
    for each in _standing(config):
        kind = each.config["kind"]
        found: dict[str, Any] = {"kind": kind, "handle": each.handle}
        root = {"root": True, "refcnt": 2}
        found |= root if each.parent is None else {"parent": each.parent}
        found["options"] = _OPTIONS[kind](each.config)[1]
        if each.is_whole:
            found |= _numbers(kind, state)
        disciplines.append(found)
    return json.dumps(disciplines, separators=(",", ":"))


def _numbers(kind: str, state: _State) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "bytes": state.sent_bytes,
        "packets": state.sent_pkts,
        "drops": state.dropped,
        "overlimits": 0,
        "requeues": 0,
        "backlog": state.backlog_bytes,
        "qlen": state.backlog_pkts,
    }
    if kind == "pie" and state.delay_estimate_ns >= 0:
        numbers["prob"] = state.drop_probability
        numbers["delay"] = state.delay_estimate_ns // _NS_PER_US
    return numbers


# Options of each discipline: as text, and as JSON.
_Options = tuple[str, dict[str, Any]]


def _pfifo(config: Config) -> _Options:
    limit = config["limit_packets"]
    return f"limit {limit}p", {"limit": limit}


def _bfifo(config: Config) -> _Options:
    limit = config["limit_bytes"]
    return f"limit {_size(limit)}", {"limit": limit}


def _tbf(config: Config) -> _Options:
    rate, peak = config["rate_bps"] // 8, config["peakrate_bps"] // 8
    buffer = _bucket_ticks(rate, config["burst_bytes"])
    burst = f"{_size(_bucket_bytes(rate, buffer))}/1"
    latency = 1e6 * (config["limit_bytes"] / rate) - _ticks_us(buffer)
    text = f"rate {_rate(rate)} burst {burst} mpu 0b "
    options: dict[str, Any] = {"rate": rate, "burst": burst, "mpu": 0}
    if peak:
        peak_buffer = _bucket_ticks(peak, config["mtu_bytes"])
        mtu = f"{_size(_bucket_bytes(peak, peak_buffer))}/1"
        text += f"peakrate {_rate(peak)} mtu {mtu} mpu 0b "
        options["mtu"] = mtu
        of_peak = 1e6 * (config["limit_bytes"] / peak) - _ticks_us(peak_buffer)
        latency = max(latency, of_peak)
    text += f"lat {_time(latency)} linklayer ethernet "
    return text, options | {"lat": int(latency), "linklayer": "ethernet"}


def _codel(config: Config) -> _Options:
    text = (
        f"limit {config['limit_packets']}p target {_time_ns(config['target_ns'])} "
        f"interval {_time_ns(config['interval_ns'])} "
    )
    options: dict[str, Any] = {
        "limit": config["limit_packets"],
        "target": config["target_ns"] // _NS_PER_US,
        "interval": config["interval_ns"] // _NS_PER_US,
    }
    if config["ce_threshold_ns"]:
        text = f"{text.rstrip()} ce_threshold {_time_ns(config['ce_threshold_ns'])} "
        options["ce_threshold"] = config["ce_threshold_ns"] // _NS_PER_US
    if config["ecn"]:
        text, options = f"{text}ecn ", options | {"ecn": True}
    return text, options


def _fq_codel(config: Config) -> _Options:
    text = (
        f"limit {config['limit_packets']}p flows {config['flows']} "
        f"quantum {config['quantum_bytes']} target {_time_ns(config['target_ns'])} "
        f"interval {_time_ns(config['interval_ns'])} "
    )
    options: dict[str, Any] = {
        "limit": config["limit_packets"],
        "flows": config["flows"],
        "quantum": config["quantum_bytes"],
        "target": config["target_ns"] // _NS_PER_US,
        "interval": config["interval_ns"] // _NS_PER_US,
    }
    if config["ce_threshold_ns"]:
        text += f"ce_threshold {_time_ns(config['ce_threshold_ns'])} "
        options["ce_threshold"] = config["ce_threshold_ns"] // _NS_PER_US
    memory, batch = config["memory_limit_bytes"], config["drop_batch_packets"]
    text += f"memory_limit {_size(memory)} "
    options["memory_limit"] = memory
    if config["ecn"]:
        text, options = f"{text}ecn ", options | {"ecn": True}
    return f"{text}drop_batch {batch} ", options | {"drop_batch": batch}


def _pie(config: Config) -> _Options:
    target, tupdate = config["target_ns"], config["tupdate_ns"]
    alpha, beta = config["alpha"], config["beta"]
    text = (
        f"limit {config['limit_packets']}p target {_time_ns(target)} "
        f"tupdate {_time_ns(tupdate)} alpha {alpha} beta {beta} "
    )
    options: dict[str, Any] = {
        "limit": config["limit_packets"],
        "target": target // _NS_PER_US,
        "tupdate": tupdate // _NS_PER_US,
        "alpha": alpha,
        "beta": beta,
    }
    for flag in ("ecn", "bytemode", "dq_rate_estimator"):
        if config[flag]:
            text, options = f"{text}{flag} ", options | {flag: True}
    return text, options


def _red(config: Config) -> _Options:
    keys = ("limit", "min", "max")
    text = "".join(f"{key} {_size(config[f'{key}_bytes'])} " for key in keys)
    options: dict[str, Any] = {key: config[f"{key}_bytes"] for key in keys}
    for flag in ("ecn", "harddrop", "adaptive", "nodrop"):
        if config[flag]:
            text += f"{flag} "
        options[flag] = config[flag]
    return text, options


def _prio(config: Config) -> _Options:
    bands, priomap = config["bands"], list(config["priomap"])
    text = f"bands {bands} priomap {' '.join(map(str, priomap))}"
    return text, {"bands": bands, "priomap": priomap, "multiqueue": False}


def _pfifo_fast(_: Config) -> _Options:
    """The kernel describes it as a prio of three bands that cannot be changed."""
    return _prio({"bands": 3, "priomap": _PRIO2BAND})


def _htb(config: Config) -> _Options:
    default, r2q = f"0x{config['default_minor']:x}", config["r2q"]
    length = config["direct_qlen_packets"]
    # How many packets passed unshaped is not recorded; it is known where none can.
    direct = "" if _may_pass_unshaped(config) else "direct_packets_stat 0 "
    text = f"r2q {r2q} default {default} {direct}ver 3.17 direct_qlen {length}"
    options: dict[str, Any] = {"r2q": r2q, "default": default}
    options |= {"direct_packets_stat": 0} if direct else {}
    return text, options | {"ver": "3.17", "direct_qlen": length}


def _may_pass_unshaped(htb: Config) -> bool:
    """Whether a packet can reach no leaf (``htb_classify``): by default, or sent to the root."""
    inner = {each["parent_minor"] for each in htb["classes"]}
    leaves = {each["minor"] for each in htb["classes"]} - inner
    to_root = any(each["minor"] == 0 for each in htb["filters"])
    return htb["default_minor"] not in leaves or to_root


def _netem(config: Config) -> _Options:
    text = f"limit {config['limit_packets']}"
    options: dict[str, Any] = {"limit": config["limit_packets"]}
    if config["delay_ns"]:
        jitter = config["jitter_ns"]
        text += f" delay {_time_ns(config['delay_ns'])}"
        text += f"  {_time_ns(jitter)}" if jitter else ""
        correlation = config["delay_correlation_ppb"]
        text += _percent(correlation) if jitter and correlation else ""
        options["delay"] = {
            "delay": config["delay_ns"] / _PPB,
            "jitter": jitter / _PPB,
            "correlation": correlation / _PPB,
        }
    if loss := config["loss"]:
        words, key, values = _netem_loss(loss)
        text += words
        options[key] = values
    for word in ("duplicate", "reorder"):
        if config[f"{word}_ppb"]:
            correlation = config[f"{word}_correlation_ppb"]
            text += f" {word}{_percent(config[f'{word}_ppb'])}"
            text += _percent(correlation) if correlation else ""
            values = {word: config[f"{word}_ppb"] / _PPB, "correlation": correlation / _PPB}
            options[word] = values
    if config["rate_bps"]:
        text += f" rate {_rate(config['rate_bps'] // 8)}"
        values = {"rate": config["rate_bps"] // 8}
        for word, key in _NETEM_OVERHEADS.items():
            text += f" {word} {config[key]}" if config[key] else ""
            values[word] = config[key]
        options["rate"] = values
    options |= {"ecn": config["ecn"], "gap": config["gap_packets"]}
    text += " ecn " if config["ecn"] else ""
    return text + (f" gap {config['gap_packets']}" if config["gap_packets"] else ""), options


_NETEM_OVERHEADS = {
    "packetoverhead": "packet_overhead_bytes",
    "cellsize": "cell_size_bytes",
    "celloverhead": "cell_overhead_bytes",
}
_NETEM_LOSSES = {
    "state": {word: f"{word}_ppb" for word in ("p13", "p31", "p32", "p23", "p14")},
    "gemodel": {
        "p": "p_ppb",
        "r": "r_ppb",
        "1-h": "loss_in_bad_ppb",
        "1-k": "loss_in_good_ppb",
    },
}


def _netem_loss(loss: Config) -> tuple[str, str, dict[str, float]]:
    """Text, key and values."""
    if loss["kind"] == "random":
        share, correlation = loss["probability_ppb"], loss["correlation_ppb"]
        text = f" loss{_percent(share)}" + (_percent(correlation) if correlation else "")
        return text, "loss-random", {"loss": share / _PPB, "correlation": correlation / _PPB}
    words = _NETEM_LOSSES[loss["kind"]]
    text = "".join(f" {word}{_percent(loss[key])}" for word, key in words.items())
    values = {word: loss[key] / _PPB for word, key in words.items()}
    return f" loss {loss['kind']}{text}", f"loss-{loss['kind']}", values


_OPTIONS: Mapping[str, Callable[[Config], _Options]] = {
    "pfifo": _pfifo,
    "bfifo": _bfifo,
    "tbf": _tbf,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "red": _red,
    "netem": _netem,
    "prio": _prio,
    "pfifo_fast": _pfifo_fast,
    "htb": _htb,
}


def _bucket_ticks(rate_bytes_per_s: int, size_bytes: int) -> int:
    """A bucket as the time it lasts (``tc_calc_xmittime``)."""
    return math.ceil(1e6 * (size_bytes / rate_bytes_per_s) * _TICKS_PER_US)


def _bucket_bytes(rate_bytes_per_s: int, ticks: int) -> int:
    """And back (``tc_calc_xmitsize``)."""
    return int(rate_bytes_per_s * _ticks_us(ticks) / 1e6)


def _ticks_us(ticks: int) -> int:
    """Whole microseconds (``tc_core_tick2time``)."""
    return int(ticks / _TICKS_PER_US)


def _size(size_bytes: int) -> str:
    """``sprint_size``: rounded to units of 1024 where that is near."""
    for unit, name, near in ((1 << 20, "Mb", 1024), (1 << 10, "Kb", 16)):
        whole = round(size_bytes / unit)
        if size_bytes >= unit and abs(whole * unit - size_bytes) < near:
            return f"{whole}{name}"
    return f"{size_bytes}b"


def _rate(bytes_per_s: int) -> str:
    """``sprint_rate``: a whole number of the largest unit that loses nothing, or above 1000."""
    rate, units = bytes_per_s * 8, ["", "K", "M", "G", "T"]
    for unit in units[:-1]:
        if rate < 1000 or (rate % 1000 and rate < 1_000_000):
            return f"{rate}{unit}bit"
        rate //= 1000
    return f"{rate}{units[-1]}bit"


def _time(time_us: float) -> str:
    """``sprint_time``."""
    if time_us >= 1e6:
        return f"{time_us / 1e6:.3g}s"
    if time_us >= 1e3:
        return f"{time_us / 1e3:.3g}ms"
    return f"{int(time_us)}us"


def _time_ns(time_ns: int) -> str:
    return _time(time_ns // _NS_PER_US)


def _percent(ppb: int) -> str:
    """A share as the kernel's fraction of 32 bits, as ``%g``."""
    return f" {100.0 * round(ppb / _PPB * _U32_MAX) / _U32_MAX:g}%"
