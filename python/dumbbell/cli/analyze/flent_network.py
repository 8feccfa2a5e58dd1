"""Determine the network in which a Flent measurement is simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dumbbell.cli.analyze.flent_options import CONTROLLER, SIMULATED_CONTROLLERS, FlentRunOptions
from dumbbell.cli.common.replaced_controllers import with_controllers
from dumbbell.errors import SpecError
from dumbbell.printable import listed, printable

if TYPE_CHECKING:
    from dumbbell.formats.flent import FlentFile
    from dumbbell.spec import Experiment, Setting
    from dumbbell.spec.flent import FlentTest, Network

_TIMER_HZ = 1000
_CONTROLLER_PARAMETERS = ("tcp_cong_control", "cc_algo", "cc_algos")


@dataclass(frozen=True, slots=True)
class SameTest:
    """The simulation of a measured test.

    Attributes:
        experiment: Traffic and network.
        test: The test whose data files are exported.
        notes: Origin of the network's parameters, one sentence each.
        own_replication: The replication of this experiment that produced the file, which must not
            be compared with itself; None if the file is from elsewhere.
    """

    experiment: Experiment
    test: FlentTest
    notes: list[str]
    own_replication: int | None = None


def same_test(file: FlentFile, asked: FlentRunOptions) -> SameTest:
    """The test of a data file, in the network that the file states or the options give.

    Nothing is guessed: a rate, queue or controller that neither the file nor the options give is an
    error. Without a round-trip time, the smallest measured one is used.

    Args:
        file: The measurement.
        asked: The options.

    Raises:
        SpecError: The test cannot be simulated, a parameter is missing, or an option is not
            allowed.
    """
    from dumbbell.spec.flent import TEST_NAMES

    if file.text("NAME") not in TEST_NAMES:
        allowed = f"a test that the simulator has: {', '.join(TEST_NAMES)}"
        raise SpecError("--simulate", file.text("NAME"), allowed)
    notes = []
    try:
        same = _own(file, asked)
        if same is not None:
            return same
    except _UnusableError as error:
        notes = [f"The network of the experiment in the file is not taken: {error}."]
    lacking: list[_MissingSetting] = []
    network, where_from = _network_of(file, asked.network, lacking)
    test, said = _test_of(file, asked, lacking)
    if lacking:
        raise _lacking(file, lacking)
    experiment = test.experiment(network, seed=asked.seed, timer_hz=asked.timer_hz or _TIMER_HZ)
    experiment = with_settings(experiment, asked.settings)
    return SameTest(experiment, test, [*notes, *where_from, *said, *test.notes])


def with_settings(experiment: Experiment, settings: Sequence[Setting]) -> Experiment:
    """The experiment with the values of ``--set``.

    Raises:
        SpecError: There is no such path, or the value is not allowed there.
    """
    from dumbbell.spec import Experiment, settings_applied
    from dumbbell.spec.unresolve import as_written

    if not settings:
        return experiment
    return Experiment.read(settings_applied(as_written(experiment.resolved()), settings))


@dataclass(frozen=True, slots=True)
class _MissingSetting:
    """A parameter that neither file nor options give.

    Attributes:
        what: Such as ``its queue``.
        option: The option that sets it.
    """

    what: str
    option: str


def _lacking(file: FlentFile, lacking: Sequence[_MissingSetting]) -> SpecError:
    options = " ".join(each.option for each in lacking)
    reason = f"neither the file nor an option says {listed([each.what for each in lacking])}"
    return SpecError("--simulate", file.text("NAME"), f"with {options}", reason=reason)


def _test_of(
    file: FlentFile, asked: FlentRunOptions, lacking: list[_MissingSetting]
) -> tuple[FlentTest, list[str]]:
    """The test with the controllers from file and options, and where they come from.

    Raises:
        SpecError: A controller to be replaced is not used.
    """
    from dumbbell.formats.flent import flent_test_of, parameters_of_test, said_by_sysctl

    parameters, notes = parameters_of_test(file), []
    of_client = said_by_sysctl(file)
    if asked.congestion_control:
        parameters["tcp_cong_control"] = asked.congestion_control
    elif "tcp_cong_control" not in parameters and of_client:
        parameters["tcp_cong_control"] = f"{of_client},"  # the server's controller may differ
        notes.append(f"Controller of uploads: {of_client}, the client's sysctl says so.")
    replaced: dict[str, str] = {}
    for key in _CONTROLLER_PARAMETERS:
        names = [name.strip() for name in parameters.get(key, "").split(",")]
        replaced |= {name: asked.instead[name] for name in names if name in asked.instead}
        names = [asked.instead.get(name, name) for name in names]
        for name in dict.fromkeys(names):
            if name and name not in SIMULATED_CONTROLLERS:
                lacking.append(_lack_of(name))
        if key in parameters:
            known = (name if name in SIMULATED_CONTROLLERS else "" for name in names)
            parameters[key] = ",".join(known)
    test = flent_test_of(file, parameters)
    by_test = {name: new for name, new in asked.instead.items() if name not in replaced}
    test = test.with_controllers(by_test)
    tcp = [stream for stream in test.streams if stream.udp is None]
    lacking += [
        _lack_of(name)
        for name in dict.fromkeys(each.congestion_control for each in tcp)
        if name and name not in SIMULATED_CONTROLLERS
    ]
    unnamed = {each.upload for each in tcp if not each.congestion_control}
    if unnamed and not _lacks_controllers(lacking):
        whose = {True: "uploads", False: "downloads"}
        which = listed(whose[way] for way in (True, False) if way in unnamed)
        value = "NAME" if len(unnamed) == 2 or not of_client else f"{of_client},NAME"
        value = "NAME" if unnamed == {True} else value
        option = f"--set {CONTROLLER}={value}"
        lacking.append(_MissingSetting(f"the controller of {which}", option))
    notes += [f"{other} is run in place of {name}." for name, other in replaced.items()]
    return test, notes


def _lacks_controllers(lacking: Sequence[_MissingSetting]) -> bool:
    """Whether a missing controller is one that the simulator lacks."""
    return any(each.option.startswith("--instead") for each in lacking)


def _lack_of(controller: str) -> _MissingSetting:
    shown_name = printable(controller)[:40]
    what = f"what to run for {shown_name}, which the simulator has not"
    return _MissingSetting(what, f"--instead {shown_name}={'|'.join(SIMULATED_CONTROLLERS)}")


class _UnusableError(Exception):
    """Why the experiment in a file cannot be used, as part of a sentence."""


def _own(file: FlentFile, asked: FlentRunOptions) -> SameTest | None:
    """The experiment in a file of dumbbell with the options applied; None for other files.

    Raises:
        _UnusableError: The experiment cannot be used.
        SpecError: An option is not allowed.
    """
    from dumbbell.formats.flent import flent_test_of

    if not isinstance(file.metadata.get("DUMBBELL"), Mapping):
        return None
    test = flent_test_of(file)
    own = _own_experiment(file, test)
    return None if own is None else _same_again(file, own, test, asked)


def _own_experiment(file: FlentFile, test: FlentTest) -> Experiment | None:
    """The experiment in a file of dumbbell; None for other files.

    Raises:
        _UnusableError: It is not an experiment, or not of this test.
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
    """Remove records that are written during a run, and programs that only the kernel runs."""
    for link in resolved["links"]:
        for end in (link["forward"], link["reverse"]):
            end |= {"record_packets": False, "capture": False, "capture_flows": False}
    for probe in resolved["probes"]:
        if probe["kind"] == "irtt":
            probe["kind"] = "udp"  # our own probe with the same datagrams


