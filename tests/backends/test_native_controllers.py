"""Congestion controllers in C: allowed by a person alone, compiled once, and able to end their own
run only."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.backends import Failure, run_many, simulate
from dumbbell.backends.native import HEADER, built
from dumbbell.backends.native import isolated as isolated_module
from dumbbell.backends.native.building import _compiler_of
from dumbbell.cli.app import app
from dumbbell.compare.executing import Task
from dumbbell.compare.executing.identity import Identities
from dumbbell.errors import RunError, SpecError
from dumbbell.spec import Experiment
from dumbbell.spec.native import allow, source_of
from own_controllers import toml

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (apt: gcc)")

EXAMPLE = Path(__file__).parents[2] / "examples/controllers/my_cc.c"
WITHOUT_PARAMETERS = """
#include <dumbbell_cc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void loss(struct dumbbell_cc_flow *f, const struct dumbbell_cc_snapshot *n)
{ (void)n; f->window->ssthresh_pkts = 2; }
static void ack(struct dumbbell_cc_flow *f, const struct dumbbell_cc_ack *a)
{ (void)f; (void)a; BODY }
const struct dumbbell_cc_ops dumbbell_cc = {
	.version = DUMBBELL_CC_VERSION, .name = "test", .on_ack = ack, .on_loss = loss };
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own: nothing was ever allowed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path / "cache/dumbbell"


def written(folder: Path, source: str, more: str = "", duration: str = "4s") -> Path:
    (folder / "own.c").write_text(source)
    file = folder / "own.toml"
    file.write_text(toml("file:own.c", more, duration=duration))
    return file


def body(text: str) -> str:
    return WITHOUT_PARAMETERS.replace("BODY", text)


def example(folder: Path, more: str = "") -> Path:
    return written(folder, EXAMPLE.read_text(), more)


def test_it_gives_the_digest_of_our_own_and_says_what_ran(tmp_path: Path) -> None:
    experiment = Experiment.from_toml(example(tmp_path), allow_native=True)
    run = simulate(experiment)
    own = simulate(Experiment.from_toml(toml("reno")))
    assert run.meta["digest"] == own.meta["digest"]
    assert set(run.tables) == set(own.tables)
    sha256 = hashlib.sha256(EXAMPLE.read_bytes()).hexdigest()
    (said,) = run.meta["versions"]["controllers"].items()
    found = built(sha256)
    assert found is not None
    assert said == (
        sha256,
        {
            "congestion_control": "file:own.c",
            "build_sha256": found.build_sha256,
            "compiler": found.compiler,
        },
    )
    assert "controllers" not in own.meta["versions"]
    assert run.spec["flows"][0]["tcp"]["controller"] == {"sha256": sha256, "parameters": {}}
    assert "controller" not in own.spec["flows"][0]["tcp"]


@pytest.mark.slow
def test_nothing_is_compiled_or_loaded_that_nobody_has_allowed(tmp_path: Path, cache: Path) -> None:
    file = example(tmp_path)
    sha256 = hashlib.sha256(EXAMPLE.read_bytes()).hexdigest()
    experiment = Experiment.from_toml(file)
    with pytest.raises(SpecError) as raised:
        simulate(experiment)
    said = str(raised.value)
    assert raised.value.path == "flows[0].tcp.congestion_control"
    for part in (
        "file:own.c",
        sha256,
        "--allow-native",
        "compiles the file",
        "all that you may do",
    ):
        assert part in said
    assert not cache.exists()
    # From what a result or a bundle keeps neither.
    with pytest.raises(SpecError, match="--allow-native"):
        simulate(Experiment.from_resolved(experiment.resolved_json()))
    words = ["run", str(file), "--no-store", "--no-page"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, SpecError)
    assert not cache.exists()
    assert CliRunner().invoke(app, [*words, "--allow-native"]).exit_code == 0
    # It was said once; by hash, so another content is another question.
    assert CliRunner().invoke(app, words).exit_code == 0
    again = Experiment.from_resolved(experiment.resolved_json())
    assert simulate(again).meta["digest"] == simulate(experiment).meta["digest"]
    (tmp_path / "own.c").write_text(EXAMPLE.read_text() + "\n")
    assert isinstance(CliRunner().invoke(app, words).exception, SpecError)


def test_a_source_in_the_cache_that_is_not_what_was_allowed_is_no_permission(
    tmp_path: Path, cache: Path
) -> None:
    sha256 = allow(EXAMPLE)
    kept = source_of(sha256)
    assert kept == cache / "controllers" / sha256 / "source.c"
    kept.write_text("int other;")
    assert source_of(sha256) is None
    with pytest.raises(SpecError, match="--allow-native"):
        simulate(Experiment.from_toml(example(tmp_path)))


