"""Files of congestion controllers in C and Python: lookup and permission.

A controller runs with all rights of its user, so a description alone never causes code to be
compiled, executed or loaded. The user permits a file content once (``--allow-native``,
`Experiment.from_toml`, `allow`). Its source is then stored in the cache folder under its SHA-256,
and its presence there is the permission. Descriptions, bundles and results contain only the hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dumbbell.errors import SpecError
from dumbbell.folders import replaced_file
from dumbbell.folders.cache import cache_folder
from dumbbell.spec.refusal import Refused

PREFIX: Final = "file:"
CLASS_PREFIX: Final = "class:"
"""Prefix of a class that the calling program supplies."""
LINUX_NAME: Final = "linux.json"
"""File ending of a stored Linux controller, which contains all its files
(`dumbbell.spec.linux`)."""
LARGEST_SOURCE_BYTES: Final = 1 << 20
LONGEST_REFERENCE: Final = 255
C_ENDING, PYTHON_ENDING = ".c", ".py"
FILE_FORMS: Final = "file:NAME.c or file:NAME.py:CLASS"
_NAME: Final = "[A-Za-z_][A-Za-z0-9_]{0,63}"
_ALLOWING: ContextVar[bool] = ContextVar("allowing native controllers", default=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference ``file:NAME.c`` or ``file:NAME.py:CLASS``.

    Attributes:
        file: Path of the file.
        class_name: The class in a Python file; None for C.
    """

    file: str
    class_name: str | None = None

    @property
    def ending(self) -> str:
        """Ending of the file, which determines its language."""
        return C_ENDING if self.class_name is None else PYTHON_ENDING

    @property
    def short(self) -> str:
        """``NAME.c`` or ``NAME.py:CLASS``."""
        return self.file if self.class_name is None else f"{self.file}:{self.class_name}"

    @property
    def value(self) -> str:
        """The reference as in a description."""
        return f"{PREFIX}{self.short}"

    @property
    def beside(self) -> Reference:
        """A reference to the file of that name in the folder of the description."""
        return Reference(Path(self.file).name, self.class_name)

    @classmethod
    def typed(cls, words: str) -> Reference | None:
        """Parse a reference on a command line, where ``file:`` may be omitted; None if it is not a
        file.

        Raises:
            Refused: It names a file but is malformed.
        """
        name = words.removeprefix(PREFIX)
        is_file = name != words or re.search(r"\.(c|py)(:[^/]*)?\Z", name) is not None
        return cls.of(f"{PREFIX}{name}") if is_file else None

    @classmethod
    def of(cls, value: str) -> Reference:
        """Parse a reference in a description.

        Raises:
            Refused: It is malformed.
        """
        name = value.removeprefix(PREFIX)
        is_plain = value.isprintable() and len(value.encode()) <= LONGEST_REFERENCE
        if is_plain and (found := re.fullmatch(rf"(.+{re.escape(PYTHON_ENDING)}):({_NAME})", name)):
            return cls(found[1], found[2])
        if not is_plain or not name.endswith(C_ENDING) or len(name) <= len(C_ENDING):
            allowed = f"{FILE_FORMS}, such as file:my_cc.c or file:mine.py:Mine"
            raise Refused(value, allowed)
        return cls(name)


@contextlib.contextmanager
def allowing_native(allowed: bool = True) -> Iterator[None]:
    """Context manager: permit the controllers of descriptions read in the block if ``allowed``."""
    token = _ALLOWING.set(_ALLOWING.get() or allowed)
    try:
        yield
    finally:
        _ALLOWING.reset(token)


def is_allowing() -> bool:
    """Whether controllers are permitted at the moment (`allowing_native`)."""
    return _ALLOWING.get()


def allow(source: str | Path) -> str:
    """Permit the present content of a controller's file in C or Python (``.py``), now and later.

    Args:
        source: The file.

    Returns:
        Its SHA-256.

    Raises:
        SpecError: The file cannot be read, or is larger than 1 MiB.
    """
    try:
        content = _content(Path(source), str(source))
    except Refused as error:
        raise SpecError("FILE", error.value, error.allowed) from None
    is_python = Path(source).suffix == PYTHON_ENDING
    return keep(content, _source_name(PYTHON_ENDING if is_python else C_ENDING))


