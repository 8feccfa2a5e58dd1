"""A referee's check of a dossier's folder: whatever was changed is named, by hand or by stealth."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dumbbell.backends import registry
from dumbbell.backends.kernel import KernelMissingError
from dumbbell.claims import to_json_text
from dumbbell.cli import main
from dumbbell.compare.checking import asserted, check
from dumbbell.compare.checking.bundle import CLAIMS, bundle_files
from dumbbell.errors import SpecError
from dumbbell.folders import write_content
from dumbbell.judge.kept_dossier import LISTED, SECTIONS_FOLDER, read_dossier
from dumbbell.judge.repeated import made_again
from dumbbell.report.folder import REPORT
from small_dossiers import SHORT

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]
OWN = Path(__file__).parents[2] / "examples" / "controllers" / "my_cc.c"
TAIL_DROP = f"{SECTIONS_FOLDER}/tail-drop"
EXISTING = f"{SECTIONS_FOLDER}/existing"


@pytest.fixture(scope="module", autouse=True)
def short() -> Iterator[None]:
    """Two sections of two seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dumbbell.judge.sections.SECTIONS", SHORT)
        yield


def judged(folder: Path, *words: str) -> Path:
    """A dossier in a folder, by the command."""
    with pytest.MonkeyPatch.context() as patch:
        command = ["judge", *words, "--against", "cubic", "--no-store", "--out", str(folder)]
        patch.setattr(sys, "argv", ["dumbbell", *command])
        with pytest.raises(SystemExit) as left:
            main()
    assert not left.value.code
    return folder


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dossier of a controller in C, as dumbbell wrote it."""
    place = tmp_path_factory.mktemp("written")
    (place / OWN.name).write_bytes(OWN.read_bytes())
    return judged(place / "mine", str(place / OWN.name), "--allow-native")


@pytest.fixture(scope="module")
def with_kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dossier with cells on the kernel, whose part is played by the simulator."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._MODULES, "kernel", "dumbbell.backends.sim")
        return judged(tmp_path_factory.mktemp("with-kernel") / "bbr", "bbr", "--with-kernel")


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    """A copy of `written` that a test may change."""
    return Path(shutil.copytree(written, tmp_path / "copy"))


def changed(folder: Path) -> dict[str, str]:
    return dict(read_dossier(folder).changed)


def listed_again(folder: Path) -> None:
    """Make both lists those of the files as they are now: who changes files can do that too."""
    path = folder / LISTED
    content = json.loads(path.read_text())
    for name in content["files"]:
        content["files"][name] = sha256(folder / name)
    for section, files in content["sections"].items():
        for name in files:
            files[name] = sha256(folder / SECTIONS_FOLDER / section / name)
    path.write_text(json.dumps(content, indent=1) + "\n")
    manifest = folder / REPORT.marker
    content = json.loads(manifest.read_text())
    for name, each in content["files"].items():
        each[0], each[2] = (folder / name).stat().st_size, sha256(folder / name)
    manifest.write_text(json.dumps(content))
    assert changed(folder) == {}


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def run_section(place: Path, settings: tuple[str, ...] = (), replications: int = 6) -> None:
    """Run a section's description as it is now, and write all that belongs to it."""
    from dumbbell.spec import Setting

    parsed = [Setting.parse(each) for each in settings]
    claims = asserted(place / "experiment.toml", parsed, label=place.name)
    found = check(claims, replications=replications, jobs=1)
    files = bundle_files(found, replications=replications, precision=None)
    for name, content in {**files, CLAIMS: to_json_text(found.judged)}.items():
        write_content(place / name, content)


def test_a_copy_is_whole(copy: Path) -> None:
    assert changed(copy) == {}


