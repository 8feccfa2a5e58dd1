"""CCPerf's responsiveness experiments: one parameter of the path steps once, or as a pulse wave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.judge.ccperf.network import (
    CCPERF,
    CHANGES,
    DELAY,
    DURATION_S,
    LOSS,
    MBIT,
    RATE,
    RTT_MS,
    delay_of,
    experiment,
    greedy_flow,
    lost,
)
from dumbbell.judge.description import above
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, SectionFigure, Trial

_STEP_S = 7.5
_LEAST_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class _Target:
    """A parameter of the path, CCPerf's ``target``, with its ``lower`` and ``upper`` value.

    Attributes:
        id: ``rate``, ``rtt`` or ``loss``.
        words: What changes, with ``{}`` for the two values in order.
        path: Its setting.
        key: Its key in ``changes``.
        lower: Lower value, in both.
        upper: Upper value.
        told: The two values in words.
        mbit: Rates that go with the two values.
    """

    id: str
    words: str
    path: str
    key: str
    lower: Any
    upper: Any
    told: tuple[str, str]
    mbit: tuple[float, float] = (MBIT, MBIT)

    def values(self, *, up: bool) -> tuple[Any, Any]:
        """Value before and after the change."""
        return (self.lower, self.upper) if up else (self.upper, self.lower)

    def label(self, *, up: bool) -> str:
        """Such as ``8 to 16 Mbit/s``."""
        first, then = self.told if up else self.told[::-1]
        return self.words.format(f"{first} to {then}")

    @property
    def mean_mbit(self) -> float:
        """Mean rate of the bottleneck, when each value holds for half of the time."""
        return sum(self.mbit) / 2


_TARGETS = (
    _Target("rate", "{} Mbit/s", RATE, "rate", "8mbit", "16mbit", ("8", "16"), (8, MBIT)),
    _Target("rtt", "{} ms", DELAY, "delay", delay_of(RTT_MS), delay_of(60), ("15", "60")),
    _Target("loss", "{} % lost", LOSS, "loss", 0.0, 0.01, ("0", "1")),
)


def _cell(
    request: JudgeRequest, target: _Target, id_: str, told: str, where: dict[str, Any]
) -> list[Expectation]:
    """The expectations of a cell, which are about the whole run, as CCPerf's rows are."""
    bound_mbit = _LEAST_SHARE * target.mean_mbit
    return [
        Expectation(
            f"goodput-{id_}",
            f"{request.name} gets {bound_mbit:g} of {target.mean_mbit:g} Mbit/s or more over the "
            f"whole run where the path changes from {told}",
            "flow[flow_1].goodput_bps",
            above(f"{bound_mbit:g}mbit"),
            where,
            told,
        ),
        lost(id_, f"{request.name} where the path changes from {told}", where),
    ]


def _trial_of(request: JudgeRequest, expectations: Sequence[Expectation]) -> Trial:
    return Trial(experiment([greedy_flow("flow_1", request.controller)]), expectations)


def _step(request: JudgeRequest) -> Trial:
    expectations = []
    for target in _TARGETS:
        for up in (True, False):
            before, after = target.values(up=up)
            change = {"at": f"{_STEP_S:g}s", target.key: after}
            where = {target.path: before, CHANGES: [change]}
            id_ = f"{target.id}-{'up' if up else 'down'}"
            expectations += _cell(request, target, id_, target.label(up=up), where)
    return _trial_of(request, expectations)


def _pulse_wave(request: JudgeRequest) -> Trial:
    expectations = []
    for period_s in request.cells([2.5], [0.5]):
        half_periods = round(DURATION_S / period_s)
        for target in _TARGETS:
            values = target.values(up=True)
            changes = [
                {"at": f"{1000 * period_s * place:g}ms", target.key: values[place % 2]}
                for place in range(1, half_periods)
            ]
            where = {target.path: values[0], CHANGES: changes}
            told = f"{target.label(up=True)} and back, every {period_s:g} s"
            id_ = f"{target.id}-{period_s:g}s"
            expectations += _cell(request, target, id_, told, where)
    return _trial_of(request, expectations)


STEP = Section(
    id="ccperf-step",
    suite=CCPERF,
    reference="step",
    title="One parameter of the path changes once",
    short="",
    question="What does one flow get over a run in whose middle the rate, the round trip or the "
    "random loss rises or falls?",
    trouble="where a parameter of the path changes",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_step,
    not_covered="The time until a flow has adapted, of which CCPerf has no row either, and the "
    "values that CCPerf runs: its page has names of parameters only.",
)

PULSE_WAVE = Section(
    id="ccperf-pulse-wave",
    suite=CCPERF,
    reference="pulse_wave",
    title="One parameter of the path changes again and again",
    short="",
    question="What does one flow get where the rate, the round trip or the random loss alternates "
    "between two values?",
    trouble="where a parameter of the path alternates",
    drawn=SectionFigure("goodput_bps", "goodput"),
    trial=_pulse_wave,
    not_covered="Other periods than 2.5 s (and 0.5 s with --full), and the values that CCPerf "
    "runs: its page has names of parameters only.",
)
