"""With ``--json``, standard output is one JSON document; other text goes to standard error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_cli_packetdrill import HANDSHAKE
from typer.core import TyperGroup
from typer.main import get_command

from dumbbell.cli.app import app
from small_dossiers import SHORT
from small_networks import home_line, sampled_queue

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]
EXAMPLES = Path(__file__).parents[2] / "examples"
LOGS = Path(__file__).parents[1] / "formats" / "logs"
CLAIM = """
[[claim]]
id = "waits"
kind = "ordering"
statement = "A call waits behind a download"
quantity = "probe[call].mean_rtt_ms"
above = "20.1ms"
"""
UNKNOWN = """
[[unknown]]
path = "duration"
values = ["1s", "2s"]

[[claim]]
kind = "published"
statement = "A call waits 50 ms"
source = "a page"
quantity = "probe[call].mean_rtt_ms"
printed = "50ms"
"""
LINE = home_line("1s", downloads=1)
TWO = ("--set", "duration=1s", "--set", "duration=2s", "--replications", "2")
SHARE = ("--replications", "3", "--shard", "1/3", "--store", "shares")
COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "run": [
        ("line.toml",),
        ("line.toml", "--out", "tables"),
        ("line.toml", "--page"),
        ("line.toml", "--to", "csv"),
        ("line.toml", "--to", "csv", "--page"),
        ("line.toml", "--to", "csv", "--out", "tables"),
        ("line.toml", "--dry-run"),
        ("line.toml", *TWO),
        ("line.toml", *TWO, "--out", "compared"),
        ("line.toml", *TWO, "--to", "csv"),
        ("line.toml", *TWO, "--page", "--to", "csv"),
        ("line.toml", *TWO, "--dry-run"),
        ("line.toml", *TWO, "--set", "seed=1", "--set", "seed=2", "--out", "swept"),
        ("line.toml", *SHARE),
        # A number that was meant otherwise has a notice.
        ("line.toml", "--set", 'links[isp->home].forward.qdisc="codel target 5"'),
    ],
    "check": [
        ("claims.toml", "--replications", "2"),
        ("claims.toml", "--replications", "2", "--out", "checked"),
        ("checked",),
        ("checked", "--out", "again"),
        ("claims.toml", "--dry-run"),
        ("claims.toml", *SHARE),
    ],
    "explain": [
        ("unknown.toml", "--replications", "10"),
        ("unknown.toml", "--replications", "10", "--out", "explained"),
        ("unknown.toml", "--dry-run"),
    ],
    "judge": [
        ("bbr", "--against", "cubic"),
        ("bbr", "--against", "cubic", "--out", "bbr"),
        ("--all", "--against", "cubic"),
    ],
    "studies": [()],
    "reproduce": [("md1", "--out", "md1"), ("all",)],
    "analyze": [
        (str(LOGS / "ping.txt"),),
        (str(LOGS / "ping.txt"), str(LOGS / "ping-lost.txt"), "--out", "logs", "--to", "csv"),
        (str(LOGS / "ping.txt"), "--to", "csv", "--out", "log-tables"),
        ("measured/small.flent.gz",),
        ("measured/small.flent.gz", "--out", "flent", "--to", "csv"),
        ("measured/capture.pcapng",),
        ("measured/capture.pcapng", "--out", "captured", "--to", "csv"),
    ],
    "twin": [
        ("--up", "10mbit", "--down", "50mbit", "--rtt", "20ms", "--loaded-up", "300ms"),
        ("--up", "2mbit", "--down", "5mbit", "--rtt", "20ms", "--out", "typed"),
    ],
    "advise": [
        ("--up", "2mbit", "--down", "5mbit", "--rtt", "20ms", "--loaded-up", "300ms"),
        ("--up", "2mbit", "--down", "5mbit", "--rtt", "20ms", "--for", "game-and-downloads"),
    ],
    "results": [(), ("--name", "nothing-of-it")],
    "results pivot": [
        ("probe[call].mean_rtt_ms", "--by", "duration", "--name", "nothing-of-it"),
        ("probe[call].mean_rtt_ms", "--by", "duration", "--where", "duration=2s"),
    ],
    "packetdrill": [("good.pkt",), ("--fuzz", "2")],
    "controller build": [("my_cc.c",)],
    "controller list": [()],
}
"""Of each command, lines that it runs in turn, in one folder."""
OF_THE_KERNEL = (
    *("kernel build", "kernel info", "kernel test", "kernel compare"),
    "controller compare",
)
"""Where a kernel is: `kernel/test_kernel_cli.py`, and `test_kernel_versions.py` and
`test_controllers_on_kernel.py` of `kernel_backend`."""


def with_json() -> Iterator[str]:
    """Commands that take ``--json``."""

    def below(group: TyperGroup, before: str) -> Iterator[str]:
        for name, command in group.commands.items():
            if any("--json" in each.opts for each in command.params):
                yield f"{before}{name}"
            if isinstance(command, TyperGroup):
                yield from below(command, f"{before}{name} ")

    whole = get_command(app)
    assert isinstance(whole, TyperGroup)
    return below(whole, "")


def test_each_command_that_prints_json_is_here() -> None:
    assert sorted(with_json()) == sorted([*COMMANDS, *OF_THE_KERNEL])


@pytest.fixture
def files(
    dumbbell: Dumbbell,
    only: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """What the lines name, two studies, and two short sections of a dossier."""
    only("md1", "md1-wrong")
    monkeypatch.setattr("dumbbell.judge.sections.SECTIONS", SHORT)
    (tmp_path / "line.toml").write_text(LINE)
    (tmp_path / "claims.toml").write_text(LINE + CLAIM)
    (tmp_path / "unknown.toml").write_text(LINE + UNKNOWN)
    (tmp_path / "my_cc.c").write_bytes((EXAMPLES / "controllers" / "my_cc.c").read_bytes())
    (tmp_path / "good.pkt").write_text(HANDSHAKE + "+0 > P. 1:1001(1000) ack 1\n")
    (tmp_path / "measured.toml").write_text(sampled_queue("small", "1s", "capture = true"))
    measured = ("--out", "measured", "--to", "flent,pcapng", "--no-store")
    assert dumbbell("run", "measured.toml", *measured)[0] == 0
    assert dumbbell("run", "line.toml", *TWO, "--no-page")[0] == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_standard_output_is_one_document(
    dumbbell: Dumbbell, files: None, command: str, tmp_path: Path
) -> None:
    for line in COMMANDS[command]:
        code, out, err = dumbbell(*command.split(), *line, "--json")
        assert code in (0, 1), err
        assert json.loads(out) is not None, line
        if "--out" in line:
            # Where the result lies is said beside it; `reproduce` has it among its numbers.
            folder = line[line.index("--out") + 1]
            assert (tmp_path / folder).is_dir()
            assert folder in err or command == "reproduce"
