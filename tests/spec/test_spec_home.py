"""The table ``[home]``: what it resolves to, what it adds to a file, and what is refused."""

from __future__ import annotations

import hashlib
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dumbbell import SpecError, simulate
from dumbbell.cli.app import app
from dumbbell.lab.experiments import bottleneck_of
from dumbbell.metrics import goodput_bps
from dumbbell.spec import Experiment, Home, Setting
from dumbbell.spec.home import Technology
from dumbbell.spec.keys import HOME

EXAMPLES = Path(__file__).parents[2] / "examples" / "home"
LINES = json.loads((Path(__file__).parent / "home_lines.json").read_text(encoding="utf-8"))
"""SHA-256 of the resolved descriptions that `dumbbell home` wrote as links and flows, before there
was a table: by technology and options."""
RATES = {"down": "20mbit", "up": "2mbit"}


def with_home(more: dict[str, Any] | None = None, **home: Any) -> Experiment:
    return Experiment.read({"duration": "10s", "home": RATES | home, **(more or {})})


@pytest.mark.parametrize("words", LINES)
def test_the_command_writes_the_experiment_that_it_always_wrote(words: str) -> None:
    technology, *options = shlex.split(words)
    command = ["home", "--down", "20mbit", "--up", "2mbit", "--technology", technology, *options]
    text = CliRunner().invoke(app, command).output
    assert "[home]" in text
    assert "[[links]]" not in text
    resolved = Experiment.from_toml(text).resolved_json()
    assert hashlib.sha256(resolved.encode()).hexdigest()[:16] == LINES[words]


def test_the_crate_names_the_technologies_whose_overheads_are_known() -> None:
    assert HOME["technology"].bounds == [each.word for each in Technology]


def test_the_resolved_description_has_the_nodes_links_and_flows() -> None:
    resolved = with_home(technology="cable", cake=0.9).resolved()
    names = [host["name"] for host in resolved["hosts"]]
    assert names == ["server", "isp", "modem", "router", "laptop"]
    assert [(link["a"], link["b"]) for link in resolved["links"]] == [
        ("server", "isp"),
        ("isp", "modem"),
        ("router", "modem"),
        ("router", "laptop"),
    ]
    assert "home" not in resolved
    assert [probe["name"] for probe in resolved["probes"]] == ["call"]
    up = resolved["links"][2]["forward"]["qdisc"]
    assert (up["kind"], up["bandwidth_bps"], up["overhead_bytes"]) == ("cake", 1_800_000, 18)


def test_a_resolved_home_is_read_back() -> None:
    experiment = with_home(technology="adsl-pppoe", provider="policer")
    again = Experiment.from_resolved(experiment.resolved_json())
    assert again.resolved_json() == experiment.resolved_json()


def test_a_file_adds_hosts_and_traffic_to_a_home() -> None:
    tv = {"a": "router", "b": "tv", "rate": "100mbit"}
    stream = {"name": "film", "from": "server", "to": "tv", "source": {"kind": "greedy"}}
    experiment = with_home({"links": [tv], "flows": [stream]}, uses=["call"])
    resolved = experiment.resolved()
    # Its own come first: paths in errors of the engine are those of the file.
    assert [flow["name"] for flow in resolved["flows"]] == ["film"]
    assert experiment.route("server", "tv") == [
        "server->isp",
        "isp->modem",
        "modem->router",
        "router->tv",
    ]
    assert resolved["links"][0]["b"] == "tv"


def test_a_home_without_uses_has_no_traffic() -> None:
    resolved = with_home(uses=[]).resolved()
    assert resolved["flows"] == resolved["probes"] == []


def test_settings_lead_through_the_table() -> None:
    settings = [Setting.parse("home.router_up=cake bandwidth 1mbit"), Setting.parse("home.rtt=8ms")]
    text = 'duration = "9s"\nhome = { down = "20mbit", up = "2mbit" }'
    resolved = Experiment.from_toml(text, settings).resolved()
    assert resolved["links"][2]["forward"]["qdisc"]["bandwidth_bps"] == 1_000_000
    assert resolved["links"][0]["forward"]["delay_ns"] == 4_000_000
    with pytest.raises(SpecError) as refused:
        Experiment.from_toml(text, [Setting.parse("links[router->modem].forward.qdisc=pie")])
    assert "home.router_up" in refused.value.allowed