def source_of(sha256: str, ending: str = C_ENDING) -> Path | None:
    """Path of the stored source of a permitted controller; None without permission.

    Args:
        sha256: SHA-256 of its content.
        ending: ``.c`` or ``.py``, as which it was permitted; ``.c`` includes Linux's.
    """
    names = [_source_name(ending), *([LINUX_NAME] if ending == C_ENDING else [])]
    places = (controllers_folder() / sha256 / name for name in names)
    return next((place for place in places if _has(place, sha256)), None)


def _has(place: Path, sha256: str) -> bool:
    try:
        content = place.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content).hexdigest() == sha256


def _source_name(ending: str) -> str:
    return f"source{ending}"


def controllers_folder() -> Path:
    """The cache folder of sources and compiled controllers; it may not exist."""
    return cache_folder() / "controllers"


def found_source(
    reference: str, folder: Path, *, is_of_a_file: bool, wanted: str | None = None
) -> str:
    """SHA-256 of a referenced file; stores the file if controllers are permitted.

    Args:
        reference: The reference in the description.
        folder: Folder of the description.
        is_of_a_file: Whether the description is a file, and so untrusted: the controller must then
            be in its folder or below.
        wanted: Required SHA-256; None for any.

    Raises:
        Refused: The file does not exist, is outside the folder, or is larger than 1 MiB.
    """
    meant = Reference.of(reference)
    name = meant.file
    if is_of_a_file:
        allowed = "file: and a relative path to a file in the experiment's folder or below it"
        home = folder.resolve()
        path = (home / name).resolve()
        if Path(name).is_absolute() or not path.is_relative_to(home):
            raise Refused(reference, allowed)
    else:
        path = Path(name)
    content = _content(path, reference)
    found = hashlib.sha256(content).hexdigest()
    if wanted not in (None, found):
        raise Refused(
            reference, f"a file of SHA-256 {wanted}, as controller_sha256 says: not {found}"
        )
    return keep(content, _source_name(meant.ending)) if _ALLOWING.get() else found


def class_name_of(value: str) -> str | None:
    """The class in a checked reference; None for a C file."""
    if value.startswith(CLASS_PREFIX):
        return value.removeprefix(CLASS_PREFIX)
    return Reference.of(value).class_name


def is_c_file(tcp: Mapping[str, Any]) -> bool:
    """Whether resolved TCP settings name a user's C file."""
    controller = tcp.get("controller")
    if controller is None or "class" in controller:
        return False
    return str(tcp["congestion_control"]).startswith(PREFIX)


def may_have_own_controllers(resolved_json: str) -> bool:
    """Whether a flow may have a controller of a file or a class; if not, none has.

    Args:
        resolved_json: A resolved description, which is searched as text.
    """
    return '"controller":' in resolved_json or f'"{CLASS_PREFIX}' in resolved_json


def has_own_controller(tcp: Mapping[str, Any] | None) -> bool:
    """Whether a resolved TCP has a controller of a file or a class; None is no TCP."""
    return tcp is not None and (
        "controller" in tcp or tcp["congestion_control"].startswith(CLASS_PREFIX)
    )


def check_reference(value: str) -> str:
    """Refuse a reference to neither a file nor a class."""
    if value.startswith(CLASS_PREFIX):
        if re.fullmatch(_NAME, value.removeprefix(CLASS_PREFIX)) is None:
            raise Refused(value, "class: and a name of 1 to 64 letters, digits and _")
    else:
        Reference.of(value)
    return value


def _content(path: Path, shown: str) -> bytes:
    try:
        if not path.is_file():
            raise Refused(shown, "a file that is there")
        with path.open("rb") as file:
            content = file.read(LARGEST_SOURCE_BYTES + 1)
    except OSError as error:
        raise Refused(shown, f"a file that can be read ({error.strerror})") from None
    if len(content) > LARGEST_SOURCE_BYTES:
        raise Refused(shown, "a file of at most 1 MiB")
    return content


def keep(content: bytes, name: str) -> str:
    """Permit and store a source; return its SHA-256.

    Args:
        content: Content of a file in C or Python, or of several as written by
            `dumbbell.spec.linux`.
        name: Name under which it is stored.
    """
    sha256 = hashlib.sha256(content).hexdigest()
    place = controllers_folder() / sha256 / name
    if not _has(place, sha256):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replaced_file(place) as new:
            new.write_bytes(content)
    return sha256
