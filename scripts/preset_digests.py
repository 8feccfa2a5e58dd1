"""Digests of every arm of the quick presets, one run each.

``preset_digests.py``          says which differ from those in tests/golden/preset_digests.json;
                               exit status 1
``preset_digests.py --write``  keeps today's; refused where this version had others

What `digests.py` runs is short and made to pass through everything; these are the networks that
the studies print numbers of, at full length: replication 0 of each, seeds as the studies have them.
A change of the engine that is to change speed alone is held to both. Takes half a minute of CPU
time, and a study that was changed asks for ``--write`` too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

import digests

from dumbbell.replication import Replications, replicate_groups
from dumbbell.replication.arm_keys import key_text
from dumbbell.spec import Experiment
from dumbbell.studies import STUDIES, StudyOptions
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Amount, Runner
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.fit import fewest_runs
from dumbbell.studies.statistical_multiplexing.parts import fit_name
from dumbbell.studies.statistical_multiplexing.senders import SENDERS
from dumbbell.tables import Run

KEPT = Path(__file__).resolve().parents[1] / "tests/golden/preset_digests.json"
DIGITS = digests.FINGERPRINT_DIGITS
"""Digits stored of each digest."""
RUNS = {fit_name(sender): fewest_runs(len(published.QUARTILES)) for sender in SENDERS}
"""Replications of a task that rejects a single one; the digest is that of the first."""


class Kept(TypedDict):
    """Contents of the file."""

    version: str
    digests: dict[str, str]
    """Digests by study, task and arm."""


class Once(Runner):
    """Runs one replication of every requested task, and records digests.

    Attributes:
        study: The study.
        noted: Digests of the runs, by study, task and arm.
        experiments: Experiments run, by the same names.
    """

    def __init__(self, options: StudyOptions, study: str) -> None:
        """Set the study; nothing is run yet."""
        super().__init__(options)
        self.study = study
        self.noted: dict[str, str] = {}
        self.experiments: dict[str, Experiment] = {}

    def replicate_groups(
        self,
        groups: Mapping[Any, Mapping[Any, Any]],
        reduce: Callable[[Mapping[Any, Run]], Any],
        amount: Amount[Any],
        *,
        task: str,
        **more: Any,
    ) -> Replications[Any, Any]:
        """See `Runner`."""
        runs = RUNS.get(task, 1)
        done = replicate_groups(groups, reduce, at_least=runs, task=task, keep=1)
        if done.n < runs:
            raise RuntimeError(f"{self.study}, {task}: {done.stopped_because}")
        for arm, (kept,) in done.kept.items():
            for key, run in zip(groups[arm], kept, strict=True):
                name = f"{self.study} / {task} / {key_text(arm)}"
                name += f" / {key_text(key)}" if key != arm else ""
                free = self._free(name)
                self.noted[free] = run.meta["digest"][:DIGITS]
                self.experiments[free] = groups[arm][key]
        return done

    def _free(self, name: str) -> str:
        """Return an unused name: a task may run its arms again at another length."""

        def numbered() -> Iterator[str]:
            yield name
            yield from (f"{name} ({times})" for times in range(2, sys.maxsize))

        return next(each for each in numbered() if each not in self.noted)


def runners() -> Iterator[Once]:
    """Return one runner for each study, after all of its arms were run.

    The parts run as in ``dumbbell reproduce all --quick``; nothing is judged.
    """
    options = StudyOptions(quick=True)
    for name in STUDIES:
        study = STUDIES[name]
        assert isinstance(study, type) and issubclass(study, Reproduction)
        runner = Once(options, name)
        for part in study(options).parts:
            if part.is_wanted(options):
                part.finish(runner)
        yield runner


def measured() -> dict[str, str]:
    """Return the digests of the arms of every study, by the package that this Python imports."""
    return {name: digest for runner in runners() for name, digest in runner.noted.items()}


def kept() -> Kept:
    """Return the stored digests."""
    return json.loads(KEPT.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def differing(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return runs whose digests differ, and runs that are in only one of both."""
    names = dict.fromkeys([*before, *now])
    return [name for name in names if before.get(name) != now.get(name)]


def main(words: list[str]) -> int:
    """Return the exit status."""
    now, version = measured(), digests.today()
    before = kept() if KEPT.is_file() else Kept(version="", digests={})
    if words == ["--write"]:
        moved = digests.changed(before["digests"], now)
        if moved and before["version"] == version:
            print(
                f"version {version} had other digests of {', '.join(moved)}: "
                "raise the version in Cargo.toml",
                file=sys.stderr,
            )
            return 1
        KEPT.write_text(
            json.dumps(Kept(version=version, digests=now), indent=1, ensure_ascii=False) + "\n",
            encoding="utf-8",
        )
        print(f"{len(now)} digests kept as those of version {version}")
        return 0
    moved = differing(before["digests"], now)
    for name in moved:
        old, new = (each.get(name, "none") for each in (before["digests"], now))
        print(f"{name}: {new}, version {before['version']} had {old}", file=sys.stderr)
    print(f"{len(now)} runs, {len(moved)} digests not those of version {before['version']}")
    return 1 if moved else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case [] | ["--write"]:
            sys.exit(main(sys.argv[1:]))
        case _:
            sys.exit(__doc__)
