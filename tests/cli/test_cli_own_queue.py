"""The note about a bottleneck on the sending host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dumbbell.cli.run.own_queue import own_bottlenecks, own_queue_notes
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


SHAPERS = {
    "tbf": "tbf rate RATE burst 10kb limit 1mb",
    "netem": "netem rate RATE limit 1000",
    "htb": """
qdisc add dev X root handle 1: htb default 1
class add dev X parent 1: classid 1:1 htb rate RATE
""",
}


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize(("rate", "queues"), [("5mbit", {}), ("50mbit", {0: ["down"]})])
def test_a_router_that_shapes_is_slower_than_a_link(
    shaper: str, rate: str, queues: dict[int, list[str]]
) -> None:
    """The sender's own link has 10 Mbit/s, the router's a gigabit and what its qdisc lets pass."""
    behind = f"""rate = "1gbit"
qdisc = '''{SHAPERS[shaper].replace("RATE", rate)}'''
"""
    text = TWO_HOSTS.replace('b = "client"', 'b = "router"').replace(
        "[[flows]]",
        f"""[[links]]
a = "router"
b = "client"
{behind}[[flows]]""",
    )
    assert found(text) == queues
    assert found(text.replace("10mbit", "inf")) == {}


@pytest.mark.parametrize(("rate", "queues"), [("5mbit", {}), ("50mbit", {0: ["down"]})])
@pytest.mark.parametrize("where", ["server", "router"])
def test_a_policer_on_the_way_is_slower_than_a_link(
    where: str, rate: str, queues: dict[int, list[str]]
) -> None:
    police = f'police = "police rate {rate} burst 10kb drop"\n'
    own, behind = (police, "") if where == "server" else ("", police)
    link = f'[[links]]\na = "router"\nb = "client"\n{behind}'
    text = TWO_HOSTS.replace('b = "client"', 'b = "router"', 1)
    text = text.replace("[[flows]]", f"{own}{link}[[flows]]")
    assert found(text) == queues


def test_the_router_is_named_anew_where_there_is_one() -> None:
    spec = Experiment.from_toml(TWO_HOSTS + ROUTER).resolved()
    (note,) = own_queue_notes(Resolved(spec))
    assert 'b = "router-2"' in note
