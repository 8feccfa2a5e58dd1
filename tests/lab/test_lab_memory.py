"""Memory that the laboratory takes stays where it is, however often something is changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lab_module import asked
from lab_page import Opened, Opener, moved

from dumbbell.lab import presets

CHANGES = 500
MOST_GROWTH_BYTES = 5e6
"""Of JavaScript's heap: of hundreds of runs kept, each would take a tenth of it."""
MOST_NODES = 2_000
"""More of the page's nodes than before: a row of the table for each change would be 4,500."""


def _in_use(seen: Opened) -> dict[str, float]:
    session = seen.page.context.new_cdp_session(seen.page)
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    counted: dict[str, float] = session.send("Memory.getDOMCounters")
    session.detach()
    return {"bytes": used, "nodes": counted["nodes"], "listeners": counted["jsEventListeners"]}


def _change(seen: Opened, times: int) -> None:
    for number in range(times):
        seen.after(moved("rate", 0.4 + (number % 40) / 100))


@pytest.mark.long
@pytest.mark.browser
def test_five_hundred_changes_leave_the_page_as_it_was(opener: Opener) -> None:
    seen = opener()
    seen.choose("mm1")
    _change(seen, 40)
    before = _in_use(seen)
    _change(seen, CHANGES)
    after = _in_use(seen)
    assert after["bytes"] - before["bytes"] < MOST_GROWTH_BYTES
    assert after["nodes"] - before["nodes"] < MOST_NODES
    assert after["listeners"] == before["listeners"]
    assert seen.is_quiet(), seen


def _memory_bytes(module: Path, changes: int) -> int:
    """Of a simulator after `changes` changes and runs."""
    resolved = presets()[0].experiment.resolved()
    requests: list[dict[str, Any]] = []
    for number in range(changes):
        change = {"path": "links[1].forward.rate_bps", "value": 10**6 * (10 + number % 40)}
        short = {"path": "duration_ns", "value": 3 * 10**9}
        requests.append({"do": "load", "resolved": resolved})
        requests.append({"do": "change", "changes": [change, short]})
        requests.append({"run": 2, "replication": number, "pieces": 5000})
    answers = asked(module, [*requests, {"memory": True}])
    assert len({each["digest"] for each in answers if "digest" in each}) > changes / 2
    return int(answers[-1]["bytes"])


@pytest.mark.slow
def test_a_simulator_grows_no_more_after_its_first_runs(module: Path) -> None:
    assert _memory_bytes(module, 160) <= _memory_bytes(module, 40) * 1.05
