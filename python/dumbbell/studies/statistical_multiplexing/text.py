"""What the page says in words, and the files in the source's own format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.claims.legacy import Judged, Verdict
from dumbbell.formats import ping_text, pingtimes_csv, pingtimes_file_name
from dumbbell.spec import Experiment, testbed_lines
from dumbbell.stats import Estimate, replications_for_prediction
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.statistical_multiplexing import paired, published
from dumbbell.studies.statistical_multiplexing.fit import Fit
from dumbbell.studies.statistical_multiplexing.paired import OnKernel
from dumbbell.tables import Run

KERNEL_CPU_PER_PACKET_S = 80e-6
"""Measured on one core of a small machine, with sockets, three hosts and two devices."""

ARM_LABELS = {
    "SM": "SM: one queue of 1 Mbit/s for both streams",
    "TDM": "TDM: a queue of 500 kbit/s for each stream",
}


BACKEND_PLACES = {"sim": "in the simulator", "kernel": "on the Linux kernel"}


def side_by_side(judged: Sequence[Judged]) -> list[Judged]:
    """The same claim's rows of several backends one after the other, else in the order given."""
    ids = list(dict.fromkeys(one.claim.id for one in judged))
    return sorted(judged, key=lambda one: ids.index(one.claim.id))


def summary(
    judged: Sequence[Judged],
    gains: Mapping[int, Estimate],
    fit: Fit | None,
    differences: Mapping[str, Estimate],
) -> str:
    """Who was right, in a paragraph."""
    sentences = _theory_held(judged)
    if 2 in gains:
        two = gains[2]
        sentences.append(
            f"Two slow queues are {two.value:.2f} times slower than one fast queue "
            f"(95 % interval {two.low:.2f} to {two.high:.2f}; theory says 2)."
        )
    sentences += _agreement(judged, differences)
    orders = [one for one in judged if one.claim.id.endswith("left-of-tdm")]
    if orders:
        decided = [one for one in orders if one.verdict is not Verdict.INCONCLUSIVE]
        shown = all(one.verdict is Verdict.REPRODUCED for one in decided) and (
            {one.claim.id for one in decided} == {one.claim.id for one in orders}
        )
        sentences.append(
            "The source's conclusion holds: SM's delays lie left of TDM's."
            if shown
            else "The source's conclusion, SM's delays left of TDM's, could not be shown "
            "everywhere."
        )
    if fit:
        load = fit.load_pps
        sentences.append(
            "Its milliseconds do not follow from its parameters: with headers, fragments and "
            "pings on the wire, 110 packets/s load the link to 0.986, where delays are some "
            f"twenty times those printed. About {load.value:.0f} packets/s from each sender "
            f"({load.low:.0f} to {load.high:.0f}) explain the printed quartiles "
            f"{'well' if fit.p_value >= 0.05 else 'best, but not well'} "
            f"(goodness of fit p = {fit.p_value:.2g})."
        )
    return " ".join(sentences)


def _theory_held(judged: Sequence[Judged]) -> list[str]:
    sentences = []
    backends = list(dict.fromkeys(one.backend for one in judged))
    for backend in backends:
        verdicts = [
            one.verdict
            for one in judged
            if one.claim.id.startswith("ideal-") and one.backend == backend
        ]
        if verdicts:
            where = "" if backends == ["sim"] else f" {BACKEND_PLACES[backend]}"
            right = verdicts.count(Verdict.REPRODUCED)
            undecided = verdicts.count(Verdict.INCONCLUSIVE)
            more = f"; {undecided} would take more runs to decide" if undecided else ""
            sentences.append(
                f"{right} of {len(verdicts)} claims of queueing theory hold for an ideal "
                f"source{where}{more}."
            )
    return sentences


def _agreement(judged: Sequence[Judged], differences: Mapping[str, Estimate]) -> list[str]:
    if not differences:
        return []
    agree = [one for one in judged if one.claim.id.startswith("agreement-")]
    farthest = max(max(abs(each.low), abs(each.high)) for each in differences.values())
    if all(one.verdict is Verdict.REPRODUCED for one in agree):
        return [
            "Given the same arrivals, the Linux kernel's queues and the simulator's keep packets "
            f"equally long: the mean delays differ by at most {1e3 * farthest:.2g} µs."
        ]
    return [
        "Given the same arrivals, the Linux kernel and the simulator could not be shown to agree "
        f"within {agree[0].claim.margin:g} ms everywhere."
    ]


