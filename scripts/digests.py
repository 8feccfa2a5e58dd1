"""Digests of a fixed set of runs, recorded by version, to detect changes of results.

``digests.py``          says which differ from those in tests/golden/digests.json; exit status 1
``digests.py --write``  keeps them under today's version; refused where that version had others
``digests.py --tag v1`` says whether a tag is today's version and CHANGELOG.md has it

The set (`digest_runs`) has every example and a run for each discipline, controller and source, and
for what they can be set to. The same bytes are expected on every machine. Version (Cargo.toml) and
CHANGELOG.md move with them: `faults` says where they did not.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = "tests/golden/digests.json"
CHANGELOG = "CHANGELOG.md"
FINGERPRINT_DIGITS = 16

Digests = Mapping[str, str]
"""SHA-256 of a run's tables, by the name of the run."""
ByVersion = Mapping[str, Digests]
"""Digests by version, the oldest first."""


def measured() -> dict[str, str]:
    """Return the digests of the set, by the package that this Python imports."""
    from digest_runs import descriptions

    import dumbbell

    runs = {name: dumbbell.Experiment.from_toml(text) for name, text in descriptions().items()}
    found = dumbbell.run_many([(experiment, 0) for experiment in runs.values()])
    by_index = {index: run.meta["digest"] for index, run in found}
    return {name: by_index[index] for index, name in enumerate(runs)}


def kept() -> dict[str, dict[str, str]]:
    """Return the stored digests of all versions."""
    text = (ROOT / KEPT).read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def kept_before() -> list[ByVersion]:
    """Return the contents of the file at every commit; empty outside of a clone."""
    git = ["git", "-C", str(ROOT)]
    try:
        log = subprocess.run(
            [*git, "log", "--format=%H", "--", KEPT], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return []
    found = []
    for commit in log.stdout.split():
        shown = subprocess.run(
            [*git, "show", f"{commit}:{KEPT}"], capture_output=True, text=True, check=False
        )
        if shown.returncode == 0:
            found.append(json.loads(shown.stdout))
    return found


def today() -> str:
    """Return the version of the sources."""
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return str(cargo["workspace"]["package"]["version"])


def changed(before: Digests, now: Digests) -> list[str]:
    """Return the runs of both whose digests differ."""
    return [name for name, digest in now.items() if before.get(name, digest) != digest]


def fingerprint(digests: Digests) -> str:
    """Return the fingerprint of a version's digests in the changelog."""
    text = json.dumps(dict(digests), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:FINGERPRINT_DIGITS]


def sections(changelog: str) -> dict[str, str]:
    """Return the text of each version's section in a changelog."""
    parts = re.split(r"^## (\d\S*).*$", changelog, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def faults(
    version: str,
    by_version: ByVersion,
    now: Digests,
    changelog: str,
    before: Iterable[ByVersion] = (),
) -> list[str]:
    """Return inconsistencies between digests, version and changelog, and their remedies.

    Args:
        version: Version of the sources.
        by_version: Stored digests.
        now: Digests of these sources.
        changelog: Text of CHANGELOG.md.
        before: Stored digests at earlier commits.
    """
    found = []
    told = sections(changelog)
    *_, last = by_version
    moved = changed(by_version[last], now)
    if moved and last == version:
        found.append(
            f"{len(moved)} digests are not those of version {version} ({', '.join(moved[:5])}): "
            f"raise the version in Cargo.toml, say in {CHANGELOG} what changed and why, then run "
            "`python scripts/digests.py --write`"
        )
    elif moved or now.keys() != by_version[last].keys():
        found.append(f"{KEPT} is out of date: run `python scripts/digests.py --write`")
    if version not in told:
        found.append(f"{CHANGELOG} has no section `## {version}`")
    for each, digests in by_version.items():
        line = f"Digests: {fingerprint(digests)}"
        if line not in told.get(each, ""):
            found.append(f"{CHANGELOG}, version {each}: no line `{line}`")
    for earlier in before:
        for each in by_version.keys() & earlier.keys():
            if changed(earlier[each], by_version[each]):
                found.append(f"the digests of version {each} were others once: raise the version")
    return list(dict.fromkeys(found))


def write(version: str, by_version: ByVersion, now: Digests) -> dict[str, dict[str, str]]:
    """Return the digests to store.

    Raises:
        ValueError: This version had other digests.
    """
    if moved := changed(by_version.get(version, {}), now):
        raise ValueError(
            f"version {version} had other digests of {', '.join(moved)}: "
            "raise the version in Cargo.toml"
        )
    return {each: dict(digests) for each, digests in by_version.items()} | {version: dict(now)}


def tag_fault(tag: str, version: str, changelog: str) -> str | None:
    """Return what is wrong with a tag of these sources; None if nothing is."""
    if tag != f"v{version}":
        return f"the tag is {tag}, and these sources are of version {version} (Cargo.toml)"
    if version not in sections(changelog):
        return f"{CHANGELOG} has no section `## {version}`"
    return None


def main(words: list[str]) -> int:
    """Return the exit status."""
    if words[:1] == ["--tag"]:
        changelog = (ROOT / CHANGELOG).read_text(encoding="utf-8")
        fault = tag_fault(words[1], today(), changelog)
        if fault:
            print(fault, file=sys.stderr)
        return 1 if fault else 0
    now = measured()
    if words == ["--write"]:
        before = kept() if (ROOT / KEPT).is_file() else {}
        try:
            content = write(today(), before, now)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 1
        (ROOT / KEPT).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(f"for {CHANGELOG}, version {today()}: Digests: {fingerprint(now)}")
        return 0
    last, digests = list(kept().items())[-1]
    moved = changed(digests, now)
    for name in moved:
        print(f"{name}: {now[name]}, version {last} had {digests[name]}", file=sys.stderr)
    print(f"{len(now) - len(moved)} of {len(now)} digests are those of version {last}")
    return 1 if moved else 0


if __name__ == "__main__":
    match sys.argv[1:]:
        case [] | ["--write"] | ["--tag", _]:
            sys.exit(main(sys.argv[1:]))
        case _:
            sys.exit(__doc__)
