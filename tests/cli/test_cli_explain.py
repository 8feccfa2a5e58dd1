"""``dumbbell run --explain``: the plan of each queue."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]

PATH = """
name = "path"
duration = "1s"
[[links]]
a = "sender"
b = "router"
forward = { rate = "10mbit", delay = "1ms" }
[[links]]
a = "router"
b = "receiver"
forward = { rate = "1mbit", qdisc = "QDISC" }
[[flows]]
name = "stream"
from = "sender"
to = "receiver"
source = { kind = "poisson", rate = "100pps", size = "512B" }
"""


def _file(folder: Path, qdisc: str) -> str:
    file = folder / "path.toml"
    file.write_text(PATH.replace("QDISC", qdisc))
    return str(file)


def test_json_has_each_queue_with_its_role_and_reason(tmp_path: Path, dumbbell: Dumbbell) -> None:
    code, out, err = dumbbell("run", _file(tmp_path, "codel"), "--explain", "--json")
    assert (code, err) == (0, "")
    queues = {each["queue"]: each for each in json.loads(out)["queues"]}
    first, second = queues["sender->router"], queues["router->receiver"]
    assert (first["role"], first["reason"]) == ("pipe", "delay_behind_queue")
    assert first["leads_into"] == "router->receiver"
    assert (second["role"], second["reason"]) == ("queued", "discipline")
    assert second["deferred_from"] == "sender->router"
    assert queues["router->sender"]["reason"] == "no_queue_forms"


def test_words_say_who_feeds_whom_in_80_columns(tmp_path: Path, dumbbell: Dumbbell) -> None:
    code, out, _ = dumbbell("run", _file(tmp_path, "pfifo limit 10"), "--explain")
    assert code == 0
    assert "router->receiver: pipe\n" in out
    assert "receives packets without an arrival event from sender->router" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("option", [("--replications", "3"), ("--backend", "kernel")])
def test_only_a_single_run_in_the_simulator_has_a_plan(
    tmp_path: Path, dumbbell: Dumbbell, option: tuple[str, str]
) -> None:
    code, out, err = dumbbell("run", _file(tmp_path, "codel"), "--explain", *option)
    assert (code, out) == (2, "")
    assert "--explain" in err
