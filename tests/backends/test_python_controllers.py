"""Congestion controllers in Python: from a file, allowed by a person alone, and from a class that
the program gives."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from dumbbell.backends import Failure, run_many, simulate
from dumbbell.backends.native.python_class import interpreter, sha256_of_class
from dumbbell.cli.app import app
from dumbbell.compare.executing import Task
from dumbbell.compare.executing.identity import Identities
from dumbbell.controllers import (
    Ack,
    Connection,
    Controller,
    Parameter,
    RttSample,
    SenderState,
    Snapshot,
    Window,
    parameters_of,
)
from dumbbell.errors import RunError, SpecError
from dumbbell.spec import Experiment
from dumbbell.spec.native import allow, source_of
from own_controllers import toml

EXAMPLE = Path(__file__).parents[2] / "examples/controllers/mine.py"
PLAIN = """
from dumbbell.controllers import Controller, Parameter
class Own(Controller):
    keep = Parameter(50, least=10, most=99)
    def on_ack(self, window, ack):
        BODY
    def on_loss(self, window, now):
        window.ssthresh_pkts = 2
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own: nothing was ever allowed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/dumbbell"


def written(folder: Path, source: str, more: str = "", name: str = "Own") -> Path:
    (folder / "own.py").write_text(source)
    file = folder / "own.toml"
    file.write_text(toml(f"file:own.py:{name}", more))
    return file


def example(folder: Path, more: str = "") -> Path:
    return written(folder, EXAMPLE.read_text(), more, "Mine")


def allowed(file: Path) -> Experiment:
    return Experiment.from_toml(file, allow_native=True)


def given(more: str = "", name: str = "mine") -> Experiment:
    return Experiment.from_toml(toml(f"class:{name}", more))