@pytest.mark.slow
def test_two_contents_and_two_parameters_are_two_runs(tmp_path: Path) -> None:
    keys = set()
    digests = set()
    for more in ("", "parameters = { keep = 80 }", "parameters = { keep = 80, increase = 3 }"):
        experiment = Experiment.from_toml(example(tmp_path, more), allow_native=True)
        keys.add(Identities().of(Task(experiment.resolved_json(), 0, "sim"))[0])
        digests.add(simulate(experiment).meta["digest"])
    source = EXAMPLE.read_text().replace("keep = 50", "keep = 60")
    experiment = Experiment.from_toml(written(tmp_path, source), allow_native=True)
    keys.add(Identities().of(Task(experiment.resolved_json(), 0, "sim"))[0])
    digests.add(simulate(experiment).meta["digest"])
    assert len(keys) == len(digests) == 4


def test_another_compiler_is_another_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment.from_toml(example(tmp_path), allow_native=True)
    task = Task(experiment.resolved_json(), 0, "sim")
    before = Identities().of(task)[0]
    assert Identities().of(task)[0] == before
    monkeypatch.setenv("CC", "cc -O1")
    assert Identities().of(task)[0] != before


def test_values_of_parameters_are_refused_by_name_and_range(tmp_path: Path) -> None:
    for more, path, part in (
        ("parameters = { kepe = 3 }", "flows[0].tcp.parameters", "did you mean 'keep'"),
        ("parameters = { keep = 100 }", "flows[0].tcp.parameters.keep", "10 to 99"),
    ):
        experiment = Experiment.from_toml(example(tmp_path, more), allow_native=True)
        with pytest.raises(SpecError) as raised:
            simulate(experiment)
        assert raised.value.path == path
        assert part in str(raised.value)
    for more, path in (
        ("parameters = { keep = 1.5 }", "flows[0].tcp.parameters.keep"),
        ("parameters = { keep = true }", "flows[0].tcp.parameters.keep"),
        ('parameters = { "a b" = 1 }', "flows[0].tcp.parameters"),
        ("parameters = 3", "flows[0].tcp.parameters"),
        ('controller_sha256 = "12"', "flows[0].tcp.controller_sha256"),
        (f'controller_sha256 = "{"0" * 64}"', "flows[0].tcp.congestion_control"),
    ):
        with pytest.raises(SpecError) as raised:
            Experiment.from_toml(example(tmp_path, more), allow_native=True)
        assert raised.value.path == path
    # One file compares controllers: others pay no heed.
    plain = Experiment.from_toml(toml("cubic")).resolved()
    for key in ("parameters = { keep = 50 }", f'controller_sha256 = "{"0" * 64}"'):
        assert Experiment.from_toml(toml("cubic", key)).resolved() == plain


@pytest.mark.parametrize(
    "name", ["file:../own.c", "file:/etc/own.c", "file:none.c", "file:own.so", "file:", "file:.c"]
)
def test_a_description_reads_no_file_of_another_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "own.c").write_text(EXAMPLE.read_text())
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "link.c").symlink_to(tmp_path / "own.c")
    for each in (name, "file:link.c"):
        file = folder / "own.toml"
        file.write_text(toml(each))
        with pytest.raises(SpecError) as raised:
            Experiment.from_toml(file, allow_native=True)
        assert raised.value.path == "flows[0].tcp.congestion_control"


def test_a_description_survives_its_resolved_form(tmp_path: Path) -> None:
    experiment = Experiment.from_toml(example(tmp_path, "parameters = { keep = 80 }"))
    again = Experiment.from_resolved(experiment.resolved_json())
    assert again.resolved_json() == experiment.resolved_json()
    (tmp_path / "own.c").unlink()
    assert Experiment.from_resolved(experiment.resolved_json()).resolved() == again.resolved()
    tcp = experiment.flows[0].tcp
    assert tcp is not None
    (tmp_path / "own.c").write_text(EXAMPLE.read_text())
    assert tcp.with_(ecn=True).resolved() == {**tcp.resolved(), "ecn": True}
    assert experiment.with_(seed=9).resolved()["flows"] == experiment.resolved()["flows"]


def test_the_compilers_lines_are_shown_and_bounded(tmp_path: Path) -> None:
    file = written(tmp_path, body("this is \x1b[31mno C;"))
    with pytest.raises(SpecError) as raised:
        simulate(Experiment.from_toml(file, allow_native=True))
    said = str(raised.value)
    assert "source.c:9" in said
    assert "error:" in said
    assert "\x1b" not in said
    many = "\n".join(f"unknown_{n} x{n};" for n in range(500))
    file = written(tmp_path, body("") + many)
    with pytest.raises(SpecError, match="lines more") as raised:
        simulate(Experiment.from_toml(file, allow_native=True))
    assert len(str(raised.value)) < 6000
    file = written(tmp_path, "int nothing;")
    with pytest.raises(SpecError, match="defines `dumbbell_cc`"):
        simulate(Experiment.from_toml(file, allow_native=True))


