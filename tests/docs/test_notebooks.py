"""The notebooks in ``examples/`` run from top to bottom, and what they end a cell with is shown."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def cells(notebook: Path, kind: str) -> Iterator[dict[str, Any]]:
    whole = json.loads(notebook.read_text(encoding="utf-8"))
    assert (whole["nbformat"], whole["nbformat_minor"]) == (4, 5)
    yield from (cell for cell in whole["cells"] if cell["cell_type"] == kind)


def shown(code: str, names: dict[str, Any]) -> Any:
    """Runs a cell as Jupyter does: the value of a last expression is what is shown."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def test_there_are_three() -> None:
    assert [each.stem for each in NOTEBOOKS] == [
        "a-capture",
        "buffers-and-controllers",
        "first-queue",
    ]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda each: each.stem)
def test_a_notebook_runs(
    notebook: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    charts = 0
    for cell in cells(notebook, "code"):
        assert cell["outputs"] == [] and cell["execution_count"] is None, "kept without outputs"
        value = shown("".join(cell["source"]), names)
        if hasattr(value, "_repr_mimebundle_"):  # what a notebook asks a chart for
            charts += 1
            assert value.to_dict()["$schema"]
    said = capsys.readouterr().out
    expected = {
        "first-queue": "theory: 41.4 ms",
        "buffers-and-controllers": "bbr, 330 packets",
        "a-capture": "were dropped",
    }
    assert expected[notebook.stem] in said
    assert charts == {"first-queue": 2, "buffers-and-controllers": 2, "a-capture": 0}[notebook.stem]
