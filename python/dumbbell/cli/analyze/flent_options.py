"""Options of the simulated runs for a Flent file, and statements in the file itself."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dumbbell import _engine
from dumbbell.errors import SpecError
from dumbbell.printable import listed
from dumbbell.spec import Setting

if TYPE_CHECKING:
    from dumbbell.formats.flent import FlentFile

CONTROLLER = "congestion_control"
NETWORK_NAMES = ("rate", "rate_down", "qdisc", "qdisc_down", "rtt", "overhead")
"""Parameters of the test's network that ``--set`` accepts; other names are paths of its experiment.
"""
SIMULATED_CONTROLLERS = tuple(n for n in _engine.congestion_controllers() if n != "manual")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlentRunOptions:
    """The requested runs, as typed.

    Attributes:
        network: The given ones of `NETWORK_NAMES`.
        congestion_control: Controller of TCP flows: ``A``, or ``A,B`` for uploads and downloads, as
            in Flent's ``tcp_cong_control``; empty if not given.
        settings: Further values of the experiment, by path.
        instead: Controllers that replace those named by the test, the file or the experiment.
        seed: Seed of all random numbers.
        timer_hz: Timer frequency of the modelled kernel; when None, the file's, or else 1000.
    """

    network: Mapping[str, str] = field(default_factory=dict)
    congestion_control: str = ""
    settings: Sequence[Setting] = ()
    instead: Mapping[str, str] = field(default_factory=dict)
    seed: int = 1
    timer_hz: int | None = None

    @classmethod
    def of(
        cls,
        options: Mapping[str, str | None],
        settings: Sequence[str],
        *,
        instead: Mapping[str, str],
        seed: int,
        timer_hz: int | None,
    ) -> FlentRunOptions:
        """Build from network options by name (None if not given) and ``--set``.

        Raises:
            SpecError: A value is given twice, or is not a setting.
        """
        network = {name: value for name, value in options.items() if value is not None}
        controller = ""
        others = []
        for each in map(Setting.parse, settings):
            name, value = each.path, str(each.value)
            if name == CONTROLLER:
                controller = value
            elif name in NETWORK_NAMES:
                if network.get(name, value) != value:
                    option = f"--{name.replace('_', '-')} {network[name]}"
                    raise SpecError("--set", str(each), f"one of it and {option}")
                network[name] = value
            else:
                others.append(each)
        return cls(
            network=network,
            congestion_control=controller,
            settings=others,
            instead=instead,
            seed=seed,
            timer_hz=timer_hz,
        )


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a file about the network it was measured in.

    Attributes:
        where: Its place in the file, such as ``the title``.
        said: Values by their names in ``--set``, as the file spells them.
        options: Options that apply the statement, as far as the simulator supports it.
        remarks: Why the rest cannot be applied.
    """

    where: str
    said: Mapping[str, str]
    options: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    def sentence(self, *, can_run: bool, is_running: bool, given: Sequence[str]) -> str:
        """The statement as one line.

        Args:
            can_run: Whether the simulator has the file's test.
            is_running: Whether runs were requested.
            given: Names already given by ``--set``, for which no option needs to be suggested.
        """
        words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.said.items())
        left = [each for each in self.options if each.partition("=")[0] not in given]
        how = ""
        if can_run and left:
            typed = [f"--set {shlex.quote(each)}" for each in left]
            how = f"{': ' if is_running else ': --simulate '}{' '.join(typed)} uses it"
        remarks = f" ({'; '.join(self.remarks)})" if can_run and self.remarks else ""
        return f"{self.where[0].upper()}{self.where[1:]} says {words}{how}{remarks}."


def statements_of(file: FlentFile) -> list[Statement]:
    """Statements in title and metadata; none for a file of dumbbell, which contains its
    experiment.
    """
    from dumbbell.formats.flent import said_by_tc

    ours = file.metadata.get("DUMBBELL")
    if isinstance(ours, Mapping) and "experiment" in ours:
        return []
    found = [*_title_statements(file)]
    queues = said_by_tc(file)
    if queues:
        said: dict[str, str] = {}
        for each in queues:
            down = "" if each.is_upload else "_down"
            said |= {f"rate{down}": each.rate} | (
                {f"qdisc{down}": each.qdisc} if each.qdisc else {}
            )
        for name in ("rate", "qdisc"):
            if said.get(name) == said.get(f"{name}_down"):
                said.pop(f"{name}_down", None)
        hosts = listed(dict.fromkeys(each.host for each in queues))
        found.append(_statement(f"on {hosts} tc", said, []))
    return found


def _title_statements(file: FlentFile) -> Iterator[Statement]:
    from dumbbell.formats.flent import said_by_title

    says = said_by_title(file.text("TITLE"))
    said: dict[str, str] = {}
    remarks = []
    if len(says.rates) == 1:
        said["rate"] = says.rates[0]
    elif says.rates:
        up = _upload_of(file, says.rates)
        if up:
            said |= {"rate": up[0], "rate_down": up[1]}
        else:
            said["rate"] = "/".join(says.rates)
            remarks.append("which of them is the upload's it does not say")
    if says.qdisc:
        said["qdisc"] = says.qdisc
    if says.congestion_control:
        said[CONTROLLER] = says.congestion_control
    if says.rtt:
        said["rtt"] = says.rtt
    if said:
        yield _statement("the title", said, remarks)


def _statement(where: str, said: Mapping[str, str], remarks: Sequence[str]) -> Statement:
    from dumbbell.formats.flent import is_qdisc

    options, lacks = [], []
    for name, value in said.items():
        if name.startswith("qdisc") and not is_qdisc(value):
            lacks.append(f"the simulator has no qdisc {value}")
        elif name == CONTROLLER and value not in SIMULATED_CONTROLLERS:
            lacks.append(f"the simulator has no {value}: --instead {value}=NAME")
        elif "/" not in value:
            options.append(f"{name}={value}")
    return Statement(where, dict(said), tuple(options), (*remarks, *lacks))


def _upload_of(file: FlentFile, rates: tuple[str, ...]) -> tuple[str, str] | None:
    """(upload, download) of two rates, if only one order is possible.

    No throughput can exceed its bottleneck's rate. None if both orders or neither is possible.
    """
    from dumbbell import units
    from dumbbell.formats.flent import series_mean

    up, down = (
        series_mean(file, series) * 1e6 if series in file.results else 0.0
        for series in (_sum_of(file, "upload"), _sum_of(file, "download"))
    )
    orders = [
        order
        for order in (rates, rates[::-1])
        if up <= units.parse_rate_bps(order[0]) and down <= units.parse_rate_bps(order[1])
    ]
    return (orders[0][0], orders[0][1]) if len(orders) == 1 else None


def _sum_of(file: FlentFile, way: str) -> str:
    """The series of the total in one direction."""
    sums = f"TCP {way} sum"
    return sums if sums in file.results else f"TCP {way}"
