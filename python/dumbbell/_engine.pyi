"""The simulator, and the language of ``tc``, in Rust.

Texts and numbers go in, columns come out. Nothing here reads a file or a clock. The classes
cannot be made from Python unless they have an ``__init__`` here.
"""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, BinaryIO, Self, final

import numpy as np
from numpy.typing import NDArray

from dumbbell._controller_views import (
    Ack,
    Connection,
    RateSample,
    RttSample,
    SenderState,
    Snapshot,
    Window,
)
from dumbbell._link_functions import explain, read_trace, trace_bits, trace_steps

__all__ = [
    "FASTEST_BYTES_PER_S",
    "LARGEST_CWND_PKTS",
    "Ack",
    "AgentRun",
    "Cancel",
    "CaptureError",
    "Completed",
    "Connection",
    "Estimate",
    "Interval",
    "Progress",
    "QdiscError",
    "RateSample",
    "RttSample",
    "RunFailure",
    "RunStream",
    "SenderState",
    "Snapshot",
    "SpecInvalid",
    "UnitError",
    "Window",
    "__version__",
    "analyze_capture",
    "check",
    "check_packet_script",
    "congestion_controllers",
    "controller_facts",
    "copy_capture",
    "description_tables",
    "disciplines",
    "explain",
    "format_rate",
    "format_size",
    "format_time",
    "fuzz_packet_script",
    "fuzzed_controllers",
    "golden_stream",
    "judge_packet_script_record",
    "packet_scripts_of_each_phase",
    "parse_police",
    "parse_qdisc",
    "parse_rate_bps",
    "parse_size_bytes",
    "parse_time_ns",
    "police_notices",
    "police_table",
    "qdisc_lines",
    "qdisc_notices",
    "rate_notices",
    "read_trace",
    "render_police",
    "render_qdisc",
    "shaped_bps",
    "shorter_packet_scripts",
    "shown_qdiscs",
    "shown_rate",
    "shown_size",
    "shown_time",
    "simulate",
    "sources",
    "split_script",
    "tcp_settings",
    "trace_bits",
    "trace_steps",
    "unmatched_filters",
]

__version__: str

class UnitError(ValueError):
    """A quantity that tc would not read.

    Attributes: path, value, allowed, hint; reason, why it is refused although tc reads it.
    """

    path: str
    value: str
    allowed: str
    hint: str | None
    reason: str | None

class QdiscError(ValueError):
    """Text that tc would not read, or a discipline that is not here yet."""

    path: str
    value: str
    allowed: str
    hint: str | None
    reason: str | None

class SpecInvalid(ValueError):
    """A resolved description that cannot be run."""

    path: str
    value: str
    allowed: str
    hint: str | None

class CaptureError(ValueError):
    """A capture that cannot be read, or a file that cannot be written from it."""

def analyze_capture(source: str | BinaryIO) -> dict[str, Any]:
    """The flows of a capture, read once in bounded memory.

    A file as ``source`` is read through Python, so that a signal ends the wait.

    Returns:
        ``format`` (pcapng, pcap), ``pkts``, ``bytes_read``; ``error``, why the rest could not be
        read, or None; ``untimed_pkts``, ``unviewed_pkts``, ``passed_over_pkts``, ``missed_pkts``
        and ``undecoded_pkts`` (words to packets), what is in no flow; ``views``, a list of places
        (name, place, pkts, series_bytes, series_width_ns, series_begin_ns); ``columns``, those of
        ``captured_flows`` from ``connection`` on, and ``view``; ``labels``, a name a row;
        ``interval_columns``, those of ``captured_intervals``, and ``interval_labels``.

    Raises:
        CaptureError: It is empty, no capture, or its header cannot be read.
        OSError: The file cannot be opened.
    """

def copy_capture(source: str, target: str, *, name: str, place: int, format: str) -> int:
    """Writes the packets of one view to a pcap or pcapng file in nanoseconds; returns their number.

    Raises:
        CaptureError: The capture cannot be read to its end, or the file not be written.
        OSError: A file cannot be opened.
    """

