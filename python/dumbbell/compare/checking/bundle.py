"""A folder with description, claims and results, and a check whether repeating it gives the same.

Results are stored as numbers (``results.json``) and as a digest of each replication's numbers
(``check.json``). Equal digests mean that all numbers are equal to the last bit; if digests differ,
the numbers show by how much.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dumbbell import __version__
from dumbbell.claims import ClaimsFileError, ClaimView, read_claims, views_of
from dumbbell.compare.cells import Cell
from dumbbell.compare.checking.asserted import Asserted, Checked
from dumbbell.compare.replicating import Arm, Replicates
from dumbbell.compare.summary import Summary
from dumbbell.errors import SpecError
from dumbbell.inputs import open_input
from dumbbell.printable import whole_json
from dumbbell.spec import Setting
from dumbbell.spec.questions import parted
from dumbbell.spec.refusal import shown, to_spec_error
from dumbbell.spec.toml_file import load

DESCRIPTION, KEPT, RESULTS = "experiment.toml", "check.json", "results.json"
CLAIMS = "claims.json"
FORMAT = 1
LARGEST_BYTES = 256 << 20
"""Largest file that is read: the folder may come from a stranger."""
MOST_KEPT_REPLICATIONS = 100_000
"""Most replications per cell that are run: the folder may come from a stranger."""

_Value: TypeAlias = float | Literal["inf", "-inf"] | None


class _File(BaseModel):
    """Base of the models for a folder's files: strict types, no unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class _Run(_File):
    cell: str
    backend: str
    description: str
    digests: list[str]


class _Check(_File):
    format: Literal[1]
    dumbbell: str
    settings: list[str]
    backends: list[str] = Field(min_length=1)
    replications: int | None = Field(ge=1, le=MOST_KEPT_REPLICATIONS)
    precision: float | None = Field(gt=0)
    runs: list[_Run]


class _RunNumbers(_File):
    cell: str
    backend: str
    description: str
    values: dict[str, list[_Value]]


class _Results(_File):
    format: Literal[1]
    runs: list[_RunNumbers]


@dataclass(frozen=True)
class KeptCheck:
    """The content of a bundle: how it was made, and its results.

    Attributes:
        folder: The folder.
        version: Version of dumbbell that made it.
        settings: Values that replace those of the description.
        backends: Backends it was run on.
        replications: Number of replications asked for; None if a precision was.
        precision: Precision asked for; None if a number was.
        digests: Digest of each replication's numbers, by digest of the description and backend.
        results: The numbers by the same key, then by path; empty without a results file.
        views: The verdicts.
    """

    folder: Path
    version: str
    settings: tuple[Setting, ...]
    backends: tuple[str, ...]
    replications: int | None
    precision: float | None
    digests: Mapping[tuple[str, str], Sequence[str]]
    results: Mapping[tuple[str, str], Mapping[str, Sequence[float | str | None]]]
    views: tuple[ClaimView, ...]

    @property
    def description(self) -> Path:
        """The file with the description and the claims."""
        return self.folder / DESCRIPTION