KINDS = (
    "index.html",
    "badge.svg",
    "summary.svg",
    "summary.pdf",
    "verdicts.csv",
    "verdicts.tex",
    "claims.json",
    "values.json",
    "meta.json",
    "provenance.json",
    "tail-drop.toml",
    "my_cc.c",
    "figures/sections.svg",
    "figures/sections.png",
    "figures/sections.csv",
    "figures/tail-drop.vl.json",
    f"{TAIL_DROP}/experiment.toml",
    f"{TAIL_DROP}/check.json",
    f"{TAIL_DROP}/results.json",
    f"{TAIL_DROP}/claims.json",
    f"{TAIL_DROP}/my_cc.c",
)


@pytest.mark.parametrize("name", KINDS)
def test_a_changed_byte_is_named(name: str, copy: Path) -> None:
    raw = bytearray((copy / name).read_bytes())
    raw[len(raw) // 2] ^= 1
    (copy / name).write_bytes(raw)
    assert changed(copy) == {name: f"{name} was changed since it was written"}


@pytest.mark.parametrize("name", KINDS)
def test_what_is_gone_is_named(name: str, copy: Path) -> None:
    (copy / name).unlink()
    assert changed(copy) == {name: f"{name} is missing"}


def test_every_file_is_in_a_list(copy: Path) -> None:
    for file in [each for each in copy.rglob("*") if each.is_file()]:
        name = file.relative_to(copy).as_posix()
        with file.open("ab") as opened:
            opened.write(b" ")
        if file.name not in (LISTED, REPORT.marker):
            assert name in changed(copy), name


@pytest.mark.parametrize(
    "name", ["notes.txt", f"{TAIL_DROP}/more.json", f"{SECTIONS_FOLDER}/made-up/check.json", ".x"]
)
def test_what_was_added_is_named(name: str, copy: Path) -> None:
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_text("{}")
    assert changed(copy) == {name: f"{name} was added: no list has it"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("verdicts.csv", "verdicts.tex"),
        (f"{TAIL_DROP}/results.json", f"{EXISTING}/results.json"),
        ("tail-drop.toml", "existing.toml"),
        ("figures/existing.svg", "figures/tail-drop.svg"),
    ],
)
def test_two_that_changed_places_are_both_named(one: str, other: str, copy: Path) -> None:
    first, second = (copy / one).read_bytes(), (copy / other).read_bytes()
    (copy / one).write_bytes(second)
    (copy / other).write_bytes(first)
    assert set(changed(copy)) == {one, other}


def test_two_sections_that_changed_places_are_named(copy: Path) -> None:
    (copy / TAIL_DROP).rename(copy / "aside")
    (copy / EXISTING).rename(copy / TAIL_DROP)
    (copy / "aside").rename(copy / EXISTING)
    names = ("check.json", "claims.json", "experiment.toml", "results.json")
    assert set(changed(copy)) == {
        f"{each}/{name}" for each in (TAIL_DROP, EXISTING) for name in names
    }


def test_links_and_pipes_are_named_and_not_followed(copy: Path, tmp_path: Path) -> None:
    secret = tmp_path / "verdicts.csv"
    shutil.copyfile(copy / "verdicts.csv", secret)
    (copy / "verdicts.csv").unlink()
    (copy / "verdicts.csv").symlink_to(secret)
    (copy / "badge.svg").unlink()
    os.mkfifo(copy / "badge.svg")
    shutil.move(copy / TAIL_DROP, tmp_path / "elsewhere")
    (copy / TAIL_DROP).symlink_to(tmp_path / "elsewhere")
    found = changed(copy)
    assert found["verdicts.csv"] == "verdicts.csv is a link, which is not followed"
    assert found["badge.svg"] == "badge.svg is no file"
    assert "is a link" in found[f"{TAIL_DROP}/check.json"]


