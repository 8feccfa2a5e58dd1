"""Random lines: the guest's ``tc`` and its kernel take what we take, and it means the same.

What they take and we do not is refused with a typed reason, or is a word we say is not
implemented. What we take must be there, must be shown the same from the line we write for it, and
must have the numbers that we simulate.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tc_in_guest import Answer, ask_tc
from tc_strings import tc_lines

from dumbbell import _engine, units
from dumbbell.backends.kernel.cache import TEST_VARIABLE

FEW, MANY = 100, 5000
REVIEWED = Path(__file__).parent / "tc-strings.json"
"""Of a review that found what tc reads otherwise: 700 lines."""
NOT_HERE = {
    word for table in json.loads(_engine.disciplines()) for word in table["not_implemented"]
}
"""Words of tc that are refused here as not implemented."""

LEAST_LATER_QUANTUM_BYTES = 256
"""Of 6.12's ``fq`` (``fq_change``, net/sched/sch_fq.c): docs/kernels.md."""

Config = Mapping[str, Any]


def _ours(line: str) -> Config | units.QdiscError:
    try:
        return units.parse_qdisc(line)
    except units.QdiscError as error:
        return error


def _compare(kernel: Path, lines: Sequence[str], folder: Path) -> int:
    """How many were taken by both; every difference is a failure."""
    ours = [_ours(line) for line in lines]
    written = [
        "" if isinstance(each, units.QdiscError) else units.render_qdisc(each) for each in ours
    ]
    asked = dict.fromkeys([*lines, *(text for text in written if text)])
    answers = dict(zip(asked, ask_tc(kernel, [*asked], folder), strict=True))
    wrong = []
    for line, config, text in zip(lines, ours, written, strict=True):
        theirs = answers[line]
        if isinstance(config, units.QdiscError):
            if theirs.is_taken and config.reason is None and config.value not in NOT_HERE:
                wrong.append(f"{line}: only tc takes it; here: {config}")
        elif not theirs.is_taken:
            wrong.append(f"{line}: only we take it; tc: {theirs.error}")
        else:
            wrong += _differences(line, config, theirs, text, answers[text])
    assert not wrong, "\n".join([f"{len(wrong)} of {len(lines)}", *wrong[:40]])
    return sum(answers[line].is_taken for line in lines)


def _differences(
    line: str, config: Config, typed: Answer, text: str, rendered: Answer
) -> list[str]:
    if typed.shown != rendered.shown:
        return [f"{line}: shown as {typed.shown}\n  {text}: as {rendered.shown or rendered.error}"]
    options = typed.shown.get("options", {})
    compared = [(options, _shown_numbers(config))]
    if config["kind"] == "netem":
        parts = _netem_parts(config)
        compared += [(options[key], parts[key]) for key in parts if key in options]
    return [
        f"{line}: {key} is {mine} here and {shown[key]} there"
        for shown, numbers in compared
        for key, mine in numbers.items()
        if key in shown and not _is_shown(mine, shown[key])
    ]


def _share(ppb: int) -> float:
    """As the kernel's fraction of 32 bits."""
    return round(ppb / 1e9 * 0xFFFF_FFFF) / 0xFFFF_FFFF


def _is_shown(mine: float, shown: float) -> bool:
    """Whole numbers as they are, others to six digits (C's ``%g``)."""
    return shown == (mine if isinstance(mine, int) else float(f"{mine:g}"))


def _codel_us(time_ns: int) -> int:
    """As the kernel keeps it, in units of 1.024 us, and shows it."""
    return ((time_ns >> 10) << 10) // 1000


def _netem_numbers(config: Config) -> dict[str, Any]:
    return {"limit": config["limit_packets"], "gap": config["gap_packets"], "ecn": config["ecn"]}


