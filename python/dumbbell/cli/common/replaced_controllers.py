"""Replace one congestion controller by another: ``--instead NAME=OTHER``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest

if TYPE_CHECKING:
    from dumbbell.spec import Experiment

_KEY = "congestion_control"


def with_controllers(
    experiment: Experiment, instead: Mapping[str, str]
) -> tuple[Experiment, list[str]]:
    """The experiment with some controllers of its flows replaced.

    Args:
        experiment: The experiment; its TCP flows name controllers directly or by profile.
        instead: Replacement of each controller, by name.

    Returns:
        The experiment, and a sentence for each name.

    Raises:
        SpecError: No flow uses the controller, or the replacement does not exist.
    """
    from dumbbell.spec import Experiment

    if not instead:
        return experiment, []
    resolved = experiment.resolved()
    has = [flow["tcp"] for flow in resolved["flows"] if flow["tcp"] is not None]
    names = sorted({tcp["congestion_control"] for tcp in has})
    for name in instead:
        if name not in names:
            allowed = f"a controller of its flows: {', '.join(names) or 'none is TCP'}"
            raise SpecError("--instead", name, allowed, nearest(name, names))
    for tcp in has:
        tcp["congestion_control"] = instead.get(
            tcp["congestion_control"], tcp["congestion_control"]
        )
    notes = [f"{other} is run in place of {name}." for name, other in instead.items()]
    return Experiment.from_resolved(resolved), notes


def named_controllers(
    table: Mapping[str, Any], instead: Mapping[str, str]
) -> tuple[dict[str, Any], set[str]]:
    """A description, as parsed from a file, with controllers replaced wherever it names them.

    Args:
        table: Tables and lists as in TOML; not modified.
        instead: Replacement of each controller, which need not be known, by name.

    Returns:
        The new description, and the names that were found.
    """
    found: set[str] = set()

    def changed(key: str, value: Any) -> Any:
        if key == _KEY and isinstance(value, str) and value in instead:
            found.add(value)
            return instead[value]
        if isinstance(value, Mapping):
            return {name: changed(name, each) for name, each in value.items()}
        return [changed("", each) for each in value] if isinstance(value, list) else value

    return {name: changed(name, each) for name, each in table.items()}, found
