"""The course file: the experiments for a class's controllers, and the points for each claim.

The claims are the ``[[claim]]`` tables of the experiments (docs/claims-of-your-own.md), so students
can check their controllers with ``dumbbell check`` before submission.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from dumbbell.backends import get_backend
from dumbbell.claims.rules import RuleName
from dumbbell.compare.checking import Asserted, asserted
from dumbbell.course.allowed_imports import USUAL_IMPORTS
from dumbbell.course.placeholder import PLACEHOLDER_SHA256, SUBMISSION
from dumbbell.errors import SpecError
from dumbbell.spec import Setting
from dumbbell.spec.base import SpecModel
from dumbbell.spec.fields import Title
from dumbbell.spec.linux import PREFIX as LINUX_PREFIX
from dumbbell.spec.native import PREFIX as FILE_PREFIX
from dumbbell.spec.refusal import Refused, nearest, one_of
from dumbbell.spec.toml_file import load

MOST_EXPERIMENTS: Final = 20
MOST_POINTS: Final = 1000.0
MOST_REPLICATIONS: Final = 1000
_EARN_NOTHING = (RuleName.PREVIEW, RuleName.CALIBRATION, RuleName.AGREEMENT)
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")


def _points(value: object) -> float:
    allowed = f"points: a number from 0 to {MOST_POINTS:g}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(value, allowed)
    if not 0 <= value <= MOST_POINTS:
        raise Refused(value, allowed)
    return float(value)


def _module(value: object) -> str:
    if not isinstance(value, str) or _MODULE.fullmatch(value) is None:
        raise Refused(value, "the name of a Python module, such as math")
    if value.partition(".")[0] not in {*sys.stdlib_module_names, "dumbbell", "numpy"}:
        allowed = "a module of Python's standard library, dumbbell.controllers or numpy"
        raise Refused(value, allowed, nearest(value, USUAL_IMPORTS))
    return value


def _file(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise Refused(value, "the name of an experiment's file, such as line.toml")
    path = Path(value)
    if path.is_absolute() or ".." in path.parts:
        raise Refused(value, "a file in the course file's folder or below it")
    return value


Points = Annotated[float, BeforeValidator(_points)]
Module = Annotated[str, BeforeValidator(_module)]
FileName = Annotated[str, BeforeValidator(_file), Field(max_length=255)]


class Limits(SpecModel):
    """Limits on all runs of a submission together."""

    time_s: int = Field(default=60, ge=1, le=86_400, description="CPU time, s.")
    memory_mb: int = Field(
        default=512, ge=16, le=1 << 20, description="Memory besides the simulator's own, MiB."
    )


class CourseExperiment(SpecModel):
    """An experiment in which some flows use the submitted controller."""

    file: FileName = Field(description="Its file, with `[[claim]]` tables.")
    flows: Annotated[list[str], Field(min_length=1, max_length=100)] = Field(
        description="Names of the flows that get the submission's controller."
    )
    points: dict[str, Points] = Field(description="For each claim, by its `id`.")
    partial: bool = Field(
        default=True, description="Whether a claim that is not decided earns a part of its points."
    )
    replications: int | None = Field(
        default=None,
        ge=2,
        le=MOST_REPLICATIONS,
        description="Runs of each cell; as many as the rules need if left out.",
    )


class CourseFile(SpecModel):
    """A course file."""

    name: Title = Field(description="What the folder of the marks is called.")
    title: str = Field(default="", max_length=200, description="Heading of the pages.")
    imports: Annotated[list[Module], Field(max_length=100)] = Field(
        default=list(USUAL_IMPORTS), description="Modules that a submission in Python may import."
    )
    limits: Limits = Field(default_factory=Limits, description="What a submission may use.")
    experiment: Annotated[
        list[CourseExperiment], Field(min_length=1, max_length=MOST_EXPERIMENTS)
    ] = Field(description="What each submission is run in.")


@dataclass(frozen=True)
class PlannedExperiment:
    """An experiment whose claims are fixed.

    Attributes:
        name: Name of its file.
        asserted: Its claims and cells, with `SUBMISSION` as the controller.
        points: Points by claim.
        partial: Whether an undecided claim earns a part of its points.
        replications: Replications of each cell.
        flows: Names of the flows with the submitted controller.
    """

    name: str
    asserted: Asserted
    points: Mapping[str, float]
    partial: bool
    replications: int
    flows: tuple[str, ...]


@dataclass(frozen=True)
class Course:
    """A course file and its experiments.

    Attributes:
        file: The course file.
        name: Name of the folder of the marks.
        title: Heading of the pages.
        limits: Limits on a submission.
        imports: Modules that a submission in Python may import.
        experiments: In the order of the file.
        sha256: Hash of the course file and its experiments together.
    """

    file: Path
    name: str
    title: str
    limits: Limits
    imports: tuple[str, ...]
    experiments: tuple[PlannedExperiment, ...]
    sha256: str

    @property
    def points(self) -> float:
        """Largest number of points."""
        return round(sum(sum(each.points.values()) for each in self.experiments), 2)


def read_course(file: Path) -> Course:
    """Read a course file and the experiments it names; runs nothing.

    Args:
        file: In TOML (docs/course-marking.md).

    Raises:
        SpecError: Something in it, or in an experiment, is not allowed.
    """
    document, folder = load(file)
    described = CourseFile.read(document)
    planned = []
    digest = hashlib.sha256(file.read_bytes())
    for index, each in enumerate(described.experiment):
        planned.append(_planned(each, folder, f"experiment[{index}]"))
        digest.update((folder / each.file).read_bytes())
    _check_ids(planned)
    return Course(
        file=file,
        name=described.name,
        title=described.title or described.name,
        limits=described.limits,
        imports=tuple(described.imports),
        experiments=tuple(planned),
        sha256=digest.hexdigest(),
    )


def _planned(each: CourseExperiment, folder: Path, path: str) -> PlannedExperiment:
    file = folder / each.file
    if not file.resolve().is_relative_to(folder.resolve()):
        raise SpecError(f"{path}.file", each.file, "a file in the course file's folder or below it")
    _check_flows(each, file, path)
    settings = [setting for name in each.flows for setting in _settings(name)]
    try:
        claims = asserted(file, settings, replications=each.replications)
    except SpecError as error:
        where = f"{path}.file: {each.file}: {error.path}"
        raise SpecError(where, error.value, error.allowed, error.hint, error.reason) from None
    _check_points(each, claims, path)
    cells = [cell.experiment.resolved_json() for cell in claims.cells]
    if not any(SUBMISSION in text for text in cells):
        allowed = "flows of whose controller a claim says something"
        raise SpecError(f"{path}.flows", ", ".join(each.flows), allowed)
    for text in cells:
        if f'"{FILE_PREFIX}' in text or f'"{LINUX_PREFIX}' in text:
            allowed = "controllers of the simulator, besides the submission's"
            raise SpecError(f"{path}.file: {each.file}", "file: or linux:", allowed)
        get_backend("sim").check(text)
    return PlannedExperiment(
        name=each.file,
        asserted=claims,
        points=each.points,
        partial=each.partial,
        replications=each.replications or claims.replications,
        flows=tuple(each.flows),
    )


def _settings(flow: str) -> Iterator[Setting]:
    tcp = f"flows[{flow}].tcp"
    yield Setting(f"{tcp}.congestion_control", SUBMISSION)
    yield Setting(f"{tcp}.controller_sha256", PLACEHOLDER_SHA256)


def _check_flows(each: CourseExperiment, file: Path, path: str) -> None:
    listed = load(file)[0].get("flows")
    flows: list[Any] = listed if isinstance(listed, list) else []
    names = [flow["name"] for flow in flows if isinstance(flow, Mapping) and "name" in flow]
    names = [name for name in names if isinstance(name, str)]
    for place, name in enumerate(each.flows):
        if name not in names:
            allowed = f"a flow of {each.file}: {one_of(names) if names else 'it has none'}"
            raise SpecError(f"{path}.flows[{place}]", name, allowed, nearest(name, names))


def _check_points(each: CourseExperiment, claims: Asserted, path: str) -> None:
    known = [plan.claim.id for plan in claims.plans]
    for name in each.points:
        if name not in known:
            allowed = f"the id of a claim of {each.file}: {one_of(known)}"
            raise SpecError(f"{path}.points.{name}", name, allowed, nearest(name, known))
    for plan in claims.plans:
        where = f"{path}.points.{plan.claim.id}"
        if plan.claim.id not in each.points:
            allowed = "points for each claim of the file; 0 for one that is only shown"
            raise SpecError(where, "nothing", allowed)
        if plan.claim.rule.name in _EARN_NOTHING and each.points[plan.claim.id]:
            allowed = f"0: a claim of the kind {plan.claim.rule.name} is not judged by one run set"
            raise SpecError(where, each.points[plan.claim.id], allowed)


def _check_ids(planned: list[PlannedExperiment]) -> None:
    seen: dict[str, str] = {}
    for each in planned:
        for plan in each.asserted.plans:
            name = plan.claim.id
            if name in seen:
                allowed = f"an id that no claim of another experiment has ({seen[name]} has it)"
                raise SpecError(f"{each.name}: claim.id", name, allowed)
            seen[name] = each.name