def notes(fit: Fit | None, kernel: OnKernel, options: StudyOptions, interrupted: bool) -> list[str]:
    """Readings taken and limitations."""
    notes = [
        'The text prints "0.546 % of the mean delay"; it is read as the ratio 0.546. "N times '
        "the service rate\" is read as Little's law, T = N/lambda. N is per queue: TDM's total "
        "is m N.",
        "The nominal load is 0.90 by the printed arithmetic (220 packets/s of 512 bytes over "
        "1 Mbit/s) and 0.986 on the wire: 42 bytes of headers, IP fragments above 1472 bytes of "
        "payload, and ten pings a second.",
        "The thin theory lines are M/G/1 with batches (Pollaczek-Khinchine; a datagram's "
        "fragments arrive together), stationary, pings counted as Poisson. A run as published "
        "starts empty and lasts 200 s, which at that load is far from stationary.",
        "Two terminals are not started in one instant: each ping starts up to 200 ms late, "
        "uniformly. Nothing else differs between replications but the random traffic.",
        "The measured kernel shaped by a token bucket; our queue has none, so its bucket's head "
        "start is taken off every round-trip time: max(0, S - burst/rate).",
    ]
    notes += _kernel_notes(fit, kernel, options)
    if fit:
        predicted = ", ".join(f"{name} {value:.1f}" for name, value in fit.predicted_ms.items())
        notes.append(
            "The fit has two free parameters and six quartiles; at the best fit they are about "
            f"{predicted} ms. "
            "Verdicts at the fitted load say whether the fit is consistent, not that it is the "
            "cause: a sender that oversleeps 3.7 ms a packet would do it, and so would other "
            "things."
        )
    elif "sim" in options.backends and not interrupted:
        notes.append(
            f"With {options.replications} replications there is no fit of load and base RTT: it "
            "takes more runs than the six quartiles have covariances to be estimated from."
        )
    if interrupted:
        notes.insert(0, "Interrupted: only the parts that had finished are here.")
    return notes


def _kernel_notes(fit: Fit | None, kernel: OnKernel, options: StudyOptions) -> list[str]:
    if not kernel.judged:
        return []
    preset = paired.QUICK if options.quick else paired.FULL
    sizes, as_published = preset.ideal, options.replications or preset.runs
    notes = [
        f"On the kernel a packet takes about {1e6 * KERNEL_CPU_PER_PACKET_S:.0f} microseconds of "
        "CPU, so less is run there: "
        f"{options.replications or sizes.at_least} replications of {sizes.packets:g} packets with "
        f"the ideal source for m = {', '.join(map(str, preset.streams))}, and {as_published} "
        f"runs as published of {paired.PINGED_S:g} s, the time in which there were pings. "
        "Both backends are given the same arrivals, so their difference is known far better than "
        "either; theory is tested on the kernel with the simulator as control variate: the "
        "simulator's mean over many replications plus the difference in those run on both.",
        f"Where there are fewer than {replications_for_prediction()} runs, prediction intervals "
        "are Student's, of the logarithms, instead of order statistics.",
        f"The ideal source's packets and links are {paired.ENLARGED} times as large on the "
        "kernel: no time changes, and the 42 bytes that a real frame has at least hardly matter.",
    ]
    if not fit:
        notes.append(
            "The fit of the load takes thousands of runs and is made in the simulator: "
            "`--backend sim,kernel` does it and runs the kernel at the load it finds."
        )
    return notes


def commands(experiments: Mapping[str, Experiment]) -> dict[str, list[tuple[str, str]]]:
    """Arm to the lines one would type on a testbed."""
    return {ARM_LABELS[arm]: list(testbed_lines(each)) for arm, each in experiments.items()}


def ping_files(runs: Mapping[str, Run]) -> dict[str, str]:
    """What ping printed in each terminal, and what the source's awk line makes of it.

    ``pingtimes-SENDER-TYPE.txt`` is the text and ``.csv`` the lines ``SENDER,TYPE,seq,rtt``;
    ``pingtimes-all.csv`` is what the source's R lines read.
    """
    texts, tables = {}, {}
    for arm in published.ARMS:
        for sender in ("1", "2"):
            name, probe = pingtimes_file_name(sender, arm), f"ping-{sender}"
            tables[name] = pingtimes_csv(runs[arm], probe, sender=sender, kind=arm)
            texts[name.removesuffix(".csv") + ".txt"] = ping_text(runs[arm], probe)
    return texts | tables | {"pingtimes-all.csv": "".join(tables.values())}