def parse_size_bytes(text: str) -> int:
    """Bytes of a size with its unit, in tc's sense: ``10kb`` is 10240, ``1kbit`` is 128."""

def parse_rate_bps(text: str) -> int:
    """Bit/s of a rate with its unit, in tc's sense: ``1mbit`` is 10**6, ``1kbps`` is 8000."""

def parse_time_ns(text: str) -> int:
    """Nanoseconds of a time with its unit: ``200ms``, ``1.5s``, ``10us``, ``7ns``."""

def format_size(size_bytes: int) -> str:
    """A size as tc writes it; ``parse_size_bytes`` gives it back exactly."""

def format_rate(rate_bps: int) -> str:
    """A rate as tc writes it; ``parse_rate_bps`` gives it back exactly."""

def format_time(time_ns: int) -> str:
    """A time with its unit; ``parse_time_ns`` gives it back exactly."""

def parse_qdisc(text: str) -> str:
    """The canonical JSON of what follows ``tc qdisc add dev X root``, every default filled in."""

def parse_police(text: str) -> str:
    """The canonical JSON of what follows ``action police``, every default filled in."""

def rate_notices(text: str) -> str:
    """What is to be known of a rate that ``parse_rate_bps`` reads, as a list in JSON.

    Each has ``kind`` (``bytes_per_second``, ``microseconds``, ``packets_with_unit``,
    ``matches_nothing``), ``value``
    (as typed), ``means`` (what it is), ``instead`` (what to type if the other was meant) and
    ``text``, a sentence.
    """

def unmatched_filters(resolved_json: str) -> list[tuple[str, str]]:
    """Of filters that no flow and no probe has packets for, path and notices.

    Raises:
        EngineError: It describes no experiment.
    """

def qdisc_notices(text: str) -> str:
    """The same of what ``parse_qdisc`` reads."""

def police_notices(text: str) -> str:
    """The same of what ``parse_police`` reads."""

def render_police(police_json: str) -> str:
    """What one would type after ``action`` for such JSON."""

def split_script(text: str) -> str | None:
    """Splits a script of ``tc`` and ``ip`` for one device; None if it has only root lines.

    The JSON has ``qdisc``, ``police``, ``arriving_qdisc``, ``arriving_police`` and ``ifb``.

    Raises:
        QdiscError: Arriving packets are treated as not modelled, or it has several devices.
    """

def render_qdisc(qdisc_json: str) -> str:
    """What one would type to tc for that JSON."""

def shaped_bps(qdisc_json: str) -> int:
    """Bit/s that packets leave that JSON's discipline at over a long time; 0 where some are free.

    Args:
        qdisc_json: As ``parse_qdisc`` gives it.
    """

def qdisc_lines(
    qdisc_json: str, *, device: str, parent: str | None = None, handle: int = 1, options: str = ""
) -> list[str]:
    """The lines, each what follows ``tc``, that attach that JSON's discipline and its children.

    Args:
        qdisc_json: As ``parse_qdisc`` gives it.
        device: The network device.
        parent: The class it is put into, such as ``1:1``; None for the device's root.
        handle: Its handle, 1 to 65535; those of its children count on from it.
        options: Words before its name, such as ``stab overhead 10``.
    """

def shown_qdiscs(qdisc_json: str, *, mtu_bytes: int) -> str:
    """What ``tc -d qdisc show`` prints of that JSON's discipline and of those inside it.

    A list in JSON, in the order and with the handles of ``qdisc_lines``. Each has ``kind``,
    ``handle``, ``parent`` (the class it is in, or null), ``has_every_packet`` (whether all that the
    root takes goes through it), ``text`` and ``options``: its options as text and as ``tc -j`` has
    them.

    Args:
        qdisc_json: As ``parse_qdisc`` gives it.
        mtu_bytes: Of the device, from which the kernel takes what the words leave out.
    """

def shown_rate(bytes_per_s: int) -> str:
    """A rate of bytes per second as tc shows it, in bits: an integer of ``bit`` to ``Tbit``."""

def shown_size(size_bytes: int) -> str:
    """A size as tc shows it: rounded to ``Kb`` or ``Mb`` where that is near."""

