"""The note that the bottleneck is the queue of a sender's own host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dumbbell.cli.own_queue import own_bottlenecks, own_queue_notes
from dumbbell.spec import Experiment, Resolved

Dumbbell = Callable[..., tuple[int, str, str]]

TWO_HOSTS = """
name = "two-hosts"
duration = "2s"
[[links]]
a = "server"
b = "client"
delay = "10ms"
forward = { rate = "10mbit", qdisc = "pfifo limit 1000" }
[[flows]]
name = "down"
from = "server"
to = "client"
source = { kind = "greedy" }
"""
ROUTER = '[[links]]\na = "server"\nb = "router"\n'


def found(text: str, **tcp: Any) -> dict[int, list[str]]:
    written = "".join(f"{key} = {str(value).lower()}\n" for key, value in tcp.items())
    described = Experiment.from_toml(text + f"[flows.tcp]\n{written}").resolved()
    return own_bottlenecks(Resolved(described))


def test_run_says_so_and_its_advice_works(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO_HOSTS)
    code, out, _ = dumbbell("run", "two.toml")
    assert code == 0
    assert "server->client is the slowest queue of down" in out
    assert 'a = "server", b = "router"' in out
    followed = TWO_HOSTS.replace('a = "server"', 'a = "router"') + ROUTER
    (tmp_path / "three.toml").write_text(followed)
    code, out, _ = dumbbell("run", "three.toml")
    assert (code, "small queues" in out) == (0, False)


@pytest.mark.parametrize(
    ("old", "new", "queues"),
    [
        ("pfifo limit 1000", "fq_codel", {0: ["down"]}),
        ('rate = "10mbit", qdisc = "pfifo limit 1000"', 'qdisc = "netem rate 10mbit"', {}),
        ('rate = "10mbit", ', "", {}),
    ],
)
def test_what_holds_back_is_a_rate_at_the_sender(
    old: str, new: str, queues: dict[int, list[str]]
) -> None:
    assert old in TWO_HOSTS
    assert found(TWO_HOSTS.replace(old, new)) == queues
    assert found(TWO_HOSTS.replace(old, new), small_queues=False) == {}


def test_the_router_is_named_anew_where_there_is_one() -> None:
    spec = Experiment.from_toml(TWO_HOSTS + ROUTER).resolved()
    (note,) = own_queue_notes(Resolved(spec))
    assert 'b = "router-2"' in note