def _same_again(
    file: FlentFile, own: Experiment, test: FlentTest, asked: FlentRunOptions
) -> SameTest:
    """The file's experiment with the options applied.

    Raises:
        _UnusableError: Options of the built-in network were given, and the file's network is
            different.
        SpecError: An option is not allowed.
    """
    from dumbbell.spec import Experiment
    from dumbbell.spec.flent import Network

    network = Network.of(own.all_links, test.hosts)
    resolved = own.resolved() | {"seed": asked.seed, "timer_hz": asked.timer_hz or own.timer_hz}
    if asked.network:
        if network is None:
            raise _UnusableError("it is another than that of --rate, --qdisc and --rtt")
        links = replace(network, **_fields(asked.network)).links(test.hosts)
        resolved["links"] = [link.resolved() for link in links]
    if asked.congestion_control:
        ways = [name.strip() for name in asked.congestion_control.split(",")]
        uploads = {stream.flow: stream.upload for stream in test.streams}
        for flow in resolved["flows"]:
            if flow["name"] in uploads and flow["tcp"] is not None:
                way = ways[0] if uploads[flow["name"]] else ways[-1]
                flow["tcp"]["congestion_control"] = way
    experiment, notes = with_controllers(Experiment.from_resolved(resolved), asked.instead)
    experiment = with_settings(experiment, asked.settings)
    is_repeated = experiment.resolved() == own.resolved()
    notes = [_told(network, asked.network), *test.notes, *notes]
    return SameTest(experiment, test, notes, _replication(file) if is_repeated else None)


