"""TCP flows: what implies the transport, what each profile fills in, what does not fit."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spec_samples import bent

from dumbbell import _engine
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment, testbed_lines
from dumbbell.spec.keys import Key
from dumbbell.spec.tcp import CONGESTION_CONTROLLERS, LINUX_CONTROLLERS
from dumbbell.spec.tcp_settings import PROFILES, SETTINGS

GREEDY = {"kind": "greedy"}
POISSON = {"kind": "poisson", "rate": "110pps", "size": "exponential 512B"}


def flow(**keys: Any) -> dict[str, Any]:
    """The resolved flow of the small experiment with these keys instead."""
    data = bent()
    data["flows"][0] |= keys
    data["links"][0]["delay"] = "1ms"
    resolved = Experiment.read(data).resolved()
    _engine.check(Experiment.read(data).resolved_json(), simulated=False)
    (found,) = resolved["flows"]
    return found


def test_the_profiles_are_the_engines() -> None:
    """The engine's own tests take them from its code, which is held against the same file."""
    resolved = {name: flow(source=GREEDY, tcp={"profile": name})["tcp"] for name in PROFILES}
    golden = Path(__file__).parents[1] / "golden" / "tcp-profiles.json"
    assert resolved == json.loads(golden.read_text(encoding="utf-8"))


def test_every_default_of_a_tcp_flow() -> None:
    found = flow(source=GREEDY)
    assert found["transport"] == "tcp"
    assert found["source"] == {"kind": "greedy"}
    assert found["tcp"] == {
        "profile": "linux-6.1",
        "congestion_control": "cubic",
        "initial_window_pkts": 10,
        "sack": True,
        "rack": True,
        "timestamps": True,
        "delayed_ack": True,
        "ack_every": 2,
        "ecn": False,
        "pacing": "auto",
        "hystart": True,
        "prr": "rfc6937",
        "small_queues": True,
        "min_rto_ns": 200_000_000,
        "send_buffer_bytes": 0,
        "receive_window_bytes": 0,
        "packet_memory_bytes": 4352,
        "gso_max_segs": 65535,
    }


def test_a_knob_is_set_apart_from_its_profile() -> None:
    found = flow(source=GREEDY, tcp={"profile": "rfc", "sack": False, "receive_window": "64kb"})
    assert found["tcp"]["prr"] == "rfc9937"
    assert found["tcp"]["min_rto_ns"] == 10**9
    assert found["tcp"]["small_queues"] is False
    assert (found["tcp"]["rack"], found["tcp"]["sack"]) == (False, False)
    assert found["tcp"]["receive_window_bytes"] == 65_536


@pytest.mark.parametrize(
    "keys",
    [
        {"source": GREEDY},
        {"source": {"kind": "sized", "size": "10kb"}},
        {"source": {"kind": "closed_loop", "size": "10kb", "think": "exponential 1s"}},
        {"source": POISSON, "transport": "tcp"},
        {"source": POISSON, "tcp": {}},
    ],
)
def test_source_or_settings_imply_tcp(keys: dict[str, Any]) -> None:
    found = flow(**keys)
    assert found["transport"] == "tcp"
    assert found["source"].get("size_at", "payload") == "payload"


