"""Logs with the times of ``ts`` (moreutils) give the same numbers, and times where known."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from log_samples import all_samples, sample

from dumbbell.formats.logs import LogText, PingLog, SsLog, TcLog, log_of_text
from dumbbell.metrics.logs import log_numbers

T0 = 1_764_283_424


def iso(at: int) -> str:
    return datetime.fromtimestamp(at, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")


FORMS: dict[str, Callable[[int], str]] = {
    "ts": lambda at: datetime.fromtimestamp(T0 + at, tz=UTC).strftime("%b %d %H:%M:%S"),
    "ts -s": lambda at: f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}",
    "ts -i %.T": lambda at: f"00:00:{at % 2:02}.250000",
    "ts %s": lambda at: f"{T0 + at}",
    "ts %.s": lambda at: f"{T0 + at}.250000",
    "ts [%F %T]": lambda at: f"[{iso(T0 + at).replace('T', ' ')}]",
    "ts %FT%.T": lambda at: f"{iso(T0 + at)}.250000",
}
TELL = {"ts %s": 0, "ts %.s": 250_000_000, "ts [%F %T]": 0, "ts %FT%.T": 250_000_000}
TEXTS = [
    name for name in all_samples() if not name.endswith(".json") and sample(name).begins_with != "{"
]


def stamped(text: str, form: Callable[[int], str], name: str = "it") -> LogText:
    lines = text.rstrip("\n").split("\n")
    out = "\n".join(f"{form(at)} {line}" for at, line in enumerate(lines)) + "\n"
    return LogText.of_bytes(name, out.encode())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TEXTS)
def test_every_text_is_read_as_without(name: str, form: str) -> None:
    text = stamped(sample(name).text, FORMS[form], name)
    assert text.lines[0] == sample(name).lines[0]
    log, without = log_of_text(text), log_of_text(sample(name))
    assert str(log.unknown) == ""
    same = {(each.of, each.name): each.value for each in log_numbers(without)}
    found = {(each.of, each.name): each.value for each in log_numbers(log)}
    for key, value in same.items():
        if "_mbps" not in key[1] or not isinstance(log, SsLog | TcLog):
            assert found[key] == pytest.approx(value, nan_ok=True), key


@pytest.mark.parametrize("form", FORMS)
def test_pings_have_the_times_of_their_lines(form: str) -> None:
    text = sample("ping.txt").text
    log = log_of_text(stamped(text, FORMS[form]))
    assert isinstance(log, PingLog)
    at = log.tables["requests"]["received_epoch_ns"]
    if form in TELL:
        # The header is line 0, and each answer took a line.
        assert at.tolist() == [(T0 + 1 + n) * 10**9 + TELL[form] for n in range(40)]
    else:
        assert (at == -1).all()


def test_calls_of_tc_and_ss_have_times() -> None:
    once = sample("fq-codel").text
    log = log_of_text(stamped(once + once, FORMS["ts %.s"]))
    assert isinstance(log, TcLog)
    assert (log.calls, log.has_times) == (2, True)
    assert log.tables["queues"]["epoch_ns"].tolist() == [
        T0 * 10**9 + 250_000_000,
        (T0 + once.count("\n")) * 10**9 + 250_000_000,
    ]
    sockets = log_of_text(stamped(sample("ss-old").text * 2, FORMS["ts %.s"]))
    assert isinstance(sockets, SsLog) and sockets.has_times


def test_what_has_times_of_its_own_keeps_them() -> None:
    log = log_of_text(LogText.of_bytes("it", sample("ping-lost.txt").text.encode()))
    assert log.tables["requests"]["received_epoch_ns"].max() > 0
    # A line that `ts` did not write has no time, and is read.
    text = sample("ping.txt").text.split("\n")
    mixed = [f"{T0 + at} {line}" if at != 30 else line for at, line in enumerate(text)]
    log = log_of_text(LogText.of_bytes("it", "\n".join(mixed).encode()))
    at = log.tables["requests"]["received_epoch_ns"].tolist()
    assert at[29] == -1 and at.count(-1) == 1