class Halving(Controller):
    """Reno's avoidance without slow start."""

    keep = Parameter(50, least=10, most=99)

    def on_ack(self, window: Window, ack: Ack) -> None:
        window.grow_by_one_per(window.cwnd_pkts, ack.newly_delivered_pkts)

    def on_loss(self, window: Window, now: Snapshot) -> None:
        window.ssthresh_pkts = max(window.cwnd_pkts * self.keep // 100, 2)


def test_it_gives_the_digest_of_our_own_and_says_what_ran(tmp_path: Path) -> None:
    run = simulate(allowed(example(tmp_path)))
    own = simulate(Experiment.from_toml(toml("reno")))
    assert run.meta["digest"] == own.meta["digest"]
    sha256 = hashlib.sha256(EXAMPLE.read_bytes()).hexdigest()
    (said,) = run.meta["versions"]["controllers"].items()
    assert said[0] == sha256
    assert said[1]["congestion_control"] == "file:own.py:Mine"
    assert said[1]["compiler"] == interpreter()
    assert len(said[1]["build_sha256"]) == 64
    assert run.spec["flows"][0]["tcp"]["controller"] == {
        "sha256": sha256,
        "class": "Mine",
        "parameters": {},
    }
    assert simulate(allowed(example(tmp_path))).meta == run.meta


def test_nothing_is_executed_that_nobody_has_allowed(tmp_path: Path, cache: Path) -> None:
    said = tmp_path / "executed"
    source = EXAMPLE.read_text() + f"\nopen({str(said)!r}, 'w').close()\n"
    file = written(tmp_path, source, name="Mine")
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    with pytest.raises(SpecError) as raised:
        simulate(Experiment.from_toml(file))
    assert raised.value.path == "flows[0].tcp.congestion_control"
    for part in (
        "file:own.py:Mine",
        sha256,
        "--allow-native",
        "executes it",
        "all that you may do",
    ):
        assert part in str(raised.value)
    words = ["run", str(file), "--no-store", "--no-page"]
    assert isinstance(CliRunner().invoke(app, words).exception, SpecError)
    resolved = Experiment.from_toml(file).resolved_json()
    with pytest.raises(SpecError, match="--allow-native"):
        simulate(Experiment.from_resolved(resolved))
    # Allowed as C it is not allowed to be executed.
    (tmp_path / "own.c").write_text(source)
    assert allow(tmp_path / "own.c") == sha256
    with pytest.raises(SpecError, match="--allow-native"):
        simulate(Experiment.from_toml(file))
    assert not said.exists()
    assert CliRunner().invoke(app, [*words, "--allow-native"]).exit_code == 0
    assert said.exists()
    # It was said once; by hash, so another content is another question.
    assert CliRunner().invoke(app, words).exit_code == 0
    again = Experiment.from_resolved(resolved)
    assert again.resolved_json() == resolved
    assert len(simulate(again).meta["digest"]) == 64
    (tmp_path / "own.py").write_text(source + "\n")
    assert isinstance(CliRunner().invoke(app, words).exception, SpecError)


@pytest.mark.slow
def test_contents_classes_and_parameters_are_runs_of_their_own(tmp_path: Path) -> None:
    two = (
        EXAMPLE.read_text() + "\n\nclass Other(Mine):\n    keep = Parameter(60, least=1, most=99)\n"
    )
    files = [
        lambda: example(tmp_path),
        lambda: example(tmp_path, "parameters = { keep = 80 }"),
        lambda: example(tmp_path, "parameters = { keep = 80, increase = 3 }"),
        lambda: written(tmp_path, EXAMPLE.read_text().replace("(50,", "(70,"), name="Mine"),
        lambda: written(tmp_path, two, name="Other"),
    ]
    keys, digests = set(), set()
    for file in files:
        experiment = allowed(file())
        keys.add(Identities().of(Task(experiment.resolved_json(), 0, "sim"))[0])
        digests.add(simulate(experiment).meta["digest"])
    assert len(keys) == len(digests) == len(files)


def test_another_interpreter_is_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(allowed(example(tmp_path)).resolved_json(), 0, "sim")
    before = Identities().of(task)[0]
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    assert Identities().of(task)[0] != before


@pytest.mark.parametrize(
    ("more", "path", "part"),
    [
        ("parameters = { kepe = 3 }", "flows[0].tcp.parameters", "did you mean 'keep'"),
        ("parameters = { keep = 100 }", "flows[0].tcp.parameters.keep", "10 to 99"),
    ],
)
def test_values_of_parameters_are_refused_by_name_and_range(
    tmp_path: Path, more: str, path: str, part: str
) -> None:
    with pytest.raises(SpecError) as raised:
        simulate(allowed(example(tmp_path, more)))
    assert (raised.value.path, part in str(raised.value)) == (path, True)
    with pytest.raises(SpecError) as raised:
        simulate(given(more), controllers={"mine": Halving})
    assert (raised.value.path, part in str(raised.value)) == (path, True)


@pytest.mark.parametrize(
    "name",
    [
        "file:../own.py:Own",
        "file:/etc/own.py:Own",
        "file:none.py:Own",
        "file:own.py",
        "file:own.py:",
        "file:own.py:a b",
        "file:own.py:1a",
        "file:.py:Own",
        "file:own.pyc:Own",
        "class:",
        "class:a-b",
        "class:" + "a" * 65,
    ],
)
def test_a_description_reads_no_file_of_another_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "own.py").write_text(PLAIN.replace("BODY", "pass"))
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "link.py").symlink_to(tmp_path / "own.py")
    for each in (name, "file:link.py:Own"):
        (folder / "own.toml").write_text(toml(each))
        with pytest.raises(SpecError) as raised:
            Experiment.from_toml(folder / "own.toml", allow_native=True)
        assert raised.value.path == "flows[0].tcp.congestion_control"


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("def broken(:", "SyntaxError"),
        ("import no_such_module_at_all", "No module named 'no_such_module_at_all'"),
        ("x = 1", "it has none"),
        ("class Own: pass", "derives from dumbbell.controllers.Controller"),
        (PLAIN.replace("on_loss", "onloss").replace("BODY", "pass"), "not on_loss"),
        (PLAIN.replace("(50,", "(500,").replace("BODY", "pass"), "10 to 99 is allowed"),
        (PLAIN.replace("BODY", "pass").replace("Own(", "Owm("), "Owm"),
        (PLAIN.replace("BODY", "pass") + "    send_buffer_windows = 0\n", "1 to 100"),
        ("import os; os.abort()", "ended by signal 6"),
        ("raise ValueError('\\x1b[31m')", "<U+001B>"),
    ],
)
def test_a_file_that_is_no_controller_is_refused(tmp_path: Path, source: str, part: str) -> None:
    with pytest.raises(SpecError) as raised:
        simulate(allowed(written(tmp_path, source)))
    assert raised.value.path == "flows[0].tcp.congestion_control"
    assert part in str(raised.value)


