"""The same seed gives the same bytes, whichever processors of the host run the guest."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator

import pytest
from kernel_samples import EXPONENTIAL, network, ping

from dumbbell.backends import run_many
from dumbbell.spec import Experiment

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.usefixtures("kernel", "modules"),
    pytest.mark.skipif(
        not hasattr(os, "sched_setaffinity"), reason="this system does not pin processes"
    ),
]

RUNS = 10
RED = "red limit 400kb min 30kb max 90kb avpkt 1000 burst 55 bandwidth 10mbit"


def mixed(qdisc: str) -> Experiment:
    """CUBIC, BBR, UDP and a ping through one queue, and CUBIC the other way."""
    ends = {"from": "sender", "to": "receiver"}
    greedy = {**ends, "transport": "tcp", "source": {"kind": "greedy"}, "start_jitter": "100ms"}
    source = {**EXPONENTIAL, "size_at": "payload"}
    link = {"rate": "10mbit", "delay": "10ms", "qdisc": qdisc, "record_packets": True}
    return network(
        link=link,
        duration="3s",
        sample_interval="50ms",
        flows=[
            {**greedy, "name": "cubic"},
            {**greedy, "name": "bbr", "tcp": {"congestion_control": "bbr"}},
            {**greedy, "name": "back", "from": "receiver", "to": "sender"},
            {**ends, "name": "udp", "transport": "udp", "source": source},
        ],
        probes=[ping(interval="20ms")],
        guest="module",
    )


def digests(
    experiment: Experiment, pins: list[set[int]], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Digests of runs of which each may use other processors, two runs at a time."""
    left, used = list(pins), []

    @contextlib.contextmanager
    def pinned(to: int | None) -> Iterator[None]:
        """Pins what this thread starts to the next of `pins`, not to the processor reserved."""
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, left.pop())
        used.append(os.sched_getaffinity(0))
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)

    with monkeypatch.context() as patched:
        # The package has a function of the module's name.
        module = importlib.import_module("dumbbell.backends.kernel.launch")
        patched.setattr(module, "children_on", pinned)
        runs = run_many([(experiment, 0)] * len(pins), backend="kernel", jobs=2)
        all_of_them = [run.meta["digest"] for _, run in runs]
    # Nothing else starts guests, so the pins above were those of the runs.
    assert sorted(map(sorted, used)) == sorted(map(sorted, pins))
    return all_of_them


@pytest.mark.parametrize(
    "qdisc",
    [
        pytest.param(RED, id="red"),
        pytest.param("fq_codel", id="fq_codel", marks=pytest.mark.long),
    ],
)
def test_the_same_bytes_on_one_processor_and_on_two(
    qdisc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a pin the guest's kernel and its processes wake each other across processors."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < 2:
        pytest.skip("only one processor may be used here")
    experiment = mixed(qdisc)
    one = [{allowed[run % len(allowed)]} for run in range(RUNS)]
    on_one = digests(experiment, one, monkeypatch)
    on_two = digests(experiment, [set(allowed[:2])] * RUNS, monkeypatch)
    assert len(on_one) == len(on_two) == RUNS
    assert len({*on_one, *on_two}) == 1
    other = digests(experiment.with_(seed=2), [set(allowed)], monkeypatch)
    assert other[0] not in on_one
