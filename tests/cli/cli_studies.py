"""Studies for tests of the command line: a true claim, a false one, a failure, a long run."""

from __future__ import annotations

from dataclasses import replace

from dumbbell import metrics
from dumbbell.backends.kernel import KernelMissingError
from dumbbell.claims import Claim, Runs, judge
from dumbbell.claims.rules import Check, Equals
from dumbbell.errors import RunError
from dumbbell.replication import replicate
from dumbbell.report import Report
from dumbbell.spec import Experiment
from dumbbell.studies import Interrupted, StudyOptions
from dumbbell.tables import Run

SEEN: list[StudyOptions] = []


def md1(duration: str) -> Experiment:
    return Experiment.read(
        {
            "duration": duration,
            "links": [{"a": "a", "b": "b", "forward": {"rate": "1mbit"}}],
            "flows": [
                {
                    "name": "stream",
                    "from": "a",
                    "to": "b",
                    "source": {"kind": "poisson", "rate": "50pps", "size": "500B"},
                }
            ],
        }
    )


def sojourn_ms(run: Run) -> float:
    return 1e3 * metrics.mean_sojourn_s(run, "a->b")


class OneQueue:
    """Mean sojourn time of M/D/1 against what is claimed."""

    summary = "M/D/1: the mean time in the system."

    def __init__(self, name: str, claimed_ms: float, duration: str = "100s") -> None:
        self.id = name
        self.title = f"Is it {claimed_ms:g} ms?"
        self.claimed_ms = claimed_ms
        self.duration = duration

    def reproduce(self, options: StudyOptions) -> Report:
        SEEN.append(options)

        done = replicate(
            {"run": md1(self.duration)},
            sojourn_ms,
            at_least=options.replications or 10,
            jobs=options.jobs,
            memory_bytes=options.memory_bytes,
            performer=options.performer,
            seed=options.seed,
            task=self.id,
            on_progress=options.on_progress,
            cancel=options.cancel,
        )
        if done.n < 2:
            raise Interrupted(done.stopped_because)
        claim = Claim(
            id="mean-sojourn",
            statement="The mean time in the system is as claimed",
            source="theory",
            rule=Equals(value=self.claimed_ms, margin=0.2, unit="ms"),
        )
        judged = judge(claim, Runs(done.values("run")))
        return Report(
            study=self.id,
            title=self.title,
            summary=f"Over {done.n} replications.",
            judged=[judged],
            provenance={"host": "here"},
        )


class Broken(OneQueue):
    def reproduce(self, options: StudyOptions) -> Report:
        raise RunError("replication 3 failed: the wheel fell off")


class Lacking(OneQueue):
    def check(self, options: StudyOptions) -> None:
        raise KernelMissingError("the kernel has not been built: build it once")

    def reproduce(self, options: StudyOptions) -> Report:
        raise AssertionError("it was said that it cannot be run")


class FailsACheck(OneQueue):
    """What it claims holds; what holds by construction does not."""

    def reproduce(self, options: StudyOptions) -> Report:
        report = super().reproduce(options)
        claim = Claim(
            id="one-queue",
            statement="There is one queue",
            source="dumbbell",
            rule=Check(value=1.0, because="the description has one", unit="queues"),
        )
        failed = judge(claim, Runs([1.0, 1.0, 2.0]))
        return replace(report, judged=[*report.judged, failed])


# rho = 0.2, service 4 ms: T = 4 + 0.2 * 4 / (2 * 0.8) = 4.5 ms (Pollaczek-Khinchine).
TRUE = OneQueue("md1", 4.5)
FALSE = OneQueue("md1-wrong", 9.0)
BROKEN = Broken("broken", 1.0)
FAILS_A_CHECK = FailsACheck("fails-a-check", 4.5)
LACKING = Lacking("lacking", 1.0)
LONG = OneQueue("md1-long", 4.5, "200000s")
ENDLESS = OneQueue("md1-endless", 4.5, "16000000s")
