"""Build the virtual-time kernel from Linux's source, once, into the cache.

Unpack or copy the parts that User-Mode Linux needs, apply our patches, set the timer frequency,
configure (allnoconfig plus our fragment), compile. This happens in a temporary folder beside the
result. A complete result is moved into place; the folder is always removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from dumbbell.backends.guard import usable_threads
from dumbbell.backends.kernel.cache import (
    INFO,
    KERNEL,
    KEY_DIGITS,
    KernelInfo,
    kernels_folder,
    read_kernel,
    require_linux,
)
from dumbbell.backends.kernel.folders import RunFolder, remove_left_folders
from dumbbell.backends.kernel.module_tree import keep_module_tree, module_tree
from dumbbell.backends.kernel.recipe import (
    HZ_CHOICES,
    OLDER,
    VERSIONS,
    Recipe,
    optional_options,
    options_not_taken,
    recipe_for,
)
from dumbbell.errors import RunError, SpecError
from dumbbell.folders.locks import lock

SOURCES = Path("/usr/src")
"""Folder of Debian's packages of Linux's source."""
TOOL_PACKAGES = "gcc make patch xz-utils bc bison flex"
OBJECTS = 700
"""Number of files compiled in the usual build, for the progress display."""
NEEDED_BYTES = 1_500_000_000

_TOOLS = ("gcc", "ld", "make", "patch", "tar", "bc", "bison", "flex")
_TAR_SUFFIXES = (".tar", ".tar.xz", ".tar.gz", ".tar.bz2", ".tar.zst", ".tgz")
_STAMP = "@1700000000"
_OTHER_ARCHITECTURES = (
    *("alpha", "arc", "arm", "arm64", "csky", "hexagon", "ia64", "loongarch", "m68k"),
    *("microblaze", "mips", "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390"),
    *("sh", "sparc", "xtensa"),
)
# Not unpacked: files, but no Kconfig files, that User-Mode Linux does not compile.
_LEFT_OUT = (
    "Documentation/*/*",
    "tools/testing/*",
    "tools/perf/*",
    "drivers/gpu/*.[ch]",
    "drivers/staging/*.[ch]",
    "drivers/media/*.[ch]",
    "drivers/infiniband/*.[ch]",
    "drivers/scsi/*.[ch]",
    "drivers/net/ethernet/*.[ch]",
    "drivers/net/wireless/*.[ch]",
    "sound/*.[ch]",
    *(f"arch/{name}/*.[chS]" for name in _OTHER_ARCHITECTURES),
    *(f"arch/{name}/boot/*" for name in _OTHER_ARCHITECTURES),
)
_KCONFIGS = ("net/sched/Kconfig", "net/ipv4/Kconfig")
_DEBIANS = re.compile(r"linux-source-(\d+\.\d+)\.tar\.xz")
_COMPILED = re.compile(r"^  (?:CC|AS)\s+(\S+)")

Progress = Callable[[str, int, int], None]
"""Called with the current step, its progress, and its total."""


class BuildError(RunError):
    """The kernel could not be built."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of Linux.

    Attributes:
        path: A tar archive or a folder.
        sha256: Hash of its content.
        version: Version of Linux, such as ``6.12``.
    """

    path: Path
    sha256: str
    version: str


def build_kernel(
    source: Path | None = None,
    *,
    version: str | None = None,
    name: str | None = None,
    hz: int = HZ_CHOICES[0],
    jobs: int = 0,
    on_progress: Progress | None = None,
) -> KernelInfo:
    """Return the kernel of a source, from the cache or built now.

    Args:
        source: Archive or folder of Linux; Debian's package of the version when None.
        version: Version of Linux; a given source must have it. When None: the source's version, or
            the first of `VERSIONS`.
        name: Name for experiments; the version when None.
        hz: Timer frequency: 1000, 250 or 100.
        jobs: Parallel compilers; 0 for one per core.
        on_progress: Called with the progress.

    Raises:
        SpecError: An argument is not allowed.
        KernelMissingError: The kernel cannot run on this machine.
        BuildError: A tool or the source is missing, or a step failed.
    """
    check_hz(hz)
    own_name = _own_name(name)
    require_linux()
    jobs = usable_threads(jobs)
    path = _source_path(source, version)
    _check_tools(path)
    tell = on_progress or _silent
    tell("hashing the source", 0, 1)
    found = Source(path, _source_digest(path), _source_version(path, version))
    recipe = recipe_for(found.version).taking(_optional_options(found))
    compiler = _compiler()
    if own_name == found.version:
        own_name = ""
    key = _key(found, recipe, compiler, hz, own_name)
    cache = kernels_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{key}.lock", tell):
        ready = read_kernel(cache / key)
        if ready is not None and module_tree(key) is not None:
            return ready
        with _building_folder(cache, key) as folder:
            began = time.monotonic()
            tree = folder / "linux-source"
            _unpack(path, tree, tell)
            _prepare(tree, recipe, found.version, hz, folder)
            if ready is not None:  # built before modules were supported
                _keep_for_modules(tree, ready.path, key)
                return ready
            _compile(tree, jobs, folder, tell)
            kernel = folder / "result" / KERNEL
            kernel.parent.mkdir()
            shutil.move(tree / "linux", kernel)
            content = kernel.read_bytes()
            info = KernelInfo(
                path=kernel,
                key=key,
                release=_release(kernel),
                hz=hz,
                sha256=hashlib.sha256(content).hexdigest(),
                size_bytes=len(content),
                source=path.name,
                source_sha256=found.sha256,
                recipe=recipe.digest,
                compiler=compiler,
                built_at=datetime.now(UTC).isoformat(timespec="seconds"),
                build_s=round(time.monotonic() - began, 1),
                own_name=own_name,
                optional=recipe.optional,
            )
            (kernel.parent / INFO).write_text(info.to_json(), encoding="utf-8")
            _keep_for_modules(tree, kernel, key)
            shutil.rmtree(cache / key, ignore_errors=True)  # an incomplete one
            _put(kernel.parent, cache / key)
    result = read_kernel(cache / key)
    if result is None:
        raise BuildError(f"{cache / key}: the new build has disappeared")
    return result


def check_hz(hz: int) -> None:
    """Refuse a timer frequency for which no kernel is built.

    Raises:
        SpecError: The frequency is not one of `HZ_CHOICES`.
    """
    if hz not in HZ_CHOICES:
        raise SpecError("hz", hz, f"one of {', '.join(map(str, HZ_CHOICES))}")


def _silent(what: str, done: int, total: int) -> None:
    pass


# --- what to build from ---------------------------------------------------------------------


def _own_name(name: str | None) -> str:
    """Validate a name as for an experiment's key ``kernel``; empty when None."""
    if name is None:
        return ""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", name):
        allowed = "up to 63 letters, digits, '.', '_' and '-', the first a letter or digit"
        raise SpecError("name", name, allowed)
    if name in VERSIONS:
        raise SpecError("name", name, f"another name than {' and '.join(VERSIONS)}")
    return name


