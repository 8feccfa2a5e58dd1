"""Small networks for the kernel."""

from __future__ import annotations

from typing import Any

from dumbbell.spec import Experiment

EXPONENTIAL = {"kind": "poisson", "rate": "200pps", "size": "exponential 512B"}


def network(
    *,
    source: dict[str, Any] | None = None,
    link: dict[str, Any] | None = None,
    hops: list[dict[str, Any]] | None = None,
    **other: Any,
) -> Experiment:
    """Sender, router and receiver; the second link's way forward as asked, or both links."""
    names = ["sender", "router", "receiver"]
    links = hops or [{}, {"forward": link or {}}]
    flow = {"name": "stream", "from": "sender", "to": "receiver", "source": source}
    return Experiment.model_validate(
        {
            "duration": "20s",
            "links": [
                {"a": a, "b": b, **each}
                for a, b, each in zip(names, names[1:], links, strict=False)
            ],
            "flows": [flow] if source else [],
            **other,
        }
    )


def ping(**changes: Any) -> dict[str, Any]:
    return {"name": "ping", "from": "sender", "to": "receiver", "interval": "200ms", **changes}