def _netem_parts(config: Config) -> dict[str, dict[str, Any]]:
    """What is shown as an object of its own: times in seconds, shares of 1, bytes per second."""
    return {
        # tc shows whole microseconds of its ticks.
        "delay": {
            **{key: config[f"{key}_ns"] // 1000 / 1e6 for key in ("delay", "jitter")},
            "correlation": _share(config["delay_correlation_ppb"]),
        },
        **{
            key: {
                key: _share(config[f"{key}_ppb"]),
                "correlation": _share(config[f"{key}_correlation_ppb"]),
            }
            for key in ("duplicate", "reorder", "corrupt")
        },
        "slot": _slot_parts(config["slot"]),
        "rate": {
            "rate": config["rate_bps"] // 8,
            "packetoverhead": config["packet_overhead_bytes"],
            "cellsize": config["cell_size_bytes"],
            "celloverhead": config["cell_overhead_bytes"],
        },
    }


def _slot_parts(slot: Config | None) -> dict[str, Any]:
    if slot is None:
        return {}
    delay = slot["delay"]
    keys = (
        {"min-delay": "min_ns", "max-delay": "max_ns"}
        if delay["kind"] == "uniform"
        else {"distribution": "delay_ns", "jitter": "jitter_ns"}
    )
    counts = {key: slot[key] for key in ("packets", "bytes")}
    return {shown: delay[key] / 1e9 for shown, key in keys.items()} | counts


def _codel_numbers(config: Config) -> dict[str, Any]:
    numbers = {"limit": config["limit_packets"]}
    for key in ("target", "interval", "ce_threshold"):
        if config[f"{key}_ns"] is not None:
            numbers[key] = _codel_us(config[f"{key}_ns"])
    return numbers


def _fq_codel_numbers(config: Config) -> dict[str, Any]:
    numbers = _codel_numbers(config) | {
        "flows": config["flows"],
        "memory_limit": config["memory_limit_bytes"],
        "drop_batch": config["drop_batch_packets"],
    }
    return numbers | ({"quantum": config["quantum_bytes"]} if config["quantum_bytes"] else {})


def _fq_numbers(config: Config) -> dict[str, Any]:
    # In 32 bits of microseconds; of the delay the kernel has whole ticks.
    refill_us = (-(-config["refill_delay_ns"] // 1_000_000) * 1000) & 0xFFFF_FFFF
    numbers = {
        "limit": config["limit_packets"],
        "flow_limit": config["flow_limit_packets"],
        "low_rate_threshold": config["low_rate_threshold_bps"] // 8,
        "refill_delay": refill_us,
        "timer_slack": config["timer_slack_ns"],
        "horizon": config["horizon_ns"] // 1000,
    }
    for key in ("quantum_bytes", "initial_quantum_bytes"):
        if config[key] is not None:
            numbers[key.removesuffix("_bytes")] = config[key]
    if "quantum" in numbers and os.environ.get(TEST_VARIABLE, "6.1") != "6.1":
        numbers["quantum"] = max(numbers["quantum"], LEAST_LATER_QUANTUM_BYTES)
    if config["maxrate_bps"] is not None:
        numbers["maxrate"] = config["maxrate_bps"] // 8
    if config["ce_threshold_ns"] is not None:
        numbers["ce_threshold"] = config["ce_threshold_ns"] // 1000
    return numbers


def _pie_numbers(config: Config) -> dict[str, Any]:
    # The kernel shows 32 bits of nanoseconds, and of tupdate its own ticks.
    target_us = ((config["target_ns"] >> 6 << 6) & 0xFFFF_FFFF) // 1000
    gains = {key: config[key] for key in ("alpha", "beta")}
    return {"limit": config["limit_packets"], "target": target_us, **gains}


def _fq_pie_numbers(config: Config) -> dict[str, Any]:
    numbers = _pie_numbers(config) | {
        "flows": config["flows"],
        "memory_limit": config["memory_limit_bytes"],
        "ecn_prob": config["ecn_prob_percent"],
    }
    return numbers | ({"quantum": config["quantum_bytes"]} if config["quantum_bytes"] else {})


def _red_numbers(config: Config) -> dict[str, Any]:
    sizes = {key: config[f"{key}_bytes"] for key in ("limit", "min", "max")}
    return {**sizes, "probability": config["probability_ppb"] / 1e9}


def _cake_numbers(config: Config) -> dict[str, Any]:
    numbers = {"rtt": config["rtt_ns"] // 1000, "overhead": config["overhead_bytes"]}
    for shown, key in (("mpu", "mpu_bytes"), ("memlimit", "memlimit_bytes")):
        if config[key]:
            numbers[shown] = config[key]
    if config["bandwidth_bps"]:
        numbers["bandwidth"] = config["bandwidth_bps"] // 8
    return numbers


def _choke_numbers(config: Config) -> dict[str, Any]:
    packets = {key: config[f"{key}_packets"] for key in ("limit", "min", "max")}
    return {**packets, "probability": config["probability_ppb"] / 1e9}


def _sfb_numbers(config: Config) -> dict[str, Any]:
    """Times in 32 bits of microseconds; probabilities in steps of 1/65535."""
    times = {key: config[f"{key}_ms"] * 1000 & 0xFFFF_FFFF for key in ("rehash", "db")}
    packets = {key: config[f"{key}_packets"] for key in ("limit", "max", "target")}
    chances = {
        key: int(config[f"{key}_ppb"] / 1e9 * 65535 + 0.5) / 65535
        for key in ("increment", "decrement")
    }
    penalty = {"penalty_rate": "penalty_rate_pps", "penalty_burst": "penalty_burst_packets"}
    return times | packets | chances | {shown: config[key] for shown, key in penalty.items()}


def _sfq_numbers(config: Config) -> dict[str, Any]:
    numbers = {"limit": config["limit_packets"], "depth": config["depth_packets"]}
    numbers |= {key: config[key] for key in ("flows", "divisor")}
    if config["quantum_bytes"] is not None:
        numbers["quantum"] = config["quantum_bytes"]
    if config["perturb_s"]:
        numbers["perturb"] = config["perturb_s"]
    if red := config.get("red"):
        numbers |= {key: red[f"{key}_bytes"] for key in ("min", "max")}
        numbers["probability"] = red["probability_ppb"] / 1e9
    return numbers


_NUMBERS: Mapping[str, Callable[[Config], dict[str, Any]]] = {
    "pfifo": lambda config: {"limit": config["limit_packets"]},
    "bfifo": lambda config: {"limit": config["limit_bytes"]},
    "tbf": lambda config: {"rate": config["rate_bps"] // 8},
    "codel": _codel_numbers,
    "fq": _fq_numbers,
    "fq_codel": _fq_codel_numbers,
    "cake": _cake_numbers,
    "pie": _pie_numbers,
    "fq_pie": _fq_pie_numbers,
    "red": _red_numbers,
    "choke": _choke_numbers,
    "sfb": _sfb_numbers,
    "sfq": _sfq_numbers,
    "netem": _netem_numbers,
    "prio": lambda config: {"bands": config["bands"]},
    "htb": lambda config: {"r2q": config["r2q"], "direct_qlen": config["direct_qlen_packets"]},
}


def _shown_numbers(config: Config) -> dict[str, Any]:
    """Of what is simulated, the numbers that the kernel shows as numbers."""
    numbers = _NUMBERS.get(config["kind"])
    return numbers(config) if numbers else {}


@pytest.mark.kernel
def test_a_hundred_lines(kernel: Path, tmp_path: Path) -> None:
    assert _compare(kernel, tc_lines(FEW, seed=1), tmp_path) > FEW // 5


@pytest.mark.kernel
@pytest.mark.long
def test_the_lines_of_a_review(kernel: Path, tmp_path: Path) -> None:
    lines = [" ".join(line.split()) for line in json.loads(REVIEWED.read_text(encoding="ascii"))]
    assert _compare(kernel, lines, tmp_path) > 100


@pytest.mark.kernel
@pytest.mark.long
def test_five_thousand_lines(kernel: Path, tmp_path: Path) -> None:
    assert _compare(kernel, tc_lines(MANY, seed=2), tmp_path) > MANY // 5
