"""Sections of RFC 9743 that a dossier does not cover, and why."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NOT_COVERED: Mapping[str, str] = MappingProxyType(
    {
        "5.2.3 Short and Long Flows": "apart from what 5.1.5 says of CUBIC's short flows.",
        "5.3.1 Differences with Congestion Control Principles": "it asks for an explanation, which "
        "no run gives.",
        "5.3.2 Incremental Deployment": "routers, proxies and middleboxes of today are not "
        "modelled.",
        "6.2 Tunnel Behavior": "no tunnel is modelled.",
        "7.2 Operation with the Envelope Set by Network Circuit Breakers": "no circuit breaker is "
        "modelled; 5.1.1 has what comes nearest.",
        "7.6 Misbehaving Nodes": "all nodes behave.",
        "7.10 Multipath Transport": "a flow has one path.",
        "7.11 Data Centers": "rates and round trips of data centers are not run.",
        "8 Security Considerations": "no run speaks to it.",
    }
)
"""Reason for each section's number and title."""
