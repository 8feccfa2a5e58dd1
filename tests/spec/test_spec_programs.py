"""Programs in a description: what is refused, and that no text of a file becomes an option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import Field

from dumbbell import _engine
from dumbbell.backends import get_backend
from dumbbell.backends.kernel.program_tasks import planned_tasks
from dumbbell.errors import SpecError
from dumbbell.spec import CommandProgram, Experiment, PingProgram, Setting, unresolve
from dumbbell.spec.fields import PositiveTime
from dumbbell.spec.programs import MODELS, Program, tools_of
from dumbbell.spec.programs.fields import PingCount
from dumbbell.spec.programs.flent import TESTS as FLENT_TESTS

LINKS = [
    {"a": "sender", "b": "router"},
    {"a": "router", "b": "receiver", "forward": {"rate": "1mbit"}},
]
BETWEEN = {"from": "sender", "to": "receiver"}
EACH: dict[str, dict[str, Any]] = {
    "ditg": {**BETWEEN, "gap": "exponential 110pps", "size": "512B", "duration": "5s"},
    "iperf3": {**BETWEEN, "duration": "5s", "congestion_control": "cubic", "dscp": "EF"},
    "iperf": {**BETWEEN, "amount": "100kb", "interval": "0.5s"},
    "ping": {**BETWEEN, "interval": "200ms", "count": 10},
    "curl": {**BETWEEN, "size": "100kb", "count": 3},
    "netperf": {**BETWEEN, "duration": "5s"},
    "flent": {**BETWEEN, "test": "rrul_be_nflows", "length": "5s", "delay": "1s"}
    | {"upload_streams": 2, "congestion_control": "reno"},
    "tcpdump": {"host": "router", "neighbor": "receiver", "protocol": "tcp", "port": 5201},
    "tshark": {"host": "router", "of": "the-tcpdump"},
    "any": {"host": "sender", "command": ["true"]},
}


def described(*programs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"duration": "10s", "links": LINKS, "programs": list(programs), **more}


def one(which: str, **changes: Any) -> dict[str, Any]:
    return described({"kind": which, "name": "it", **EACH[which], **changes})


def read(data: dict[str, Any]) -> Experiment:
    return Experiment.read(data, {"allow_programs": True})


def test_every_kind_is_here() -> None:
    assert EACH.keys() == MODELS.keys()


def all_kinds() -> Experiment:
    programs = [{"kind": kind, "name": f"the-{kind}", **keys} for kind, keys in EACH.items()]
    return read(described(*programs))


class PatientPing(PingProgram):
    """One with two keys more, each a field and nothing else."""

    deadline: PositiveTime = Field(default="5s", description="When it gives up (`-w`).")
    preload: PingCount | None = Field(default=None, description="Sent at once (`-l`).")


def test_a_key_more_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Type, unit, default, range and text of a field are in all that is made of keys."""
    table = {"name": "it", "kind": "ping", **EACH["ping"]}
    written = PatientPing.read({**table, "deadline": "200ms", "preload": 3})
    resolved = written.resolved()
    assert {"deadline_ns": 200_000_000, "preload": 3}.items() <= resolved.items()
    assert PatientPing.read(table).resolved()["deadline_ns"] == 5_000_000_000
    schema = PatientPing.model_json_schema()["properties"]
    assert schema["deadline"]["x-unit"] == "time"
    assert schema["deadline"]["description"] == "When it gives up (`-w`)."
    with pytest.raises(SpecError, match="more than 0"):
        PatientPing.read({**table, "deadline": "0s"})
    monkeypatch.setitem(cast("dict[str, type[Program]]", MODELS), "ping", PatientPing)
    assert PatientPing.read(unresolve._program(resolved, "programs[0]")).resolved() == resolved
    with pytest.raises(SpecError, match="a value as resolved") as refused:
        unresolve._program({**resolved, "deadline_ns": "soon"}, "programs[0]")
    assert refused.value.path == "programs[0].deadline_ns"


def test_a_description_with_programs_goes_there_and_back() -> None:
    experiment = all_kinds()
    text = experiment.resolved_json()
    again = Experiment.from_resolved(text, allow_programs=True)
    assert again.resolved_json() == text
    _engine.check(text, simulated=False)


def test_without_programs_there_is_no_such_key() -> None:
    assert "programs" not in Experiment.read(described()).resolved()


@pytest.mark.parametrize("kind", [kind for kind in EACH if kind != "tshark"])
def test_the_simulator_refuses_a_program_and_says_what_to_write(kind: str) -> None:
    text = read(one(kind)).resolved_json()
    with pytest.raises(SpecError, match="runs on the kernel only") as raised:
        get_backend("sim").check(text)
    assert raised.value.path == "programs[0].kind"
    assert MODELS[kind].INSTEAD in str(raised.value)
    with pytest.raises(_engine.SpecInvalid, match="no programs in the simulator"):
        _engine.check(text)