FAULTS = [
    ("raise KeyError('wrong')", "KeyError: 'wrong'"),
    ("window.cwnd_pkts = -1", "OverflowError"),
    ("window.cwnd_pkts = 1.5", "TypeError"),
    ("window.cwnd_pkt = 1", "AttributeError"),
    ("window.mss_bytes = 1", "AttributeError"),
    ("ack.now_ns = 1", "AttributeError"),
    ("raise SystemExit(0)", "SystemExit"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("self.connection.below(0)", "below(0)"),
]


@pytest.mark.slow
def test_an_error_ends_its_run_alone_with_its_traceback(tmp_path: Path) -> None:
    bad = [
        allowed(written(tmp_path, PLAIN.replace("BODY", body), name="Own")) for body, _ in FAULTS
    ]
    good, own = allowed(example(tmp_path)), Experiment.from_toml(toml("reno"))
    failures: list[Failure] = []
    jobs = [(each, 0) for each in (*bad, good, own)]
    runs = dict(run_many(jobs, jobs=1, on_failure=failures.append))
    assert sorted(runs) == [len(bad), len(bad) + 1]
    assert runs[len(bad)].meta["digest"] == runs[len(bad) + 1].meta["digest"]
    assert sorted(failure.index for failure in failures) == list(range(len(bad)))
    for failure in failures:
        body, part = FAULTS[failure.index]
        assert part in failure.message
        assert 'File "own.py", line 6, in on_ack' in failure.message
        assert body in failure.message


def test_an_error_has_the_exit_status_of_a_failed_run(tmp_path: Path) -> None:
    file = written(tmp_path, PLAIN.replace("BODY", "1 / 0"))
    words = ["run", str(file), "--no-store", "--no-page", "--allow-native"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, RunError)
    assert done.exception.exit_code == 1
    assert "ZeroDivisionError" in str(done.exception)


def test_an_error_of_a_class_that_is_given_has_its_traceback() -> None:
    class Bad(Halving):
        def on_ack(self, window: Window, ack: Ack) -> None:
            raise LookupError("no such window")

    with pytest.raises(RunError, match="LookupError: no such window") as raised:
        simulate(given(), controllers={"mine": Bad})
    assert "in on_ack" in str(raised.value)
    assert "test_python_controllers.py" in str(raised.value)


def test_runs_side_by_side_share_no_variable(tmp_path: Path) -> None:
    source = "calls = 0\n" + PLAIN.replace(
        "BODY", "global calls; calls += 1; window.cwnd_pkts = 10 + calls // 50"
    )
    experiment = allowed(written(tmp_path, source))
    alone = simulate(experiment).meta["digest"]
    runs = dict(run_many(((experiment, 0) for _ in range(4)), jobs=2))
    assert [run.meta["digest"] for run in runs.values()] == [alone] * 4


def test_the_order_of_a_set_is_the_same_in_each_process(tmp_path: Path) -> None:
    body = "window.cwnd_pkts = 10 + int(min({str(n) for n in range(50)}, key=hash)) % 20"
    experiment = allowed(written(tmp_path, PLAIN.replace("BODY", body)))
    assert len({simulate(experiment).meta["digest"] for _ in range(3)}) == 1


def test_a_class_that_is_given_runs_as_its_file(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec(EXAMPLE.read_text(), space)
    run = simulate(given(), controllers={"mine": space["Mine"]})
    assert run.meta["digest"] == simulate(allowed(example(tmp_path))).meta["digest"]
    eighty = given("parameters = { keep = 80 }")
    file = simulate(allowed(example(tmp_path, "parameters = { keep = 80 }")))
    assert (
        simulate(eighty, controllers={"mine": space["Mine"]}).meta["digest"]
        == (file.meta["digest"])
    )


def test_a_class_that_is_given_is_said_by_its_hash() -> None:
    run = simulate(given(), controllers={"mine": Halving})
    sha256 = sha256_of_class(Halving)
    assert run.spec["flows"][0]["tcp"]["controller"] == {
        "sha256": sha256,
        "class": "mine",
        "parameters": {},
    }
    assert run.meta["versions"]["controllers"] == {
        sha256: {"congestion_control": "class:mine", "compiler": interpreter()}
    }
    # A result says what ran, and does not run it.
    again = Experiment.from_resolved(json.dumps(run.spec))
    assert again.resolved() == run.spec
    with pytest.raises(RunError, match="a class that was given"):
        simulate(again)
    assert simulate(again, controllers={"mine": Halving}).meta == run.meta


def test_classes_of_one_text_are_kept_apart() -> None:
    def made(window_pkts: int) -> type[Controller]:
        class Fixed(Halving):
            def on_ack(self, window: Window, ack: Ack) -> None:
                window.cwnd_pkts = window_pkts

        return Fixed

    ten = simulate(given(name="ten"), controllers={"ten": made(10), "two": made(2)})
    two = simulate(given(name="two"), controllers={"ten": made(10), "two": made(2)})
    assert ten.meta["digest"] != two.meta["digest"]


def test_names_of_classes_are_refused_with_the_nearest() -> None:
    with pytest.raises(SpecError, match="controllers=") as raised:
        simulate(given())
    assert raised.value.path == "flows[0].tcp.congestion_control"
    with pytest.raises(SpecError, match="did you mean 'class:mine'"):
        simulate(given(name="mien"), controllers={"mine": Halving})
    with pytest.raises(SpecError, match="derives from"):
        simulate(given(), controllers={"mine": int})  # type: ignore[dict-item]
    with pytest.raises(SpecError, match="sim, which alone has controllers in Python"):
        simulate(given(), controllers={"mine": Halving}, backend="kernel")


def test_files_and_classes_are_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="files run apart"):
        simulate(allowed(example(tmp_path)), controllers={"mine": Halving})


class Heard(Controller):
    """Remembers what it was told."""

    heard: list[tuple[str, Any]]
    all: ClassVar[list[Heard]]
    wants_pacing = True

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.heard = []
        self.kept: Any = None
        type(self).all.append(self)

    def init(self, window: Window, now: Snapshot) -> None:
        self.heard.append(("init", (now.now_ns, window.cwnd_pkts, window.mss_bytes)))

    def on_ack(self, window: Window, ack: Ack) -> None:
        rate = ack.rate
        assert ack.state is not SenderState.LOSS
        assert rate.delivered_pkts is None or rate.interval_ns > 0
        assert ack.next_pkts - ack.una_pkts >= ack.in_flight_pkts
        window.cwnd_pkts = window.slow_start(ack.newly_delivered_pkts) + window.cwnd_pkts
        window.pacing_rate_bytes_per_s = 2_000_000
        self.kept = ack
        self.heard.append(("on_ack", (ack.now_ns, ack.rtt_ns, ack.min_rtt_ns)))

    def on_rtt(self, window: Window, sample: RttSample) -> None:
        self.heard.append(("on_rtt", (sample.now_ns, sample.rtt_ns)))

    def on_loss(self, window: Window, now: Snapshot) -> None:
        window.ssthresh_pkts = max(now.in_flight_pkts // 2, 2)
        self.heard.append(("on_loss", now.lost_pkts))

    def on_exit_recovery(self, window: Window, now: Snapshot) -> None:
        self.heard.append(("on_exit_recovery", window.cwnd_pkts))

    def on_transmit_start(self, window: Window, now: Snapshot, last_sent_ns: int | None) -> None:
        self.heard.append(("on_transmit_start", last_sent_ns))

    def limits_itself(self) -> bool:
        return False

    def least_burst_pkts(self, window: Window) -> int:
        return 1


def test_events_carry_what_they_say() -> None:
    class Told(Heard):
        all: ClassVar = []

    simulate(given(), controllers={"mine": Told})
    (controller,) = Told.all
    names = [name for name, _ in controller.heard]
    assert {"init", "on_ack", "on_rtt", "on_loss", "on_exit_recovery"} <= set(names)
    start_ns, cwnd_pkts, mss_bytes = dict(controller.heard[::-1])["init"]
    assert (cwnd_pkts, mss_bytes) == (10, 1448)
    # The handshake takes a round trip: 20 ms and the transmission times of two headers.
    assert 20_000_000 < start_ns < 20_200_000
    acks = [said for name, said in controller.heard if name == "on_ack"]
    assert all(later[0] >= earlier[0] for earlier, later in itertools.pairwise(acks))
    assert all(rtt is None or rtt >= 20_000_000 for _, rtt, _ in acks)
    assert controller.connection.is_linux
    assert controller.connection.timer_hz == 1000
    # What is of a call is gone with it.
    with pytest.raises(RuntimeError, match="has returned"):
        _ = controller.kept.now_ns


def test_random_numbers_follow_from_the_seed() -> None:
    class Random(Halving):
        drawn: ClassVar[list[int]] = []

        def on_loss(self, window: Window, now: Snapshot) -> None:
            self.drawn.append(self.connection.below(1000))
            window.ssthresh_pkts = 2 + self.drawn[-1] % 10

    experiment = given()
    first = simulate(experiment, controllers={"mine": Random})
    drawn, Random.drawn = Random.drawn, []
    assert simulate(experiment, controllers={"mine": Random}).meta == first.meta
    assert Random.drawn == drawn != []
    Random.drawn = []
    simulate(experiment, 1, controllers={"mine": Random})
    assert drawn[:3] != Random.drawn[:3]


def test_parameters_are_numbers_of_an_instance_and_of_a_class() -> None:
    assert parameters_of(Halving) == {"keep": Parameter(50, 10, 99)}
    assert Halving.keep == 50


def test_the_command_builds_and_lists(tmp_path: Path) -> None:
    runner = CliRunner()
    words = ["controller", "build", f"{EXAMPLE}:Mine", "--json"]
    said = json.loads(runner.invoke(app, words).stdout)
    assert said["name"] == said["class_name"] == "Mine"
    assert [each["name"] for each in said["parameters"]] == ["increase", "keep"]
    assert source_of(said["sha256"], ".py") is not None
    listed = json.loads(runner.invoke(app, ["controller", "list", "--json"]).stdout)
    assert [each["sha256"] for each in listed["files"]] == [said["sha256"]]
    assert "Mine" in runner.invoke(app, ["controller", "list"]).stdout
    done = runner.invoke(app, ["controller", "build", str(EXAMPLE)])
    assert done.exit_code == 2
    assert "mine.py:CLASS" in done.output
    done = runner.invoke(app, ["controller", "build", f"{EXAMPLE}:None_"])
    assert done.exit_code == 2
    assert "Mine" in done.output


def test_the_kernel_refuses_it(tmp_path: Path) -> None:
    from dumbbell.backends.kernel.tcp import check_tcp

    for experiment in (Experiment.from_toml(example(tmp_path)), given()):
        with pytest.raises(SpecError, match=r"flows\[0\].tcp.congestion_control"):
            check_tcp(experiment.resolved())
