"""Building and caching, with a source tree of a few files and a make that pretends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.backends.kernel import build as building
from dumbbell.backends.kernel import traffic
from dumbbell.backends.kernel.build import BuildError, build_kernel
from dumbbell.backends.kernel.cache import (
    KernelMissingError,
    cached_kernels,
    find_kernel,
    kernels_folder,
    require_kernel,
)
from dumbbell.backends.kernel.module_tree import module_tree
from dumbbell.backends.kernel.recipe import Recipe, recipe_for
from dumbbell.cli.app import app
from dumbbell.errors import SpecError
from waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.programs

MAKE = """#!/bin/sh
case "$*" in
*allnoconfig)
  cat "${2#KCONFIG_ALLCONFIG=}" > .config
  grep -A2 'config HZ' arch/um/Kconfig | sed -n 's/.*default /CONFIG_HZ=/p' >> .config ;;
*linux)
  echo "  CC      a.o"; echo "  AS      b.o"; echo "  LD      linux"
  echo compiled >> "$COUNT_FILE"
  if [ -e "$HANG_FILE" ]; then touch "$HANG_FILE.reached"; sleep 600; fi
  if [ -e "$FAIL_FILE" ]; then echo "a.c:1: error: no"; exit 2; fi
  release=$(sed -n 's/^VERSION = //p' Makefile).$(sed -n 's/^PATCHLEVEL = //p' Makefile).0-test
  printf "#!/bin/sh\\necho $release\\n" > linux; chmod +x linux ;;
*" modules")
  if [ -e "$FAIL_FILE" ]; then echo "due.c:1: error: no"; exit 2; fi
  echo module > dumbbell_traffic.ko ;;
esac
"""


class Bench:
    """A machine with a source, a recipe, tools and a cache."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.source = folder / "source"
        (self.source / "arch/um").mkdir(parents=True)
        (self.source / "arch/um/Kconfig").write_text("config HZ\n\tint\n\tdefault 100\n")
        (self.source / "file").write_text("one\n")
        self.is_of_version(6, 1)
        (folder / "fragment").write_text("CONFIG_A=y\n")
        (folder / "0001.patch").write_text("--- a/file\n+++ b/file\n@@ -1 +1 @@\n-one\n+two\n")
        tools = folder / "bin"
        tools.mkdir()
        self.count, self.hang, self.fail = (folder / name for name in ("count", "hang", "fail"))
        make = MAKE.replace("$COUNT_FILE", str(self.count))
        make = make.replace("$HANG_FILE", str(self.hang)).replace("$FAIL_FILE", str(self.fail))
        for name in ("make", "bc", "bison", "flex"):
            tool = tools / name
            tool.write_text(make if name == "make" else "#!/bin/sh\n")
            tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        recipe = Recipe(folder / "fragment", (folder / "0001.patch",))
        monkeypatch.setattr(building, "recipe_for", lambda version: recipe)
        monkeypatch.setattr("dumbbell.backends.kernel.cache.recipe_for", lambda version: recipe)

    def is_of_version(self, version: int, patchlevel: int) -> None:
        """The source's Makefile says so from now on."""
        text = f"VERSION = {version}\nPATCHLEVEL = {patchlevel}\nSUBLEVEL = 0\n"
        (self.source / "Makefile").write_text(text)

    def builds(self) -> int:
        return len(self.count.read_text().splitlines()) if self.count.exists() else 0

    def left(self) -> list[str]:
        """What is in the cache besides locks."""
        return sorted(path.name for path in kernels_folder().iterdir() if path.suffix != ".lock")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def test_a_build_and_what_is_kept(bench: Bench) -> None:
    seen: list[tuple[str, int, int]] = []
    info = build_kernel(bench.source, jobs=1, on_progress=lambda *now: seen.append(now))
    assert info.release == "6.1.0-test"
    assert info.hz == 1000
    assert bench.left() == [info.key]
    assert sorted(path.name for path in info.path.parent.iterdir()) == ["info.json", "linux"]
    assert json.loads(info.path.with_name("info.json").read_text())["sha256"] == info.sha256
    assert seen[-1] == ("compiling", 2, building.OBJECTS)
    assert (bench.source / "file").read_text() == "one\n"
    assert find_kernel() == require_kernel() == info


