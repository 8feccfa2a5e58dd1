"""sk_buffs of several segments: how a sender's segments leave (``gso_max_segs``)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from dumbbell.backends import simulate
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment
from dumbbell.tables import Run


def experiment(segments: int | None, *, profile: str = "linux-6.1", rtt_ms: int = 20) -> Experiment:
    """A flow that a router's queue slows down, each segment acknowledged; packets are recorded."""
    given: dict[str, Any] = {} if segments is None else {"gso_max_segs": segments}
    return Experiment.read(
        {
            "name": "bursts",
            "duration": "6s",
            "sample_interval": "100ms",
            "links": [
                {"a": "a", "b": "router"},
                {
                    "a": "router",
                    "b": "b",
                    "forward": {
                        "rate": "20mbit",
                        "delay": f"{rtt_ms / 2}ms",
                        "qdisc": "pfifo limit 40",
                        "record_packets": True,
                    },
                    "reverse": {"delay": f"{rtt_ms / 2}ms"},
                },
            ],
            "flows": [
                {
                    "name": "f",
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "greedy"},
                    "tcp": {"profile": profile, "congestion_control": "reno", **given}
                    | {"delayed_ack": False},
                }
            ],
        }
    )


def burst_counts(run: Run) -> Counter[int]:
    """How often each number of packets arrives at the router in one instant, behind slow start."""
    arrivals = run.column("packets", "event", queue="router->b") == 0
    times = run.column("packets", "t_ns", queue="router->b")[arrivals]
    return Counter(np.unique(times[times > 3_000_000_000], return_counts=True)[1].tolist())


def test_what_it_is_where_it_is_left_out() -> None:
    assert experiment(None).resolved() == experiment(65535).resolved()
    assert experiment(None, profile="rfc").resolved()["flows"][0]["tcp"]["gso_max_segs"] == 1
    other = experiment(44)
    assert other.resolved()["flows"][0]["tcp"]["gso_max_segs"] == 44
    assert Experiment.from_resolved(other.resolved()).resolved() == other.resolved()


def test_a_description_of_an_older_version_means_what_it_meant() -> None:
    old = experiment(None).resolved()
    for key in ("gso_max_segs", "packet_memory_bytes"):
        del old["flows"][0]["tcp"][key]
    tcp = Experiment.from_resolved(old).resolved()["flows"][0]["tcp"]
    assert (tcp["gso_max_segs"], tcp["packet_memory_bytes"]) == (1, 2304)


@pytest.mark.parametrize("segments", [0, 65536, "many"])
def test_what_no_device_takes_is_refused(segments: Any) -> None:
    with pytest.raises(SpecError, match=r"tcp\.gso_max_segs"):
        experiment(segments)


def test_the_rfcs_know_none() -> None:
    with pytest.raises(SpecError, match=r"tcp\.gso_max_segs"):
        simulate(experiment(2, profile="rfc"))


def test_an_acknowledgement_lets_one_segment_go_or_a_burst_of_two_wait() -> None:
    """The next acknowledgement is near, so a sender that makes sk_buffs waits for it."""
    single, paired = (burst_counts(simulate(experiment(segments))) for segments in (1, 65535))
    assert single[1] > 0.9 * single.total()
    assert paired[2] > 0.8 * paired.total()
    packets = [sum(size * n for size, n in counts.items()) for counts in (single, paired)]
    assert packets[1] == pytest.approx(packets[0], rel=0.02)


def test_a_sender_repeats_to_the_byte() -> None:
    digests = {simulate(experiment(65535)).meta["digest"] for _ in range(2)}
    assert len(digests) == 1
    assert digests != {simulate(experiment(1)).meta["digest"]}