@pytest.mark.parametrize(
    ("change", "path", "said"),
    [
        ({"kind": "iperf4"}, "programs[0].kind", "did you mean 'iperf"),
        ({"kind": "pings"}, "programs[0].kind", "did you mean 'ping'"),
        ({"intervall": "1s"}, "programs[0].intervall", "did you mean 'interval'"),
        ({"from": "sendr"}, "programs[0].from", "did you mean 'sender'"),
        ({"to": "sender"}, "programs[0].to", "another host than `from`"),
        ({"count": 0}, "programs[0].count", "a whole number from 1"),
        ({"interval": "5"}, "programs[0].interval", "did you mean '5s'"),
        ({"start": "10s"}, "programs[0].start", "a time before the end of the run"),
        ({"count": 100}, "programs[0]", "it would outlast the run"),
        ({"dscp": "AF99"}, "programs[0].dscp", "a name such as EF"),
        ({"name": "-x"}, "programs[0].name", "the first a letter or digit"),
        ({"name": "a/../b"}, "programs[0].name", "up to 63 letters"),
        ({"name": "a\nb"}, "programs[0].name", "up to 63 letters"),
        ({"from": "-x"}, "programs[0].from", "the first a letter or digit"),
        ({"options": "-f"}, "programs[0].options", "one of"),
    ],
)
def test_what_a_ping_may_not_be(change: dict[str, Any], path: str, said: str) -> None:
    with pytest.raises(SpecError) as raised:
        read(one("ping", **change))
    assert raised.value.path == path
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "change", "path"),
    [
        ("ditg", {"gap": "pareto 1.5 1ms"}, "programs[0].gap"),
        ("ditg", {"duration": "1.0005s"}, "programs[0].duration"),
        ("ditg", {"protocol": "SCTP"}, "programs[0].protocol"),
        ("iperf3", {"duration": "1500ms"}, "programs[0].duration"),
        ("iperf3", {"udp": True}, "programs[0].rate"),
        ("iperf3", {"congestion_control": "cubic -R"}, "programs[0].congestion_control"),
        ("iperf3", {"congestion_control": "--logfile"}, "programs[0].congestion_control"),
        ("iperf3", {"parallel": 129}, "programs[0].parallel"),
        ("iperf", {"duration": "5s"}, "programs[0].amount"),
        ("tcpdump", {"neighbor": "sendr"}, "programs[0].neighbor"),
        ("tcpdump", {"neighbor": "nobody"}, "programs[0].neighbor"),
        ("tcpdump", {"protocol": "tcp or port 22"}, "programs[0].protocol"),
        ("tcpdump", {"port": 65536}, "programs[0].port"),
        ("curl", {"size": "file:///etc/passwd"}, "programs[0].size"),
        ("tshark", {"of": "elsewhere"}, "programs[0].of"),
        ("tshark", {"of": "../../etc/passwd"}, "programs[0].of"),
        ("tshark", {"filter": "-X lua_script:x"}, "programs[0].filter"),
        ("tshark", {"filter": "tcp\nudp"}, "programs[0].filter"),
        ("tshark", {"filter": "x" * 501}, "programs[0].filter"),
        ("tshark", {"fields": ["-X", "lua_script:/tmp/x"]}, "programs[0].fields"),
        ("tshark", {"fields": []}, "programs[0].fields"),
        ("netperf", {"test": "OMNI"}, "programs[0].test"),
        ("flent", {"test": "http"}, "programs[0].test"),
        ("flent", {"test": "../../tmp/mine"}, "programs[0].test"),
        ("flent", {"name": "a.b"}, "programs[0].name"),
        ("flent", {"length": "1500ms"}, "programs[0].length"),
        ("flent", {"delay": "1500ms"}, "programs[0].delay"),
        ("flent", {"step": "15ms"}, "programs[0].step"),
        ("flent", {"length": "9s"}, "programs[0]"),
        ("flent", {"test": "rrul"}, "programs[0].upload_streams"),
        ("flent", {"upload_streams": "2 --batch-file x"}, "programs[0].upload_streams"),
        ("flent", {"congestion_control": "x=y"}, "programs[0].congestion_control"),
        ("any", {"command": []}, "programs[0].command"),
        ("any", {"command": ["a\x1b[2J"]}, "programs[0].command"),
        ("any", {"command": "rm -rf /"}, "programs[0].command"),
    ],
)
def test_what_others_may_not_be(kind: str, change: dict[str, Any], path: str) -> None:
    with pytest.raises(SpecError) as raised:
        read(one(kind, **change))
    assert raised.value.path.startswith(path)