def test_without_the_list_of_the_page_it_is_told(copy: Path) -> None:
    (copy / REPORT.marker).unlink()
    (copy / TAIL_DROP / "more.json").write_text("{}")
    found = changed(copy)
    assert found.pop(REPORT.marker).startswith(f"{REPORT.marker} is missing")
    assert set(found) == {f"{TAIL_DROP}/more.json"}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[" * 100_000,
        '{"format": 2}',
        '{"format": 1, "name": "x", "source": "", "digest": "", "settings": {}, "staged_in": "", '
        '"files": {"../../etc/passwd": [1, 1, "0"]}}',
    ],
)
def test_a_damaged_list_of_the_page_is_refused(text: str, copy: Path) -> None:
    (copy / REPORT.marker).write_text(text)
    with pytest.raises(SpecError, match=REPORT.marker):
        read_dossier(copy)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("controller", "bbr", "existing/experiment.toml, line "),
        ("controller", "bbbr", "did you mean 'bbr'"),
        ("against", ["reno"], "existing/experiment.toml, line "),
        ("depth", "full", "tail-drop/experiment.toml, line "),
        ("suite", "nsprf", "did you mean 'nsperf'"),
        ("suite", "ccperf", "existing: dumbbell "),
    ],
)
def test_another_request_is_named_before_any_run(
    key: str, value: object, told: str, copy: Path, tmp_path: Path
) -> None:
    content = json.loads((copy / LISTED).read_text())
    (copy / LISTED).write_text(json.dumps({**content, key: value}))
    place = tmp_path / "again"
    place.mkdir()
    found = made_again(read_dossier(copy), {}, place)
    assert not found.is_same
    assert any(told in each for each in found.descriptions), found.descriptions


@pytest.mark.slow
def test_what_nobody_changed_is_made_again_to_the_same_bytes(
    dumbbell: Dumbbell, copy: Path
) -> None:
    code, out, _ = dumbbell("check", str(copy))
    assert code == 0
    assert "files made again from these runs, such as verdicts.csv and badge.svg: the same" in out
    code, out, _ = dumbbell("check", str(copy), "--json")
    assert code == 0
    told = json.loads(out)
    assert told["digest_is_of_files"]
    assert told["made_again"] == {"descriptions": [], "files": [], "not_compared": ""}


@pytest.mark.slow
def test_a_damaged_section_is_named_and_the_others_are_repeated(
    dumbbell: Dumbbell, copy: Path
) -> None:
    (copy / EXISTING / "check.json").write_text("\x1b[2J{")
    code, out, _ = dumbbell("check", str(copy))
    assert code == 1
    assert f"{EXISTING}/check.json was changed since it was written" in out
    assert "existing: not repeated: " in out
    assert "tail-drop: 6 replications" in out
    assert "not compared: existing could not be repeated" in out
    assert "SHA-256 of the sections before they were changed: " in out
    assert "\x1b" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [('side = "at least"', 'side = "at most"'), ("limit 25000", "limit 25001")],
)
def test_another_description_with_its_own_runs_and_lists_is_named(
    old: str, new: str, dumbbell: Dumbbell, copy: Path
) -> None:
    file = copy / TAIL_DROP / "experiment.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    line = 1 + text[: text.index(old)].count("\n")
    shutil.copyfile(file, copy / "tail-drop.toml")
    run_section(copy / TAIL_DROP)
    listed_again(copy)
    code, out, _ = dumbbell("check", str(copy))
    assert code == 1
    assert "verdicts: the same" in out
    assert f"tail-drop/experiment.toml, line {line}: " in out
    assert new in out


@pytest.mark.slow
def test_another_seed_and_fewer_runs_are_named(dumbbell: Dumbbell, copy: Path) -> None:
    run_section(copy / TAIL_DROP, settings=("seed=7",))
    listed_again(copy)
    code, out, _ = dumbbell("check", str(copy))
    assert code == 1
    assert "tail-drop/check.json: seed=7 in place of the description's value" in out
    run_section(copy / TAIL_DROP, replications=5)
    listed_again(copy)
    code, out, _ = dumbbell("check", str(copy))
    assert code == 1
    assert f"{TAIL_DROP}/check.json" in out


