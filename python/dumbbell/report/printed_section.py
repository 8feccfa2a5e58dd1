"""Settings that reproduce the printed numbers: a page's section, and the rows of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from dumbbell.claims import Account, Accounts, Arm, Judged, State, Verdict, setting_words
from dumbbell.claims.rules import Calibration
from dumbbell.report.numbers import plain, unit_suffix

_BADGES: Mapping[State, tuple[str, str]] = MappingProxyType(
    {
        State.REPRODUCED: ("✓", "reproduced"),
        State.EXPLAINED: ("◉", "explained"),
        State.CALIBRATION: ("⚙", "calibration"),
        State.NOT_EXPLAINED: ("⊘", "not-explained"),
        State.UNINFORMATIVE: ("○", "uninformative"),
        State.BY_CONSTRUCTION: ("☑", "check"),
        State.NOT_TESTABLE: ("–", "not-testable"),
        State.NOT_JUDGED: ("?", "inconclusive"),
    }
)
"""Symbol and class of a state; the same as those of the verdicts it derives from."""
_MEANINGS: Mapping[State, str] = MappingProxyType(
    {
        State.REPRODUCED: "it follows from what is printed, or from what other numbers had fixed",
        State.EXPLAINED: "the source leaves something open, and one value of that gives the whole "
        "set to which the number belongs",
        State.CALIBRATION: "it was used to choose a number that the source does not give, so that "
        "it comes out there says nothing",
        State.NOT_EXPLAINED: "nothing that was tried gives it; what comes nearest is said",
        State.UNINFORMATIVE: "one run like the published one may give nearly anything",
        State.BY_CONSTRUCTION: "it repeats what was asked for",
        State.NOT_TESTABLE: "nothing that can be run speaks of it",
        State.NOT_JUDGED: "the full preset in the simulator judges it",
    }
)
_MOST_POINTS = 2
"""Grid points named in a row; the row states the number of further points."""


def printed_view(accounts: Accounts) -> dict[str, Any]:
    """Return the values for the template."""
    return {
        "total": len(accounts.rows),
        "badges": [_badge(state, count) for state, count in accounts.counts.items()],
        "meanings": [_badge(state) | {"meaning": _MEANINGS[state]} for state in accounts.counts],
        "story": accounts.story,
        "tried": [
            {
                "name": each.arm.name,
                "why": each.arm.why,
                "cost": each.arm.cost.value,
                "asked": each.asked,
                "came_out": each.came_out,
                "used": each.used,
            }
            for each in accounts.tried
        ],
        "groups": [
            {"name": group, "rows": _merged(rows)} for group, rows in accounts.groups.items()
        ],
    }


def printed_rows(accounts: Accounts) -> list[dict[str, Any]]:
    """Return the rows of ``printed.json``, one per number."""
    return [_row(account) for account in accounts.rows]


def where_words(account: Account) -> str:
    """State which settings reproduce a number, or which come nearest."""
    spoken, judged = account.spoken, account.judged
    if spoken is None or judged is None:
        return ""
    decision, arm = judged.decision, spoken.arm
    match account.state:
        case State.EXPLAINED:
            return f"{arm.name}: {_points(judged)}{_together(decision.p_value)}"
        case State.CALIBRATION:
            return _chosen(judged, arm)
        case State.NOT_EXPLAINED if decision.nearest is not None:
            point = setting_words(decision.nearest)
            return f"nearest: {arm.name}, {point}{_together(decision.p_value)}"
        case State.NOT_EXPLAINED:
            return f"nearest: {arm.name}"
        case _:
            return arm.name


def _points(judged: Judged) -> str:
    decision = judged.decision
    points = decision.at or [
        setting
        for turn in decision.turns
        if turn.verdict is Verdict.REPRODUCED
        for setting in turn.settings
    ]
    named = " / ".join(map(setting_words, points[:_MOST_POINTS]))
    more = len(points) - _MOST_POINTS
    return f"{named} and {more} more points" if more > 0 else named


def _together(p_value: float | None) -> str:
    return "" if p_value is None else f" (all of its set together: p = {p_value:.2g})"


def _chosen(judged: Judged, arm: Arm) -> str:
    rule, found = judged.claim.rule, judged.found
    if not isinstance(rule, Calibration) or found.value is None:
        return arm.name
    parameter = rule.parameter.rstrip(",")
    return f"chose {parameter}: {plain(found.value, 3)}{unit_suffix(rule.unit)}"


def _merged(rows: Sequence[Account]) -> list[dict[str, Any]]:
    """Merge numbers of a group with the same state and reason into one row."""
    alike: dict[tuple[State, str], list[Account]] = {}
    for row in rows:
        alike.setdefault((row.state, where_words(row)), []).append(row)
    return [
        _badge(state) | {"where": where, "numbers": [_number(row) for row in same]}
        for (state, where), same in alike.items()
    ]


def _number(account: Account) -> dict[str, Any]:
    number, found = account.number, account.found
    shows = account.state in (State.NOT_EXPLAINED, State.UNINFORMATIVE)
    ours = ""
    if shows and found is not None and found.low is not None and found.high is not None:
        ours = f"{plain(found.low, 3)} to {plain(found.high, 3)}"
    unit = unit_suffix(number.unit)
    return {"name": number.name, "printed": f"{number.printed}{unit}", "ours": ours}


def _badge(state: State, count: int | None = None) -> dict[str, Any]:
    symbol, css = _BADGES[state]
    words = state.value if count is None else f"{count} {state.value}"
    return {"words": words, "symbol": symbol, "css": css}


def _row(account: Account) -> dict[str, Any]:
    number, found, judged = account.number, account.found, account.judged
    return {
        "number": number.key,
        "group": number.group,
        "name": number.name,
        "printed": number.printed,
        "unit": number.unit,
        "state": account.state.value,
        "where": where_words(account),
        "claim": account.spoken.claim if account.spoken else None,
        "p_value": judged.p_value if judged else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
    }