def _source_path(source: Path | None, version: str | None) -> Path:
    if source is None:
        wanted = version or VERSIONS[0]
        if wanted not in VERSIONS:
            allowed = f"{' or '.join(VERSIONS)}; of others name the source with --source"
            raise SpecError("version", wanted, allowed)
        path = SOURCES / f"linux-source-{wanted}.tar.xz"
        if path.exists():
            return path
        raise BuildError(
            f"Linux's source is not at {path}: `apt-get install {_packages(wanted)}`, or name an "
            f"archive or folder of Linux {wanted} with --source"
        )
    if source.is_dir():
        if not (source / "arch/um/Kconfig").is_file():
            raise SpecError("source", source, "a folder with Linux's source (has arch/um/Kconfig)")
    elif not source.is_file():
        raise SpecError("source", source, "an archive or folder that exists")
    elif not source.name.endswith(_TAR_SUFFIXES):
        raise SpecError("source", source, f"an archive that ends in {', '.join(_TAR_SUFFIXES)}")
    return source.resolve()


def _packages(version: str) -> str:
    return f"linux-source-{version} {TOOL_PACKAGES}"


def _source_version(path: Path, version: str | None) -> str:
    """Version of Linux, from its Makefile.

    Raises:
        BuildError: There is no version.
        SpecError: It is not the version asked for.
    """
    if path.parent == SOURCES and (known := _DEBIANS.fullmatch(path.name)):
        found = known[1]  # Seconds faster than unpacking; the version is checked after unpacking.
    elif path.is_dir():
        found = _makefile_version(_text_of(path / "Makefile"))
    else:
        found = _makefile_version(_from_archive(path, "*/Makefile"))
    if version is not None and version != found:
        raise SpecError("version", version, f"{found}, which is what {path} has")
    return found


def _optional_options(source: Source) -> list[str]:
    """The optional options that a source has; the versions that are packaged have none."""
    path = source.path
    if path.parent == SOURCES and _DEBIANS.fullmatch(path.name):
        return []
    if path.is_dir():
        return optional_options(_text_of(path / name) for name in _KCONFIGS)
    return optional_options([_from_archive(path, *(f"*/{name}" for name in _KCONFIGS))])