def test_what_modules_need_is_kept_and_brought_to_a_kernel_without_it(bench: Bench) -> None:
    (bench.source / "include/linux").mkdir(parents=True)
    (bench.source / "include/linux/tcp.h").write_text("x\n")
    (bench.source / "scripts").mkdir()
    (bench.source / "scripts/tool.c").write_text("x\n")
    assert module_tree("0" * 16) is None
    info = build_kernel(bench.source, jobs=1)
    tree = module_tree(info.key)
    assert tree is not None
    kept = sorted(str(each.relative_to(tree)) for each in tree.rglob("*") if each.is_file())
    assert kept == [
        *(".config", "Makefile", "Module.symvers", "arch/um/Kconfig", "include/linux/tcp.h"),
    ]
    # A kernel that was built by an earlier version of ours.
    shutil.rmtree(tree)
    assert module_tree(info.key) is None
    assert build_kernel(bench.source, jobs=1) == info
    assert bench.builds() == 1
    assert module_tree(info.key) == tree


def test_the_command_compiles_the_module_for_traffic_too(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["kernel", "build", "--source", str(bench.source), "--json"]
    assert CliRunner().invoke(app, command).exit_code == 0
    told = json.loads(CliRunner().invoke(app, command).stdout)
    assert told["traffic_module_missing"] is None
    module, library = Path(told["traffic_module"]), Path(told["tool_library"])
    assert module.read_text() == "module\n"
    assert library.read_bytes().startswith(b"\x7fELF") and told["tool_library_missing"] is None
    # A kernel for which it does not compile is of use all the same.
    module.unlink()
    traffic._built.cache_clear()
    bench.fail.touch()
    told = json.loads(CliRunner().invoke(app, command).stdout)
    assert told["traffic_module"] is None
    assert "due.c:1: error: no" in told["traffic_module_missing"]
    said = CliRunner().invoke(app, command[:-1]).stdout
    assert "module    none, runs use the process: as a module of Linux it does not compile" in said
    assert "library" not in said
    library.unlink()
    monkeypatch.setenv("CC", "no-such-compiler")
    said = CliRunner().invoke(app, command[:-1]).stdout
    assert "library   none, tc is started anew for each host: no C compiler" in said
    assert bench.builds() == 1


def test_it_is_built_once_and_by_what_it_is_made_of(bench: Bench) -> None:
    first = build_kernel(bench.source, jobs=1)
    assert build_kernel(bench.source, jobs=1) == first
    assert bench.builds() == 1
    slow = build_kernel(bench.source, hz=250, jobs=1)
    (bench.source / "more").write_text("x")
    other = build_kernel(bench.source, jobs=1)
    assert len({first.key, slow.key, other.key}) == 3
    assert bench.builds() == 3
    assert {info.hz for info in cached_kernels()} == {1000, 250}
    (bench.folder / "fragment").write_text("CONFIG_A=y\nCONFIG_B=y\n")
    with pytest.raises(KernelMissingError, match=r"older recipe.*dumbbell kernel build` once"):
        require_kernel()


def test_an_archive_gives_the_same_kernel(bench: Bench) -> None:
    archive = bench.folder / "linux-6.1.tar"
    subprocess.run(["tar", "-cf", archive, "source"], cwd=bench.folder, check=True)
    assert build_kernel(archive, jobs=1).sha256 == build_kernel(bench.source, jobs=1).sha256


def test_a_cached_kernel_that_is_not_whole_is_built_again(bench: Bench) -> None:
    info = build_kernel(bench.source, jobs=1)
    info.path.write_text("short")
    assert find_kernel() is None
    assert build_kernel(bench.source, jobs=1).sha256 == info.sha256
    assert bench.builds() == 2


def test_two_builders_build_once(bench: Bench) -> None:
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(build_kernel(bench.source, jobs=1).key))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert len(set(found)) == 1
    assert bench.builds() == 1


