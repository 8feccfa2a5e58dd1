"""What the page says in words, and the files in the source's own format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.claims import Judged, Verdict
from dumbbell.formats import ping_text, pingtimes_csv, pingtimes_file_name
from dumbbell.spec import Experiment, testbed_lines
from dumbbell.stats import Estimate
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.fit import Fit
from dumbbell.tables import Run

ARM_LABELS = {
    "SM": "SM: one queue of 1 Mbit/s for both streams",
    "TDM": "TDM: a queue of 500 kbit/s for each stream",
}


def summary(judged: Sequence[Judged], gains: Mapping[int, Estimate], fit: Fit | None) -> str:
    """Who was right, in a paragraph."""
    theory = [one for one in judged if one.claim.id.startswith("ideal-")]
    right = sum(one.verdict is Verdict.REPRODUCED for one in theory)
    sentences = [f"{right} of {len(theory)} claims of queueing theory hold for an ideal source."]
    if 2 in gains:
        two = gains[2]
        sentences.append(
            f"Two slow queues are {two.value:.2f} times slower than one fast queue "
            f"(95 % interval {two.low:.2f} to {two.high:.2f}; theory says 2)."
        )
    orders = [one for one in judged if one.claim.id.endswith("left-of-tdm")]
    if orders:
        shown = all(one.verdict is Verdict.REPRODUCED for one in orders)
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


def notes(fit: Fit | None, interrupted: bool) -> list[str]:
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
    if fit:
        predicted = ", ".join(f"{name} {value:.1f}" for name, value in fit.predicted_ms.items())
        notes.append(
            "The fit has two free parameters and six quartiles; at the best fit they are about "
            f"{predicted} ms. "
            "Verdicts at the fitted load say whether the fit is consistent, not that it is the "
            "cause: a sender that oversleeps 3.7 ms a packet would do it, and so would other "
            "things."
        )
    if interrupted:
        notes.insert(0, "Interrupted: only the parts that had finished are here.")
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