def test_without_a_compiler_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SpecError, match="no C compiler 'no-such-compiler'"):
        simulate(Experiment.from_toml(example(tmp_path), allow_native=True))
    _compiler_of.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("*(volatile int *)8 = 1;", "ended by SIGSEGV"),
        ("abort();", "ended by SIGABRT"),
        ('fprintf(stderr, "gone \\033[31m wrong\\n"); _exit(7);', "with status 7 (gone"),
    ],
)
def test_one_that_crashes_ends_its_run_alone(tmp_path: Path, text: str, part: str) -> None:
    (tmp_path / "good.c").write_text(EXAMPLE.read_text())
    good = tmp_path / "good.toml"
    good.write_text(toml("file:good.c"))
    bad = Experiment.from_toml(written(tmp_path, body(text)), allow_native=True)
    fine = Experiment.from_toml(good, allow_native=True)
    own = Experiment.from_toml(toml("reno"))
    jobs = [(bad, 0), (fine, 0), (own, 0), (bad, 1), (fine, 1), (own, 1)]
    failures: list[Failure] = []
    runs = dict(run_many(jobs, jobs=2, on_failure=failures.append))
    assert sorted(runs) == [1, 2, 4, 5]
    assert runs[1].meta["digest"] == runs[2].meta["digest"]
    assert runs[4].meta["digest"] == runs[5].meta["digest"]
    assert sorted(failure.index for failure in failures) == [0, 3]
    for failure in failures:
        assert part in failure.message
        assert "\x1b" not in failure.message


def test_one_that_never_returns_ends_its_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated_module, "STILL_S", 1.0)
    endless = Experiment.from_toml(written(tmp_path, body("for (;;) ;")), allow_native=True)
    with pytest.raises(RunError, match="did not return in"):
        simulate(endless)


def test_what_it_prints_is_no_message(tmp_path: Path) -> None:
    text = 'static int said; if (!said++) { printf("{\\"digest\\": 1}\\n"); fflush(stdout); }'
    experiment = Experiment.from_toml(written(tmp_path, body(text)), allow_native=True)
    assert len(simulate(experiment).meta["digest"]) == 64


def test_runs_side_by_side_share_no_static_variable(tmp_path: Path) -> None:
    text = "static unsigned int calls; calls++; f->window->cwnd_pkts = 10 + calls / 50;"
    experiment = Experiment.from_toml(written(tmp_path, body(text)), allow_native=True)
    alone = simulate(experiment).meta["digest"]
    runs = dict(run_many(((experiment, 0) for _ in range(6)), jobs=3))
    assert {run.meta["digest"] for run in runs.values()} == {alone}
    assert len(runs) == 6


def test_a_run_that_is_given_up_leaves_no_process(tmp_path: Path) -> None:
    experiment = Experiment.from_toml(written(tmp_path, body("for (;;) ;")), allow_native=True)

    class Asked:
        """Asks to stop when it was looked at a few times."""

        looks = 0

        def is_set(self) -> bool:
            self.looks += 1
            return self.looks > 5

    assert list(run_many([(experiment, 0)], cancel=Asked())) == []


def test_a_capture_comes_back(tmp_path: Path) -> None:
    file = example(tmp_path)
    text = file.read_text().replace(
        'qdisc = "pfifo limit 20"', 'forward = { qdisc = "pfifo limit 20", capture = true }'
    )
    file.write_text(text)
    run = simulate(Experiment.from_toml(file, allow_native=True))
    own = simulate(Experiment.from_toml(text.replace("file:own.c", "reno")))
    assert run.meta["files"] == own.meta["files"]


def test_the_command_builds_and_lists(tmp_path: Path) -> None:
    runner = CliRunner()
    said = json.loads(runner.invoke(app, ["controller", "build", str(EXAMPLE), "--json"]).stdout)
    assert said["name"] == "my_cc"
    assert [each["name"] for each in said["parameters"]] == ["increase", "keep"]
    listed = json.loads(runner.invoke(app, ["controller", "list", "--json"]).stdout)
    assert [each["sha256"] for each in listed["files"]] == [said["sha256"]]
    assert "cubic" in listed["simulator"]
    assert Path(listed["include"]) == HEADER.parent
    assert "my_cc" in runner.invoke(app, ["controller", "list"]).stdout
    bad = tmp_path / "bad.c"
    bad.write_text("no C")
    done = runner.invoke(app, ["controller", "build", str(bad)])
    assert done.exit_code == 2
    assert "error:" in done.output
    done = runner.invoke(app, ["controller", "build", str(tmp_path / "none.c")])
    assert isinstance(done.exception, SpecError)


def test_the_kernel_takes_a_file_in_c_and_no_class(tmp_path: Path) -> None:
    from dumbbell.backends.kernel.tcp import check_tcp

    resolved = Experiment.from_toml(example(tmp_path)).resolved()
    check_tcp(resolved)
    own = resolved["flows"][0]["tcp"]
    own["congestion_control"] = "file:mine.py:Mine"
    own["controller"]["class"] = "Mine"
    with pytest.raises(SpecError, match=r"flows\[0\].tcp.congestion_control"):
        check_tcp(resolved)