def test_a_failure_shows_the_last_lines_and_leaves_nothing(bench: Bench) -> None:
    bench.fail.touch()
    with pytest.raises(BuildError, match=r"make linux failed \(status 2\)[\s\S]*error: no"):
        build_kernel(bench.source, jobs=1)
    assert bench.left() == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_leaves_nothing(bench: Bench, number: signal.Signals) -> None:
    bench.hang.touch()
    program = (
        "import signal; from pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from dumbbell.backends.kernel import build, recipe\n"
        f"fragment = Path({str(bench.folder / 'fragment')!r})\n"
        "build.recipe_for = lambda version: recipe.Recipe(fragment, ())\n"
        "from dumbbell.cli import main\nmain()"
    )
    command = [sys.executable, "-c", program, "kernel", "build", "--source", str(bench.source)]
    builder = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    reached = bench.hang.with_name("hang.reached")
    wait_until(lambda: reached.exists() or builder.poll() is not None, "what hangs")
    assert builder.poll() is None
    assert any(name.endswith(".building") for name in bench.left())
    builder.send_signal(number)
    _, errors = builder.communicate(timeout=PATIENCE_S)
    assert builder.returncode == 130, errors
    assert "nothing is left" in errors
    assert bench.left() == []


def test_a_patch_that_does_not_fit(bench: Bench) -> None:
    (bench.source / "file").write_text("three\n")
    with pytest.raises(BuildError, match=r"patch .*0001\.patch failed"):
        build_kernel(bench.source, jobs=1)
    assert bench.left() == []


def test_no_source(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "SOURCES", bench.folder / "nowhere")
    with pytest.raises(BuildError) as failure:
        build_kernel()
    assert "apt-get install linux-source-6.1" in str(failure.value)
    assert "\n" not in str(failure.value)


def test_missing_tools_are_named(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(bench.folder / "bin"))
    with pytest.raises(BuildError, match=r"not installed: gcc, ld, patch, tar: `apt-get install"):
        build_kernel(bench.source)


@pytest.mark.parametrize(
    ("name", "message"), [("nowhere", "that exists"), ("file.zip", "tar"), ("", "arch/um/Kconfig")]
)
def test_a_source_that_is_none(bench: Bench, name: str, message: str) -> None:
    (bench.folder / "file.zip").touch()
    with pytest.raises(SpecError, match=message):
        build_kernel(bench.folder / name)


def test_a_frequency_that_is_none(bench: Bench) -> None:
    with pytest.raises(SpecError, match="1000, 250, 100"):
        build_kernel(bench.source, hz=300)


def test_a_full_disk(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "NEEDED_BYTES", 10**18)
    with pytest.raises(BuildError, match="XDG_CACHE_HOME"):
        build_kernel(bench.source)
    assert bench.left() == []


def test_a_cache_whose_name_make_cannot_live_with(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(bench.folder / "my cache"))
    info = build_kernel(bench.source, jobs=1)
    assert " " in str(info.path)
    assert bench.left() == [info.key]


def test_a_relative_cache_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert kernels_folder() == Path.home() / ".cache/dumbbell/kernel"


def test_kernels_of_several_versions_lie_side_by_side(bench: Bench) -> None:
    usual = build_kernel(bench.source, jobs=1)
    bench.is_of_version(6, 12)
    later = build_kernel(bench.source, jobs=1)
    assert (usual.name, later.name, later.release) == ("6.1", "6.12", "6.12.0-test")
    assert (find_kernel(), find_kernel(name="6.12")) == (usual, later)
    with pytest.raises(SpecError, match=r"6\.12, which is what"):
        build_kernel(bench.source, version="6.1")
    with pytest.raises(KernelMissingError, match=r"build --version 6\.12 --hz"):
        require_kernel(250, "6.12")


