"""A figure's specification for a phone, or for a small panel beside others of its kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

NARROW_PX = 350
"""Width of the whole figure, labels and axes included."""
_HEIGHT_PX = 270
_LABELS_PX = 125
"""Width of the names on a vertical axis."""
_BESIDE_PANEL_PX = 70
"""Width of an axis with its title."""
_BESIDE_ROW_PX = 90
"""Width beside a panel that is a separate plot, with more ticks; and the figure's margins."""
_LEGEND_MARGIN_PX = 40
_LONG = 16
"""Length of a legend's name, in characters, from which on each name has a separate line."""

Spec = dict[str, Any]


def narrow(spec: Mapping[str, Any]) -> Spec:
    """Return the same figure `NARROW_PX` wide: fewer ticks, shorter names, stacked panels.

    Args:
        spec: Vega-Lite of a figure as it is exported; it is not changed.
    """
    data = {key: spec[key] for key in ("datasets", "data") if key in spec}
    made: Spec = json.loads(json.dumps({k: v for k, v in spec.items() if k not in data}))
    _fit(made)
    config = made.setdefault("config", {})
    config["legend"] = {
        **config.get("legend", {}),
        "columns": 1 if _longest_name(made) > _LONG else 2,
        "labelLimit": NARROW_PX - _LEGEND_MARGIN_PX,
        "layout": {"top": {"anchor": "start", "direction": "vertical", "margin": 4}},
    }
    config["axis"] = {**config.get("axis", {}), "labelLimit": _LABELS_PX, "tickCount": 4}
    _shorten_labels(made)
    return made | data


def _fit(spec: Spec) -> None:
    """Set the width of the plot, or of its panels, to the width left by the axes."""
    is_single = ("mark" in spec or "layer" in spec) and "facet" not in spec.get("encoding", {})
    if is_single:
        spec["width"] = NARROW_PX
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    elif "columns" in spec or "row" in spec.get("facet", {}):
        _fit_panels(spec)
    for panel in spec.get("vconcat", ()):
        panel["width"] = NARROW_PX - _BESIDE_ROW_PX


def _fit_panels(spec: Spec) -> None:
    inner = spec.get("spec", {})
    width = NARROW_PX - _BESIDE_PANEL_PX
    if "columns" in spec:
        spec["columns"] = 1
        ratio = width / inner.get("width", width)
        if isinstance(inner.get("height"), int | float):
            inner["height"] = min(_HEIGHT_PX, round(inner["height"] * ratio))
    inner["width"] = width


def _longest_name(node: Any) -> int:
    """Return the length of the longest name in scales' domains, which legends list."""
    if isinstance(node, list):
        return max(map(_longest_name, node), default=0)
    if not isinstance(node, dict):
        return 0
    domain = node.get("domain")
    own = (
        [len(name) for name in domain if isinstance(name, str)] if isinstance(domain, list) else []
    )
    return max([*own, *(_longest_name(each) for each in node.values())], default=0)


def _shorten_labels(node: Any) -> None:
    """Lower an axis's own label limit, which overrides the theme's."""
    if isinstance(node, list):
        for each in node:
            _shorten_labels(each)
    if not isinstance(node, dict):
        return
    axis = node.get("axis")
    if isinstance(axis, dict) and isinstance(axis.get("labelLimit"), int | float):
        axis["labelLimit"] = min(axis["labelLimit"], _LABELS_PX)
    for each in node.values():
        _shorten_labels(each)
