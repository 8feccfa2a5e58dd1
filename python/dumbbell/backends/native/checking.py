"""The controllers in C of a description: whether they may run, what they are, where they lie."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.backends.native.building import BuildError, Built, built
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest

ALLOWED = (
    "a controller of the simulator, or this C file with --allow-native (Python: "
    "Experiment.from_toml(..., allow_native=True)): it compiles the file and runs it with all that "
    "you may do, now and whenever the file has this content"
)


def check_controllers(resolved_json: str) -> None:
    """Compile what is not compiled yet.

    Raises:
        SpecError: One is not allowed, gives no controller, or has no such parameter.
    """
    for path, reference, described in _controllers(resolved_json):
        found = _found(path, reference, described["sha256"])
        by_name = {each.name: each for each in found.parameters}
        for name, value in described["parameters"].items():
            where = f"{path}.parameters"
            if name not in by_name:
                names = ", ".join(by_name) or "none: it has no parameters"
                raise SpecError(where, name, f"one of {names}", nearest(name, list(by_name)))
            least, most = by_name[name].least, by_name[name].most
            if not least <= value <= most:
                raise SpecError(f"{where}.{name}", value, f"{least} to {most}")


def objects_of(resolved_json: str) -> dict[str, str]:
    """Shared objects by the SHA-256 of their sources.

    Raises:
        SpecError: As for `check_controllers`.
    """
    return {
        described["sha256"]: str(_found(path, reference, described["sha256"]).object)
        for path, reference, described in _controllers(resolved_json)
    }


def controller_versions(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What a result depends on, by the SHA-256 of each source; empty where there is none.

    Raises:
        SpecError: As for `check_controllers`.
    """
    found = {}
    for path, reference, described in _of(spec):
        each = _found(path, reference, described["sha256"])
        found[each.sha256] = {
            "congestion_control": reference,
            "build_sha256": each.build_sha256,
            "compiler": each.compiler,
        }
    return found


def _found(path: str, reference: str, sha256: str) -> Built:
    where = f"{path}.congestion_control"
    try:
        found = built(sha256)
    except BuildError as error:
        raise SpecError(
            where, reference, "a C file that is a controller", reason=str(error)
        ) from None
    if found is None:
        because = f"it is code, of SHA-256 {sha256}, and nobody has allowed it"
        raise SpecError(where, reference, ALLOWED, reason=because)
    return found


def _controllers(resolved_json: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    if '"controller":' in resolved_json:
        yield from _of(json.loads(resolved_json))


def _of(spec: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for index, flow in enumerate(spec["flows"]):
        tcp = flow["tcp"]
        if tcp is not None and "controller" in tcp:
            yield f"flows[{index}].tcp", tcp["congestion_control"], tcp["controller"]
