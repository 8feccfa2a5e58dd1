"""Connections without a handshake, as ns-2's one-way agents have them."""

from __future__ import annotations

import pytest

from dumbbell.backends import simulate
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment

ONE_WAY_S = 0.02


def experiment(*, handshake: bool | None, size: str = "1000B", profile: str = "rfc") -> Experiment:
    """One transfer over 20 ms each way."""
    given = {} if handshake is None else {"handshake": handshake}
    return Experiment.read(
        {
            "name": "handshake",
            "duration": "10s",
            "links": [{"a": "a", "b": "b", "rate": "10mbit", "delay": f"{ONE_WAY_S * 1e3:g}ms"}],
            "flows": [
                {
                    "name": "transfer",
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "sized", "size": size},
                    "tcp": {"profile": profile, "congestion_control": "reno", **given},
                }
            ],
        }
    )


@pytest.mark.parametrize("size", ["1000B", "500kB"])
def test_a_transfer_takes_a_round_trip_less(size: str) -> None:
    times = {}
    for handshake in (True, False):
        run = simulate(experiment(handshake=handshake, size=size))
        [began_ns] = run.column("transfers", "started_ns")
        [ended_ns] = run.column("transfers", "completed_ns")
        assert ended_ns > 0
        times[handshake] = (ended_ns - began_ns) / 1e9
    # The SYN and its answer have a transmission time, too.
    assert 0 < times[True] - times[False] - 2 * ONE_WAY_S < 0.0005


def test_a_description_without_the_key_stays_what_it_was() -> None:
    plain = experiment(handshake=None).resolved()
    assert "handshake" not in plain["flows"][0]["tcp"]
    assert experiment(handshake=True).resolved() == plain
    other = experiment(handshake=False)
    assert other.resolved()["flows"][0]["tcp"]["handshake"] is False
    assert Experiment.from_resolved(other.resolved()).resolved() == other.resolved()


def test_the_kernel_always_has_one() -> None:
    from dumbbell.backends.kernel.tcp import check_tcp

    with pytest.raises(SpecError, match=r"flows\[0\]\.tcp\.handshake"):
        check_tcp(experiment(handshake=False, profile="linux-6.1").resolved())
