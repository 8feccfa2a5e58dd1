"""Output of ``ping``: iputils, busybox, macOS and the BSDs.

iputils (``ping_common.c``, ``ping.c``) numbers requests from 1 and ends with ``rtt
min/avg/max/mdev``; busybox (``networking/ping.c``) prints ``seq=`` and BSD ``icmp_seq=``, both from
0, and end with ``round-trip min/avg/max``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from dumbbell.formats.logs.model import NOT_SAID, Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, number

REQUESTS = (
    LogColumn("session", "-", "Number of the ping in the file, from 1."),
    LogColumn("seq", "-", "Sequence number, unwrapped where its 16 bits have."),
    LogColumn("received_epoch_ns", "ns", "Unix time of the answer (``ping -D``, ``ts %.s``)."),
    LogColumn("rtt_ns", "ns", "Round-trip time as printed; -1 without an answer."),
)
TOTALS = (
    LogColumn("session", "-", "Number of the ping in the file, from 1."),
    LogColumn("sent_pkts", "packets", "Requests."),
    LogColumn("received_pkts", "packets", "Answers, duplicates not counted."),
    LogColumn("rtt_min_ns", "ns", "Least round trip that ping's last line says."),
    LogColumn("rtt_mean_ns", "ns", "Mean, as there."),
    LogColumn("rtt_max_ns", "ns", "Greatest, as there."),
    LogColumn("rtt_sd_ns", "ns", "``mdev`` or ``stddev``; busybox prints none."),
)
_MOST_GAP = 1 << 20
"""Largest gap between sequence numbers of two answers; a larger one counts as damage."""
_NS_PER_MS = 1_000_000
_SEQUENCE_NUMBERS = 1 << 16
_STAMP = r"(?:\[(?P<stamp>\d{1,12}\.\d{1,9})\] |[0-9:.]{8,15} )?"

_REPLY = re.compile(
    _STAMP + r"\d{1,6} bytes from (?P<who>\S{1,255}(?: \(\S{1,64}\))?)[:,] "
    r"(?P<key>icmp_[rs]eq|seq)=(?P<seq>\d{1,9})(?: ident=\d{1,9})?(?: (?:ttl|hlim)=\d{1,3})?"
    r"(?: time[=<](?P<ms>\d{1,12}(?:\.\d{1,9})?) ?ms)?(?P<rest>.{0,200})"
)
_HEADER = re.compile(
    r"PING6?(?:\(\d+=[^)]{1,60}\))? (?P<host>[^\s(]{1,255}) ?"
    r"(?:\([^)\s]{1,64}\)|\S{1,64} --> \S{1,64}).*"
)
_TOTALS = re.compile(
    r"(?P<sent>\d{1,9}) packets transmitted, (?P<received>\d{1,9})(?: packets)? received"
    r"(?:,(?: -- somebody's printing up packets!| \+(?P<duplicates>\d{1,9}) duplicates"
    r"| \+\d{1,9} (?:errors|corrupted)| \d{1,3}(?:\.\d{1,9})?% packet loss| time \d{1,12}ms))*"
)
_DUPLICATES = re.compile(r"\+(?P<many>\d{1,9}) duplicates")
_TIMES = re.compile(
    r"(?:rtt|round-trip) min/avg/max(?:/(?P<spread>mdev|stddev|std-dev))? = "
    r"(?P<times>\d{1,12}(?:\.\d{1,6})?(?:/\d{1,12}(?:\.\d{1,6})?){2,3}) ms"
    r"(?:, pipe \d{1,9})?(?:, ipg/ewma [0-9.]{1,20}/[0-9.]{1,20} ms)?"
)
OTHER_LINES = re.compile(
    r"|--- .{1,255} (?:ping6?|ping) statistics ---"
    r"|" + _STAMP.replace("stamp", "stamp_2") + r"no answer yet for icmp_seq=\d{1,9}"
    r"|Request timeout for icmp_seq[ =]\d{1,9}"
    r"|" + _STAMP.replace("stamp", "stamp_3") + r"From \S{1,255}(?: \(\S{1,64}\))?:? "
    r"icmp_seq=\d{1,9} .{1,200}"
    r"|\d{1,6} bytes from \S{1,255}(?: \(\S{1,64}\))?: (?:Destination|Time|Redirect).{0,200}"
    r"|ping6?: .{1,300}|\^C.{0,80}|pipe \d{1,9}|WARNING: .{1,200}|ai->ai_family: .{1,200}"
    # The header quoted in macOS's error messages; routes (-R); the dots of -f.
    r"|Vr HL TOS  Len   ID Flg  off TTL Pro  cks .{1,60}"
    r"|\s{0,2}[0-9a-f] {1,2}[0-9a-f] {1,2}[0-9a-f]{2} [0-9a-f]{4} [0-9a-f]{4} .{10,120}"
    r"|(?:RR: )?\t(?:\S{1,255}(?: \(\S{1,64}\))?|\(same route\))?\s*|[.E\b ]+"
)
"""Lines that are not answers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PingLog(Log):
    """One or more pings in sequence.

    Attributes:
        hosts: Their destinations, in order.
        sent: Number of requests, by the last line of each ping, otherwise by the sequence numbers.
        received: Number of answers without duplicates, likewise.
        duplicates: Number of duplicate answers, which are not counted elsewhere.
        has_spoken_totals: Whether every ping's last lines are present.
    """

    format: ClassVar[LogFormat] = LogFormat.PING
    hosts: tuple[str, ...]
    sent: int
    received: int
    duplicates: int
    has_spoken_totals: bool


