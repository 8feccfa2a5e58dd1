from __future__ import annotations

import sys

import numpy as np
import pytest
from tables_samples import experiment

from dumbbell.errors import DumbbellError
from dumbbell.spec import Experiment
from dumbbell.tables import Run, TableError


def test_names_are_those_of_the_experiment(full_run: Run) -> None:
    assert full_run.queue_names == experiment().queue_names
    assert full_run.flow_names == ["stream", "silent"]
    assert full_run.probe_names == ["ping"]
    assert full_run.queue("router->receiver") == 2
    assert full_run.queue(3) == 3


def test_parallel_links_have_numbered_names() -> None:
    links = [{"a": "a", "b": "b"}, {"a": "b", "b": "a"}, {"a": "a", "b": "b"}]
    parallel = Experiment.read({"duration": "1s", "links": links})
    run = Run("simulated", 0, parallel.resolved(), {})
    assert run.queue_names == ["a->b", "b->a", "b->a#2", "a->b#2", "a->b#3", "b->a#3"]
    assert run.queue_names == parallel.queue_names


def test_a_column_is_filtered_by_name_or_index_or_code(full_run: Run) -> None:
    whole = full_run.column("packets", "sojourn_ns")
    queue = full_run.column("packets", "queue")
    event = full_run.column("packets", "event")
    wanted = whole[(queue == 2) & (event == 1)]
    for key in ("router->receiver", 2):
        for code in ("dequeue", 1):
            got = full_run.column("packets", "sojourn_ns", queue=key, event=code)
            np.testing.assert_array_equal(got, wanted)
    assert len(wanted) > 0
    seq = full_run.column("packets", "bytes", probe="ping", seq=1, event="enqueue")
    assert seq.tolist() == [98]


def test_without_a_filter_the_column_is_not_copied(full_run: Run) -> None:
    assert full_run.column("packets", "t_ns") is full_run.tables["packets"]["t_ns"]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: run.column("queue", "queue"), "no table 'queue'.*did you mean 'queues'"),
        (lambda run: run.column("queues", "sojourn_mean"), "did you mean 'sojourn_mean_s'"),
        (lambda run: run.column("queues", "busy_s", queue="router->reciever"), "router->receiver'"),
        (lambda run: run.column("queues", "busy_s", queue=4), "no queue 4"),
        (lambda run: run.column("queues", "busy_s", queue=-1), "no queue -1"),
        (lambda run: run.column("probes", "seq", probe="pong"), "did you mean 'ping'"),
        (lambda run: run.column("flows", "flow", flow="steam"), "did you mean 'stream'"),
        (lambda run: run.column("packets", "seq", event="drops"), "did you mean 'drop'"),
        (lambda run: run.column("flows", "flow", queue=0), "no column of flows 'queue'"),
    ],
)
def test_what_is_not_there_is_said_with_the_nearest(
    full_run: Run, ask: object, message: str
) -> None:
    with pytest.raises(TableError, match=message) as caught:
        ask(full_run)  # type: ignore[operator]
    assert isinstance(caught.value, DumbbellError)


def test_frames_have_names_beside_indices_and_codes(full_run: Run) -> None:
    frame = full_run.table("packets")
    assert frame.columns[1:3] == ["queue", "queue_name"]
    assert set(frame["event_name"]) == {"enqueue", "dequeue", "drop", "lost"}
    lonely = frame.filter(frame["flow"] == -1)
    assert set(lonely["flow_name"]) == {""}
    assert set(lonely["probe_name"]) == {"ping"}
    assert len(frame) == len(full_run.column("packets", "t_ns"))


def test_pandas_frames_are_the_same(full_run: Run) -> None:
    pytest.importorskip("pandas")
    frame = full_run.to_pandas("queues")
    assert frame["queue_name"].tolist() == full_run.queue_names
    np.testing.assert_array_equal(frame["busy_s"], full_run.column("queues", "busy_s"))


def test_without_the_extra_it_is_said_what_to_install(
    full_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pandas", "pyarrow"):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, name, None)
            with pytest.raises(DumbbellError, match=r"pip install 'dumbbell\[pandas\]'") as caught:
                full_run.to_pandas("queues")
        assert isinstance(caught.value, ImportError)


def test_an_imported_run_has_its_names_in_meta() -> None:
    probes = {"probe": np.zeros(1, np.int32), "rtt_ns": np.array([5])}
    run = Run("imported", 0, None, {"probes": probes}, meta={"probe_names": ["SM/1"]})
    assert run.probe_names == ["SM/1"]
    assert run.queue_names == []
    assert run.column("probes", "rtt_ns", probe="SM/1").tolist() == [5]
