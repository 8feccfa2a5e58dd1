"""A section's experiment as TOML text, readable and runnable by itself."""

from __future__ import annotations

import textwrap
from typing import Any

from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.section import Expectation, Section, Trial
from dumbbell.spec.toml_text import document_text

OURS = "threshold of ours"


def experiment_text(section: Section, trial: Trial, request: JudgeRequest) -> str:
    """The TOML of a section's experiment with its claims.

    Args:
        section: The section.
        trial: Its experiment.
        request: The request.
    """
    heading = f"{section.cited}: {section.title}. {section.question}"
    comment = [
        *textwrap.wrap(heading, 96),
        "",
        f"    dumbbell run {section.id}.toml      # the first cell",
        f"    dumbbell check {section.id}.toml    # all cells, and the claims",
    ]
    document = {
        "name": section.id,
        **trial.document,
        "claim": [_claim(section, each) for each in trial.expectations],
    }
    head = "\n".join(f"# {each}".rstrip() for each in comment)
    return f"{head}\n\n{document_text(document)}"


def _claim(section: Section, each: Expectation) -> dict[str, Any]:
    source = each.source or f"{section.cited}; {OURS}"
    table = {
        "id": f"{section.id}-{each.id}",
        "statement": each.statement,
        "source": source,
        "quantity": each.quantity,
        **each.rule,
        **({"amended": dict(each.amended)} if each.amended else {}),
    }
    # A list of values denotes a grid of cells; a value that is itself a list is wrapped in a list.
    where = {
        path: [value] if isinstance(value, list) else value for path, value in each.where.items()
    }
    return {**table, "where": where} if where else table