def test_a_kernel_with_a_name_of_its_own_is_found_by_that_alone(bench: Bench) -> None:
    usual = build_kernel(bench.source, jobs=1)
    mine = build_kernel(bench.source, name="my-patch", jobs=1)
    assert (mine.name, mine.version) == ("my-patch", "6.1")
    assert mine.key != usual.key
    assert (find_kernel(), find_kernel(name="my-patch")) == (usual, mine)
    with pytest.raises(KernelMissingError, match=r"no kernel called my-pach \(did you mean my-pa"):
        require_kernel(name="my-pach")


@pytest.mark.parametrize("name", ["6.12", "", "a b", "../x", "x" * 64])
def test_a_name_that_is_none(bench: Bench, name: str) -> None:
    with pytest.raises(SpecError, match="name"):
        build_kernel(bench.source, name=name)


def test_an_archive_whose_name_lies(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.is_of_version(6, 12)
    monkeypatch.setattr(building, "SOURCES", bench.folder)
    archive = bench.folder / "linux-source-6.1.tar.xz"
    subprocess.run(["tar", "-cJf", archive, "source"], cwd=bench.folder, check=True)
    with pytest.raises(BuildError, match=r"is called 6\.1, and has Linux 6\.12"):
        build_kernel()
    assert bench.left() == []


def test_a_version_without_a_recipe_is_asked_for_with_its_source(bench: Bench) -> None:
    with pytest.raises(SpecError, match=r"6\.1 or 6\.12; of others name the source"):
        build_kernel(version="6.18")
    bench.is_of_version(6, 18)
    assert build_kernel(bench.source, jobs=1).name == "6.18"


def test_a_source_without_a_version(bench: Bench) -> None:
    (bench.source / "Makefile").write_text("all:\n")
    with pytest.raises(BuildError, match="no VERSION and PATCHLEVEL"):
        build_kernel(bench.source)


def test_a_source_without_a_makefile(bench: Bench) -> None:
    (bench.source / "Makefile").unlink()
    with pytest.raises(BuildError, match="no VERSION and PATCHLEVEL"):
        build_kernel(bench.source)


def test_a_patch_that_does_not_fit_is_named_with_the_versions_that_there_are(bench: Bench) -> None:
    bench.is_of_version(6, 18)
    (bench.source / "file").write_text("other\n")
    with pytest.raises(BuildError) as refused:
        build_kernel(bench.source)
    said = str(refused.value)
    assert said.startswith("our patch 0001.patch does not fit this source, Linux 6.18: ")
    assert "5.15, 6.1, 6.12" in said


@pytest.mark.parametrize("is_archive", [False, True])
def test_a_source_that_has_more_is_built_with_more(bench: Bench, is_archive: bool) -> None:
    (bench.source / "net/ipv4").mkdir(parents=True)
    (bench.source / "net/ipv4/Kconfig").write_text("config TCP_CONG_PRAGUE\n\ttristate\n")
    source = bench.source
    if is_archive:
        source = bench.source.with_name("linux.tar")
        with tarfile.open(source, "w") as archive:
            archive.add(bench.source, "linux")
    info = build_kernel(source, name="l4s")
    assert info.optional == ("CONFIG_TCP_CONG_PRAGUE",)
    assert find_kernel(name="l4s") == info


def test_of_a_later_version_patches_take_the_place_of_those_of_the_same_name() -> None:
    usual, later = recipe_for("6.1"), recipe_for("6.12")
    needless = {"0008-names-the-c-library-lacks.patch", "0013-idle-without-a-call.patch"}
    names = [file.name for file in usual.patches if file.name not in needless]
    assert names == [file.name for file in later.patches]
    own = {file.name for file in later.patches if file.parent.name == "6.12"}
    assert own == {
        "0003-leave-nothing-behind.patch",
        "0007-the-time-stamp-counter-is-virtual.patch",
        "0009-the-clock-is-read-without-a-call.patch",
        "0011-changes-of-memory-together.patch",
    }
    assert recipe_for("6.6") == usual
    assert recipe_for("6.18") == later
    gone = "CONFIG_RANDOM_TRUST_CPU"
    assert (usual.wanted()[gone], later.wanted()[gone]) == ("y", None)
