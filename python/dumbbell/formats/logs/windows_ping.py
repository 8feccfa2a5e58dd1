"""Output of Windows' ``ping``, in any of its languages.

It prints no sequence numbers: its lines are the requests in order. Times are whole milliseconds;
``<1ms`` counts as 0, as in its last line. It counts "destination unreachable" as an answer, which
is not a round trip. Words are ignored, except in the sentences for a request without an answer,
which are known in seven languages. The layout is that of Windows 7 to 11 in public logs; the
program was not run here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dumbbell.formats.logs.model import NOT_SAID, LogTable
from dumbbell.formats.logs.ping import REQUESTS, TOTALS, PingLog
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in

Row = dict[str, int | float | str]

_NS_PER_MS = 1_000_000
_ADDRESS = r"(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]{0,4}:[0-9a-fA-F:.]{1,40}(?:%\w{1,16})?)"
_FROM = rf"\S{{2,16}}(?: \S{{1,12}}){{1,2}} {_ADDRESS} ?: "
_REPLY = re.compile(
    _FROM + r"(?:[^=<>:\d]{3,24}=\d{1,5}(?: \([^()]{1,24}\))? )?"
    r"[^=<>:\d]{3,12}(?P<sign>[=<])(?P<ms>\d{1,9}) ?[^\W\d]{1,3}(?P<ttl> TTL=\d{1,3})?\s*"
)
_ERROR = re.compile(_FROM + r"[^=<>]{8,80}\.?\s*")
"""``Destination host unreachable.``, ``TTL expired in transit.``"""
_NO_ANSWER = re.compile(
    r"Request timed out|Zeit\S{1,6}berschreitung der Anforderung|D\S{1,6}lai d\S{1,4}attente de la "
    r"demande d\S{1,6}pass\S{1,3}|Tiempo de espera agotado para esta solicitud|Richiesta scaduta|"
    r"Esgotado o tempo limite do pedido|Time-out bij opdracht|(?:PING: transmit failed\. )?General "
    r"failure|Allgemeiner Fehler|D\S{1,6}faillance g\S{1,6}n\S{1,6}rale|Error general"
)
_HEADER = re.compile(r"[^=]{8,300} \d{1,5} [^\d=:]{4,40}:\s*")
_HOST = re.compile(rf"(?P<name>\S{{1,253}}) \[{_ADDRESS}\]|(?P<address>{_ADDRESS})")
_COUNT = r"[^=,:]{3,24}= ?"
_TOTALS = re.compile(
    rf"\s*[^=,:]{{3,24}}: {_COUNT}(?P<sent>\d{{1,9}}), {_COUNT}(?P<received>\d{{1,9}}), "
    rf"{_COUNT}(?P<lost>\d{{1,9}})(?: ?\([^()]{{2,40}}\))?,?\.?\s*"
)
_TIME = r"[^=,:]{3,16}= ?"
_TIMES = re.compile(
    rf"\s*{_TIME}(?P<least>\d{{1,9}}) ?[^\W\d]{{1,3}}, {_TIME}(?P<most>\d{{1,9}}) ?[^\W\d]{{1,3}}, "
    rf"{_TIME}(?P<mean>\d{{1,9}}) ?[^\W\d]{{1,3}}\s*"
)
_ELSE = re.compile(
    r"\s*|\s*\([^()]{0,20}\d{1,3} ?%[^()]{0,20}\),?\s*|(?:Control-|\^|Strg|Ctrl).{0,20}"
    rf"|.{{0,60}}[Pp]ing.{{0,60}}{_ADDRESS}:?\s*|.{{3,60}} {_ADDRESS}:\s*|[^\d=]{{10,80}}:\s*"
    r"|(?:[A-Z]:\\|PS [A-Z]:\\)[^>]{0,200}>.{0,300}"
)


@dataclass(slots=True)
class _Session:
    """One ping."""

    host: str = ""
    rtt_ns: list[int] = field(default_factory=list)
    errors: int = 0
    below_1_ms: int = 0
    said: tuple[int, int] | None = None
    times: Row = field(default_factory=dict)

    @property
    def sent(self) -> int:
        return max(self.said[0] if self.said else 0, len(self.rtt_ns))

    @property
    def received(self) -> int:
        return sum(each >= 0 for each in self.rtt_ns)


def is_windows_ping(text: LogText) -> bool:
    """Whether the text is from Windows' ping."""
    return any(
        ((reply := _REPLY.fullmatch(line)) and (reply["ttl"] or ":: " in line or "::" in line))
        or _TOTALS.fullmatch(line)
        for line in text.first_lines
        if len(line) < 300
    )