def _from_archive(archive: Path, *patterns: str) -> str:
    """The text of the files of an archive that match the patterns, one after the other."""
    options = ["-x", "-O", "--wildcards", "--no-wildcards-match-slash", "-f", str(archive)]
    done = subprocess.run(
        ["tar", *options, *patterns], capture_output=True, check=False, env=build_environment()
    )
    return done.stdout.decode("utf-8", "replace")


def _text_of(file: Path) -> str:
    """The text of a file; empty if it does not exist."""
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _makefile_version(text: str) -> str:
    found = dict(re.findall(r"(?m)^(VERSION|PATCHLEVEL) = (\d+)$", text))
    if len(found) != 2:
        raise BuildError("this is not Linux's source: its Makefile has no VERSION and PATCHLEVEL")
    return f"{found['VERSION']}.{found['PATCHLEVEL']}"


def _check_tools(source: Path) -> None:
    wanted = [*_TOOLS, *(["xz"] if source.name.endswith(".xz") else [])]
    missing = [tool for tool in wanted if shutil.which(tool) is None]
    if missing:
        raise BuildError(
            f"not installed: {', '.join(missing)}: `apt-get install {TOOL_PACKAGES}` brings all "
            "that the build needs"
        )


def _source_digest(path: Path) -> str:
    """Hash of an archive's bytes, or of a folder's file names, lengths and contents."""
    if path.is_file():
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    digest = hashlib.sha256()
    for file in sorted(_files_of(path)):
        content = str(file.readlink()).encode() if file.is_symlink() else file.read_bytes()
        digest.update(f"{file.relative_to(path)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _files_of(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        yield from (Path(place, name) for name in files)


def _compiler() -> str:
    done = subprocess.run(
        ["gcc", "--version"], capture_output=True, text=True, check=False, env=build_environment()
    )
    linker = subprocess.run(
        ["ld", "--version"], capture_output=True, text=True, check=False, env=build_environment()
    )
    lines = [*done.stdout.splitlines()[:1], *linker.stdout.splitlines()[:1]]
    if len(lines) < 2:
        raise BuildError("gcc --version or ld --version says nothing")
    return "; ".join(lines)


def _key(source: Source, recipe: Recipe, compiler: str, hz: int, own_name: str) -> str:
    # Kernels with a user's name get their own key, whatever their source.
    named = [own_name] if own_name else []
    made_of = json.dumps([source.sha256, recipe.digest, compiler, hz, *named])
    return hashlib.sha256(made_of.encode()).hexdigest()[:KEY_DIGITS]


# --- where to build -------------------------------------------------------------------------


@contextlib.contextmanager
def _locked(file: Path, tell: Progress) -> Iterator[None]:
    """Lock the build of a kernel; the lock is released when its process ends."""
    with file.open("wb") as held:
        while True:
            try:
                lock(held)
                break
            except BlockingIOError:
                tell("waiting for another build of the same kernel", 0, 1)
                time.sleep(0.5)
        yield


@contextlib.contextmanager
def _building_folder(cache: Path, key: str) -> Iterator[Path]:
    """A temporary folder for the build; the lock must be held.

    It is in the cache, unless the path contains characters that the kernel's makefiles cannot
    handle.
    """
    folder = cache / f"{key}.building"
    shutil.rmtree(folder, ignore_errors=True)  # left by a killed build
    remove_left_folders()
    if re.search(r"[\s:]", str(folder)):
        elsewhere = RunFolder()
        folder = elsewhere.path
    else:
        elsewhere = None
        folder.mkdir()
    try:
        free = shutil.disk_usage(folder).free
        if free < NEEDED_BYTES:
            raise BuildError(
                f"{folder.parent}: the build needs {NEEDED_BYTES / 1e9:.1f} GB for a while and "
                f"{free / 1e9:.1f} GB are free; XDG_CACHE_HOME chooses another place"
            )
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if elsewhere is not None:
            elsewhere.remove()


def _put(built: Path, place: Path) -> None:
    """Move the result to its place atomically."""
    try:
        built.rename(place)
    except OSError:  # built on another file system
        beside = place.with_name(f"{place.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        try:
            shutil.copytree(built, beside)
            beside.rename(place)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


# --- the steps ------------------------------------------------------------------------------


def _unpack(source: Path, tree: Path, tell: Progress) -> None:
    tell("unpacking the source", 0, 1)
    tree.mkdir()
    left_out = [f"--exclude=*/{pattern}" for pattern in _LEFT_OUT]
    if source.is_file():
        _run(["tar", "-x", "--strip-components=1", *left_out, "-f", str(source)], tree)
    else:
        # Through an archive, so that the same files are left out of a folder.
        archive = tree.with_name("source.tar")
        command = ["tar", "-c", *left_out, "--exclude=./.git", "-f", str(archive), "."]
        _run([*command[:1], "-C", str(source), *command[1:]], tree)
        _run(["tar", "-x", "-f", str(archive)], tree)
        archive.unlink()
        if (tree / ".config").exists() or (tree / "include/config").exists():
            _run(["make", "ARCH=um", "mrproper"], tree)


def _prepare(tree: Path, recipe: Recipe, version: str, hz: int, folder: Path) -> None:
    """Apply patches, set the timer frequency, and configure."""
    if not (tree / "arch/um/Kconfig").is_file():
        raise BuildError("the archive is not Linux's source: it has no arch/um/Kconfig")
    has = _makefile_version(_text_of(tree / "Makefile"))
    if has != version:
        raise BuildError(f"the archive is called {version}, and has Linux {has}")
    for patch in recipe.patches:
        # Other point releases may have other lines around a patch, but the lines it changes must
        # exist.
        try:
            _run(["patch", "-p1", "--forward", "--fuzz=2", "-i", str(patch.resolve())], tree)
        except BuildError as error:
            versions = ", ".join((OLDER, *VERSIONS))
            raise BuildError(
                f"our patch {patch.name} does not fit this source, Linux {version}: the patches "
                f"are for {versions} and what has the same lines there\n{error}"
            ) from None
    _set_hz(tree / "arch/um/Kconfig", hz)
    fragment = folder / "fragment"
    fragment.write_text(recipe.options(), encoding="utf-8")
    _run(["make", "ARCH=um", f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig"], tree)
    wanted = {**recipe.wanted(), "CONFIG_HZ": str(hz)}
    problems = options_not_taken(wanted, (tree / ".config").read_text(encoding="utf-8"))
    if problems:
        raise BuildError(
            "this source or compiler does not take the configuration:\n  " + "\n  ".join(problems)
        )


def _set_hz(kconfig: Path, hz: int) -> None:
    text = kconfig.read_text(encoding="utf-8")
    text, count = re.subn(r"(?m)^(config HZ\n\tint\n\tdefault )\d+$", rf"\g<1>{hz}", text)
    if count != 1:
        raise BuildError("arch/um/Kconfig does not set HZ as Linux 6.1 and 6.12 do")
    kconfig.write_text(text, encoding="utf-8")


def _compile(tree: Path, jobs: int, folder: Path, tell: Progress) -> None:
    compiled = 0
    tell("compiling", 0, OBJECTS)

    def on_line(line: str) -> None:
        nonlocal compiled
        if _COMPILED.match(line):
            compiled += 1
            tell("compiling", compiled, max(OBJECTS, compiled))

    _run(["make", "ARCH=um", f"-j{jobs}", "linux"], tree, on_line)


def _keep_for_modules(tree: Path, kernel: Path, key: str) -> None:
    _run(["make", "ARCH=um", "modules_prepare"], tree)
    keep_module_tree(tree, kernel, key)


def _release(kernel: Path) -> str:
    done = subprocess.run(
        [str(kernel), "--version"], capture_output=True, text=True, check=False, timeout=20
    )
    if done.returncode != 0 or not done.stdout.strip():
        raise BuildError(f"the kernel that was built does not start: {done.stderr.strip()}")
    return done.stdout.strip()


def build_environment() -> dict[str, str]:
    """Environment of the build, equal for every user: no flags, no locale, fixed timestamps."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C",
        "TZ": "UTC",
        "KBUILD_BUILD_TIMESTAMP": _STAMP,
        "KBUILD_BUILD_USER": "dumbbell",
        "KBUILD_BUILD_HOST": "dumbbell",
        "KBUILD_BUILD_VERSION": "1",
    }


def _run(command: list[str], folder: Path, on_line: Callable[[str], None] | None = None) -> None:
    """Run one step in its own process group, which is killed when the step ends or fails."""
    last: deque[str] = deque(maxlen=25)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=build_environment() | {"TMPDIR": str(folder.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        for line in _lines(process.stdout):
            last.append(line)
            if on_line is not None:
                on_line(line)
        status = process.wait()
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if status != 0:
        step = f"{command[0]} {command[-1]}"
        raise BuildError(f"{step} failed (status {status}):\n  " + "\n  ".join(last))


def _lines(stream: IO[bytes]) -> Iterator[str]:
    for line in stream:
        yield line.decode("utf-8", "replace").rstrip("\n")