@dataclass(slots=True)
class _Session:
    """One ping."""

    host: str = ""
    numbered_from: int = 1
    rtt_ns: dict[int, int] = field(default_factory=dict)
    epoch_ns: dict[int, int] = field(default_factory=dict)
    duplicates: int = 0
    untimed: int = 0
    last: int = 0
    said: tuple[int, int] | None = None
    times_ns: list[int] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.rtt_ns or self.untimed or self.said)

    @property
    def counts(self) -> tuple[int, int]:
        """Number of requests and answers."""
        answered = len(self.rtt_ns) + self.untimed
        return self.said or (max(len(self.rows(1)), answered), answered)

    def total(self, number_: int) -> dict[str, int | float | str]:
        """The row from its last lines."""
        sent, received = self.counts
        row: dict[str, int | float | str] = {
            "session": number_,
            "sent_pkts": sent,
            "received_pkts": received,
        }
        names = ("rtt_min_ns", "rtt_mean_ns", "rtt_max_ns", "rtt_sd_ns")
        return row | dict(zip(names, self.times_ns, strict=False))

    def rows(self, number_: int) -> list[dict[str, int | float | str]]:
        """One row per request, also for requests without an answer."""
        if not self.rtt_ns and (self.said is None or self.said[1]):
            return []  # ping -q
        # In a truncated file, numbers start with the first line.
        first = min([self.numbered_from, *self.rtt_ns])
        told = self.said[0] if self.said else 0
        end = max([first + told, *(seq + 1 for seq in self.rtt_ns)])
        if end - first > _MOST_GAP + len(self.rtt_ns):
            end = max([first, *(seq + 1 for seq in self.rtt_ns)])
        if end - first > _MOST_GAP + len(self.rtt_ns):
            numbers: list[int] = sorted(self.rtt_ns)
        else:
            numbers = list(range(first, end))
        return [
            {
                "session": number_,
                "seq": seq,
                "received_epoch_ns": self.epoch_ns.get(seq, NOT_SAID),
                "rtt_ns": self.rtt_ns.get(seq, NOT_SAID),
            }
            for seq in numbers
        ]


def is_ping(text: LogText) -> bool:
    """Whether the text is from ping."""
    return any(
        _HEADER.fullmatch(line) or _REPLY.fullmatch(line) or _TOTALS.fullmatch(line)
        for line in text.first_lines
    )