def read_windows_ping(text: LogText) -> PingLog:
    """Parse a log; requests are numbered from 1.

    Raises:
        UnreadableError: No line is known.
    """
    noted = UnreadCounter()
    sessions = [_Session()]
    noted.lines(text, lambda line: _take(line, sessions))
    done = [each for each in sessions if each.rtt_ns or each.said]
    if not done:
        raise nothing_in(text, "ping of Windows")
    rows: list[Row] = [
        {"session": at, "seq": seq, "received_epoch_ns": NOT_SAID, "rtt_ns": rtt_ns}
        for at, each in enumerate(done, start=1)
        for seq, rtt_ns in enumerate(each.rtt_ns, start=1)
    ]
    totals: list[Row] = [
        {"session": at, "sent_pkts": each.sent, "received_pkts": each.received, **each.times}
        for at, each in enumerate(done, start=1)
    ]
    return PingLog(
        source=text.name,
        variant="Windows",
        tables={"requests": LogTable.of(REQUESTS, rows), "totals": LogTable.of(TOTALS, totals)},
        unknown=noted.unknown,
        problems=tuple(_problems(done)),
        hosts=tuple(each.host for each in done),
        sent=sum(each.sent for each in done),
        received=sum(each.received for each in done),
        duplicates=0,
        has_spoken_totals=all(each.said for each in done),
    )


def _problems(done: list[_Session]) -> list[str]:
    problems = []
    if not all(each.said for each in done):
        problems.append("its last lines are missing")
    if any(each.said and each.said[0] != len(each.rtt_ns) for each in done):
        problems.append("its last lines count more or fewer requests than the lines before them")
    if errors := sum(each.errors for each in done):
        problems.append(
            f"answers that are errors, which Windows counts as received and not as lost: {errors}"
        )
    if below := sum(each.below_1_ms for each in done):
        problems.append(
            f"answers of less than 1 ms, which count as 0 as in Windows' last line: {below}"
        )
    return problems


def _take(line: str, sessions: list[_Session]) -> bool:
    """Parse a line; returns whether it is known."""
    session = sessions[-1]
    if _HEADER.fullmatch(line) and (host := _HOST.search(line)):
        if session.rtt_ns or session.said:
            sessions.append(session := _Session())
        session.host = host["name"] or host["address"]
        return True
    return _request(line, session) or _last_lines(line, session) or bool(_ELSE.fullmatch(line))


def _request(line: str, session: _Session) -> bool:
    """Parse the line of a request; returns whether it is one."""
    if reply := _REPLY.fullmatch(line):
        is_below = reply["sign"] == "<"
        session.below_1_ms += is_below
        session.rtt_ns.append(0 if is_below else int(reply["ms"]) * _NS_PER_MS)
        return True
    is_error = bool(_ERROR.fullmatch(line))
    if is_error or _NO_ANSWER.match(line.strip()):
        session.errors += is_error
        session.rtt_ns.append(NOT_SAID)
        return True
    return False


def _last_lines(line: str, session: _Session) -> bool:
    """Parse a line of the final statistics; returns whether it is one."""
    if totals := _TOTALS.fullmatch(line):
        sent, received, lost = (int(totals[name]) for name in ("sent", "received", "lost"))
        if session.said is not None or sent != received + lost:
            return False
        session.said = sent, received
        return True
    times = _TIMES.fullmatch(line)
    if times is None:
        return False
    for name, word in (("min", "least"), ("mean", "mean"), ("max", "most")):
        session.times[f"rtt_{name}_ns"] = int(times[word]) * _NS_PER_MS
    return True