def test_a_changed_link_flow_or_probe_replaces_the_home_by_its_parts() -> None:
    whole = with_home()
    changed = [
        whole.with_link("isp", "modem", reverse={"rate": "1mbit"}),
        whole.with_flow("backup", stop="9s"),
        whole.with_probe("call", interval="40ms"),
    ]
    assert [each.home for each in changed] == [None] * 3
    expected = [whole.resolved() for _ in changed]
    expected[0]["links"][1]["reverse"]["rate_bps"] = 1_000_000
    expected[0]["links"][1]["reverse"]["qdisc"] = {"kind": "pfifo", "limit_packets": 1000}
    expected[1]["flows"][-1]["stop_ns"] = 9 * 10**9
    expected[2]["probes"][0]["interval_ns"] = 40_000_000
    assert [each.resolved() for each in changed] == expected
    assert whole.with_seed(7).home == whole.home


def test_the_slow_uplink_is_the_bottleneck() -> None:
    assert bottleneck_of(with_home(uses=["backup"])) == "modem->isp"
    observed = with_home({"observe": "bottleneck"}, uses=["backup", "download"]).resolved()
    assert observed["observe"] == ["isp->modem", "modem->isp"]


def test_a_rate_in_bytes_is_noticed() -> None:
    notices = with_home(down="1Mbps").notices()
    assert [each.path for each in notices] == ["home.down"]


def test_in_python_it_is_a_value() -> None:
    home = Home(down="20mbit", up="2mbit", uses=["call", "backup"])
    experiment = Experiment(duration="10s", home=home)
    assert experiment.resolved_json() == with_home(uses=["call", "backup"]).resolved_json()
    assert (home.rtt, home.technology, home.up_buffer) == ("20ms", "ethernet", "256kb")


@pytest.mark.parametrize(
    ("more", "home", "path", "hint"),
    [
        ({}, {"down": "20"}, "home.down", "20bit"),
        ({}, {"down": "inf"}, "home.down", None),
        ({}, {"up": "7kbit"}, "home.up", None),
        ({}, {"up": 2}, "home.up", "2mbit"),
        ({}, {"rtt": "11s"}, "home.rtt", None),
        ({}, {"technology": "vdsl-ppoe"}, "home.technology", "vdsl-pppoe"),
        ({}, {"provider": "shaping"}, "home.provider", "shaper"),
        ({}, {"up_buffer": "1500b"}, "home.up_buffer", None),
        ({}, {"uses": "call"}, "home.uses", None),
        ({}, {"uses": ["call", "backups"]}, "home.uses[1]", "backup"),
        ({}, {"uses": ["call", "call"]}, "home.uses[1]", None),
        ({}, {"cake": 1.2}, "home.cake", None),
        ({}, {"cake": "90%"}, "home.cake", "0.9"),
        ({}, {"cake": 0.9, "router_up": "pie"}, "home.router_up", None),
        ({}, {"router_down": "fq_codle"}, "home.router_down", "fq_codel"),
        ({}, {"downn": "1mbit"}, "home.downn", "down"),
        ({"hosts": ["server"]}, {}, "hosts", None),
        ({"shape": {"kind": "chain", "hops": 2}}, {}, "home", None),
        ({"probes": [{"name": "call", "from": "laptop", "to": "isp"}]}, {}, "probes[0].name", None),
        ({"probes": [{"name": "p", "from": "laptop", "to": "lsp"}]}, {}, "probes[0].to", "isp"),
        ({"links": [{"a": "router", "b": "tv"}, {"a": "tv", "b": "tv"}]}, {}, "links[1].b", None),
    ],
)
def test_what_is_refused(
    more: dict[str, Any], home: dict[str, Any], path: str, hint: str | None
) -> None:
    with pytest.raises(SpecError) as refused:
        with_home(more, **home)
    assert (refused.value.path, refused.value.hint) == (path, hint)


@pytest.mark.parametrize("missing", RATES)
def test_both_rates_are_required(missing: str) -> None:
    with pytest.raises(SpecError) as refused:
        Experiment.read(
            {"duration": "9s", "home": {key: RATES[key] for key in RATES if key != missing}}
        )
    assert (refused.value.path, refused.value.allowed) == (
        f"home.{missing}",
        "this key is required",
    )


@pytest.mark.parametrize("place", sorted(EXAMPLES.glob("*.toml")), ids=lambda place: place.stem)
def test_the_examples_run(place: Path) -> None:
    experiment = Experiment.from_toml(place, [Setting("duration", "8s")])
    assert experiment.home is not None
    run = simulate(experiment)
    for flow in run.flow_names:
        assert goodput_bps(run, flow) > 100_000