def shown_time(time_ns: int) -> str:
    """A time as tc shows it: three digits of ``s`` or ``ms``, or whole ``us``."""

def disciplines() -> str:
    """JSON: every discipline known, its usage, its parameters' names, units, defaults, effects."""

def police_table() -> str:
    """JSON: the same of the policer's parameters."""

def check_packet_script(text: str, profile: str, gso_max_segs: int = 1) -> str:
    """Run a script of packetdrill's language against the TCP of the simulator.

    Args:
        profile: Whose behaviour is required: ``linux-6.1`` or ``rfc``.
        gso_max_segs: Segments of one sk_buff at most, until the script says otherwise.

    Returns:
        JSON. ``verdict`` is ``passed``; ``failed``, with ``line``, ``column`` and a ``difference``
        whose ``kind`` is ``packet``, ``call`` or ``assertion``, with what was ``expected`` and
        ``found``; ``unsupported``, with ``line``, ``column`` and ``missing``, names; or
        ``malformed``, with ``line``, ``column`` and ``mistake``.

    Raises:
        SpecInvalid: The profile is not ``linux-6.1`` or ``rfc``.
    """

def judge_packet_script_record(record: str) -> str:
    """Judge the assertions that packetdrill has recorded; the Python program is only read.

    Returns JSON as `check_packet_script` does; ``unsupported`` if it has more than assertions.
    """

def fuzz_packet_script(
    seed: int, number: int, gso_max_segs: int, controller: str | None = None
) -> str:
    """What the simulator's sender does against a random receiver, as a script.

    Args:
        seed: Cases follow from it and their numbers.
        number: Of the case.
        gso_max_segs: Segments of one sk_buff at most; 1 for each by itself.
        controller: Congestion control, one of `fuzzed_controllers`; None to draw one.

    Returns:
        JSON: ``case``, text for `shorter_packet_scripts`; ``script``; ``near_timer_line``, the
        first line at which an acknowledgement comes within 50 microseconds of a timer, or null;
        ``sent_pkts``.

    Raises:
        SpecInvalid: No such controller.
    """

def fuzzed_controllers() -> list[str]:
    """The congestion controllers that random scripts can be about: those Linux 6.1 has, too."""

def shorter_packet_scripts(case: str) -> str:
    """JSON: a list of the same of cases that are a little shorter, the boldest first.

    Raises:
        SpecInvalid: The text is no case.
    """

def packet_scripts_of_each_phase(case: str) -> str:
    """JSON: the same of a case with each of BBR's first phases, of which Linux draws one at random.

    Raises:
        SpecInvalid: The text is no case.
    """

def congestion_controllers() -> list[str]:
    """The names of the congestion controllers that the simulator has."""

def sources() -> str:
    """The sources of traffic, and how each is written: JSON, a list of tables.

    Each has ``kind`` (its word), ``summary``, ``carrier`` (``udp``, ``tcp``, ``either``), ``sends``
    (``packets``, ``bytes``, ``transfers``), ``keys``, ``testbed`` (what sends it there) and
    ``example`` (TOML).
    """

def description_tables() -> str:
    """Tables of the description: JSON, by their names lists of keys, in the order of a file.

    Each key has ``name``, ``resolved``, ``value`` (what stands there, with its bounds),
    ``presence``, ``default`` (as resolved) and ``meaning``.
    """

def tcp_settings() -> str:
    """The keys of a flow's ``tcp``: JSON, a table of two.

    ``keys`` is a list, in the order of a file; each has ``name``, ``resolved``, ``value`` (what
    stands there, with its bounds), ``presence``, ``kernel`` (for what a kernel takes it) and
    ``meaning``. ``profiles`` has the settings of each profile as resolved.
    """

@final
class Estimate:
    """The expected cost of one replication, rather too much than too little."""

    @property
    def events(self) -> int:
        """Events to be done."""
    @property
    def memory_bytes(self) -> int:
        """Memory needed for its tables and state."""
    @property
    def cpu_ns(self) -> int:
        """Time of one thread, within a factor of two or so."""

