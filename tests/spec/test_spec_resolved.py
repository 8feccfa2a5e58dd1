"""The resolved description: exactly the contract's, complete, canonical, and back again."""

import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from spec_samples import EXAMPLES, SMALL, bent, experiments

from dumbbell import _engine
from dumbbell.backends import get_backend
from dumbbell.spec import (
    Experiment,
    Flow,
    Link,
    LinkEnd,
    LinkOptions,
    Poisson,
    SpecError,
    chain,
    dumbbell,
)

SNAPSHOT = Path(__file__).with_name("chain.resolved.json")


def test_the_resolved_example_is_as_kept() -> None:
    """After a change that is meant: write ``resolved()`` to the file, with an indent of 1."""
    example = next(path for path in EXAMPLES if path.name == "chain.toml")
    resolved = Experiment.from_toml(example).resolved()
    assert json.dumps(resolved, indent=1) + "\n" == SNAPSHOT.read_text()


def test_every_default_of_the_smallest() -> None:
    end = {
        "rate_bps": 0,
        "delay_ns": 0,
        "mtu_bytes": 1500,
        "overhead_bytes": 14,
        "loss": 0.0,
        "loss_every_pkts": 0,
        "police": None,
        "qdisc": {"kind": "pfifo", "limit_packets": 1000},
        "changes": [],
        "record_packets": False,
        "capture": False,
        "capture_flows": False,
    }
    assert Experiment.read(SMALL).resolved() == {
        "schema": 1,
        "name": "experiment",
        "seed": 1,
        "duration_ns": 10**10,
        "warm_up_ns": 0,
        "sample_interval_ns": 0,
        "timer_hz": 1000,
        "hosts": [{"name": "left"}, {"name": "middle"}, {"name": "right"}],
        "links": [
            {"a": "left", "b": "middle", "forward": end, "reverse": end},
            {"a": "middle", "b": "right", "forward": end, "reverse": end},
        ],
        "flows": [
            {
                "name": "stream",
                "from": "left",
                "to": "right",
                "start_ns": 0,
                "stop_ns": 10**10,
                "start_jitter_ns": 0,
                "dscp": 0,
                "ecn": "not-ect",
                "transport": "udp",
                "tcp": None,
                "source": {
                    "kind": "poisson",
                    "gap": {"law": "exponential", "mean": 1 / 110},
                    "size": {"law": "exponential", "mean": 512.0},
                    "size_at": "wire",
                },
            }
        ],
        "probes": [
            {
                "name": "ping",
                "kind": "ping",
                "from": "left",
                "to": "right",
                "interval_ns": 10**9,
                "count": 0,
                "payload_bytes": 56,
                "start_ns": 0,
                "start_jitter_ns": 0,
                "dscp": 0,
            }
        ],
    }


@settings(max_examples=60, deadline=None)
@given(experiments())
def test_resolved_goes_there_and_back_and_the_engine_takes_it(data: dict) -> None:
    experiment = Experiment.read(data)
    text = experiment.resolved_json()
    assert Experiment.from_resolved(text).resolved_json() == text
    assert Experiment.from_resolved(json.loads(text)).resolved_json() == text
    assert json.dumps(json.loads(text), sort_keys=True, separators=(",", ":")) == text
    try:
        _engine.check(text, simulated=False)
    except _engine.SpecInvalid as error:
        # Links are drawn one by one: on a way of TCP there may be none that takes time.
        assert "a link has a rate or a delay" in error.allowed
        assert any(flow["transport"] == "tcp" for flow in experiment.resolved()["flows"])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path: Path) -> None:
    experiment = Experiment.from_toml(path)
    if experiment.programs:
        with pytest.raises(SpecError, match="runs on the kernel only"):
            get_backend("sim").check(experiment.resolved_json())
        return
    experiment = experiment.with_(duration="2s", warm_up="0s")
    flows = [flow.with_(stop=None) for flow in experiment.flows]
    (done,) = _engine.simulate([(experiment.with_(flows=flows).resolved_json(), 0)], threads=1)
    assert done.error is None
    assert done.take_tables()["flows"]["delivered_pkts"].min() > 0


def test_directions_differ_only_where_said() -> None:
    link = {"a": "x", "b": "y", "rate": "10mbit", "delay": "5ms", "reverse": {"rate": "1mbit"}}
    (resolved,) = Experiment.read({"duration": "1s", "links": [link]}).resolved()["links"]
    assert resolved["forward"]["rate_bps"] == 10**7
    assert resolved["reverse"]["rate_bps"] == 10**6
    assert resolved["reverse"] | {"rate_bps": 10**7} == resolved["forward"]


@pytest.mark.parametrize(
    ("overhead", "size_bytes"),
    [("ethernet", 14), ("wire", 38), ("ppp", 2), ("none", 0), ("22B", 22)],
)
def test_overheads(overhead: str, size_bytes: int) -> None:
    resolved = Experiment.read(bent(links__0__overhead=overhead)).resolved()
    assert resolved["links"][0]["forward"]["overhead_bytes"] == size_bytes


@pytest.mark.parametrize(("dscp", "number"), [("EF", 46), ("CS5", 40), ("AF41", 34), (63, 63)])
def test_code_points(dscp: object, number: int) -> None:
    resolved = Experiment.read(bent(flows__0__dscp=dscp)).resolved()
    assert resolved["flows"][0]["dscp"] == number