@pytest.mark.slow
def test_a_section_that_was_left_out_is_named(dumbbell: Dumbbell, copy: Path) -> None:
    shutil.rmtree(copy / TAIL_DROP)
    content = json.loads((copy / LISTED).read_text())
    del content["sections"]["tail-drop"]
    (copy / LISTED).write_text(json.dumps(content))
    assert changed(copy).keys() <= {LISTED}
    listed_again(copy)
    code, out, _ = dumbbell("check", str(copy))
    assert code == 1
    assert "tail-drop: the folder lacks this section" in out


@pytest.mark.slow
def test_other_outcomes_with_other_lists_are_named(dumbbell: Dumbbell, copy: Path) -> None:
    names = ("verdicts.csv", "verdicts.tex", "badge.svg", "summary.svg", "claims.json")
    for name in names:
        text = (copy / name).read_text()
        (copy / name).write_text(text.replace("does not hold", "holds") + " ")
    listed_again(copy)
    code, out, _ = dumbbell("check", str(copy), "--json")
    assert code == 1
    told = json.loads(out)
    assert told["changed"] == []
    # The list of files is not that of the runs either.
    assert set(told["made_again"]["files"]) == {*names, LISTED}


@pytest.mark.slow
def test_of_another_version_what_can_be_compared_is(dumbbell: Dumbbell, copy: Path) -> None:
    content = json.loads((copy / LISTED).read_text())
    (copy / LISTED).write_text(json.dumps({**content, "dumbbell": "0.1.0"}))
    listed_again(copy)
    code, out, _ = dumbbell("check", str(copy))
    assert code == 0
    assert "not compared: dumbbell 0.1.0 made the folder" in " ".join(out.split())


@pytest.mark.slow
def test_cells_of_the_kernel_are_made_again_where_there_is_one(
    dumbbell: Dumbbell, with_kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(with_kernel, tmp_path / "bbr"))

    def missing(*_: object) -> None:
        raise KernelMissingError("no kernel; `dumbbell kernel build` builds it")

    with monkeypatch.context() as patch:
        patch.setattr("dumbbell.backends.kernel.backend.require_kernel", missing)
        code, out, _ = dumbbell("check", str(folder))
        assert code == 0
        assert "existing-kernel, tail-drop-kernel could not be repeated" in " ".join(out.split())
    monkeypatch.setitem(registry._MODULES, "kernel", "dumbbell.backends.sim")
    code, out, _ = dumbbell("check", str(folder), "--json")
    assert code == 0, out
    assert json.loads(out)["made_again"] == {"descriptions": [], "files": [], "not_compared": ""}
    # Another cell, which the kernel is asked about in place of the one that decides.
    place = folder / SECTIONS_FOLDER / "tail-drop-kernel"
    file = place / "experiment.toml"
    assert "limit 25000" in file.read_text()
    file.write_text(file.read_text().replace("limit 25000", "limit 100000"))
    shutil.copyfile(file, folder / "tail-drop-kernel.toml")
    run_section(place)
    listed_again(folder)
    code, out, _ = dumbbell("check", str(folder))
    assert code == 1
    assert "tail-drop-kernel" in out


@pytest.mark.slow
def test_a_dossier_without_the_kernel_takes_away_the_cells_of_an_earlier_one(
    with_kernel: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(with_kernel, tmp_path / "bbr"))
    names = ("existing", "existing-kernel", "tail-drop", "tail-drop-kernel")
    assert sorted(each.name for each in (folder / SECTIONS_FOLDER).iterdir()) == [*names]
    own = folder / SECTIONS_FOLDER / "existing-kernel" / "notes.txt"
    own.write_text("mine")
    damaged = folder / SECTIONS_FOLDER / "damaged"
    damaged.mkdir()
    (damaged / REPORT.marker).write_text("{")
    judged(folder, "bbr")
    left = sorted(each.name for each in (folder / SECTIONS_FOLDER).iterdir())
    assert left == ["damaged", "existing", "existing-kernel", "tail-drop"]
    assert own.read_text() == "mine"
