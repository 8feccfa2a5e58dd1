"""The keys of a flow's ``tcp`` (``spec/src/tcp.rs``), and what each profile says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from dumbbell import _engine
from dumbbell.spec.keys import Key, key_of

_GIVEN = json.loads(_engine.tcp_settings())
PROFILES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {each["profile"]: each for each in _GIVEN["profiles"]}
)
"""The settings of each profile where the description says nothing, as resolved."""
SETTINGS: Mapping[str, Key] = MappingProxyType({key["name"]: key_of(key) for key in _GIVEN["keys"]})
"""By their names, in the order of a file."""


def described(setting: Key) -> str:
    """What a key says, and what the profiles say where the description does not."""
    if setting.presence != "by-profile":
        return setting.meaning
    said = {name: _shown(setting, found[setting.resolved]) for name, found in PROFILES.items()}
    by_profile = ", ".join(f"{value} in `{profile}`" for profile, value in said.items())
    if len(set(said.values())) == 1:
        by_profile = said["rfc"]
    return f"{setting.meaning}; as the profile has it when left out: {by_profile}."


def _shown(setting: Key, resolved: Any) -> str:
    """A default in a sentence."""
    written = setting.written(resolved)
    return f"`{written}`" if isinstance(written, str) else json.dumps(written)
