"""Timer frequencies: a description is run by a kernel that ticks as often as it says."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_samples import EXPONENTIAL, network, ping

from dumbbell.backends import simulate
from dumbbell.backends.kernel import launch
from dumbbell.backends.kernel.cache import KernelMissingError, find_kernel, how_to_build
from dumbbell.backends.kernel.recipe import HZ_CHOICES


def test_a_kernel_of_that_frequency_that_is_missing_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(KernelMissingError) as missing:
        simulate(network(probes=[ping()], timer_hz=250), backend="kernel")
    assert str(missing.value) == (
        "the virtual-time kernel (HZ=250) has not been built: "
        "run `dumbbell kernel build --hz 250` once"
    )


def kernel_with(hz: int) -> Path:
    """The kernel with `hz` ticks; one that was not built is skipped."""
    found = find_kernel(hz)
    if found is None:
        pytest.skip(how_to_build(hz))
    return found.path


@pytest.mark.kernel
@pytest.mark.parametrize("hz", HZ_CHOICES)
def test_pie_updates_at_whole_ticks(tmp_path: Path, hz: int) -> None:
    """`tc` shows the period in ticks: msecs_to_jiffies rounds up (kernel/time/time.c)."""
    kernel = kernel_with(hz)
    init = tmp_path / "init"
    lines = "".join(
        f"tc qdisc replace dev lo root handle 1: pie tupdate {ms}ms; tc qdisc show dev lo\n"
        for ms in (1, 15)
    )
    path = "export PATH=/usr/sbin:/usr/bin:/sbin:/bin"
    init.write_text(f"#!/bin/sh\n{path}\nip link set lo up\n{lines}", encoding="utf-8")
    init.chmod(0o755)
    folder = tmp_path / "run"
    folder.mkdir()
    ended = launch(kernel, init, run_dir=folder, seed=1, wall_limit_s=60)
    assert ended.ok, ended.why()
    words = ended.console_tail.split()
    shown = [words[i + 1] for i, word in enumerate(words) if word == "tupdate"]
    tick_ms = 1000 // hz
    assert shown == [f"{-(-ms // tick_ms) * tick_ms}ms" for ms in (1, 15)]


@pytest.mark.kernel
@pytest.mark.parametrize("hz", HZ_CHOICES)
def test_a_run_has_the_kernel_it_asks_for(kernel: Path, hz: int) -> None:
    kernel_with(hz)
    link = {"rate": "1mbit", "qdisc": "pfifo limit 20"}
    run = simulate(network(source=EXPONENTIAL, link=link, timer_hz=hz), backend="kernel")
    assert run.meta["versions"]["kernel_hz"] == hz
    # What follows high-resolution timers alone does not depend on ticks.
    usual = simulate(network(source=EXPONENTIAL, link=link), backend="kernel")
    for column in ("created_pkts", "created_bytes"):
        assert run.column("flows", column)[0] == usual.column("flows", column)[0]
    assert run.column("flows", "dropped_pkts")[0] == pytest.approx(
        usual.column("flows", "dropped_pkts")[0], rel=0.1
    )
