"""Each guest has a processor of its own while there are enough."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from dumbbell.backends.kernel.processor import children_on, reserved_processor

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system does not hold processes to processors"
)

ALLOWED = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@pytest.fixture(autouse=True)
def names_of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests of tests that run beside this one have marks of their own."""
    monkeypatch.setattr(
        "dumbbell.backends.kernel.processor.MARK", f"dumbbell-test-{os.getpid()}-processor"
    )


def test_guests_side_by_side_have_different_processors() -> None:
    with ExitStack() as stack:
        got = [stack.enter_context(reserved_processor()) for _ in ALLOWED]
        assert sorted(x for x in got if x is not None) == ALLOWED
        # One more shares, rather than wait.
        assert stack.enter_context(reserved_processor()) in ALLOWED


def test_a_processor_is_free_again_afterwards() -> None:
    with reserved_processor() as first:
        pass
    with reserved_processor() as second:
        assert second == first


def affinity_of_a_child() -> set[int]:
    code = "import os; print(*os.sched_getaffinity(0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {int(word) for word in done.stdout.split()}


def test_only_children_are_held() -> None:
    with children_on(ALLOWED[-1]):
        assert affinity_of_a_child() == {ALLOWED[-1]}
    assert sorted(os.sched_getaffinity(0)) == ALLOWED
    assert sorted(affinity_of_a_child()) == ALLOWED


def test_a_processor_that_is_not_there_holds_nobody() -> None:
    with children_on(1023 if 1023 not in ALLOWED else 1022):
        assert sorted(affinity_of_a_child()) == ALLOWED
    with children_on(None):
        assert sorted(affinity_of_a_child()) == ALLOWED