def test_flents_tests_that_send_no_tcp_take_no_controller() -> None:
    keys = {"test": "ping", "upload_streams": None}
    assert read(one("flent", **keys, congestion_control=None)).resolved()
    with pytest.raises(SpecError, match="sends nothing over TCP"):
        read(one("flent", **keys))


def test_flents_irtt_and_that_of_a_probe_want_the_same_port() -> None:
    probe = {"kind": "irtt", "name": "rtt", **BETWEEN}
    flent = {"kind": "flent", "name": "it", **BETWEEN, "length": "1s", "delay": "1s"}
    assert read(described({**flent, "test": "tcp_1up"}, probes=[probe]))
    with pytest.raises(SpecError, match="no probe of kind irtt goes, as rtt does") as raised:
        read(described({**flent, "test": "ping"}, probes=[probe]))
    assert raised.value.path == "programs[0].to"


def test_a_test_of_flent_needs_what_it_starts() -> None:
    """Facts of Flent 2.1.1's tests, and as it is installed here."""
    for name, needs in (("ping", "ping irtt"), ("voip", "irtt"), ("tcp_1up", "ping netperf")):
        keys = {**EACH["flent"], "test": name, "upload_streams": None, "congestion_control": None}
        resolved = read(described({"kind": "flent", "name": "it", **keys})).resolved()
        found = {tool.name for tool in tools_of(resolved)} - {"flent", "python3", "netserver"}
        assert found == set(needs.split()), name
    folder = Path("/usr/share/flent/flent/tests")
    if not folder.is_dir():
        pytest.skip("flent is not installed")
    assert {f"{name}.conf" for name in FLENT_TESTS} <= {path.name for path in folder.iterdir()}


def test_names_are_unique_over_flows_probes_and_programs() -> None:
    probe = {"name": "it", **BETWEEN}
    with pytest.raises(SpecError, match="a name no other flow, probe or program has"):
        read({**one("ping"), "probes": [probe]})


def test_a_command_line_of_a_file_needs_to_be_allowed(tmp_path: Path) -> None:
    """By every way that a file comes in; what is written in Python is a program already."""
    data = one("any")
    file = tmp_path / "it.toml"
    file.write_text(
        'duration = "10s"\nlinks = [{ a = "sender", b = "receiver" }]\n'
        '[[programs]]\nkind = "any"\nname = "it"\nhost = "sender"\ncommand = ["touch", "x"]\n'
    )
    resolved = read(data).resolved_json()
    for way in (
        lambda: Experiment.read(data),
        lambda: Experiment.from_toml(file),
        lambda: Experiment.from_toml(file.read_text()),
        lambda: Experiment.from_resolved(resolved),
        lambda: Experiment.from_resolved(json.loads(resolved)),
    ):
        with pytest.raises(SpecError, match="--allow-programs") as raised:
            way()
        assert raised.value.path == "programs[0].command"
    assert Experiment.from_toml(file, allow_programs=True).programs
    here = CommandProgram(name="it", host="sender", command=["true"])
    assert Experiment(duration="10s", links=LINKS, programs=[here]).with_(seed=2).programs


def test_a_setting_brings_no_command_line_in(tmp_path: Path) -> None:
    file = tmp_path / "it.toml"
    file.write_text(
        'duration = "10s"\nlinks = [{ a = "sender", b = "receiver" }]\n'
        '[[programs]]\nkind = "ping"\nname = "it"\nfrom = "sender"\nto = "receiver"\ncount = 1\n'
    )
    program = {"kind": "any", "name": "x", "host": "sender", "command": ["true"]}
    with pytest.raises(SpecError, match="--allow-programs"):
        Experiment.from_toml(file, [Setting("programs", [program])])


def test_words_are_addresses_numbers_and_options_of_ours() -> None:
    """What a file says in names stands in none but as a file of the program's own name."""
    for each in planned_tasks(all_kinds().resolved(), 0):
        if each.asked["kind"] == "any":
            continue
        hosts = {"sender", "router", "receiver"}
        assert not hosts & set(each.task.words), each.task
        for word in each.task.words:
            assert "/" not in word or word.startswith(("http://10.", "/dev/null")), word
        assert "/" not in each.task.output


def test_two_senders_have_seeds_and_ports_of_their_own_and_one_receiver() -> None:
    two = [{"kind": "ditg", "name": f"s{i}", **EACH["ditg"]} for i in (1, 2)]
    tasks = planned_tasks(read(described(*two)).resolved(), 0)
    senders = [each.task.words for each in tasks if each.task.tool == "ITGSend"]
    assert [each.task.tool for each in tasks].count("ITGRecv") == 1
    for option in ("-s", "-rp"):
        first, second = (words[words.index(option) + 1] for words in senders)
        assert first != second
    again = planned_tasks(read(described(*two)).resolved(), 1)
    assert [each.task.words for each in again if each.task.tool == "ITGSend"] != senders