def read_ping_log(text: LogText) -> PingLog:
    """Parse a log.

    Raises:
        UnreadableError: No line is known.
    """
    noted = UnreadCounter()
    sessions = [_Session()]
    variants: set[str] = set()
    noted.lines(text, lambda line: _take(line, sessions, variants, text.time_ns(noted.at)))
    done = [each for each in sessions if not each.is_empty]
    if not done:
        raise nothing_in(text, "ping")
    rows = [row for index, each in enumerate(done, start=1) for row in each.rows(index)]
    problems = [] if all(each.said for each in done) else ["its last lines are missing"]
    if untimed := sum(each.untimed for each in done):
        problems.append(f"{untimed} answers have no time (fewer than 16 bytes of payload)")
    counts = [each.counts for each in done]
    return PingLog(
        source=text.name,
        variant=", ".join(sorted(variants)),
        tables={
            "requests": LogTable.of(REQUESTS, rows),
            "totals": LogTable.of(TOTALS, [e.total(i) for i, e in enumerate(done, start=1)]),
        },
        unknown=noted.unknown,
        problems=tuple(problems),
        hosts=tuple(each.host for each in done),
        sent=sum(sent for sent, _ in counts),
        received=sum(received for _, received in counts),
        duplicates=sum(each.duplicates for each in done),
        has_spoken_totals=all(each.said for each in done),
    )


def _take(line: str, sessions: list[_Session], variants: set[str], at_ns: int) -> bool:
    """Parse a line; returns whether it is known. ``at_ns`` is its time, or -1 if only the line may
    contain it.
    """
    session = sessions[-1]
    if reply := _REPLY.fullmatch(line):
        if reply["key"] == "seq":
            variants.add("busybox")
            session.numbered_from = 0
        return _reply(reply, session, at_ns)
    if header := _HEADER.fullmatch(line):
        if not session.is_empty:
            sessions.append(session := _Session())
        session.host = header["host"].rstrip(":")
        if "):" in line or "-->" in line:
            session.numbered_from = 0
        return True
    if totals := _TOTALS.fullmatch(line):
        session.said = int(totals["sent"]), min(int(totals["received"]), int(totals["sent"]))
        if found := _DUPLICATES.search(line):
            session.duplicates = int(found["many"])
        return True
    if times := _TIMES.fullmatch(line):
        of_spread = {"mdev": "iputils", "stddev": "BSD or macOS", "std-dev": "BSD or macOS"}
        variants.add(of_spread.get(times["spread"] or "", "busybox"))
        session.times_ns = [number(each, _NS_PER_MS) for each in times["times"].split("/")]
        return True
    return bool(OTHER_LINES.fullmatch(line))


def _reply(reply: re.Match[str], session: _Session, at_ns: int) -> bool:
    if "DUP!" in reply["rest"]:
        session.duplicates += 1
        return True
    if reply["rest"].strip() not in ("", "(truncated)", "(BAD CHECKSUM!)", "(DIFFERENT ADDRESS!)"):
        return False
    if "BAD" in reply["rest"] or "DIFFERENT" in reply["rest"]:
        return True  # not a valid round-trip time
    if reply["ms"] is None:
        session.untimed += 1
        return True
    seq = unwrapped(int(reply["seq"]), session.last)
    if session.rtt_ns and abs(seq - session.last) > _MOST_GAP:
        return False
    session.last = seq
    session.rtt_ns[seq] = number(reply["ms"], _NS_PER_MS)
    if reply["stamp"]:
        session.epoch_ns[seq] = number(reply["stamp"], 10**9)
    elif at_ns >= 0:
        session.epoch_ns[seq] = at_ns
    return True


def unwrapped(seq: int, last: int) -> int:
    """The number congruent to ``seq`` modulo 2**16 that is nearest to the previous one."""
    if seq >= _SEQUENCE_NUMBERS:
        return seq  # a program that does not wrap
    turns = round((last - seq) / _SEQUENCE_NUMBERS)
    return seq + max(0, turns) * _SEQUENCE_NUMBERS
