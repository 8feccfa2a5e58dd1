"""Functions of `dumbbell._engine` about links; there is no such module when it runs."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

def read_trace(pieces: Iterable[bytes]) -> str:
    """A trace of Mahimahi, or a CSV file of rates, delays and losses, from the pieces of its file.

    Returns:
        The trace in JSON, as the resolved description has it.

    Raises:
        SpecInvalid: It is none; ``path`` says the line.
    """

def trace_bits(
    end_json: str, run: tuple[int, int, str, int], edges_ns: Iterable[int]
) -> NDArray[np.float64]:
    """Bits that a direction of a link with a trace can send between each edge and the next.

    Args:
        end_json: The direction, as the resolved description has it.
        run: Seed, replication, name of the queue, and when the run ends, ns.
        edges_ns: Not decreasing.

    Returns:
        One fewer than edges; infinite where nothing holds packets back. Empty without a trace.
    """

def trace_steps(
    end_json: str, run: tuple[int, int, str, int], most: int
) -> list[tuple[int, int | None, int | None, float | None]] | None:
    """The first steps of a direction of a link with a trace.

    Args:
        end_json: The direction, as the resolved description has it.
        run: Seed, replication, name of the queue, and when the run ends, ns.
        most: So many at most.

    Returns:
        (instant in ns, new rate in bit/s, new delay in ns, new loss); None where it has
        opportunities, or no trace.
    """

def explain(resolved_json: str) -> str:
    """How packets will go through each direction of each link, and why.

    Args:
        resolved_json: What is to be run in the simulator.

    Returns:
        JSON: a list of a queue each, in their order. ``role`` is ``pass_through``, ``folded``,
        ``pipe``, ``shaped`` or ``queued``; ``reason`` a name of the condition that decided, and
        ``because`` says it in words. ``chained_to``, ``deferred_from`` and ``leads_into`` are the
        names of other queues or null, ``merged_from`` is a list of them.

    Raises:
        SpecInvalid: It cannot be run.
    """
