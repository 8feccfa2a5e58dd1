"""``claims.json``: write judged claims as JSON rows, and read them back for display.

The file is ``{"version": 2, "claims": [...]}``. Version 1, a bare list, is read too: it has neither
facts nor kinds of intervals. Verdicts are read as written and never judged again; reading makes no
:class:`dumbbell.claims.Judged`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dumbbell.claims.model import Amendment, Family, Judged
from dumbbell.claims.rules.base import CountedAs
from dumbbell.claims.verdicts import Verdict
from dumbbell.claims.view import ClaimView, views_of
from dumbbell.errors import DumbbellError
from dumbbell.printable import whole_json
from dumbbell.stats import IntervalKind

VERSION = 2
KEYS = (
    "id",
    "statement",
    "source",
    "backend",
    "rule",
    "margin",
    "published",
    "theory",
    "measured_elsewhere",
    "measured",
    "low",
    "high",
    "unit",
    "level",
    "interval_kind",
    "n_replications",
    "verdict",
    "depends_on",
    "explained_at",
    "p_value",
    "chance_of_a_miss",
    "kind",
    "fact",
    "counted_as",
    "family",
    "amended",
    "note",
)
"""Keys of a row, in the order they are written. Numbers are finite or null."""


class ClaimsFileError(DumbbellError):
    """A ``claims.json`` file that cannot be read."""


def to_rows(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """One plain dictionary per claim, with exactly the keys in :data:`KEYS`."""
    return [_to_row(view) for view in views_of(judged)]


def to_json_text(judged: Iterable[Judged]) -> str:
    """The text of ``claims.json``, indented, ending in a newline."""
    whole = {"version": VERSION, "claims": to_rows(judged)}
    return whole_json(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def read_claims(path: Path) -> list[ClaimView]:
    """Read a ``claims.json`` file of this version or the previous one.

    Raises:
        ClaimsFileError: It is not such a file, or a later version wrote it.
    """
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ClaimsFileError(f"{path}: cannot be read as claims.json: {error}") from error
    try:
        return from_json(whole)
    except ClaimsFileError as error:
        raise ClaimsFileError(f"{path}: {error}") from error


def from_json(whole: Any) -> list[ClaimView]:
    """Convert the parsed content of :func:`to_json_text` to views.

    Raises:
        ClaimsFileError: A version, key or value is unknown.
    """
    if isinstance(whole, list):
        return [_from_old_row(row) for row in whole]
    if not isinstance(whole, Mapping) or "version" not in whole:
        raise ClaimsFileError('neither a list (version 1) nor an object with a "version"')
    if whole["version"] != VERSION:
        raise ClaimsFileError(
            f"version is {whole['version']!r}; this program reads 1 and {VERSION}: run "
            "`dumbbell reproduce` again"
        )
    return [_from_row(row) for row in whole.get("claims", ())]


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _to_row(view: ClaimView) -> dict[str, Any]:
    row = {
        **{name: getattr(view, name) for name in _TEXTS},
        **{name: _finite(getattr(view, name)) for name in _NUMBERS},
        "rule": view.words,
        "kind": view.rule,
        "counted_as": view.standing.value,
        "amended": None if view.amended is None else asdict(view.amended),
        "family": None if view.family is None else asdict(view.family),
        "measured_elsewhere": _finite(view.elsewhere),
        "interval_kind": None if view.interval_kind is None else view.interval_kind.value,
        "n_replications": int(view.n_replications),
        "verdict": view.verdict_text,
        "depends_on": list(view.depends_on),
        "explained_at": [dict(setting) for setting in view.at],
        "chance_of_a_miss": float(view.chance_of_a_miss),
    }
    return {key: row[key] for key in KEYS}


def _from_row(row: Any) -> ClaimView:
    _expect_keys(row, frozenset(KEYS))
    kind = row["interval_kind"]
    # The printed verdict names parameters or points, which have columns of their own.
    named = (row["depends_on"], Verdict.DEPENDS_ON), (row["explained_at"], Verdict.EXPLAINED_AT)
    try:
        verdict = next((each for names, each in named if names), None) or Verdict(row["verdict"])
        standing = CountedAs(row["counted_as"])
        interval_kind = None if kind is None else IntervalKind(kind)
    except ValueError as error:
        raise ClaimsFileError(f"claim {row['id']}: {error}") from error
    return ClaimView(
        verdict=verdict,
        standing=standing,
        interval_kind=interval_kind,
        elsewhere=row["measured_elsewhere"],
        amended=None if row["amended"] is None else Amendment(**row["amended"]),
        family=None if row["family"] is None else Family(**row["family"]),
        depends_on=tuple(row["depends_on"]),
        at=tuple(row["explained_at"]),
        fact=row["fact"],
        chance_of_a_miss=row["chance_of_a_miss"],
        **_common(row),
    )


def _from_old_row(row: Any) -> ClaimView:
    _expect_keys(row, _OLD_KEYS)
    # Version 1 had the parameter in the verdict and nowhere else.
    words = row["verdict"]
    prefix = f"{Verdict.DEPENDS_ON.value} "
    try:
        verdict = Verdict.DEPENDS_ON if words.startswith(prefix) else Verdict(words)
    except ValueError as error:
        raise ClaimsFileError(f"claim {row['id']}: {error}") from error
    return ClaimView(
        verdict=verdict,
        depends_on=(words.removeprefix(prefix),) if verdict is Verdict.DEPENDS_ON else (),
        fact=row["id"],
        standing=CountedAs.THEORY if row["kind"] == _OLD_THEORY else CountedAs.SOURCE,
        **_common(row),
    )


_TEXTS = ("id", "statement", "source", "backend", "unit", "note", "fact")
_NUMBERS = ("margin", "published", "theory", "measured", "low", "high", "level", "p_value")
_OLD_THEORY = "theory: equals"
"""Rule name by which version 1 marked a claim of theory."""
_OLD_KEYS = frozenset({*_TEXTS, *_NUMBERS, "rule", "kind", "verdict", "n_replications"} - {"fact"})


def _common(row: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that both versions have."""
    same = {name: row[name] for name in (*_TEXTS, *_NUMBERS, "n_replications") if name != "fact"}
    return {**same, "rule": row["kind"], "words": row["rule"]}


def _expect_keys(row: Any, known: frozenset[str]) -> None:
    if not isinstance(row, Mapping):
        raise ClaimsFileError(f"a claim is {type(row).__name__}; an object")
    if set(row) != known:
        odd = ", ".join(sorted(set(row) ^ known))
        raise ClaimsFileError(f"claim {row.get('id', '?')}: keys missing or unknown: {odd}")