def check(resolved_json: str, *, simulated: bool = True) -> Estimate:
    """Checks a resolved description as a run does; without ``simulated`` only the description.

    Raises:
        SpecInvalid: It cannot be run.
    """

@final
class Cancel:
    """Asks a batch to stop. May be set from any thread or from a signal handler."""

    def __new__(cls) -> Cancel: ...
    def set(self) -> None:
        """Running replications end within milliseconds, with an error; no more are started."""
    def is_set(self) -> bool:
        """Whether somebody has asked."""

@final
class Progress:
    """How far a batch is."""

    @property
    def started(self) -> int:
        """Replications handed to the workers so far."""
    @property
    def finished(self) -> int:
        """Those that have ended."""
    @property
    def running(self) -> int:
        """Those that have not."""
    @property
    def virtual_fraction(self) -> float:
        """Sum over the running ones of the share of virtual time done, 0 to ``running``."""
    @property
    def events(self) -> int:
        """Events done so far."""

@final
class RunFailure:
    """Why a replication gave no tables."""

    CANCELLED: RunFailure
    STANDSTILL: RunFailure
    TOO_MANY_EVENTS: RunFailure
    OUT_OF_MEMORY: RunFailure
    CAPTURE: RunFailure
    CONTROLLER: RunFailure
    REFUSED: RunFailure
    INTERNAL: RunFailure

@final
class Completed:
    """A replication that has come to its end."""

    @property
    def index(self) -> int:
        """Its place among the jobs."""
    @property
    def replication(self) -> int:
        """Its replication number."""
    @property
    def error(self) -> str | None:
        """Why it gave no tables; None when it did."""
    @property
    def failure(self) -> RunFailure | None:
        """Of what kind that was; None when there are tables."""
    @property
    def memory_bytes(self) -> int:
        """Peak accounted memory, its tables included, in bytes."""
    @property
    def digest(self) -> str:
        """SHA-256 of the tables' canonical bytes, in hexadecimal; empty after an error."""
    @property
    def events(self) -> int:
        """Events it took."""
    def take_tables(self) -> dict[str, dict[str, NDArray[Any]]]:
        """The columns by table and name, handed over without a copy: once only."""

@final
class RunStream:
    """Completed replications in the order of completion."""

    def __iter__(self) -> RunStream: ...
    def __next__(self) -> Completed: ...
    def poll(self, timeout_s: float) -> Completed | None:
        """The next to end within `timeout_s` seconds, else None. Python's signals are looked at."""
    @property
    def done(self) -> bool:
        """Whether nothing is left to wait for."""
    def progress(self) -> Progress:
        """How far the batch is."""
    def set_memory_left(self, left_bytes: int) -> None:
        """Says that so much memory is left beside what the runs use already."""

FASTEST_BYTES_PER_S: int
"""Fastest pacing rate of an agent, that of the fastest link."""

LARGEST_CWND_PKTS: int
"""Largest window of an agent."""

@final
class Interval:
    """What happened to a flow in a monitor interval.

    Rates are of payload, as if every packet were full. What acknowledgements say they say a round
    trip later: what is delivered or lost in an interval was mostly sent before it.
    """

    @property
    def duration_s(self) -> float:
        """Virtual time of it."""
    @property
    def sent_pkts(self) -> int:
        """Packets sent, retransmissions included."""
    @property
    def delivered_pkts(self) -> int:
        """Packets that acknowledgements, selective ones too, told of."""
    @property
    def lost_pkts(self) -> int:
        """Packets taken for lost."""
    @property
    def send_rate_bps(self) -> float:
        """Bits sent a second."""
    @property
    def delivery_rate_bps(self) -> float:
        """Bits delivered a second."""
    @property
    def loss(self) -> float:
        """Lost packets over lost and delivered ones, 0 to 1; 0 without any."""
    @property
    def rtt_s(self) -> float | None:
        """Mean of the round-trip times measured; without any the smoothed one, or None before."""
    @property
    def rtt_gradient(self) -> float:
        """Slope of the least-squares line through round-trip times, over when they were measured,
        seconds a second; 0 of fewer than two."""
    @property
    def srtt_s(self) -> float | None:
        """Smoothed round-trip time (RFC 6298 section 2); None before the first."""
    @property
    def min_rtt_s(self) -> float | None:
        """Least round-trip time of the last five minutes; None before the first."""
    @property
    def in_flight_pkts(self) -> int:
        """Sent, and neither delivered nor taken for lost, at the interval's end."""
    @property
    def cwnd_pkts(self) -> int:
        """Congestion window at the last event."""
    @property
    def pacing_rate_bps(self) -> float:
        """Pacing rate at the last event; of a window, what the host's small queues go by."""
    @property
    def mss_bytes(self) -> int:
        """Largest payload of a packet; 0 before there is a connection."""

