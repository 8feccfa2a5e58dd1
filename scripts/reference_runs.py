"""Renew ``tests/reference/kernel-6.1``: the reference grid on the real kernel in virtual time.

``python scripts/reference_runs.py`` runs sixty cells three times, thirty virtual seconds each. Runs
that an earlier, stopped call finished with the same kernel, guest and tools are kept below
``--partial``. ``--only WORD`` takes the cells with the word in their names and writes nothing but
the partial results.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/reference"))

import reference_grid as grid  # noqa: E402

from dumbbell.backends import Failure, get_backend, run_many  # noqa: E402
from dumbbell.backends.kernel.recipe import recipe_for  # noqa: E402
from dumbbell.errors import SpecError  # noqa: E402

SIGNIFICANT_DIGITS = 7

Kept = dict[str, Any]


def main() -> int:
    """Run what is missing, then write the tables. Exit status 1 if a run is missing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="cells with this word in their names")
    parser.add_argument("--jobs", type=int, default=0, help="guests side by side; 0: one a core")
    parser.add_argument("--out", type=Path, default=grid.FOLDER)
    parser.add_argument("--partial", type=Path, default=ROOT / "results/reference-runs")
    given = parser.parse_args()
    chosen = [cell for cell in grid.cells() if given.only in cell.name]
    given.partial.mkdir(parents=True, exist_ok=True)
    versions = dict(get_backend("kernel").versions(chosen[0].experiment().resolved()))
    missing = run_missing(chosen, given.partial, versions, given.jobs)
    if missing:
        print(f"{missing} runs are missing", file=sys.stderr)
        return 1
    if not given.only:
        write(kept_runs(chosen, given.partial, versions), versions, given.out)
        print(f"written: {given.out}")
    return 0


def run_missing(
    chosen: Sequence[grid.Cell], partial: Path, versions: Mapping[str, Any], jobs: int
) -> int:
    """Run missing cells; return the number of runs that failed or are not allowed."""
    tasks = []
    missing = 0
    for cell in chosen:
        try:
            experiment = cell.experiment()
            get_backend("kernel").check(experiment.resolved_json())
        except SpecError as error:
            print(f"{cell.name}: {error}", file=sys.stderr)
            missing += grid.REPLICATIONS
            continue
        for replication in range(grid.REPLICATIONS):
            if read_kept(partial, cell, replication, versions) is None:
                tasks.append((cell, experiment, replication))
    failures: list[Failure] = []
    runs = run_many(
        ((experiment, replication) for _, experiment, replication in tasks),
        backend="kernel",
        jobs=jobs,
        on_failure=failures.append,
    )
    for done, (index, run) in enumerate(runs, 1):
        cell, _, replication = tasks[index]
        row, flows = grid.summary(cell, run)
        kept = {
            "versions": versions,
            "run": {"cell": cell.name, "replication": replication, **row},
            "flows": flows,
            "series": grid.series(cell, run),
            "digest": run.meta["digest"],
        }
        kept_file(partial, cell, replication).write_text(json.dumps(kept), encoding="utf-8")
        cost = f"{run.provenance['cpu_s']:.1f} s of CPU time"
        print(f"{done} of {len(tasks)}: {cell.name} {replication}: {cost}", flush=True)
    for failure in failures:
        cell, _, replication = tasks[failure.index]
        print(f"{cell.name} {replication}: {failure.message}", file=sys.stderr)
    return missing + len(failures)


def kept_file(partial: Path, cell: grid.Cell, replication: int) -> Path:
    """Return the file of a finished run."""
    return partial / f"{cell.name}-{replication}.json"


def read_kept(
    partial: Path, cell: grid.Cell, replication: int, versions: Mapping[str, Any]
) -> Kept | None:
    """Return a finished run; None if there is none made with the same programs."""
    try:
        text = kept_file(partial, cell, replication).read_text(encoding="utf-8")
        kept: Kept = json.loads(text)
    except (OSError, ValueError):
        return None
    return kept if kept["versions"] == versions else None


def kept_runs(
    chosen: Sequence[grid.Cell], partial: Path, versions: Mapping[str, Any]
) -> Iterator[Kept]:
    """Return all finished runs, in order."""
    for cell in chosen:
        for replication in range(grid.REPLICATIONS):
            kept = read_kept(partial, cell, replication, versions)
            assert kept is not None, "it was just run"
            yield kept


def write(runs: Iterator[Kept], versions: Mapping[str, Any], out: Path) -> None:
    """Write the tables; the same runs give the same bytes."""
    out.mkdir(parents=True, exist_ok=True)
    run_rows, flow_rows, curves = [], [], []
    for kept in runs:
        place = {name: kept["run"][name] for name in ("cell", "replication")}
        run_rows.append({**kept["run"], "digest": kept["digest"]})
        flow_rows += [{**place, "flow": flow, **row} for flow, row in enumerate(kept["flows"])]
        for flow, values in kept["series"]:
            # Differences compress better than absolute values.
            steps = [now - before for before, now in zip([0, *values], values, strict=False)]
            curves.append([*place.values(), flow, steps])
    compress(out / "runs.csv.gz", csv_text(run_rows))
    compress(out / "flows.csv.gz", csv_text(flow_rows))
    compress(out / "series.json.gz", json.dumps(curves, separators=(",", ":")))
    patches = {patch.name: sha256(patch) for patch in recipe_for().patches}
    meta = {
        "command": grid.COMMAND,
        "seed": grid.SEED,
        "replications": grid.REPLICATIONS,
        "measured_from_s": grid.FROM_S,
        "duration_s": grid.DURATION_S,
        "versions": dict(versions),
        "patches_sha256": patches,
        "fragment_sha256": sha256(recipe_for().fragment),
    }
    (out / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows with a header line."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: shortened(value) for name, value in row.items()})
    return stream.getvalue()


def shortened(value: Any) -> Any:
    """Round a number to the significant digits."""
    return f"{value:.{SIGNIFICANT_DIGITS}g}" if isinstance(value, float) else value


def compress(file: Path, text: str) -> None:
    """Compress without a timestamp, so that the same text gives the same file."""
    file.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


def sha256(file: Path) -> str:
    """Return the digest of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
