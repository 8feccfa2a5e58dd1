"""``live.js``, the bundle beside studies' pages that runs their live figures.

It is a classic script, because a page loaded from disk may not load modules.
"""

from __future__ import annotations

import json
from pathlib import Path

from dumbbell.folders import replace_file
from dumbbell.lab import modules

LIVE = "live.js"
"""Name of the bundle; pages of studies expect it beside the index."""
_ABSENT = (
    "// The simulator was not built, so pages beside this file show drawn figures alone.\n"
    "// In a clone of the sources: rustup target add wasm32-unknown-unknown, then make lab\n"
)
_PAGE = tuple(
    modules.FOLDER / "page" / f"{name}.js"
    for name in (
        "words",
        "intervals",
        "plot",
        "fields",
        "unpacked",
        "orders",
        "ends",
        "window",
        "classes",
        "lanes",
        "stage",
    )
)
_LIVE = modules.FOLDER / "live"
SCRIPT = (
    *_PAGE,
    *(
        _LIVE / f"{name}.js"
        for name in (
            "views",
            "replications",
            "chart",
            "strip",
            "climb_view",
            "ellipse_view",
            "tank_view",
            "crossing",
            "crowd_view",
            "bucket_view",
            "forms",
            "parts",
            "lens",
            "live",
        )
    ),
)
"""Modules of the page, in dependency order."""
WORKER = (
    *(
        modules.FOLDER / "page" / f"{name}.js"
        for name in ("engine", "turns", "ends", "packets", "looking", "activities")
    ),
    *(
        _LIVE / f"{name}.js"
        for name in (
            "columns",
            "climb_run",
            "ellipse_run",
            "tank_run",
            "crowd_run",
            "tokens",
            "bucket_run",
            "crossing",
            "reducers",
            "worker",
        )
    ),
)


def live_text() -> str:
    """Return the bundle; an empty script if the simulator's module was not built."""
    if not modules.has_module():
        return _ABSENT
    scopes = "\n".join(map(modules.scope, SCRIPT))
    bundled = {
        "module": modules.packed_module(),
        "worker": modules.joined(WORKER),
        "style": (_LIVE / "live.css").read_text(encoding="utf-8"),
    }
    return (
        f'"use strict";\n(() => {{\n{scopes}\n'
        f"module_live.begin({json.dumps(bundled, ensure_ascii=True)});\n}})();\n"
    )


def write_live(folder: Path) -> Path:
    """Write the bundle into a folder of results.

    Args:
        folder: Parent of the studies' folders; created if missing.

    Returns:
        Path of the bundle.

    Raises:
        OSError: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    place, text = folder / LIVE, live_text()
    if not place.is_file() or place.read_text(encoding="utf-8") != text:
        replace_file(place, text)
    return place