@final
class AgentRun:
    """A replication in which the windows or pacing rates of some flows are set while it goes on."""

    def __new__(
        cls, resolved_json: str, replication: int, flows: list[int], *, paced: bool
    ) -> Self:
        """Begin.

        Args:
            resolved_json: The canonical description.
            replication: Chooses the random numbers.
            flows: Places of flows over TCP; an agent is meant by its place in this list.
            paced: Whether pacing rates are set, and not windows.

        Raises:
            SpecInvalid: It cannot be run, or a flow is none that an agent can have.
        """
    def advance_through(self, until_ns: int) -> bool:
        """Do what happens until an instant and in it. Returns whether there is more to do.

        Raises:
            RuntimeError: The run failed, or was finished before.
        """
    def has_begun(self, agent: int) -> bool:
        """Whether its flow has made its first connection."""
    def is_over(self, agent: int) -> bool:
        """Whether its flow has nothing more to carry, or was stopped."""
    def set_cwnd(self, agent: int, cwnd_pkts: int) -> None:
        """Set its window from the next acknowledgement on, 1 to `LARGEST_CWND_PKTS`."""
    def set_pacing_rate(self, agent: int, bytes_per_s: int) -> None:
        """Set its pacing rate from the next acknowledgement on, 1 to `FASTEST_BYTES_PER_S`."""
    def interval(self, agent: int) -> Interval:
        """What has happened to its flow since the last call, or since the beginning."""
    def finish(self) -> Completed:
        """Do the rest, and give the tables; once only."""

def simulate(
    jobs: Iterable[tuple[str, int] | tuple[str, int, str | None]],
    *,
    threads: int = 0,
    cancel: Cancel | None = None,
    memory_bytes: int | None = None,
    fast_paths: bool = True,
    controllers: Mapping[str, str | PathLike[str]] | None = None,
    classes: Mapping[tuple[str, str], Any] | None = None,
) -> RunStream:
    """Runs (resolved JSON, replication) jobs on worker threads.

    They touch Python for ``classes`` alone.

    A third member is the file that the job's capture is written to, where its description asks
    for one; without it none is written.

    Args:
        jobs: Read on the calling thread as workers become free.
        threads: How many; 0 for one a core. The results do not depend on it.
        cancel: Set it to stop.
        memory_bytes: What the runs may use together, at most. One that needs more fails.
        fast_paths: Whether there may be fewer events than one for each departure. Without, a run is
            slower and has the same digest: to check the simulator with.
        controllers: Shared objects by the SHA-256 of their sources; each run loads its own copy.
        classes: Controllers in Python by the SHA-256 of their sources and their names; each has
            the attributes of `dumbbell.backends.native.python_class.PythonClass`.
    """

def controller_facts(
    path: str | PathLike[str],
) -> tuple[str, bool, bool, bool, list[tuple[str, int, int, int]]]:
    """What a shared object says of itself, which is loaded into this process for it.

    Returns:
        Its name, whether it asks for pacing, whether it owns recovery, whether it needs the
        simulator (the sender's fields, or ECN marks one by one), and of each parameter name, least,
        most and usual value.

    Raises:
        ValueError: It cannot be loaded or is no controller of this version of ``dumbbell_cc.h``.
    """

def golden_stream(
    seed: int, replication: int, component: str, law_json: str, n: int
) -> NDArray[np.float64]:
    """The first n draws of a law from the named random stream, for tests of reproducibility."""
