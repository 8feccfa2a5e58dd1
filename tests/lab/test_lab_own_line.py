"""Files of a measured line in the laboratory: the numbers are those of `dumbbell twin` without its
fit.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lab_page import Opener

from dumbbell.lab.own_line import own_line
from dumbbell.spec import Experiment
from dumbbell.twin import Way, read_measurements
from dumbbell.twin.experiment_text import twin_text
from dumbbell.twin.fitting import Loaded, direct_line
from dumbbell.twin.scene import least_ms
from dumbbell.twin.typed import TypedNumbers, twin_of_numbers

HERE = Path(__file__).parent
FLENT = HERE.parent / "twin" / "kernel_networks"
LOGS = HERE.parent / "formats" / "logs"
PAIRS = [
    [FLENT / f"{n:02}-tcp_nup.flent.gz", FLENT / f"{n:02}-tcp_ndown.flent.gz"] for n in range(10)
]


def answers(*groups: Sequence[Path]) -> list[dict[str, Any]]:
    """What the page makes of files dropped together."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        ["node", str(HERE / "line_estimates.mjs"), json.dumps(own_line())],
        input=json.dumps([[str(path) for path in group] for group in groups]),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def made(folder: Path, name: str, content: str | bytes) -> Path:
    place = folder / name
    place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


def iperf3(seconds: int, *, is_reverse: bool = False, rtt_ms: Sequence[float] = ()) -> str:
    document = json.loads((LOGS / "iperf3-tcp.json").read_text(encoding="utf-8"))
    document["start"]["test_start"]["reverse"] = int(is_reverse)
    document["end"]["streams"] = [{"sender": {"min_rtt": 9500}}] if rtt_ms else []
    document["intervals"] = [
        {
            "streams": [
                {
                    "socket": 5,
                    "sender": not is_reverse,
                    "start": t,
                    "end": t + 1,
                    "bytes": 1_000_000 + 1000 * (t % 3),
                    **({"rtt": round(1000 * rtt_ms[t])} if rtt_ms else {}),
                }
            ]
        }
        for t in range(seconds)
    ]
    return json.dumps(document)


def ping(seconds: int) -> str:
    lines = [
        f"64 bytes from 192.0.2.1: icmp_seq={t + 1} ttl=60 time={12.5 + 7 * (t % 5):.1f} ms"
        for t in range(seconds)
    ]
    return "\n".join(["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.", *lines, ""])


def check_agrees(answer: dict[str, Any], files: Sequence[Path], **during: Sequence[Path]) -> None:
    """The estimate is the line from which `dumbbell twin` begins its fit."""
    measured = read_measurements(
        files, {f"--{key.replace('_', '-')}": paths for key, paths in during.items()}
    )
    loads = [Loaded(scene) for scene in measured.scenes if scene.flows]
    line = direct_line(loads, least_ms(measured.scenes))
    estimate = answer["estimate"]
    for way in Way:
        end = line.end(way)
        assert estimate[way]["rate_bps"] == pytest.approx(end.rate_bps, abs=1)
        assert estimate[way]["buffer_bytes"] == pytest.approx(end.size, abs=1)
    assert 1e6 * estimate["rtt_ms"] == pytest.approx(line.rtt_ns, abs=1)


def test_files_of_flents_give_the_line_that_the_fit_begins_from() -> None:
    groups = [*PAIRS, *([path] for pair in PAIRS[:3] for path in pair)]
    for group, answer in zip(groups, answers(*groups), strict=True):
        check_agrees(answer, group)


def test_iperf3_and_a_ping_during_it_give_that_line_too(tmp_path: Path) -> None:
    up = made(tmp_path, "up.json", iperf3(20))
    down = made(tmp_path, "down.json", iperf3(9, is_reverse=True))
    log = made(tmp_path, "ping.txt", ping(20))
    alone, together, both = answers([up], [up, log], [up, down])
    check_agrees(alone, [up])
    check_agrees(together, [up], during_up=[log])
    check_agrees(both, [up, down])
    assert "both started together" in together["lines"][0]["question"]
    assert " --during-up ping.txt" in together["lines"][0]["question"]
    assert "20 ms without queues and 100 ms of buffer are assumed" in alone["lines"][0]["question"]


