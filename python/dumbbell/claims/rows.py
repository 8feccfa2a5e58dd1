"""``claims.json``: judged claims as JSON rows, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dumbbell.claims.model import Claim, Judged, Verdict
from dumbbell.claims.rules import Kind

KEYS = (
    "id",
    "statement",
    "source",
    "backend",
    "rule",
    "margin",
    "published",
    "theory",
    "measured",
    "low",
    "high",
    "unit",
    "level",
    "n_replications",
    "verdict",
    "p_value",
    "kind",
    "note",
)
"""Keys of a row, in the order they are written. Numbers are finite or null."""


def to_rows(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """One plain dictionary per claim, with exactly :data:`KEYS`."""
    return [_to_row(one) for one in judged]


def to_json_text(judged: Iterable[Judged]) -> str:
    """The text of ``claims.json``: a list of objects, indented, ending in a newline."""
    rows = to_rows(judged)
    return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def from_rows(rows: Iterable[Mapping[str, Any]]) -> list[Judged]:
    """The inverse of :func:`to_rows`.

    Raises:
        ValueError: A key is missing or unknown, or a verdict or kind is not one of ours.
    """
    return [_from_row(row) for row in rows]


def read_claims(path: Path) -> list[Judged]:
    """Read a ``claims.json``."""
    return from_rows(json.loads(path.read_text(encoding="utf-8")))


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _to_row(judged: Judged) -> dict[str, Any]:
    claim = judged.claim
    return {
        "id": claim.id,
        "statement": claim.statement,
        "source": claim.source,
        "backend": judged.backend,
        "rule": claim.rule,
        "margin": _finite(claim.margin),
        "published": _finite(claim.published),
        "theory": _finite(claim.theory),
        "measured": _finite(judged.measured),
        "low": _finite(judged.low),
        "high": _finite(judged.high),
        "unit": claim.unit,
        "level": float(claim.level),
        "n_replications": int(judged.n_replications),
        "verdict": judged.verdict_text,
        "p_value": _finite(judged.p_value),
        "kind": claim.kind.value,
        "note": judged.note,
    }


def _from_row(row: Mapping[str, Any]) -> Judged:
    if set(row) != set(KEYS):
        odd = ", ".join(sorted(set(row) ^ set(KEYS)))
        raise ValueError(f"claim {row.get('id', '?')}: keys missing or unknown: {odd}")
    verdict, depends_on = _verdict(row["verdict"])
    claim_fields = (
        "id", "statement", "source", "unit", "published", "theory", "margin", "level", "rule",
    )  # fmt: skip
    return Judged(
        claim=Claim(kind=Kind(row["kind"]), **{name: row[name] for name in claim_fields}),
        verdict=verdict,
        depends_on=depends_on,
        **{
            name: row[name]
            for name in ("backend", "measured", "low", "high", "n_replications", "p_value", "note")
        },
    )


def _verdict(text: str) -> tuple[Verdict, str | None]:
    prefix = f"{Verdict.DEPENDS_ON.value} "
    if text.startswith(prefix):
        return Verdict.DEPENDS_ON, text.removeprefix(prefix)
    return Verdict(text), None