def _told(network: Network | None, given: Mapping[str, str]) -> str:
    """The parameters taken from the file, as command-line options."""
    if network is None:
        return "Links and traffic are those of the experiment in the file."
    options = {
        "rate": f"--rate {network.rate}",
        "rate_down": f"--rate-down {network.rate_down}" if network.rate_down else "",
        "qdisc": f'--qdisc "{network.qdisc}"',
        "qdisc_down": f'--qdisc-down "{network.qdisc_down}"' if network.qdisc_down else "",
        "rtt": f"--rtt {','.join(network.rtts)}",
        "overhead": f"--overhead {network.overhead}",
    }
    words = [option for key, option in options.items() if option and key not in given]
    return f"{' '.join(words)}: the file says so."


def _replication(file: FlentFile) -> int | None:
    ours = file.metadata.get("DUMBBELL")
    number = ours.get("replication") if isinstance(ours, Mapping) else None
    return number if isinstance(number, int) else None


def _fields(given: Mapping[str, str]) -> dict[str, Any]:
    """Fields of `Network` for the given names."""
    fields: dict[str, Any] = dict(given)
    if "rtt" in fields:
        fields["rtts"] = tuple(each.strip() for each in fields.pop("rtt").split(","))
    return fields


def _network_of(
    file: FlentFile, given: Mapping[str, str], lacking: list[_MissingSetting]
) -> tuple[Network, list[str]]:
    """The built-in network with the given parameters, and the origin of its round-trip time."""
    from dumbbell.spec.flent import Network

    if "rate" not in given:
        lacking.append(_MissingSetting("the bottleneck's rate", "--set rate=RATE"))
    if "qdisc" not in given:
        lacking.append(_MissingSetting("its queue", "--set qdisc=QDISC"))
    fields, notes = _fields(given), []
    if "rtt" not in given:
        least_ms = _least_ping_ms(file)
        if least_ms is None:
            lacking.append(_MissingSetting("the round trip", "--set rtt=TIME"))
        else:
            fields["rtts"] = (f"{round(least_ms * 1e6)}ns",)
            notes.append(f"--rtt {least_ms:.4g}ms: the least ping of the measurement.")
    return Network(**fields), notes


def _least_ping_ms(file: FlentFile) -> float | None:
    from dumbbell.formats.flent import series_values

    pings = [s for s in file.results if s.startswith("Ping (ms)") and not s.endswith("avg")]
    values = [value for series in pings for value in series_values(file, series) if value > 0]
    return min(values, default=None)