def test_iperf3_alone_has_the_round_trips_of_its_sender(tmp_path: Path) -> None:
    rtt_ms = [float(10 + t) for t in range(20)]
    document = json.loads(iperf3(20, rtt_ms=rtt_ms))
    # What --omit leaves out is counted from 0 too.
    first = document["intervals"][0]["streams"][0]
    document["intervals"].insert(0, {"streams": [first | {"omitted": True, "bytes": 9_000_000}]})
    (answer,) = answers([made(tmp_path, "alone.json", json.dumps(document))])
    estimate = answer["estimate"]
    assert estimate["rtt_ms"] == 9.5
    delay_s = (float(np.quantile(rtt_ms, 0.98)) - 9.5) / 1e3
    rate_bps = estimate["up"]["rate_bps"]
    assert rate_bps == pytest.approx(8 * 1_001_000 * 1514 / 1448, rel=1e-3)
    assert estimate["up"]["buffer_bytes"] == pytest.approx(delay_s * rate_bps / 8, abs=1)


def test_what_was_measured_is_the_experiment() -> None:
    up, down = PAIRS[3]
    (answer,) = answers([up, down])
    first, second = answer["lines"]
    assert [first["title"], second["title"]] == [f"{up.name}, up", f"{up.name}, down"]
    line = Experiment.from_resolved(first["resolved"]).resolved()["links"][1]
    assert line["reverse"]["rate_bps"] == pytest.approx(12.57e6, rel=0.01)
    assert line["reverse"]["qdisc"]["limit_bytes"] == pytest.approx(480_479, rel=0.01)
    assert [each["queue"] for each in answer["lines"]] == [3, 2]
    assert first["changes"]["flows[download].count"] == 0
    assert second["changes"]["flows[download].count"] >= 1
    assert f"dumbbell twin {up.name} {down.name}" in first["question"]
    assert first["question"].startswith("An estimate without the fit")


def test_a_log_of_round_trips_says_what_it_does_not_say(tmp_path: Path) -> None:
    irtt = json.loads((LOGS / "irtt-lost.json").read_text(encoding="utf-8"))
    irtt["round_trips"] *= 5
    of_irtt, of_ping = answers(
        [made(tmp_path, "irtt.json", json.dumps(irtt))], [made(tmp_path, "ping.log", ping(50))]
    )
    delays_ns = [each["delay"]["rtt"] for each in irtt["round_trips"] if each["lost"] == "false"]
    assert 1e6 * of_irtt["estimate"]["rtt_ms"] == pytest.approx(min(delays_ns))
    assert of_ping["estimate"]["rtt_ms"] == 12.5
    # The largest delay is 28 ms, of a rate that is assumed.
    assert of_ping["estimate"]["up"]["buffer_bytes"] == pytest.approx(0.028 * 10e6 / 8)
    for answer in (of_irtt, of_ping):
        question = answer["lines"][0]["question"]
        assert "does not say what the line carried" in question
        words = question.rpartition("dumbbell advise ")[2].split()
        assert words[:4] == ["--up", "10mbit", "--down", "10mbit"]
        assert words[4] == "--rtt" and words[6] == "--during-up"
        assert answer["lines"][0]["changes"]["flows[download].count"] == 0


def test_a_twin_opens_as_it_was_fitted(tmp_path: Path) -> None:
    typed = TypedNumbers(9_000_000, 48_000_000, 18_000_000, 300_000_000, None)
    twin = twin_of_numbers(typed, 1)
    (answer,) = answers([made(tmp_path, "twin.json", json.dumps(twin.document))])
    first = answer["lines"][0]
    resolved = first["resolved"]
    own = Experiment.from_toml(twin_text(twin, [])).resolved()["links"]
    assert resolved["links"][0] == own[0]
    for end, way in (("forward", Way.DOWN), ("reverse", Way.UP)):
        assert resolved["links"][1][end]["rate_bps"] == own[1][end]["rate_bps"]
        line = Experiment.from_resolved(resolved).with_link(
            "isp", "modem", **{end: {"qdisc": first["changes"][f"links[1].{end}.qdisc"]}}
        )
        assert line.resolved()["links"][1][end]["qdisc"] == own[1][end]["qdisc"], way
    assert "not tested" in first["question"]


