"""What a guest can reach of the host, tried by guests that mount all of it again."""

from __future__ import annotations

import importlib
import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell import simulate
from dumbbell.backends.kernel import HostRefusesError, KernelInfo, LaunchResult, launch
from dumbbell.backends.kernel import backend as kernel_backend
from dumbbell.backends.kernel import guest as guest_module
from dumbbell.backends.kernel.confinement import (
    SYSTEM,
    Confinement,
    ConfinementMethod,
    best_confinement,
)
from dumbbell.backends.kernel.guest import GuestMissingError
from dumbbell.spec import Experiment

pytestmark = pytest.mark.programs

Script = Callable[[str, str], Path]
HELD = (
    Confinement(ConfinementMethod.LANDLOCK),
    Confinement(ConfinementMethod.LANDLOCK, 2),
    Confinement(ConfinementMethod.MOUNT_NAMESPACE),
)
NOT_HELD = Confinement(ConfinementMethod.NOTHING)

# Each line that works is a way out; what it prints, or leaves, is looked for.
WAYS_OUT = """
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -n -t proc proc /proc
mount -n -t tmpfs tmpfs /run && mkdir /run/all
for all in '' /run/all; do
  [ -z "$all" ] || mount -n -t hostfs none "$all" -o /
  outside="$all$1"
  cat "$outside/secret"
  ls "$outside" | sed 's/^/listed /'
  echo changed >> "$outside/secret"
  echo changed > "$outside/secret"
  truncate -s 0 "$outside/secret"
  chmod 777 "$outside/secret"
  chown 1:1 "$outside/secret"
  touch -d 2001-01-01 "$outside/secret"
  mv "$outside/secret" "$outside/moved"
  ln "$outside/secret" "$2/linked"
  echo new > "$outside/new"
  mkdir "$outside/folder"
  ln -s "$outside/secret" "$2/symbolic"
  mkfifo "$2/pipe"
  cat "$all/etc/shadow"
  rm -r "$outside/secret"
done 2>"$2/refused"
echo worked > "$2/result" && echo again > "$2/result" && echo at the end
"""


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    secret = folder / "secret"
    secret.write_text("nobody's business\n", encoding="utf-8")
    secret.chmod(0o640)
    os.utime(secret, (10**9, 10**9))
    return folder


def as_it_was(outside: Path) -> bool:
    secret = outside / "secret"
    if [path.name for path in outside.iterdir()] != ["secret"]:
        return False
    status = secret.stat()
    return (
        secret.read_text(encoding="utf-8") == "nobody's business\n"
        and stat.S_IMODE(status.st_mode) == 0o640
        and (status.st_uid, status.st_mtime) == (os.getuid(), 10**9)
    )


def try_to_get_out(
    kernel: KernelInfo, script: Script, run_dir: Path, outside: Path, held: Confinement
) -> LaunchResult:
    init = script("init", WAYS_OUT)
    try:
        return launch(
            kernel.path, init, run_dir=run_dir, seed=1, wall_limit_s=60,
            args=[str(outside), str(run_dir)], confinement=held,
        )  # fmt: skip
    except HostRefusesError as error:
        if best_confinement().means is held.means:
            raise
        pytest.skip(f"not offered by this machine: {error}")


@pytest.mark.kernel
@pytest.mark.parametrize("held", HELD, ids=["landlock", "landlock 2", "mount namespace"])
def test_a_guest_that_mounts_all_files_again_stays_in_its_folder(
    kernel: KernelInfo, script: Script, run_dir: Path, outside: Path, held: Confinement
) -> None:
    result = try_to_get_out(kernel, script, run_dir, outside, held)
    assert result.ok, result.why()
    assert as_it_was(outside)
    assert result.console_tail.splitlines()[0] == "at the end"  # nothing was read
    assert (run_dir / "result").read_text(encoding="utf-8") == "again\n"
    files = {path.name for path in run_dir.iterdir()}
    assert files == {"console.log", "refused", "result"}  # and no link or pipe to fall into
    refused = (run_dir / "refused").read_text(encoding="utf-8")
    assert len(refused.splitlines()) >= 30


