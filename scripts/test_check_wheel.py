"""Checks of a wheel must be able to fail; files named in the workflow must exist."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import check_wheel
import digests

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = ROOT / ".github/workflows/wheels.yml"
NAME = "dumbbell-1.0-cp311-abi3-manylinux_2_28_x86_64.whl"
SBOM = "dumbbell-1.0.dist-info/sboms/dumbbell.cdx.json"
COMPILED_IN: list[dict[str, object]] = [
    {"name": name, **({} if name.startswith("dumbbell") else {"hashes": [{}]})}
    for name in check_wheel.SBOM_NEEDS
]
PROGRAM = b"\x7fELF ... GLIBC_2.2.5 GLIBC_2.14 GLIBC_2.27"


def as_sbom(components: list[dict[str, object]], **more: str) -> bytes:
    return json.dumps({"bomFormat": "CycloneDX", "components": components, **more}).encode()


def a_wheel(folder: Path, files: dict[str, bytes] | None = None, name: str = NAME) -> Path:
    """Return a wheel with the guest, the laboratory's module and these files."""
    brought = {
        check_wheel.GUEST: PROGRAM,
        check_wheel.LABORATORY: b"",
        SBOM: as_sbom(COMPILED_IN),
    }
    with zipfile.ZipFile(folder / name, "w") as archive:
        for path, content in (brought | (files or {})).items():
            archive.writestr(path, content)
    return folder / name


def test_a_good_wheel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_wheel.check_file(a_wheel(tmp_path))
    assert f"{check_wheel.GUEST}: 0.0 MB, glibc 2.27" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "files", "words"),
    [
        (NAME.replace("manylinux_2_28", "linux"), {}, "is no manylinux tag"),
        (NAME.replace("abi3", "cp311"), {}, "not for every Python"),
        # Not checked by maturin: an additional program.
        (NAME, {check_wheel.GUEST: PROGRAM + b" GLIBC_2.34"}, "dumbbell-guest needs glibc 2.34"),
        (NAME, {"dumbbell-1.0.dist-info/sboms/other.json": b""}, "has 2 lists"),
        (NAME, {SBOM: as_sbom(COMPILED_IN, bomFormat="SPDX")}, "is no CycloneDX document"),
        (NAME, {SBOM: as_sbom(COMPILED_IN[1:])}, "does not name dumbbell-bindings"),
        (NAME, {SBOM: as_sbom([*COMPILED_IN, {"name": "other"}])}, "has no hash of other"),
        (NAME, {SBOM: as_sbom(COMPILED_IN, built=f"file://{ROOT}")}, "names a folder"),
        (NAME, {"large": bytes(check_wheel.MOST_BYTES)}, "it has 12.0 MB"),
    ],
)
def test_a_bad_wheel(tmp_path: Path, name: str, files: dict[str, bytes], words: str) -> None:
    with pytest.raises(SystemExit, match=words):
        check_wheel.check_file(a_wheel(tmp_path, files, name))


def test_a_wheel_without_the_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_wheel, "HAS_KERNEL", True)
    wheel = a_wheel(tmp_path)
    monkeypatch.setattr(check_wheel, "GUEST", "elsewhere")
    with pytest.raises(SystemExit, match="the guest is not in it"):
        check_wheel.check_file(wheel)


def test_a_wheel_without_the_laboratory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = a_wheel(tmp_path)
    monkeypatch.setattr(check_wheel, "LABORATORY", "elsewhere")
    with pytest.raises(SystemExit, match="the laboratory's module is not in it"):
        check_wheel.check_file(wheel)


def test_extras_are_those_of_users(tmp_path: Path) -> None:
    metadata = b"Name: dumbbell\nProvides-Extra: pandas\nProvides-Extra: test\n\nText\n"
    wheel = a_wheel(tmp_path, {"dumbbell-1.0.dist-info/METADATA": metadata})
    assert check_wheel.extras(wheel) == ["pandas"]


def test_the_newest_of_a_folder(tmp_path: Path) -> None:
    wheel = a_wheel(tmp_path)
    assert check_wheel.newest(wheel) == check_wheel.newest(tmp_path) == wheel
    with pytest.raises(SystemExit, match="no wheel"):
        check_wheel.newest(tmp_path / "empty")


def test_a_tag_is_the_version_of_the_sources() -> None:
    log = "## 1.0\n"
    assert digests.tag_fault("v1.0", "1.0", log) is None
    assert "the tag is v1.1" in str(digests.tag_fault("v1.1", "1.0", log))
    assert "no section `## 1.1`" in str(digests.tag_fault("v1.1", "1.1", log))


def test_the_workflow_names_what_there_is() -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    scripts = set(re.findall(r"\bscripts/\w+\.py\b", text))
    assert scripts == {"scripts/check_wheel.py", "scripts/digests.py", "scripts/sbom.py"}
    assert all((ROOT / script).is_file() for script in scripts)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+) PYTHON", text):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    profiles = re.findall(r"--profile (\w+) --locked", text)
    assert profiles == ["dist"]


def test_what_is_built_is_used() -> None:
    """Each platform that builds a wheel also tests it."""
    text = WORKFLOW.read_text(encoding="utf-8")
    built, used = text.split("\n  use:\n")
    runners = set(re.findall(r"\b(?:ubuntu|macos|windows)-[\w.-]+", built)) - {"ubuntu-24.04"}
    (listed,) = re.findall(r"runner: \[(.*)\]", used)
    assert set(listed.split(", ")) == runners | {"ubuntu-24.04"}
    assert len(runners) == 4
