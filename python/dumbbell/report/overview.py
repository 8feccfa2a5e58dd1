"""What the index shows of a study: kept beside its page, so that a later index has it too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell.inputs import open_input
from dumbbell.report.advice import Advice
from dumbbell.report.model import IndexEntry, Report

OVERVIEW = "overview.json"
LARGEST_BYTES = 4 << 20
"""Largest file that is read; others are ignored."""
_MOST = 10_000
_NO_TOPIC = "Others"


class _Model(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)


class _Advice(_Model):
    wish: str
    setting: str
    because: str
    is_typed: bool = False
    figure: str = ""


class _Overview(_Model):
    answer: str
    figure: str
    caption: str
    statements: list[str] = Field(max_length=_MOST)
    advice: list[_Advice] = Field(max_length=_MOST)


def overview_of(report: Report) -> dict[str, Any]:
    """The content of `OVERVIEW` for a report."""
    entry = IndexEntry.of(report)
    advice = [_Advice.model_validate(each, from_attributes=True) for each in entry.advice]
    kept = _Overview(
        answer=entry.answer,
        figure=entry.figure,
        caption=entry.caption,
        statements=list(entry.statements),
        advice=advice,
    )
    return kept.model_dump()


def as_kept(entry: IndexEntry, folder: Path) -> IndexEntry:
    """The entry, with what an earlier command kept beside the study's page.

    Args:
        entry: Of a study that was not run now.
        folder: Folder of its page.
    """
    path = folder / OVERVIEW
    try:
        with open_input(path) as file:
            text = file.read(LARGEST_BYTES + 1)
        kept = _Overview.model_validate(json.loads(text[:LARGEST_BYTES]))
    except (OSError, ValueError, RecursionError, ValidationError):
        return entry
    return replace(
        entry,
        answer=kept.answer,
        figure=kept.figure,
        caption=kept.caption,
        statements=tuple(kept.statements),
        advice=tuple(Advice(**each.model_dump()) for each in kept.advice),
    )


def by_topic(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Views of entries in groups of one topic, in the order of the first of each."""
    groups: dict[str, dict[str, Any]] = {}
    for item in items:
        entry: IndexEntry = item["entry"]
        topic = entry.topic or _NO_TOPIC
        group = groups.setdefault(topic, {"topic": topic, "question": entry.question, "items": []})
        group["items"].append(item)
    # Studies without a topic have no heading if there is nothing else.
    if list(groups) == [_NO_TOPIC]:
        groups[_NO_TOPIC]["topic"] = ""
    return [*groups.values()]