@pytest.mark.kernel
def test_nothing_holds_a_guest_that_is_not_confined(
    kernel: KernelInfo, script: Script, run_dir: Path, outside: Path
) -> None:
    result = try_to_get_out(kernel, script, run_dir, outside, NOT_HELD)
    assert "nobody's business" in result.console_tail
    assert not as_it_was(outside)


@pytest.mark.kernel
def test_confinement_changes_no_result(kernel: KernelInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Experiment.from_toml(Path(__file__).parents[2] / "examples/chain.toml")
    best = best_confinement()
    if "CI" in os.environ:  # a machine of the checks has a way to hold a guest
        assert best.means is not ConfinementMethod.NOTHING, best
    found = {}
    for held in (NOT_HELD, best):
        for module in (kernel_backend, importlib.import_module(launch.__module__)):
            monkeypatch.setattr(module, "best_confinement", lambda held=held: held)
        run = simulate(experiment, backend="kernel")
        found[held.means] = run.meta["digest"]
        assert run.meta["versions"]["guest_confined_by"] == str(held.means)
    assert len(set(found.values())) == 1


def test_what_cannot_be_enforced_is_no_run(script: Script, run_dir: Path) -> None:
    """A kernel that is not where it was stands for whatever the host refuses."""
    kernel = script("kernel", "echo begun\n")
    kernel.chmod(0o644)
    with pytest.raises(HostRefusesError, match="cannot be started: Permission denied"):
        launch(kernel, Path("/bin/true"), run_dir=run_dir, seed=1, wall_limit_s=20)


def test_a_program_sees_what_it_was_promised(script: Script, run_dir: Path, outside: Path) -> None:
    kernel = script("kernel", f'cat "{outside}/secret"; echo one > "$PWD/one"; cat one\n')
    options = {"run_dir": run_dir, "seed": 1, "wall_limit_s": 20}
    held = launch(kernel, Path("/bin/true"), **options)  # type: ignore[arg-type]
    if best_confinement().means is not ConfinementMethod.NOTHING:
        assert "nobody's business" not in held.console_tail
    assert held.console_tail.splitlines()[-1] == "one"
    (run_dir / "one").unlink()
    seen = [*SYSTEM, outside]
    held = launch(kernel, Path("/bin/true"), readable=seen, **options)  # type: ignore[arg-type]
    assert held.console_tail.splitlines() == ["nobody's business", "one"]
    assert as_it_was(outside)


@pytest.mark.parametrize(
    ("answer", "means", "words"),
    [
        (("landlock", 7, []), ConfinementMethod.LANDLOCK, "Landlock, version 7: a guest reads"),
        (
            ("mount-namespace", None, [("landlock", "no Landlock")]),
            ConfinementMethod.MOUNT_NAMESPACE,
            "a mount namespace: .*(no Landlock)",
        ),
        (
            ("nothing", None, [("landlock", "no Landlock"), ("mount-namespace", "not permitted")]),
            ConfinementMethod.NOTHING,
            "nothing: a guest reads and writes whatever you may .no Landlock; not permitted",
        ),
    ],
)
def test_what_the_machine_offers_is_asked_and_said(
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
    answer: tuple[str, int | None, list[tuple[str, str]]],
    means: ConfinementMethod,
    words: str,
) -> None:
    offered, version, refused = answer
    text = json.dumps(
        {
            "means": offered,
            "landlock_version": version,
            "refused": [{"means": name, "why": why} for name, why in refused],
        }
    )
    guest = script("guest", f"echo '{text}'\n")
    monkeypatch.setenv(guest_module.GUEST_VARIABLE, str(guest))
    found = best_confinement()
    assert found.means is means
    assert found.landlock_version == version
    assert [refusal.why for refusal in found.refused] == [why for _, why in refused]
    assert re.search(words, str(found))


def test_without_the_program_that_confines_nothing_begins(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(guest_module.GUEST_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(GuestMissingError, match=r"none .DUMBBELL_GUEST. is not a program"):
        launch(Path("/bin/true"), Path("/bin/true"), run_dir=run_dir, seed=1, wall_limit_s=20)
    assert list(run_dir.iterdir()) == []