@pytest.mark.parametrize(
    ("keys", "path", "hint"),
    [
        ({"source": GREEDY, "transport": "udp"}, "transport", "tcp"),
        ({"source": {**POISSON, "kind": "bursts"}}, "source.rate", None),
        (
            {
                "source": {"kind": "ditg", "gap": "10ms", "size": "512B"},
                "transport": "tcp",
            },
            "transport",
            "udp",
        ),
        ({"source": POISSON, "transport": "udp", "tcp": {}}, "tcp", None),
        ({"source": {"kind": "ditg", "gap": "1ms", "size": "9B"}, "tcp": {}}, "tcp", None),
        ({"source": GREEDY, "ecn": "ect0"}, "ecn", None),
        ({"source": {**POISSON, "size_at": "wire"}, "tcp": {}}, "source.size_at", "payload"),
        (
            {"source": GREEDY, "tcp": {"congestion_control": "newreno"}},
            "tcp.congestion_control",
            "reno",
        ),
        ({"source": GREEDY, "tcp": {"pacing": "yes"}}, "tcp.pacing", None),
        ({"source": GREEDY, "tcp": {"initial_window": 0}}, "tcp.initial_window", None),
        ({"source": GREEDY, "tcp": {"send_buffer": "2kbit"}}, "tcp.send_buffer", None),
        ({"source": {"kind": "sized", "size": "0B"}}, "source.size", None),
    ],
)
def test_what_does_not_fit_is_refused(keys: dict[str, Any], path: str, hint: str | None) -> None:
    with pytest.raises(SpecError) as refused:
        flow(**keys)
    assert refused.value.path == f"flows[0].{path}"
    assert refused.value.hint == hint


def test_the_controllers_are_those_of_linux_and_of_the_simulator() -> None:
    assert len(set(LINUX_CONTROLLERS)) == len(LINUX_CONTROLLERS) == 17
    simulated = _engine.congestion_controllers()
    assert {"reno", "cubic", "bbr"} <= set(simulated)
    assert set(CONGESTION_CONTROLLERS) == {*LINUX_CONTROLLERS, *simulated}


ANOTHER_CONTROLLER = """\
from dumbbell import _engine

names = _engine.congestion_controllers()
_engine.congestion_controllers = lambda: [*names, "aimd"]

from dumbbell.backends.kernel.tcp import check_tcp
from dumbbell.errors import SpecError
from dumbbell.spec import Experiment

experiment = Experiment.from_toml('''
duration = "1s"
links = [{ a = "a", b = "b" }]
[[flows]]
name = "f"
from = "a"
to = "b"
source = { kind = "greedy" }
tcp = { congestion_control = "aimd" }
''')
print(experiment.resolved()["flows"][0]["tcp"]["congestion_control"])
try:
    check_tcp(experiment.resolved())
except SpecError as error:
    print(error.path, error.value)
"""


def test_a_controller_of_the_simulator_alone_needs_no_python() -> None:
    """In an interpreter of its own: what the engine has is asked once."""
    done = subprocess.run(
        [sys.executable, "-c", ANOTHER_CONTROLLER], capture_output=True, text=True, check=False
    )
    assert done.stdout.split("\n")[:2] == ["aimd", "flows[0].tcp.congestion_control aimd"], done


BOUNDED = [each for each in SETTINGS.values() if each.kind in ("whole", "bytes")]


@pytest.mark.parametrize("setting", BOUNDED, ids=lambda setting: setting.name)
@pytest.mark.parametrize("end", ["least", "most"])
def test_both_sides_hold_a_number_to_its_bounds(setting: Key, end: str) -> None:
    within = setting.bounds[end]
    beyond = within + (1 if end == "most" else -1)
    found = flow(source=GREEDY, tcp={setting.name: setting.written(within)})
    # The resolved form may lack a key that has its default.
    assert found["tcp"].get(setting.resolved, setting.default) == within
    if beyond == setting.default == 0:
        return  # 0 stands for the default, which may depend on the controller
    with pytest.raises(SpecError) as refused:
        flow(source=GREEDY, tcp={setting.name: setting.written(beyond)})
    assert refused.value.path == f"flows[0].tcp.{setting.name}"
    resolved = Experiment.read(bent(flows__0__source=GREEDY)).resolved()
    resolved["flows"][0]["tcp"][setting.resolved] = beyond
    with pytest.raises(_engine.SpecInvalid, match=setting.resolved):
        _engine.check(json.dumps(resolved), simulated=False)


