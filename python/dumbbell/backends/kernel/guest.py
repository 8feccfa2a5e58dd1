"""Find the program that runs as process 1 of a guest, or explain how to build it."""

from __future__ import annotations

import os
from pathlib import Path

from dumbbell.errors import EXIT_BAD_INPUT, DumbbellError

GUEST = "dumbbell-guest"
GUEST_VARIABLE = "DUMBBELL_GUEST"
"""Environment variable that selects another guest program, for its development."""


class GuestMissingError(DumbbellError):
    """The guest program has not been built; the message is one line that says how to build it."""

    exit_code = EXIT_BAD_INPUT


def guest_program() -> Path:
    """The program that becomes process 1 of a guest: part of a wheel, built in a checkout.

    Raises:
        GuestMissingError: The program has not been built.
    """
    named = os.environ.get(GUEST_VARIABLE)
    places = [Path(named)] if named else [Path(__file__).resolve().with_name(GUEST)]
    if not named and (checkout := _checkout()) is not None:
        target = Path(os.environ.get("CARGO_TARGET_DIR") or "target")
        quick = [checkout / target / profile / GUEST for profile in ("dist", "release")]
        places += sorted(filter(Path.is_file, quick), key=lambda p: -p.stat().st_mtime)
        # Tests use debug builds, which are several times as large and slower.
        places.append(checkout / target / "debug" / GUEST)
    for place in places:
        if os.access(place, os.X_OK):
            return place.resolve()
    raise GuestMissingError(how_to_get_guest())


def how_to_get_guest() -> str:
    """One line that says how to get the guest program."""
    if named := os.environ.get(GUEST_VARIABLE):
        return f"{named} ({GUEST_VARIABLE}) is not a program"
    if _checkout() is not None:
        return f"{GUEST}, which runs inside the kernel, has not been built: run `make kernel` once"
    return (
        f"{GUEST}, which runs inside the kernel, is not in this installation: install a wheel made "
        f"by `make wheel`, or name a {GUEST} built by `cargo build --release -p {GUEST}` in a "
        f"checkout of the same version with {GUEST_VARIABLE}=PATH"
    )


def _checkout() -> Path | None:
    """The checkout that contains this file; None if installed."""
    root = Path(*Path(__file__).resolve().parts[:-5])
    return root if (root / "guest/Cargo.toml").is_file() else None
