"""Another congestion controller in place of one: ``--instead NAME=OTHER``."""

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
    """The experiment with other controllers in place of those that its flows have.

    Args:
        experiment: Its TCP flows name a controller each, be it that of their profile.
        instead: Name of a controller to that of another.

    Returns:
        The experiment, and a sentence for each name.

    Raises:
        SpecError: No flow has the first, or the second is none.
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
    """A description, as a file has it, with other controllers where it names one of them.

    Args:
        table: Tables and lists as TOML has them; it is left as it is.
        instead: Name of a controller, known to the simulator or not, to that of another.

    Returns:
        The new description, and which names were found.
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
