from __future__ import annotations

import os
import platform
import resource

import pytest

from dumbbell.backends.kernel import (
    HostRefusesError,
    KernelMissingError,
    host_checks,
    require_kernel,
)
from dumbbell.backends.kernel.host_checks import Check, require_host
from dumbbell.backends.kernel.host_checks import host_checks as ask


def only(name: str, memory_mb: int = 256) -> Check:
    (found,) = [check for check in ask(memory_mb) if check.name == name]
    return found


def test_everything_is_asked() -> None:
    names = [check.name for check in ask()]
    assert names == ["machine", "fixed addresses", "ptrace", "memory file", "memory", "limits"]


def test_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    (machine,) = ask()  # the other questions could not even be asked on another system
    assert (machine.name, machine.ok) == ("machine", False)
    assert machine.detail == "Linux aarch64, but Linux x86_64 is needed"
    with pytest.raises(KernelMissingError, match=r"program for Linux x86_64.*--backend sim"):
        require_kernel()


def test_ptrace_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_checks, "_TRACE", "import sys; sys.exit('Operation not permitted')")
    check = only("ptrace")
    assert not check.ok
    assert "refused (Operation not permitted); in a container" in check.detail
    monkeypatch.setattr(host_checks, "_first_line", lambda path: "3")
    assert "kernel.yama.ptrace_scope=1" in only("ptrace").detail


def test_no_place_for_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "memfd_create", refuse)
    assert only("memory file", 1).ok
    check = only("memory file", 10**9)
    assert not check.ok
    assert "TMPDIR" in check.detail


def test_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_checks, "available_memory_bytes", lambda: 100 * 2**20)
    assert not only("memory", 101).ok
    assert only("memory", 100).ok
    monkeypatch.setattr(host_checks, "available_memory_bytes", lambda: None)
    assert only("memory").ok


def test_limits_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_AS: 2**20, resource.RLIMIT_FSIZE: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda number: (limits[number], -1))
    assert only("limits").detail == "ulimit -v is 1 MB; at least 1024 MB needed"


def test_all_that_is_wrong_is_named() -> None:
    require_host([Check("a", True, "fine")])
    with pytest.raises(HostRefusesError, match="b: bad; c: worse"):
        require_host([Check("a", True, ""), Check("b", False, "bad"), Check("c", False, "worse")])