def test_each_setting_goes_through_the_resolved_description_and_back() -> None:
    others = {
        "flag": lambda setting: not setting.default,
        "flag-or": lambda setting: True,
        "words": lambda setting: setting.bounds[-1],
        "whole": lambda setting: setting.bounds["example"] + 1,
        "bytes": lambda setting: setting.bounds["examples"][0],
        "time": lambda setting: "321ms",
        "cwnd-changes": lambda setting: [{"at": "1s", "cwnd": 3}],
    }
    for setting in SETTINGS.values():
        if setting.kind == "own" or setting.name == "profile":
            continue
        value = others[setting.kind](setting)
        experiment = Experiment.read(
            bent(flows__0__source=GREEDY, flows__0__tcp={setting.name: value})
        )
        tcp = experiment.resolved()["flows"][0]["tcp"]
        assert tcp[setting.resolved] != setting.default, setting.name
        again = Experiment.from_resolved(experiment.resolved_json())
        assert again.resolved() == experiment.resolved()


def test_type_checkers_see_the_engines_settings() -> None:
    """When this fails: ``python scripts/key_models.py --write``."""
    made = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "key_models.py"))
    assert made["PLACE"].read_text(encoding="utf-8") == made["stub"]()


def test_only_known_timer_frequencies() -> None:
    assert Experiment.read(bent(timer_hz=250)).resolved()["timer_hz"] == 250
    with pytest.raises(SpecError, match="100, 250 or 1000"):
        Experiment.read(bent(timer_hz=300))


def test_a_kernel_is_named_in_text_and_only_where_it_is_not_the_usual() -> None:
    named = Experiment.read(bent(kernel="6.12"))
    assert named.resolved()["kernel"] == "6.12"
    assert Experiment.from_resolved(named.resolved_json()).kernel == "6.12"
    assert _engine.check(named.resolved_json(), simulated=True).events > 0
    usual = Experiment.read(bent(kernel="6.1")).resolved_json()
    assert usual == Experiment.read(bent()).resolved_json()
    # 6.10 would be 6.1.
    with pytest.raises(SpecError, match=r'in quotes: kernel = "6\.12"'):
        Experiment.read(bent(kernel=6.12))
    with pytest.raises(SpecError, match="the first a letter or digit"):
        Experiment.read(bent(kernel="../6.12"))
    hostile = named.resolved() | {"kernel": "../6.12"}
    with pytest.raises(_engine.SpecInvalid, match="kernel"):
        _engine.check(json.dumps(hostile), simulated=True)


def test_the_rfc_profile_sends_segments_one_by_one() -> None:
    tcp = {"profile": "rfc", "gso_max_segs": 2}
    with pytest.raises(SpecError, match="segments one by one") as caught:
        Experiment.read(bent(flows__0__source=GREEDY, flows__0__tcp=tcp))
    assert (caught.value.path, caught.value.value) == ("flows[0].tcp.gso_max_segs", "2")
    Experiment.read(bent(flows__0__source=GREEDY, flows__0__tcp=tcp | {"gso_max_segs": 1}))


def test_bursts_are_resolved_and_simulated() -> None:
    source = {"kind": "bursts", "packets": 5, "gap": "1s", "size": "100B"}
    experiment = Experiment.read(bent(flows__0__source=source))
    (done,) = _engine.simulate([(experiment.resolved_json(), 0)], threads=1)
    assert done.error is None
    assert done.take_tables()["flows"]["created_pkts"].tolist() == [50]


def test_greedy_and_sized_flows_are_sent_by_iperf3() -> None:
    data = bent(flows__0__source=GREEDY, flows__0__tcp={"congestion_control": "bbr"})
    sized = {"kind": "sized", "size": "10kb"}
    data["flows"].append({"name": "b", "from": "left", "to": "right", "start": "2s"})
    data["flows"][1] |= {"source": sized, "dscp": "EF"}
    lines = testbed_lines(Experiment.read(data))
    assert ("right", "iperf3 -s -D -p 5201") in lines
    assert ("left", "iperf3 -c right -p 5201 -C bbr -t 10") in lines
    assert ("left", "sleep 2; iperf3 -c right -p 5202 -C cubic -n 10240 -S 184") in lines