HOSTILE = {
    "empty.txt": b"",
    "cut.json": b'{"results": {',
    "bytes.log": bytes(range(256)),
    "cut.gz": gzip.compress(b'{"results": {}}' * 100)[:40],
    "none.json": b"{}",
    "deep.json": b'{"results": ' + b"[" * 100_000 + b"]" * 100_000 + b', "x_values": []}',
    "wrong.flent": json.dumps(
        {
            "results": {"TCP upload": "x", "__proto__": [1], "Ping (ms) ICMP": [None, "1", {}]},
            "raw_values": [1, 2],
            "x_values": {"length": 10**9},
            "metadata": {"SERIES_META": 7, "HOSTS": "h", "T0": {}, "STEP_SIZE": -1},
        }
    ).encode(),
    "hosts.flent": b'{"results": {}, "metadata": {"HOSTS": ["a", "b"]}}',
    "udp.json": (LOGS / "iperf3-udp.json").read_bytes(),
    "short.json": iperf3(3).encode(),
    "streams.json": b'{"start": null, "intervals": [null, 1, {"streams": [null, {"end": 1e400}]}]}',
    "irtt.json": b'{"version": {"irtt": 1, "json_format": 1}, "round_trips": [{"delay": 3}]}',
    "twin.json": b'{"format": "dumbbell twin 1", "line": {"rtt_ns": 1e7, "up": {"rate_bps": "1"}}}',
    "model.json": json.dumps(
        {
            "format": "dumbbell twin 1",
            "line": {
                "rtt_ns": 10**7,
                "up": {"rate_bps": 10**6, "model": "constructor", "size": 1},
            },
        }
    ).encode(),
    "twin.toml": b'name = "twin"',
    "evil name'; rm -rf.toml": b'name = "twin"',
}


def test_what_is_no_measurement_is_refused_with_a_sentence(tmp_path: Path) -> None:
    files = [made(tmp_path, name, content) for name, content in HOSTILE.items()]
    for file, answer in zip(files, answers(*([file] for file in files)), strict=True):
        assert file.name in answer.get("unread", ""), (file.name, answer)


def test_sizes_are_bounded(tmp_path: Path) -> None:
    large = made(tmp_path, "large.txt", b" " * (1 + (16 << 20)))
    bomb = made(tmp_path, "bomb.flent.gz", gzip.compress(b" " * (1 + (64 << 20)), 1))
    many = [made(tmp_path, f"{number}.txt", ping(9)) for number in range(13)]
    found = [each["unread"] for each in answers([large], [bomb], many)]
    assert "more than 16 MiB" in found[0]
    assert "more than 64 MiB unpacked" in found[1]
    assert "at most 12" in found[2]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_a_dropped_file_is_an_experiment_with_sliders(opener: Opener, width: int) -> None:
    seen = opener(width=width)
    seen.page.evaluate("document.getElementById('own-line').open = true")
    seen.page.set_input_files("#line-files", [str(path) for path in PAIRS[3]])
    seen.until("laboratory.opened.id === 'own-line-up' && laboratory.lastDone !== null")
    assert "An estimate without the fit" in seen.page.inner_text("#question")
    assert seen.page.input_value("#preset") == "own-line-up"
    assert "479340b" in seen.toml()
    # The run is that of the file that the page gives.
    experiment = Experiment.from_toml(seen.toml())
    assert [flow.name for flow in experiment.flows] == ["upload-1"]
    seen.after(
        "const rate = document.querySelector('#link-fields input[type=range]');"
        "rate.value = String(Number(rate.value) + 5);"
        "rate.dispatchEvent(new Event('input', { bubbles: true }))"
    )
    assert Experiment.from_toml(seen.toml()).resolved_json() != experiment.resolved_json()
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    assert seen.is_quiet()


@pytest.mark.browser
@pytest.mark.slow
def test_a_drop_is_taken_and_a_hostile_one_is_told(opener: Opener) -> None:
    seen = opener()
    drop = """([name, text]) => {
      const carried = new DataTransfer();
      carried.items.add(new File([text], name));
      const drop = { dataTransfer: carried, bubbles: true, cancelable: true };
      const event = new DragEvent("drop", drop);
      document.body.dispatchEvent(event);
      return event.defaultPrevented;
    }"""
    assert seen.page.evaluate(drop, ["<img src=x onerror=alert(1)>.json", "{}"])
    seen.until("!document.getElementById('message').hidden")
    assert "<img src=x onerror=alert(1)>.json is not read" in seen.page.inner_text("#message")
    assert seen.page.evaluate("laboratory.opened.id") == "bufferbloat"
    assert seen.page.evaluate(drop, ["ping.txt", ping(30)])
    seen.until("laboratory.opened.id === 'own-line-up' && laboratory.lastDone !== null")
    assert "12.5 ms without queues" in seen.page.inner_text("#question")
    assert seen.is_quiet()