def test_python_and_toml_say_the_same() -> None:
    written = Experiment(
        duration="10s",
        links=[
            Link(a="left", b="right", forward=LinkEnd(rate="1mbit")),
        ],
        flows=[
            Flow(
                name="stream",
                from_="left",
                to="right",
                source=Poisson(rate="110pps", size={"law": "exponential", "mean": "512B"}),
            )
        ],
    )
    read = Experiment.from_toml(
        """
        duration = "10s"
        links = [{ a = "left", b = "right", forward = { rate = "1000kbit" } }]
        [[flows]]
        name = "stream"
        from = "left"
        to = "right"
        source = { kind = "poisson", rate = "110pps", size = "exponential 512B" }
        """
    )
    assert written.resolved_json() == read.resolved_json()


def test_the_dumbbell_has_its_bottleneck_first() -> None:
    shape = dumbbell(2, bottleneck=LinkOptions(rate="1mbit"), access=LinkOptions(delay="1ms"))
    experiment = Experiment(duration="1s", shape=shape)
    assert experiment.queue_names[0] == "router-1->router-2"
    assert experiment.route("sender-2", "receiver-2") == [
        "sender-2->router-1",
        "router-1->router-2",
        "router-2->receiver-2",
    ]
    links = experiment.resolved()["links"]
    assert [link["forward"]["rate_bps"] for link in links] == [10**6, 0, 0, 0, 0]
    assert [link["reverse"]["delay_ns"] for link in links] == [0, 10**6, 10**6, 10**6, 10**6]


def test_the_chain_has_as_many_links_as_hops() -> None:
    experiment = Experiment(duration="1s", shape=chain(3, link=LinkOptions(rate="1mbit")))
    assert experiment.topology.hosts == ("sender", "router-1", "router-2", "receiver")
    assert len(experiment.route("sender", "receiver")) == 3


def test_variations_leave_the_rest_alone() -> None:
    base = Experiment.read(SMALL)
    assert base.with_seed(7).resolved() == base.resolved() | {"seed": 7}
    flow = base.with_flow("stream", stop="5s").resolved()["flows"][0]
    assert flow == base.resolved()["flows"][0] | {"stop_ns": 5 * 10**9}
    assert base.with_probe("ping", count=3).resolved()["probes"][0]["count"] == 3
    faster = base.with_link("right", "middle", rate="1mbit").resolved()["links"]
    assert [link["forward"]["rate_bps"] for link in faster] == [0, 10**6]
    for call in (base.with_flow, base.with_probe):
        with pytest.raises(SpecError):
            call("nobody")
    with pytest.raises(SpecError):
        base.with_link("left", "right", rate="1mbit")
    with pytest.raises(SpecError, match="duration"):
        base.with_(duration="0s")


def test_a_link_of_a_shape_can_be_changed() -> None:
    base = Experiment(duration="1s", shape=chain(2))
    slower = base.with_link("sender", "router-1", rate="1mbit").resolved()
    expected = base.resolved()
    for end in ("forward", "reverse"):
        expected["links"][0][end]["rate_bps"] = 10**6
    assert slower == expected


def test_experiments_are_values() -> None:
    experiment = Experiment.read(SMALL)
    experiment.resolved_json()
    assert pickle.loads(pickle.dumps(experiment)).resolved() == experiment.resolved()
    with pytest.raises(ValueError, match="frozen"):
        experiment.seed = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda r: r.update(extra=1), "extra"),
        (lambda r: r.pop("seed"), "seed"),
        (lambda r: r.update(schema=2), "schema"),
        (lambda r: r["links"][0]["forward"].update(rate=1), "links[0].forward.rate"),
        (lambda r: r["links"][0]["forward"].update(rate_bps="1"), "links[0].forward.rate_bps"),
        (lambda r: r["links"][0]["forward"]["qdisc"].update(kind="x"), "links[0].forward.qdisc"),
        (lambda r: r["flows"][0]["source"].update(kind="poison"), "flows[0].source.kind"),
        (lambda r: r["flows"][0]["source"]["gap"].update(law="constant"), "flows[0].source.gap"),
        (lambda r: r["flows"][0].update(start_ns=-1), "flows[0].start_ns"),
        (lambda r: r.update(links={}), "links"),
        (lambda r: r["hosts"].__setitem__(0, "left"), "hosts[0]"),
    ],
)
def test_what_is_no_resolved_description(change, path: str) -> None:
    resolved = Experiment.read(SMALL).resolved()
    change(resolved)
    with pytest.raises(SpecError) as caught:
        Experiment.from_resolved(resolved)
    assert caught.value.path == path


def _places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Of all that stands in a description."""
    if not isinstance(value, dict | list):
        return
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield (*path, key)
        yield from _places(value[key], (*path, key))


SOURCES = (
    {"kind": "poisson", "rate": "110pps", "size": "512B"},
    {"kind": "cbr", "rate": "110pps", "size": "512B"},
    {"kind": "ditg", "gap": "constant 10ms", "size": "512B", "oversleep": "uniform 0s 1ms"},
    {"kind": "closed_loop", "size": "10kb", "think": "exponential 1s"},
    {"kind": "greedy"},
)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source["kind"])
def test_a_wrong_value_in_any_place_is_refused_and_nothing_else_fails(source: dict) -> None:
    """Or the description is still one that resolves to itself."""
    good = Experiment.read(bent(flows__0__source=source)).resolved()
    refused = 0
    for path in list(_places(good)):
        for wrong in (None, True, -1, 2**64, "x", [], [[]], {}, {"law": []}):
            bad = json.loads(json.dumps(good))
            at = bad
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = wrong
            try:
                assert Experiment.from_resolved(bad).resolved() == bad
            except SpecError:
                refused += 1
    assert refused > 500


@pytest.mark.parametrize("text", ["", "[", "[]", "3", "null", "[" * 100_000])
def test_text_that_is_no_resolved_description(text: str) -> None:
    with pytest.raises(SpecError):
        Experiment.from_resolved(text)
