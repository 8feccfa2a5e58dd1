"""A description's controllers in C and Python: permission, properties, and location."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.backends.native.building import BuildError, BuiltController, built, built_class
from dumbbell.backends.native.python_class import interpreter
from dumbbell.errors import SpecError
from dumbbell.spec.native import CLASS_PREFIX, Reference, may_have_own_controllers
from dumbbell.spec.refusal import nearest

ALLOWED = (
    "a controller of the simulator, or this file with --allow-native (Python: "
    "Experiment.from_toml(..., allow_native=True)): it compiles the file (C) or executes it "
    "(Python), and runs it with all that you may do, now and whenever the file has this content"
)
GIVEN = (
    'a class that the calling program passes: dumbbell.simulate(..., controllers={"NAME": CLASS})'
)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A class in a Python file, as passed to a process.

    Attributes:
        sha256: Hash of the file.
        class_name: The class.
        path: Path of the file.
        shown: Its name in tracebacks.
    """

    sha256: str
    class_name: str
    path: str
    shown: str


def check_controllers(resolved_json: str) -> None:
    """Check all controllers; compile those that are not compiled yet.

    Raises:
        SpecError: A file is not allowed, is not a controller, or lacks a parameter.
    """
    for each in _controllers(resolved_json):
        if each.is_given:
            continue
        by_name = {known.name: known for known in each.found().parameters}
        for name, value in each.described["parameters"].items():
            check_parameter(f"{each.path}.parameters", name, value, by_name)


def check_parameter(where: str, name: str, value: int, known: Mapping[str, Any]) -> None:
    """Refuse an unknown parameter or a value out of range.

    Args:
        where: Path of the parameters.
        name: Name of the parameter.
        value: Its value.
        known: The controller's parameters by name, with ``least`` and ``most``.

    Raises:
        SpecError: There is no such parameter, or the value is out of range.
    """
    if name not in known:
        names = ", ".join(known) or "none: it has no parameters"
        raise SpecError(where, name, f"one of {names}", nearest(name, list(known)))
    least, most = known[name].least, known[name].most
    if not least <= value <= most:
        raise SpecError(f"{where}.{name}", value, f"{least} to {most}")


def objects_of(resolved_json: str) -> dict[str, str]:
    """Shared objects of C controllers, by the SHA-256 of their sources.

    Raises:
        SpecError: As for `check_controllers`.
    """
    return {
        each.described["sha256"]: str(each.found().object)
        for each in _controllers(resolved_json)
        if "class" not in each.described
    }


def source_files_of(resolved_json: str) -> list[SourceFile]:
    """Python files and their classes.

    Raises:
        SpecError: As for `check_controllers`.
    """
    files = {}
    for each in _controllers(resolved_json):
        if "class" in each.described and not each.is_given:
            found = each.found()
            assert found.class_name is not None
            shown = Reference.of(each.reference).file
            key = found.sha256, found.class_name
            files[key] = SourceFile(*key, str(found.source), shown)
    return list(files.values())


def controller_versions(spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Versions that the result depends on, by the SHA-256 of each source; empty without sources.

    Raises:
        SpecError: As for `check_controllers`.
    """
    versions: dict[str, dict[str, str]] = {}
    for each in _of(spec):
        said = {"congestion_control": each.reference}
        if each.is_given:
            said["compiler"] = interpreter()
        else:
            found = each.found()
            said |= {"build_sha256": found.build_sha256, "compiler": found.compiler}
        # Several classes of one file are distinguished by the names in the description.
        versions.setdefault(each.described["sha256"], said)
    return versions


@dataclass(frozen=True, slots=True)
class _DescribedController:
    """A controller of a flow.

    Attributes:
        path: Path of the flow's TCP settings.
        reference: ``congestion_control``.
        described: ``controller`` of the resolved description.
    """

    path: str
    reference: str
    described: Mapping[str, Any]

    @property
    def is_given(self) -> bool:
        """Whether the calling program provides the class."""
        return self.reference.startswith(CLASS_PREFIX)

    def found(self) -> BuiltController:
        """Properties of the file's controller."""
        where, sha256 = f"{self.path}.congestion_control", self.described["sha256"]
        class_name = self.described.get("class")
        try:
            if class_name is None:
                found = built(sha256)
            else:
                found = built_class(sha256, class_name, Reference.of(self.reference).file)
        except BuildError as error:
            language = "C" if class_name is None else "Python"
            raise SpecError(
                where, self.reference, f"a {language} file that is a controller", reason=str(error)
            ) from None
        if found is None:
            because = f"it is code, of SHA-256 {sha256}, and was not allowed"
            raise SpecError(where, self.reference, ALLOWED, reason=because)
        return found


def _controllers(resolved_json: str) -> Iterator[_DescribedController]:
    if may_have_own_controllers(resolved_json):
        yield from _of(json.loads(resolved_json))


def _of(spec: Mapping[str, Any]) -> Iterator[_DescribedController]:
    for index, flow in enumerate(spec["flows"]):
        tcp = flow["tcp"]
        if tcp is None:
            continue
        reference = tcp["congestion_control"]
        if "controller" in tcp:
            yield _DescribedController(f"flows[{index}].tcp", reference, tcp["controller"])
        elif reference.startswith(CLASS_PREFIX):
            raise SpecError(f"flows[{index}].tcp.congestion_control", reference, GIVEN)
