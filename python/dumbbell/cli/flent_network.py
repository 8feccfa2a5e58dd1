"""In which network a measurement of Flent's is simulated again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dumbbell.errors import SpecError
from dumbbell.printable import printable

if TYPE_CHECKING:
    from dumbbell.formats.flent import FlentFile
    from dumbbell.spec import Experiment
    from dumbbell.spec.flent import FlentTest, Network

_FULL_FRAME = 1514 / 1448
"""Bytes on an Ethernet of a full segment with time stamps, over its payload."""
_SECOND_S = 1.0
_TIMER_HZ = 1000


@dataclass(frozen=True, slots=True)
class SameTest:
    """What is simulated beside a measurement.

    Attributes:
        experiment: Traffic and network.
        test: What is exported of its runs.
        notes: Where the network comes from, a sentence each.
        own_replication: Which of the experiment's replications the file itself is; None where it
            is none of them. It says nothing of how others would differ.
    """

    experiment: Experiment
    test: FlentTest
    notes: list[str]
    own_replication: int | None = None


def same_test(
    file: FlentFile,
    given: Mapping[str, str],
    instead: Mapping[str, str],
    *,
    seed: int,
    timer_hz: int | None,
) -> SameTest:
    """The test of a data file, in the file's own network where it says it, else in one like it.

    Args:
        file: The measurement.
        given: Keys of `Network` that somebody asked for.
        instead: Controllers to run in place of those the test names.
        seed: All randomness follows from it.
        timer_hz: Of the kernel that is modelled; None for the file's own, else 1000.

    Raises:
        SpecError: It is no test that can be run, or what was given is not allowed.
    """
    from dumbbell.formats.flent import flent_test_of
    from dumbbell.spec.flent import TEST_NAMES

    if file.text("NAME") not in TEST_NAMES:
        allowed = f"one of {', '.join(TEST_NAMES)}; --replications 0 shows the measurement alone"
        raise SpecError("NAME", file.text("NAME"), allowed)
    test = flent_test_of(file).with_controllers(instead)
    notes = []
    try:
        own = _own_experiment(file, test)
        if own is not None:
            return _same_again(
                file, own, test, given=given, instead=instead, seed=seed, timer_hz=timer_hz
            )
    except _UnusableError as error:
        notes = [f"The network of the experiment in the file is not taken: {error}."]
    network, guesses = network_of(file, given)
    experiment = test.experiment(network, seed=seed, timer_hz=timer_hz or _TIMER_HZ)
    return SameTest(experiment, test, [*notes, *guesses, *test.notes])


class _UnusableError(Exception):
    """Why the experiment in a file is of no use, as part of a sentence."""


def _own_experiment(file: FlentFile, test: FlentTest) -> Experiment | None:
    """The experiment that a file of ours has in it; None in a file of others.

    Raises:
        _UnusableError: It is none, or not of this test.
    """
    from dumbbell.spec import Experiment

    ours = file.metadata.get("DUMBBELL")
    described = ours.get("experiment") if isinstance(ours, Mapping) else None
    if not isinstance(described, Mapping):
        return None
    try:
        own = Experiment.from_resolved(described)
        resolved = own.resolved()
        _without_records(resolved)
        own = Experiment.from_resolved(resolved)
    except SpecError as error:
        raise _UnusableError(printable(str(error))) from None
    names = {each["name"] for each in (*resolved["flows"], *resolved["probes"])}
    wanted = {stream.flow for stream in test.streams} | {probe.probe for probe in test.probes}
    if not wanted <= names or resolved["sample_interval_ns"] != round(test.step_s * 1e9):
        raise _UnusableError(f"it is not one of {test.name}")
    return own


def _without_records(resolved: dict[str, Any]) -> None:
    """Leave out what is written beside a run, and programs that only the kernel runs."""
    for link in resolved["links"]:
        for end in (link["forward"], link["reverse"]):
            end |= {"record_packets": False, "capture": False, "capture_flows": False}
    for probe in resolved["probes"]:
        if probe["kind"] == "irtt":
            probe["kind"] = "udp"  # our own prober, of the same datagrams


def _same_again(
    file: FlentFile,
    own: Experiment,
    test: FlentTest,
    *,
    given: Mapping[str, str],
    instead: Mapping[str, str],
    seed: int,
    timer_hz: int | None,
) -> SameTest:
    """The file's own experiment, with what was given in place of its own.

    Raises:
        _UnusableError: Options of the network were given and the file's is of another kind.
        SpecError: What was given is not allowed.
    """
    from dumbbell.spec import Experiment
    from dumbbell.spec.flent import Network

    network = Network.of(own.all_links, test.hosts)
    resolved = own.resolved() | {"seed": seed, "timer_hz": timer_hz or own.timer_hz}
    if given:
        if network is None:
            raise _UnusableError("it is another than that of --rate, --qdisc and --rtt")
        changes: dict[str, Any] = dict(given)
        if "rtts" in changes:
            changes["rtts"] = (changes["rtts"],)
        links = replace(network, **changes).links(test.hosts)
        resolved["links"] = [link.resolved() for link in links]
    controllers = {
        stream.flow: stream.congestion_control
        for stream in test.streams
        if stream.congestion_control in instead.values()
    }
    for flow in resolved["flows"]:
        if flow["name"] in controllers:
            flow["tcp"]["congestion_control"] = controllers[flow["name"]]
    experiment = Experiment.from_resolved(resolved)
    is_repeated = experiment.resolved() == own.resolved()
    notes = [_told(network, given), *test.notes]
    return SameTest(experiment, test, notes, _replication(file) if is_repeated else None)


def _told(network: Network | None, given: Mapping[str, str]) -> str:
    """What is taken from the file, as one would type it."""
    if network is None:
        return "Links and traffic are those of the experiment in the file."
    options = {
        "rate": f"--rate {network.rate}",
        "rate_down": f"--rate-down {network.rate_down}" if network.rate_down else "",
        "qdisc": f'--qdisc "{network.qdisc}"',
        "qdisc_down": f'--qdisc-down "{network.qdisc_down}"' if network.qdisc_down else "",
        "rtts": f"--rtt {','.join(network.rtts)}",
        "overhead": f"--overhead {network.overhead}",
    }
    words = [option for key, option in options.items() if option and key not in given]
    return f"{' '.join(words)}: the file says so."


def _replication(file: FlentFile) -> int | None:
    ours = file.metadata.get("DUMBBELL")
    number = ours.get("replication") if isinstance(ours, Mapping) else None
    return number if isinstance(number, int) else None


def network_of(file: FlentFile, given: Mapping[str, str]) -> tuple[Network, list[str]]:
    """The network that is built in, with what was given and else what the file lets guess.

    Rates are those of the fastest second of each direction's goodput, with the headers of full
    segments; the round trip is the least ping. What a file cannot say is left as it is by default.

    Args:
        file: The measurement.
        given: Keys of `Network` with their values.

    Returns:
        The network, and a sentence on where each of its values comes from.
    """
    from dumbbell.spec.flent import Network

    guessed: dict[str, tuple[str, str]] = {}
    up, down = (_fastest_bps(file, way) for way in ("upload", "download"))
    fastest = up or down
    if fastest:
        guessed["rate"] = (_rounded(fastest), "the fastest second of the measurement")
    if up and down:
        guessed["rate_down"] = (_rounded(down), "the fastest second of the measurement")
    least_ms = _least_ping_ms(file)
    if least_ms is not None:
        guessed["rtts"] = (f"{round(least_ms * 1e6)}ns", "the least ping")
    values: dict[str, Any] = {key: value for key, (value, _) in guessed.items()}
    values |= given
    if "rate" in given and "rate_down" not in given:
        values.pop("rate_down", None)
    if "rtts" in values:
        values["rtts"] = (values["rtts"],)
    network = Network(**values)
    notes = []
    for key, option in (("rate", "--rate"), ("rate_down", "--rate-down"), ("rtts", "--rtt")):
        if key in guessed and key not in given and key in values:
            value, where = guessed[key]
            notes.append(f"{option} {_readable(value)}: guessed, from {where}.")
    if "qdisc" not in given:
        notes.append(f'--qdisc "{network.qdisc}": a file does not say which it was.')
    return network, notes


def _rounded(bps: float) -> str:
    """Four digits: a guess has no more."""
    return f"{float(f'{bps:.4g}'):.0f}bit"


def _readable(quantity: str) -> str:
    if quantity.endswith("bit"):
        return f"{float(quantity.removesuffix('bit')) / 1e6:.4g}mbit"
    return f"{float(quantity.removesuffix('ns')) / 1e6:.4g}ms"


def _fastest_bps(file: FlentFile, way: str) -> float:
    """On the wire, bit/s; 0 where the file has no such traffic."""
    from dumbbell.formats.flent import is_measured

    sums = file.results.get(f"TCP {way} sum")
    if sums is None:
        streams = [
            name
            for name in file.results
            if name.startswith(("TCP", "UDP"))
            and ("::" not in name or name.rpartition("::")[2].isdecimal())
            and is_measured(file, name)
            and (way in name or (way == "upload" and "download" not in name))
        ]
        columns = [file.results[name] for name in streams]
        sums = [
            sum(value for value in row if value is not None) if any(row) else None
            for row in zip(*columns, strict=True)
        ]
    width = max(1, round(_SECOND_S / (file.number("STEP_SIZE") or 0.2)))
    values = [value for value in sums if value is not None]
    means = [sum(values[k : k + width]) / width for k in range(len(values) - width + 1)]
    return max(means, default=0.0) * 1e6 * _FULL_FRAME


def _least_ping_ms(file: FlentFile) -> float | None:
    from dumbbell.formats.flent import series_values

    pings = [s for s in file.results if s.startswith("Ping (ms)") and not s.endswith("avg")]
    values = [value for series in pings for value in series_values(file, series) if value > 0]
    return min(values, default=None)
