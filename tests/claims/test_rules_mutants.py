"""Every one of these faults in a rule must be caught by the tests of the rules.

Each is put into a copy of the package, one at a time; a fault that no test notices is a hole in the
tests. They are the faults that verdicts in published reproductions have had.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLAIMS = Path("python/dumbbell/claims")
TESTS = (
    "test_rules.py",
    "test_rules_explained.py",
    "test_rules_synthetic.py",
    "test_claims_facts.py",
)


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    before: str
    after: str


MUTANTS = (
    Mutant(
        "a margin of equality is dropped",
        "rules/equals.py",
        "verdict=equivalent(found, self.value, self.margin),",
        "verdict=equivalent(found, self.value, 1e-9),",
    ),
    Mutant(
        "the p-value forgets the margin",
        "rules/equals.py",
        "p_value=contradiction_p_value(found, self.value, self.margin),",
        "p_value=contradiction_p_value(found, self.value, 0.0),",
    ),
    Mutant(
        "not being significant counts as equal",
        "rules/intervals.py",
        '"straddles": Verdict.INCONCLUSIVE,',
        '"straddles": Verdict.REPRODUCED,',
    ),
    Mutant(
        "the interval of a mean stands for a prediction",
        "rules/prediction.py",
        "found = prediction_interval(values, level)\n",
        "found = student_interval(values, level, kind=IntervalKind.PREDICTION)\n",
    ),
    Mutant(
        "a prediction stands for the interval of a mean",
        "rules/intervals.py",
        "return student_interval(evidence.values, level)",
        "return prediction_interval(evidence.values, level)",
    ),
    Mutant(
        "a published number is judged from any number of runs",
        "rules/published.py",
        "if evidence.n < least:",
        "if evidence.n < 2:",
    ),
    Mutant(
        "few runs speak against a number as ten do",
        "rules/prediction.py",
        "LEVEL_AGAINST = 0.999",
        "LEVEL_AGAINST = 0.7",
    ),
    Mutant(
        "order statistics are taken at their word from any number of runs",
        "rules/prediction.py",
        "return replications_for_prediction(level)\n",
        "return LEAST_FOR_STUDENT\n",
    ),
    Mutant(
        "the rounding of print is dropped",
        "rules/prediction.py",
        "found.high - found.value, reach) + rounding,",
        "found.high - found.value, reach),",
    ),
    Mutant(
        "a wide interval swallows what lies outside of it",
        "rules/published.py",
        "if not found.contains(printed):",
        "if is_informative(found) and not found.contains(printed):",
    ),
    Mutant(
        "a wide interval reproduces",
        "rules/prediction.py",
        "INFORMATIVE_HALF_WIDTH = 0.5",
        "INFORMATIVE_HALF_WIDTH = 50.0",
    ),
    Mutant(
        "the ensemble is held against a tolerance around print",
        "rules/ensemble.py",
        "band = predict(evidence.values, Law.ANY, self.level, rounding=self.rounding)",
        "near = 0.1 * self.printed\n"
        "        band = predict(evidence.values, Law.ANY, self.level, rounding=near)",
    ),
    Mutant(
        "an ensemble of any size decides",
        "rules/ensemble.py",
        "if evidence.n < least:",
        "if evidence.n < 2:",
    ),
    Mutant(
        "agreement is judged from any number of runs",
        "rules/agreement.py",
        "if evidence.n < self.least:",
        "if evidence.n < 2:",
    ),
    Mutant(
        "a tail needs no more runs than a mean",
        "rules/agreement.py",
        "LEAST_RUNS_OF_A_TAIL = 10",
        "LEAST_RUNS_OF_A_TAIL = 5",
    ),
    Mutant(
        "the floor of an agreement's margin is dropped",
        "rules/agreement.py",
        "return max(self.relative * abs(float(evidence.other.mean())), self.floor)",
        "return max(self.relative * abs(float(evidence.other.mean())), 1e-9)",
    ),
    Mutant(
        "shared streams are not paired",
        "rules/intervals.py",
        "return difference_interval(evidence.ours, evidence.other, level)",
        "return welch_interval(evidence.ours, evidence.other, level)",
    ),
    Mutant(
        "independent runs are paired",
        "rules/intervals.py",
        "return welch_interval(evidence.ours, evidence.other, level)",
        "return difference_interval(evidence.ours, evidence.other[: evidence.ours.size], level)",
    ),
    Mutant(
        "an ordering is judged point by point",
        "rules/ordering.py",
        "if band.above(-self.slack):",
        "if float(band.value.min()) > -self.slack:",
    ),
    Mutant(
        "a band is taken at its word from two replications",
        "rules/intervals.py",
        "LEAST_FOR_A_BAND = 3",
        "LEAST_FOR_A_BAND = 2",
    ),
    Mutant(
        "the margin of hardly matters is dropped",
        "rules/equivalent.py",
        "verdict=equivalent(difference, 0.0, self.margin),",
        "verdict=equivalent(difference, 0.0, 1e-9),",
    ),
    Mutant(
        "of several differences the mean one decides",
        "rules/equivalent.py",
        "low, high = float(band.low.min()), float(band.high.max())",
        "low, high = float(band.low.mean()), float(band.high.mean())",
    ),
    Mutant(
        "one side is taken for the other",
        "rules/intervals.py",
        "if side is Side.AT_LEAST else (below, above)",
        "if side is Side.AT_MOST else (below, above)",
    ),
    Mutant(
        "every run must reach a supremum",
        "rules/supremum.py",
        "if float(bdtrc(reached - 1, n, 0.5)) <= error:",
        "if reached == n:",
    ),
    Mutant(
        "some run must reach a supremum",
        "rules/supremum.py",
        "if float(bdtrc(reached - 1, n, 0.5)) <= error:",
        "if reached:",
    ),
    Mutant(
        "a supremum may be passed",
        "rules/supremum.py",
        "if passed:",
        "if passed and n < 2:",
    ),
    Mutant(
        "a supremum's packet is dropped",
        "rules/supremum.py",
        "peaks >= self.bound - self.packet - self.resolution",
        "peaks >= self.bound - self.resolution",
    ),
    Mutant(
        "one point of a grid is enough for a direction",
        "rules/direction.py",
        "elif {HOLDS, FAILS} <= verdicts:",
        "elif HOLDS in verdicts:\n            verdict = HOLDS\n"
        "        elif {HOLDS, FAILS} <= verdicts:",
    ),
    Mutant(
        "many points make one fail by chance",
        "rules/direction.py",
        "shared = 1.0 - (1.0 - self.level) / points",
        "shared = self.level",
    ),
    Mutant(
        "each level may be explained at a point of its own",
        "rules/explained.py",
        "1.0 if each is None else each for each in p_values))",
        "1.0 if each is None else each for each in p_values[:1]))",
    ),
    Mutant(
        "levels are not tested jointly",
        "rules/explained.py",
        "min(1.0, len(p_values) * min(",
        "min(1.0, min(",
    ),
    Mutant(
        "levels at once are held one by one",
        "rules/explained.py",
        "self._p_value_at_once if at_once else self._least_p_value",
        "self._least_p_value",
    ),
    Mutant(
        "one more run scatters as a mean does",
        "../stats/joint.py",
        "rowvar=False)) * (1.0 + 1.0 / n)",
        "rowvar=False)) / n",
    ),
    Mutant(
        "levels are explained from any number of runs",
        "rules/explained.py",
        "judged = [at for at in known if at.n >= self.fewest]",
        "judged = [at for at in known if at.n >= 2]",
    ),
    Mutant(
        "a preview is judged",
        "rules/preview.py",
        "return self.of.decide(evidence).shown_as(Verdict.PREVIEW, lacks)",
        "return self.of.decide(evidence)",
    ),
    Mutant(
        "a check looks at the mean of the runs",
        "rules/check.py",
        "away = evidence.values - self.value",
        "away = evidence.values.mean() - np.full(evidence.n, self.value)",
    ),
    Mutant(
        "rows are counted for facts",
        "facts.py",
        "rows.setdefault((view.fact, view.backend, view.standing), [])",
        "rows.setdefault((view.id, view.backend, view.standing), [])",
    ),
    Mutant(
        "a replication without a number is left out",
        "model.py",
        "if not is_complete(evidence):",
        "if size_of(evidence) < 0:",
    ),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package beside its tests."""
    folder = tmp_path_factory.mktemp("mutants")
    shutil.copytree(
        ROOT / "python", folder / "python", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(ROOT / "tests" / "claims", folder / "tests")
    return folder


def _tests_pass(tree: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long",
         *(str(tree / "tests" / name) for name in TESTS)],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree / "python"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode == 0


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_place_of_a_mutant_is_there_once(mutant: Mutant) -> None:
    """Else nothing, or something else, would be tried the next time the long tests run."""
    source = (ROOT / CLAIMS / mutant.file).read_text()
    assert source.count(mutant.before) == 1, "the source has changed: write the mutant anew"
    assert mutant.after != mutant.before


@pytest.mark.long
def test_the_sources_pass_as_they_are(tree: Path) -> None:
    assert _tests_pass(tree)


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_caught(tree: Path, mutant: Mutant) -> None:
    file = tree / CLAIMS / mutant.file
    original = file.read_text()
    changed = original.replace(mutant.before, mutant.after)
    # Names that only a fault of a rule needs.
    is_rule = mutant.file.startswith("rules/")
    needed = "from dumbbell.stats import prediction_interval, student_interval\n"
    imports = needed if is_rule else ""
    head, line, rest = changed.partition("from __future__ import annotations\n")
    file.write_text(f"{head}{line}{imports}{rest}")
    try:
        assert not _tests_pass(tree), f"no test noticed that {mutant.name}"
    finally:
        file.write_text(original)
