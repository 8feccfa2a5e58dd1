"""Hashes of what runs in a guest; no kernel is needed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dumbbell.backends.kernel import guest as guest_module
from dumbbell.backends.kernel import programs
from dumbbell.backends.kernel.guest import GuestMissingError, guest_program
from dumbbell.backends.kernel.programs import file_sha256, host_tools, shared_libraries
from dumbbell.errors import RunError
from dumbbell.spec import Experiment

pytestmark = pytest.mark.programs


def test_libraries_are_those_that_are_loaded() -> None:
    """As /proc/PID/maps has them of a program that runs."""
    program = Path("/bin/sleep").resolve()
    running = subprocess.Popen([program, "600"], env={})
    process = Path(f"/proc/{running.pid}")
    try:
        # Asleep in its own code: while it is being loaded, the loader's cache is mapped too.
        while process.joinpath("stat").read_text(encoding="utf-8").split()[2] != "S":
            time.sleep(0.01)
        words = process.joinpath("maps").read_text(encoding="utf-8").split()
        mapped = {word for word in words if ".so" in word}
    finally:
        running.kill()
        running.wait()
    found = {str(path.resolve()) for path in shared_libraries(program).values()}
    assert mapped == found


def test_a_program_without_a_loader_has_no_libraries(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    assert shared_libraries(script) == {}


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for content in (b"one", b"three"):
        file.write_bytes(content)
        assert file_sha256(file) == hashlib.sha256(content).hexdigest()


def test_a_loader_that_fails_is_an_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    content = Path(shutil.which("sleep") or sys.executable).resolve().read_bytes()
    broken.write_bytes(content.replace(b"libc.so.6\0", b"libX.so.6\0"))
    with pytest.raises(RunError, match=r"broken cannot be loaded.*libX\.so\.6"):
        shared_libraries(broken)


def test_without_the_guest_the_way_to_it_is_that_of_this_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout has a Makefile; what pip installed has none."""
    monkeypatch.delenv(guest_module.GUEST_VARIABLE, raising=False)
    inside = "python/dumbbell/backends/kernel/guest.py"
    monkeypatch.setattr(guest_module, "__file__", str(tmp_path / "checkout" / inside))
    (tmp_path / "checkout/guest").mkdir(parents=True)
    (tmp_path / "checkout/guest/Cargo.toml").touch()
    with pytest.raises(GuestMissingError, match="has not been built: run `make kernel` once"):
        guest_program()
    monkeypatch.setattr(guest_module, "__file__", str(tmp_path / "lib" / inside))
    with pytest.raises(GuestMissingError) as raised:
        guest_program()
    assert "is not in this installation" in str(raised.value)
    assert "DUMBBELL_GUEST=PATH" in str(raised.value)
    assert raised.value.exit_code == 2


def test_what_tests_built_is_the_last_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(guest_module.GUEST_VARIABLE, raising=False)
    monkeypatch.delenv("CARGO_TARGET_DIR", raising=False)
    inside = "python/dumbbell/backends/kernel/guest.py"
    monkeypatch.setattr(guest_module, "__file__", str(tmp_path / inside))
    (tmp_path / "guest").mkdir()
    (tmp_path / "guest/Cargo.toml").touch()
    for profile, built_at in (("debug", 30), ("release", 10), ("dist", 20)):
        place = tmp_path / "target" / profile / guest_module.GUEST
        place.parent.mkdir(parents=True)
        place.touch(0o755)
        os.utime(place, (built_at, built_at))
        # Each is preferred to those before, the newer of the quick ones to the older.
        assert guest_program() == place


def test_all_programs_and_their_libraries_are_hashed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        tools = host_tools()
    except RunError as error:
        pytest.skip(str(error))
    guest = tmp_path / "guest"
    guest.write_text("#!/bin/sh\n", encoding="utf-8")
    guest.chmod(0o755)
    monkeypatch.setenv(guest_module.GUEST_VARIABLE, str(guest))
    found = programs.program_hashes()
    tables = found["tc_tables_sha256"]
    assert isinstance(tables, dict)
    assert "normal.dist" in tables  # tc has it on every system
    assert found["guest_sha256"] == file_sha256(guest)
    assert found["tc_sha256"] == file_sha256(Path(tools["tc"]))
    libraries = found["libraries_sha256"]
    assert isinstance(libraries, dict)
    assert libraries.keys() == {
        name for tool in tools.values() for name in shared_libraries(Path(tool))
    }


def test_what_a_program_needs_is_missed_with_its_place_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ip", "tc", "flent", "python3", "ping", "irtt"):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(programs, "_SYSTEM_FOLDERS", str(tmp_path))
    between = {"name": "it", "from": "a", "to": "b"}
    flent = {"kind": "flent", **between, "length": "1s", "delay": "1s"}

    def check(program: dict[str, str]) -> None:
        links = [{"a": "a", "b": "b"}]
        data = {"duration": "10s", "links": links, "programs": [program]}
        programs.check_programs(Experiment.read(data).resolved())

    check({**flent, "test": "ping"})
    for message in (
        r"programs\[0\]: it \(flent with test 'rrul'\) needs netperf, which is not installed in ",
        r"apt-get install netperf, in its section non-free only",
        r"without it: test = \"ping\" and \"voip\" need no netperf",
        r"dumbbell flent TEST --backend kernel",
    ):
        with pytest.raises(RunError, match=message):
            check({**flent, "test": "rrul"})
    with pytest.raises(RunError, match=r"it \(ditg\) needs ITGSend.*apt-get install d-itg"):
        check({"kind": "ditg", **between, "gap": "10ms", "size": "1kb", "duration": "1s"})


def test_folders_that_a_program_consists_of_are_hashed(tmp_path: Path) -> None:
    hashed = []
    for text in ("one", "two", "two"):
        (tmp_path / "__pycache__").mkdir(exist_ok=True)
        (tmp_path / "module.py").write_text(text, encoding="utf-8")
        (tmp_path / "__pycache__/module.pyc").write_text(str(len(hashed)), encoding="utf-8")
        os.utime(tmp_path / "module.py", ns=(len(hashed), len(hashed)))
        tool = programs.Tool("true", "coreutils", content=(tmp_path,))
        hashed.append(programs.program_hashes((tool,))["true_content_sha256"])
    assert hashed[0] != hashed[1] == hashed[2]


def test_irtt_is_hashed_where_it_is_asked_for_and_missed_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ip", "tc", "guest"):
        tool = tmp_path / name
        tool.write_text("#!/bin/sh\n", encoding="utf-8")
        tool.chmod(0o755)
    monkeypatch.setattr(programs, "_SYSTEM_FOLDERS", str(tmp_path))
    monkeypatch.setenv(guest_module.GUEST_VARIABLE, str(tmp_path / "guest"))
    with pytest.raises(RunError, match=r"irtt is not installed .Debian: apt-get install irtt."):
        host_tools((programs.IRTT_TOOL,))
    assert "irtt" not in host_tools()
    irtt = tmp_path / "irtt"
    irtt.write_text("#!/bin/sh\n# irtt\n", encoding="utf-8")
    irtt.chmod(0o755)
    found = programs.program_hashes((programs.IRTT_TOOL,))
    assert found["irtt_sha256"] == file_sha256(irtt)
    assert "irtt_sha256" not in programs.program_hashes()
