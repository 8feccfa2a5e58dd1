"""Writes the components compiled into a wheel, as CycloneDX 1.5: ``sbom.py FILE``.

The crates of the native module, of the kernel's guest and of the laboratory's module, with the
licence and source that each states and the SHA-256 that `Cargo.lock` has of it. Build scripts
and macros are named too, as they had a part in it. The wheel has it in `.dist-info/sboms`
(PEP 770).
Python packages are not in a wheel: its METADATA asks for them.

The same sources give the same bytes: no time, no random number, no path.
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ("dumbbell-bindings", "dumbbell-guest", "dumbbell-lab")
"""Crates with code in the wheel."""


def metadata(root: Path = ROOT) -> dict[str, Any]:
    """Return cargo's metadata of the workspace and its dependencies."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    found: dict[str, Any] = json.loads(subprocess.check_output(command, cwd=root))
    return found


def needed(graph: Mapping[str, Any], programs: Iterable[str] = PROGRAMS) -> list[str]:
    """Return ids of the packages that crates depend on, including themselves, sorted."""
    nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
    wanted = set(programs)
    left = [package["id"] for package in graph["packages"] if package["name"] in wanted]
    found: set[str] = set()
    while left:
        package = left.pop()
        if package not in found:
            found.add(package)
            left += [each["pkg"] for each in nodes[package]["deps"] if not _is_for_tests(each)]
    return sorted(found)


def _is_for_tests(dependency: Mapping[str, Any]) -> bool:
    return all(kind["kind"] == "dev" for kind in dependency["dep_kinds"])


def document(graph: Mapping[str, Any], lock: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the CycloneDX document.

    Args:
        graph: Result of `metadata`.
        lock: Contents of `Cargo.lock`.
        version: Version of the wheel.
    """
    hashes = {(each["name"], each["version"]): each.get("checksum") for each in lock["package"]}
    packages = {each["id"]: each for each in graph["packages"]}
    nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
    ids = needed(graph)
    wheel = f"pkg:pypi/dumbbell@{version}"
    components = [_component(packages[each], hashes) for each in ids]
    dependencies = [
        {
            "ref": _reference(packages[each]),
            "dependsOn": sorted(
                _reference(packages[other["pkg"]])
                for other in nodes[each]["deps"]
                if not _is_for_tests(other)
            ),
        }
        for each in ids
    ]
    tops = sorted(_reference(packages[each]) for each in ids if packages[each]["name"] in PROGRAMS)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": wheel,
                "name": "dumbbell",
                "version": version,
                "purl": wheel,
                "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": sorted(components, key=lambda each: str(each["bom-ref"])),
        "dependencies": [
            {"ref": wheel, "dependsOn": tops},
            *sorted(dependencies, key=lambda each: str(each["ref"])),
        ],
    }


def _reference(package: Mapping[str, Any]) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def _component(
    package: Mapping[str, Any], hashes: Mapping[tuple[str, str], str | None]
) -> dict[str, Any]:
    reference = _reference(package)
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference,
        "name": package["name"],
        "version": package["version"],
        "purl": reference,
        # Older crates write "or" as a slash, which is not an SPDX expression.
        "licenses": [{"expression": package["license"].replace("/", " OR ")}],
    }
    checksum = hashes[package["name"], package["version"]]
    if checksum is not None:
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found


def text(root: Path = ROOT) -> str:
    """Return the document of a checkout, as JSON."""
    lock = tomllib.loads((root / "Cargo.lock").read_text(encoding="utf-8"))
    cargo = tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))
    version = cargo["workspace"]["package"]["version"]
    return json.dumps(document(metadata(root), lock, version), indent=1) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(), encoding="utf-8")
