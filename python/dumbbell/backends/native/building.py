"""Compile allowed C controllers to shared objects, and read the properties of any controller file.

The cache folder has ``controllers/SHA256/`` with the source and, by the hash of all build inputs,
each shared object and the controller's properties.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from dumbbell.backends.native.linux_shim import (
    COMPILER_FLAGS,
    LINUX_FLAGS,
    LINUX_FOLDER,
    linux_files,
    write_linux,
)
from dumbbell.backends.native.python_class import interpreter
from dumbbell.errors import DumbbellError
from dumbbell.folders import replaced_file
from dumbbell.printable import printable
from dumbbell.spec.linux import LinuxFiles
from dumbbell.spec.native import C_ENDING, LINUX_NAME, PYTHON_ENDING, controllers_folder, source_of

HEADER: Final = Path(__file__).with_name("dumbbell_cc.h")
FLAGS: Final = COMPILER_FLAGS
"""Fused multiply-add is disabled, so that results agree between machines."""
_COMPILES_WITHIN_S = 120
_SAYS_WITHIN_S = 60
_MOST_LINES = 20
_LONGEST_LINE = 200
_FACTS = (
    "import sys; path, sys.path[:] = sys.argv[1], sys.argv[2:]; import json; "
    "from dumbbell import _engine; print(json.dumps(_engine.controller_facts(path)))"
)
_CLASS_FACTS = (
    "import sys; path, shown, name, sys.path[:] = *sys.argv[1:4], sys.argv[4:]; import json; "
    "from pathlib import Path; from dumbbell.backends.native import python_class; "
    "print(json.dumps(python_class.facts_of(Path(path), shown, name)))"
)


class BuildError(DumbbellError):
    """A file does not yield a controller; the message contains the compiler's or
    Python's output.
    """


@dataclass(frozen=True, slots=True)
class ParameterFacts:
    """A parameter that a description may set.

    Attributes:
        name: Name of the variable in the source.
        least: Smallest value.
        most: Largest value.
        value: Default value.
    """

    name: str
    least: int
    most: int
    value: int


@dataclass(frozen=True, slots=True)
class BuiltController:
    """A controller's properties and location.

    Attributes:
        sha256: Hash of the source.
        build_sha256: Hash of source, header, compiler and its options; in Python, of source, class
            and interpreter.
        compiler: First line of the compiler's version; in Python, the interpreter.
        name: The controller's own name.
        wants_pacing: Whether it asks for pacing.
        owns_recovery: Whether it also sets the window during recovery.
        needs_simulator: Whether it reads values that only the simulator provides.
        parameters: Parameters that may be set.
        class_name: Class of a controller in Python; None in C.
    """

    sha256: str
    build_sha256: str
    compiler: str
    name: str
    wants_pacing: bool
    owns_recovery: bool
    needs_simulator: bool
    parameters: tuple[ParameterFacts, ...]
    class_name: str | None = None

    @property
    def object(self) -> Path:
        """Path of the shared object."""
        return _place(self.sha256, self.build_sha256, ".so")

    @property
    def source(self) -> Path:
        """Path of the source in Python."""
        return controllers_folder() / self.sha256 / f"source{PYTHON_ENDING}"


def built(sha256: str) -> BuiltController | None:
    """The controller of a C source by its hash; compiled if necessary.

    Returns:
        None if the source has not been allowed.

    Raises:
        BuildError: There is no compiler, the source does not compile, or it is not a controller.
        OSError: The cache folder cannot be written.
    """
    source = source_of(sha256)
    if source is None:
        return None
    return _built(source, sha256, _compiler())


def built_class(sha256: str, class_name: str, shown: str) -> BuiltController | None:
    """Properties of a class in a Python source; determined once.

    Args:
        sha256: Hash of the source.
        class_name: Name of the class.
        shown: The file's name in tracebacks.

    Returns:
        None if the source has not been allowed.

    Raises:
        BuildError: The source raises an error, or the class is missing or not a controller.
        OSError: The cache folder cannot be written.
    """
    source = source_of(sha256, PYTHON_ENDING)
    if source is None:
        return None
    return _built_class(source, sha256, class_name, shown, interpreter())


def kept() -> Iterator[tuple[str, BuiltController | None]]:
    """SHA-256 of each allowed source, with the newest build of it."""
    folder = controllers_folder()
    places = sorted(folder.iterdir()) if folder.is_dir() else []
    for place in places:
        if all(source_of(place.name, ending) is None for ending in (C_ENDING, PYTHON_ENDING)):
            continue
        found = sorted(place.glob("*.json"), key=lambda file: (file.stat().st_mtime_ns, file.name))
        yield place.name, _read(found[-1]) if found else None


@dataclass(frozen=True, slots=True)
class _Compiler:
    words: tuple[str, ...]
    version: str


def _compiler() -> _Compiler:
    return _compiler_of(os.environ.get("CC", ""))


@functools.cache
def _compiler_of(named: str) -> _Compiler:
    words = tuple(shlex.split(named)) or ("cc",)
    if shutil.which(words[0]) is None:
        raise BuildError(
            f"no C compiler {printable(words[0])!r}: install one (Debian: gcc), or say which by CC"
        )
    said = _done([*words, "--version"], _SAYS_WITHIN_S, Path.cwd())
    lines = said.stdout.splitlines() or [words[0]]
    return _Compiler(words, printable(lines[0].strip())[:_LONGEST_LINE])


# The result is cached, because each run of a sweep asks again.
@functools.lru_cache(maxsize=256)
def _built(source: Path, sha256: str, compiler: _Compiler) -> BuiltController:
    headers: list[Path] = [HEADER]
    flags: tuple[str, ...] = FLAGS
    if source.name == LINUX_NAME:
        headers, flags = [HEADER, *linux_files()], LINUX_FLAGS
    header = hashlib.sha256(b"".join(each.read_bytes() for each in headers)).hexdigest()
    made_of = json.dumps([sha256, header, compiler.words, compiler.version, flags])
    build = hashlib.sha256(made_of.encode()).hexdigest()
    facts, place = _place(sha256, build, ".json"), _place(sha256, build, ".so")
    if place.is_file() and (before := _read(facts)) is not None:
        return before
    with tempfile.TemporaryDirectory(dir=place.parent, prefix="new-") as folder:
        new = Path(folder) / "controller.so"
        if source.name == LINUX_NAME:
            _compile_linux(source, new, compiler)
        else:
            _compile(source, new, compiler)
        words = [sys.executable, "-c", _FACTS, str(new), *sys.path]
        found = _said_of(words, new.parent, (sha256, build, compiler.version))
        new.replace(place)
    _keep(facts, found)
    return found


@functools.lru_cache(maxsize=256)
def _built_class(
    source: Path, sha256: str, class_name: str, shown: str, version: str
) -> BuiltController:
    made_of = json.dumps([sha256, class_name, version])
    build = hashlib.sha256(made_of.encode()).hexdigest()
    facts = _place(sha256, build, ".json")
    if (before := _read(facts)) is not None:
        return before
    words = [sys.executable, "-c", _CLASS_FACTS, str(source), shown, class_name, *sys.path]
    found = _said_of(words, source.parent, (sha256, build, version), class_name)
    _keep(facts, found)
    return found


def _keep(facts: Path, found: BuiltController) -> None:
    with replaced_file(facts) as file:
        file.write_text(json.dumps(asdict(found), sort_keys=True), encoding="utf-8")


def compile_object(source: Path, target: Path, words: list[str]) -> None:
    """Compile another source than a controller's to a shared object, with further options.

    Raises:
        BuildError: There is no compiler, or the source does not compile.
    """
    _compile(source, target, _compiler(), words)


def _compile(
    source: Path, target: Path, compiler: _Compiler, more: list[str] | None = None
) -> None:
    # The source's folder contains nothing to include except our own header.
    words = [*compiler.words, *FLAGS, *(more or []), f"-I{HEADER.parent}", "-o", str(target)]
    _run_compiler([*words, source.name], source.parent)


def _compile_linux(source: Path, target: Path, compiler: _Compiler) -> None:
    """Compile in a copy of the kernel's folders, with our headers under the kernel's names."""
    files = LinuxFiles.of(source.read_bytes())
    folder = target.parent
    names = write_linux(files, folder)
    include = [f"-I{LINUX_FOLDER}", f"-I{HEADER.parent}", "-Iinclude"]
    words = [*compiler.words, *LINUX_FLAGS, *include, "-o", str(target), *names]
    _run_compiler(words, folder)


def _run_compiler(words: list[str], folder: Path) -> None:
    done = _done(words, _COMPILES_WITHIN_S, folder)
    if done.returncode:
        raise BuildError(f"{words[0]} rejects it:\n{shown_lines(done.stderr)}")


def _said_of(
    words: list[str], folder: Path, made_of: tuple[str, str, str], class_name: str | None = None
) -> BuiltController:
    """Properties printed by a separate process: loading a controller executes its code."""
    done = _done(words, _SAYS_WITHIN_S, folder)
    if done.returncode < 0:
        raise BuildError(f"the process that loaded it ended by signal {-done.returncode}")
    if done.returncode:
        raise BuildError(_reason(done.stderr, class_name is not None))
    try:
        name, *traits, parameters = json.loads(done.stdout.splitlines()[-1])
        wants_pacing, owns_recovery, needs_simulator = map(bool, traits)
        return BuiltController(
            *made_of,
            printable(name),
            wants_pacing,
            owns_recovery,
            needs_simulator,
            tuple(ParameterFacts(printable(each), *numbers) for each, *numbers in parameters),
            class_name,
        )
    except (ValueError, TypeError, IndexError):
        raise BuildError("its properties cannot be read") from None


def _reason(said: str, is_python: bool) -> str:
    """The last line of our own errors; for others, the end of the traceback."""
    lines = said.strip().splitlines() or ["no reason was given"]
    ours = "ValueError: "
    if is_python and not lines[-1].startswith(ours):
        return shown_lines("\n".join(lines[-_MOST_LINES:]))
    return shown_lines(lines[-1].removeprefix(ours))


def _done(words: list[str], within_s: float, folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=within_s,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired:
        raise BuildError(f"{printable(words[0])} was not done in {within_s:g} s") from None
    except OSError as error:
        raise BuildError(f"{printable(words[0])} cannot be run: {error.strerror}") from None


def shown_lines(text: str) -> str:
    """The first lines of a text, shortened."""
    lines = text.strip().splitlines()
    shown = [printable(line)[:_LONGEST_LINE] for line in lines[:_MOST_LINES]]
    more = len(lines) - len(shown)
    return "\n".join([*shown, f"... and {more} lines more"] if more > 0 else shown)


def _place(sha256: str, build_sha256: str, ending: str) -> Path:
    return controllers_folder() / sha256 / f"{build_sha256}{ending}"


def _read(facts: Path) -> BuiltController | None:
    """Read cached properties; None if missing or of another version."""
    try:
        found = json.loads(facts.read_text(encoding="utf-8"))
        parameters = tuple(ParameterFacts(**each) for each in found.pop("parameters"))
        return BuiltController(**found, parameters=parameters)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