@dataclass(frozen=True, slots=True)
class BundleCheck:
    """Comparison of a repeated check with the bundle.

    Attributes:
        runs: Number of runs now.
        differing: Sentences about runs whose numbers differ or that the folder lacks.
        verdicts: Sentences about verdicts that differ.
        version: Version of dumbbell that made the folder, if it differs.
    """

    runs: int
    differing: tuple[str, ...]
    verdicts: tuple[str, ...]
    version: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether nothing differs."""
        return not self.differing and not self.verdicts


def is_bundle(path: Path) -> bool:
    """Whether the path is a folder; `read_bundle` checks its content."""
    return path.is_dir()


def bundle_files(
    checked: Checked, *, replications: int | None, precision: float | None
) -> dict[str, str | bytes]:
    """The files of a bundle, besides the page and ``claims.json``.

    Args:
        checked: The runs and verdicts.
        replications: Number asked for, or needed by the rules.
        precision: Precision asked for.
    """
    claims, found = checked.asserted, checked.comparison
    by_label = {cell.label: cell for cell in found.cells}
    runs = [
        {
            "cell": arm.cell,
            "backend": arm.backend,
            "description": _of_description(by_label[arm.cell]),
            "digests": [digest_of(each) for each in replicates.summaries],
        }
        for arm, replicates in found.results.items()
    ]
    kept = {
        "format": FORMAT,
        "dumbbell": __version__,
        "settings": [str(each) for each in claims.settings],
        "backends": list(found.backends),
        "replications": replications if precision is None else None,
        "precision": precision,
        "runs": runs,
    }
    return {
        DESCRIPTION: claims.file.read_bytes(),
        KEPT: whole_json(json.dumps(kept, indent=1, ensure_ascii=False)) + "\n",
        RESULTS: _results_text(checked),
        **dict(_traces(claims)),
    }


def read_bundle(folder: Path) -> KeptCheck:
    """Read a bundle.

    Raises:
        SpecError: The folder holds no bundle, or it is damaged, or a later version wrote it.
    """
    path = folder / KEPT
    allowed = "a folder that `dumbbell check FILE` wrote, with experiment.toml and check.json"
    if not path.is_file() or not (folder / DESCRIPTION).is_file():
        raise SpecError(str(folder), "no bundle", allowed)
    content = _read_as(_Check, path)
    results = folder / RESULTS
    numbers = _read_as(_Results, results).runs if results.is_file() else []
    try:
        views = tuple(read_claims(folder / CLAIMS)) if (folder / CLAIMS).is_file() else ()
    except ClaimsFileError as error:
        raise SpecError(str(folder / CLAIMS), shown(str(error)), "claims.json as it was") from None
    return KeptCheck(
        folder=folder,
        version=content.dumbbell,
        settings=tuple(Setting.parse(each) for each in content.settings),
        backends=tuple(content.backends),
        replications=content.replications,
        precision=content.precision,
        digests={(each.description, each.backend): tuple(each.digests) for each in content.runs},
        results={(each.description, each.backend): each.values for each in numbers},
        views=views,
    )


def same(kept: KeptCheck, checked: Checked) -> BundleCheck:
    """Compare a repeated check with the bundle."""
    found = checked.comparison
    by_label = {cell.label: cell for cell in found.cells}
    arms = {
        (_of_description(by_label[arm.cell]), arm.backend): (arm, replicates)
        for arm, replicates in found.results.items()
    }
    differing = [
        *_changed_since(kept),
        *(
            sentence
            for key, (arm, replicates) in arms.items()
            for sentence in _of_arm(kept, key, arm, replicates)
        ),
        *(
            f"a cell on {backend} that the folder has results of was not run: its description "
            "changed since, or failed"
            for description, backend in kept.digests
            if (description, backend) not in arms
        ),
    ]
    return BundleCheck(
        runs=sum(each.n for each in found.results.values()),
        differing=tuple(differing),
        verdicts=tuple(_of_verdicts(kept.views, views_of(checked.judged))),
        version=kept.version if kept.version != __version__ else "",
    )


def digest_of(summary: Summary) -> str:
    """SHA-256 of all numbers of a run with their paths, to the last bit."""
    return _digest({each.path: summary.values[each] for each in summary.quantities})


def _digest(values: Mapping[str, float | None]) -> str:
    # `repr` of a float is exact; undefined numbers are null, whatever their NaN.
    told = {path: _plain(value) for path, value in values.items()}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: float | None) -> float | str | None:
    if value is None or math.isnan(value):
        return None
    # JSON has no infinity (the capacity of a path without a limit).
    return float(value) if math.isfinite(value) else str(value)


def _results_text(checked: Checked) -> str:
    """All numbers of all runs, one line per quantity, so that two versions can be
    compared by diff.
    """
    found = checked.comparison
    by_label = {cell.label: cell for cell in found.cells}
    parts = []
    for arm, replicates in found.results.items():
        head = {
            "cell": arm.cell,
            "backend": arm.backend,
            "description": _of_description(by_label[arm.cell]),
        }
        lines = [
            f"   {json.dumps(each.path)}: "
            f"{json.dumps([_plain(value) for value in replicates.values(each).tolist()])}"
            for each in replicates.summaries[0].quantities
        ]
        values = ",\n".join(lines)
        parts.append(
            f'  {json.dumps(head, ensure_ascii=False)[:-1]}, "values": {{\n{values}\n  }}}}'
        )
    runs = ",\n".join(parts)
    return f'{{"format": {FORMAT}, "runs": [\n{runs}\n]}}\n'


def _traces(claims: Asserted) -> Iterator[tuple[str, bytes]]:
    """The recorded traces that the description names, with their contents."""
    document, folder = load(claims.file)
    for flow in parted(document)[0].get("flows", []):
        source = flow.get("source") if isinstance(flow, Mapping) else None
        name = source.get("file") if isinstance(source, Mapping) else None
        if isinstance(name, str) and name == Path(name).name:
            yield name, (folder / name).read_bytes()


def _of_description(cell: Cell) -> str:
    return hashlib.sha256(cell.experiment.resolved_json().encode()).hexdigest()


_Model = TypeVar("_Model", bound=_File)


def _read_as(model: type[_Model], path: Path) -> _Model:
    try:
        with open_input(path) as file:
            text = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise SpecError(str(path), error.strerror or str(error), "a file to read") from None
    if len(text) > LARGEST_BYTES:
        raise SpecError(str(path), "a larger file", f"at most {LARGEST_BYTES >> 20} MiB")
    try:
        return model.model_validate_json(text.decode(errors="replace"))
    except ValidationError as error:
        found = to_spec_error(error, None)
        where = f"{path}: {found.path}" if found.path else str(path)
        raise SpecError(where, found.value, found.allowed, found.hint, found.reason) from None


def _changed_since(kept: KeptCheck) -> Iterator[str]:
    """Sentences about numbers that do not match the digests beside them."""
    for key, values in kept.results.items():
        digests = kept.digests.get(key, ())
        for number, digest in enumerate(digests):
            one = {path: each[number] for path, each in values.items() if number < len(each)}
            if _digest({path: _read(each) for path, each in one.items()}) != digest:
                yield f"{RESULTS} was changed since it was written (replication {number})"
                return


def _read(value: float | str | None) -> float | None:
    return float(value) if isinstance(value, str) else value


def _of_arm(kept: KeptCheck, key: tuple[str, str], arm: Arm, now: Replicates) -> Iterator[str]:
    where = f"{arm.cell} on {arm.backend}"
    digests = kept.digests.get(key)
    if digests is None:
        yield f"{where}: not in the folder: its description changed since"
        return
    if len(digests) != now.n:
        yield f"{where}: {now.n} runs, where the folder has {len(digests)}"
    pairs = zip(digests, now.summaries, strict=False)
    differing = [n for n, (digest, each) in enumerate(pairs) if digest_of(each) != digest]
    if differing:
        first = differing[0]
        told = _first_number(kept.results.get(key, {}), now.summaries[first], first)
        yield f"{where}: {len(differing)} of {now.n} runs differ, first replication {first}{told}"


def _first_number(
    kept: Mapping[str, Sequence[float | str | None]], now: Summary, replication: int
) -> str:
    for quantity, value in now.values.items():
        before = kept.get(quantity.path, ())
        if replication >= len(before) or before[replication] != _plain(value):
            was = before[replication] if replication < len(before) else "nothing"
            return f": {quantity.path} is {value!r}, kept is {was!r}"
    return ""


def _of_verdicts(kept: Sequence[ClaimView], now: Sequence[ClaimView]) -> Iterator[str]:
    before = {(each.id, each.backend): each.verdict_text for each in kept}
    after = {(each.id, each.backend): each.verdict_text for each in now}
    for (name, backend), verdict in after.items():
        was = before.get((name, backend))
        if was is None:
            yield f"{name} on {backend}: {verdict}; not among the folder's"
        elif was != verdict:
            yield f"{name} on {backend}: {verdict}; kept is {was}"
    for (name, backend), was in before.items():
        if (name, backend) not in after:
            yield f"{name} on {backend}: not judged; kept is {was}"
