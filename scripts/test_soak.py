"""The soak can be stopped and continued, and a process that dies fails one case only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import soak
from soak_programs import Disturbance


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Replace cases by instant ones; the list has the blocks that were begun."""
    begun: list[int] = []

    def block(first: int, _: Path) -> Iterator[soak.State]:
        begun.append(first)
        for case in range(first, first + soak.BLOCK - 1):
            found = ["a fault"] if case == 45 else []
            yield soak.a_result(soak.FIRST_NUMBER + case, "description", 0.5, found)

    def program(number: int, kind: Disturbance, _: Path) -> dict[str, Any]:
        return soak.a_result(number, kind.value, 1.5, [])

    monkeypatch.setattr(soak, "block_results", block)
    monkeypatch.setattr(soak, "disturbed", program)
    return begun


def test_it_goes_on_where_it_stopped(
    tmp_path: Path, quick: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "soak.json"
    monkeypatch.setattr(sys, "argv", ["soak.py", "--state", str(file), "--cases", "40"])
    assert soak.main() == 0
    monkeypatch.setattr(sys, "argv", ["soak.py", "--state", str(file), "--cases", "500"])
    assert soak.main() == 1
    assert quick == list(range(0, 500, soak.BLOCK))
    state = soak.read(file)
    assert state["done"] == 500
    assert sum(kind["cases"] for kind in state["kinds"].values()) == 500
    assert state["kinds"].keys() == {"description", *(kind.value for kind in Disturbance)}
    text = soak.report(state)
    assert "| description | 475 | 1 | 0.5 s |" in text
    assert f"- description {soak.FIRST_NUMBER + 45}: a fault" in text


def test_a_process_that_dies_takes_one_case_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "dies.py"
    program.write_text(
        "import json, os, sys\n"
        "first = int(sys.argv[-1])\n"
        "for case in range(first, 19):\n"
        "    if case == 7: os.abort()\n"
        "    line = {'number': case, 'kind': 'description', 'seconds': 0, 'faults': []}\n"
        "    print(json.dumps(line), flush=True)\n"
    )
    monkeypatch.setattr(soak, "__file__", str(program))
    results = list(soak.block_results(0, tmp_path / "soak.json"))
    assert len(results) == soak.BLOCK - 1
    (failed,) = [result for result in results if result["faults"]]
    assert failed["number"] == soak.FIRST_NUMBER + 7
    assert failed["faults"] == ["ended with -6"]
