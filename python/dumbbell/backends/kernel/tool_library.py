"""The library by which a guest loads ``tc`` once and starts it for each host (`tool_library.c`).

It is compiled once, as the kernel's modules are, so that later runs need no compiler. Where it
cannot be compiled, the guest starts ``tc`` anew for each host.
"""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from dumbbell.backends.native.building import FLAGS, BuildError, compile_object
from dumbbell.folders import cache_folder

_SOURCE: Final = Path(__file__).with_name("tool_library.c")
_WORDS: Final = (
    "-nostartfiles",
    # Each child would look up the functions that it is the first to call.
    "-Wl,-z,now",
    # The same source and compiler give the same bytes.
    *("-Wl,--build-id=none", "-g0"),
)


def tool_library_of() -> Path:
    """Path of the library, compiled if it is not in the cache.

    Raises:
        BuildError: There is no compiler, or it does not compile.
        OSError: The cache folder cannot be written.
    """
    place = cache_folder() / "tool-libraries" / f"{_made_of()}.so"
    if not place.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=place.parent, prefix="new-") as folder:
            new = Path(folder) / place.name
            compile_object(_SOURCE, new, [*_WORDS])
            new.replace(place)
    return place


# Cached: each run of a sweep asks again, and would compile again what does not compile.
@functools.lru_cache(maxsize=1)
def tool_library() -> Path | None:
    """The library; None where there is none."""
    try:
        return tool_library_of()
    except (BuildError, OSError):
        return None


def tool_library_versions() -> dict[str, str]:
    """Versions that the result depends on: starting a program draws random numbers of the kernel.

    Empty without the library.
    """
    return {} if tool_library() is None else {"tool_library_sha256": _made_of()}


def _made_of() -> str:
    made_of = [_SOURCE.read_text(encoding="utf-8"), FLAGS, _WORDS, platform.machine()]
    return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()
