"""Windows' ping in several languages and code pages, checked against its last lines."""

from __future__ import annotations

import pytest
from log_samples import WINDOWS_ENGLISH, WINDOWS_FRENCH, WINDOWS_GERMAN, WINDOWS_IPV6

from dumbbell.formats.logs import LogText, PingLog, log_of_text
from dumbbell.metrics.logs import log_numbers


def read(content: bytes) -> PingLog:
    log = log_of_text(LogText.of_bytes("ping.txt", content))
    assert isinstance(log, PingLog)
    assert (log.variant, str(log.unknown)) == ("Windows", "")
    return log


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (WINDOWS_GERMAN, "utf-8"),
        (WINDOWS_GERMAN, "cp850"),
        (WINDOWS_GERMAN, "cp1252"),
        (WINDOWS_GERMAN, "utf-16"),
        (WINDOWS_FRENCH, "utf-8"),
        (WINDOWS_FRENCH.replace("’", "'"), "cp850"),
        (WINDOWS_FRENCH, "cp1252"),
    ],
)
def test_languages_and_code_pages(text: str, encoding: str) -> None:
    log = read(text.replace("\n", "\r\n").encode(encoding))
    rtt_ms = (log.tables["requests"]["rtt_ns"] / 1e6).tolist()
    # The second or third was not answered, and the last one by an error.
    assert sorted(rtt_ms) == [-1e-6, -1e-6, 0.0, 12.0]
    assert (log.sent, log.received, log.hosts) == (4, 2, ("192.0.2.1",))
    totals = log.tables["totals"]
    assert (totals["rtt_min_ns"][0], totals["rtt_mean_ns"][0], totals["rtt_max_ns"][0]) == (
        0,
        6_000_000,
        12_000_000,
    )
    assert len(log.problems) == 2 and log.problems[0].endswith("not as lost: 1")


@pytest.mark.parametrize(
    ("line", "rtt_ms"),
    [
        # Spanish, Italian, Portuguese, Dutch and Russian, as public logs have them.
        ("Respuesta desde 192.0.2.1: bytes=32 tiempo<1m TTL=64", 0),
        ("Respuesta desde 192.0.2.1: bytes=32 tiempo=23ms TTL=117", 23),
        ("Risposta da 192.0.2.1: byte=32 durata=18ms TTL=117", 18),
        ("Resposta de 192.0.2.1: bytes=32 tempo=9ms TTL=57", 9),
        ("Antwoord van 192.0.2.1: bytes=32 tijd=7 ms TTL=57", 7),
        ("Ответ от 192.0.2.1: число байт=32 время=45мс TTL=58", 45),
        ("Tiempo de espera agotado para esta solicitud.", -1e-6),
        ("General failure. ", -1e-6),
        ("PING: transmit failed. General failure. ", -1e-6),
        ("Reply from 192.0.2.9: TTL expired in transit.", -1e-6),
    ],
)
def test_other_languages(line: str, rtt_ms: float) -> None:
    log = read(f"{WINDOWS_ENGLISH.splitlines()[1]}\n{line}\n".encode())
    assert (log.tables["requests"]["rtt_ns"] / 1e6).tolist() == [14, rtt_ms]
    assert "its last lines are missing" in log.problems


def test_the_last_line_says_the_same() -> None:
    """Windows rounds its mean down: (14 + 0 + 34) / 3."""
    log = read(WINDOWS_ENGLISH.encode())
    found = {each.name: each.value for each in log_numbers(log)}
    totals = log.tables["totals"]
    for name in ("min", "mean", "max"):
        assert int(found[f"rtt_{name}_ms"]) == totals[f"rtt_{name}_ns"][0] / 1e6
    assert found["loss_percent"] == pytest.approx(40)
    assert log.hosts == ("example.net",)


def test_ipv6_and_several_pings_in_a_file() -> None:
    log = read((WINDOWS_IPV6 + WINDOWS_ENGLISH).encode())
    assert log.tables["requests"]["session"].tolist() == [1, 1, 2, 2, 2, 2, 2]
    assert log.tables["requests"]["seq"].tolist() == [1, 2, 1, 2, 3, 4, 5]
    assert log.hosts == ("::1", "example.net")
    assert log.tables["totals"]["rtt_mean_ns"].tolist() == [6_000_000, 16_000_000]


def test_counts_that_do_not_agree_are_said() -> None:
    cut = "\n".join(WINDOWS_ENGLISH.splitlines()[3:])
    assert "count more or fewer requests" in " ".join(read(cut.encode()).problems)
