"""Checks a wheel without a checkout, on Linux, macOS or Windows.

``check_wheel.py WHEEL`` (or a folder, of which the newest is taken): looks at its tags, its size
and what of the system its programs ask for; installs it into an environment of its own, in a folder
with a space in its name, with what the lock file has; and there, with no compiler on PATH, does
what a user does: asks for the version, runs an example, analyzes the capture of a run, reproduces a
study, asks for the kernel and, where the one in virtual time is built, runs on it with the guest
that the wheel brings. The digests of ``digests.py`` must be those that are kept. Exit status
1 with the first thing that is not right.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STUDY = "traffic-policing"
EXAMPLE = "two-queues.toml"
MOST_BYTES = 12_000_000
GUEST = "dumbbell/backends/kernel/dumbbell-guest"
LABORATORY = "dumbbell/lab/engine.wasm"
SBOM = ".dist-info/sboms/"
SBOM_NEEDS = ("dumbbell-bindings", "dumbbell-guest", "dumbbell-lab", "pyo3", "rustix", "serde")
LINUX = re.compile(r"manylinux_2_(\d+)_(x86_64|aarch64)")
NEEDED_GLIBC = re.compile(rb"GLIBC_2\.(\d+)")
ELF = b"\x7fELF"
HAS_KERNEL = (platform.system(), platform.machine()) == ("Linux", "x86_64")
WHERE = """
import dumbbell, dumbbell._engine
print(dumbbell.__file__, dumbbell._engine.__file__, sep="\\n")
"""
WHERE_GUEST = "from dumbbell.backends.kernel.guest import guest_program; print(guest_program())"
OWN = "captured.toml"
CAPTURED = """
duration = "5s"
links = [{ a = "a", b = "b", delay = "5ms", forward = { rate = "2mbit", capture = true } }]
[[flows]]
name = "download"
from = "a"
to = "b"
source = { kind = "greedy" }
"""

CAPTURED_BPS = 2e6


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it.

    Attributes:
        folder: Where things are done; of nothing else.
        programs: Folder of its programs.
        environment: Variables to run them with.
    """

    folder: Path
    programs: Path
    environment: Mapping[str, str]

    def python(self, *words: str) -> str:
        """Output of its Python."""
        return run([str(self.programs / "python"), *words], self.folder, self.environment)

    def dumbbell(self, *words: str, status: int = 0) -> str:
        """Output of its dumbbell, with what it said on standard error when it is to fail."""
        command = [str(self.programs / "dumbbell"), *words]
        return run(command, self.folder, self.environment, status=status)


def fail(reason: str) -> None:
    """Say why, and end."""
    sys.exit(f"check_wheel: {reason}")


def clean_environment(programs: Path | None = None) -> dict[str, str]:
    """This process's, without what would bring in a checkout, another environment or a compiler."""
    leaks = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "DUMBBELL_GUEST", "CC", "CXX")
    kept = {name: value for name, value in os.environ.items() if name not in leaks}
    if programs is not None:
        kept["PATH"] = str(programs)
    return kept


def run(
    command: list[str], folder: Path, environment: Mapping[str, str], *, status: int = 0
) -> str:
    """Output of a command, timed; of one that is to fail, also its standard error."""
    print("+", Path(command[0]).name, *(shortened(word) for word in command[1:]), flush=True)
    begun = time.monotonic()
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if status else None,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    print(f"  {time.monotonic() - begun:.1f} s", flush=True)
    if done.returncode != status:
        fail(f"exit status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def shortened(word: str) -> str:
    """A word of a command line, its first line only."""
    return word.strip().splitlines()[0] if word.strip() else word


def check_file(wheel: Path) -> None:
    """Tags, size, and that what is compiled in it runs where its tags say."""
    size_bytes = wheel.stat().st_size
    if size_bytes > MOST_BYTES:
        fail(f"it has {size_bytes / 1e6:.1f} MB")
    *_, python, abi, systems = wheel.stem.split("-")
    if (python, abi) != ("cp311", "abi3"):
        fail(f"it is for {python}-{abi}, not for every Python from 3.11 on")
    print(f"{wheel.name}: {size_bytes / 1e6:.1f} MB")
    with zipfile.ZipFile(wheel) as archive:
        if HAS_KERNEL and GUEST not in archive.namelist():
            fail("the guest is not in it")
        if LABORATORY not in archive.namelist():
            fail("the laboratory's module is not in it")
        check_sbom({name: archive.read(name) for name in archive.namelist() if SBOM in name})
        if platform.system() == "Linux":
            programs = {name: archive.read(name) for name in archive.namelist()}
            check_glibc(systems, programs)


def check_sbom(files: Mapping[str, bytes]) -> None:
    """One list of what is compiled in, with hashes of packages, that names no folder of ours."""
    if len(files) != 1:
        fail(f"it has {len(files)} lists of what is compiled in, not one: {', '.join(files)}")
    ((name, content),) = files.items()
    document = json.loads(content)
    if not name.endswith(".cdx.json") or document.get("bomFormat") != "CycloneDX":
        fail(f"{name} is no CycloneDX document")
    packages = {each["name"]: each for each in document["components"]}
    for needed in SBOM_NEEDS:
        if needed not in packages:
            fail(f"{name} does not name {needed}")
    for package in packages.values():
        if not package["name"].startswith("dumbbell") and not package.get("hashes"):
            fail(f"{name} has no hash of {package['name']}")
    if str(ROOT).encode() in content or b"file://" in content:
        fail(f"{name} names a folder of the machine that it was built on")
    print(f"  {name}: {len(packages)} packages")


def check_glibc(systems: str, files: Mapping[str, bytes]) -> None:
    """A manylinux tag, and no program or library that asks for a newer glibc than it says.

    maturin sees to that for the native module alone.
    """
    found = LINUX.search(systems)
    if found is None:
        fail(f"{systems} is no manylinux tag: it is for no other machine")
        return
    for name, content in files.items():
        if content.startswith(ELF):
            newest = max((int(minor) for minor in NEEDED_GLIBC.findall(content)), default=0)
            print(f"  {name}: {len(content) / 1e6:.1f} MB, glibc 2.{newest}")
            if newest > int(found[1]):
                fail(f"{name} needs glibc 2.{newest}, and the tag says {found[0]}")


def extras(wheel: Path) -> list[str]:
    """The optional parts that a user may ask for."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode("utf-8"))
    return [extra for extra in metadata.get_all("Provides-Extra", []) if extra != "test"]


def installed(wheel: Path, folder: Path) -> Installed:
    """Install the wheel into a new environment; see whether its extras could be."""
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    found = Installed(folder, programs, clean_environment(programs))
    install = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    found.python(*install, "--require-hashes", "-r", str(ROOT / "locks/runtime.txt"))
    # Whatever it needs is there by now.
    found.python(*install, "--no-index", str(wheel))
    install += ["-c", str(ROOT / "constraints.txt")]
    for extra in extras(wheel):
        found.python(*install, "--dry-run", f"{wheel}[{extra}]")
    return found


def check_results(folder: Path) -> None:
    """The study's page and claims are there, and what was claimed was judged."""
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]
    reproduced = sum(claim["verdict"] == "reproduced" for claim in claims)
    if not (folder / "index.html").is_file() or not reproduced:
        fail(f"{folder}: {reproduced} claims reproduced")
    print(f"  {reproduced} of {len(claims)} claims reproduced")


def check_capture(user: Installed, result: Path) -> None:
    """A greedy download took the rate of its link."""
    (capture,) = result.rglob("*.pcapng")
    *_, after = json.loads(user.dumbbell("analyze", str(capture), "--json"))["places"]
    (flow,) = after["flows"]
    print(f"  {after['name']}: {flow['throughput_bps'] / 1e6:.3f} Mbit/s")
    if abs(flow["throughput_bps"] / CAPTURED_BPS - 1) > 0.01:
        fail(f"{CAPTURED_BPS / 1e6:g} Mbit/s were expected")


def check_whose(user: Installed, version: str) -> None:
    """It is the wheel that is used, and says so."""
    paths = user.python("-c", WHERE).splitlines()
    if HAS_KERNEL:
        paths += user.python("-c", WHERE_GUEST).splitlines()
    for path in paths:
        if not Path(path).resolve().is_relative_to(user.folder.resolve()):
            fail(f"{path} is not the wheel's")
    said = user.dumbbell("--version")
    print(f"  {said.strip()}")
    if version not in said:
        fail(f"it says {said!r}")


def check_kernel(user: Installed, nowhere: Path) -> None:
    """Without a kernel it says what to do; with one it runs there."""
    lone = Installed(
        user.folder, user.programs, {**user.environment, "XDG_CACHE_HOME": str(nowhere)}
    )
    said = lone.dumbbell("kernel", "info", status=2)
    print(f"  {said.strip()}")
    if ("run `dumbbell kernel build` once" if HAS_KERNEL else "--backend sim") not in said:
        fail("it does not say what to do")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if not HAS_KERNEL or not any((cache / "dumbbell/kernel").glob("*/info.json")):
        print("SKIPPED: the kernel in virtual time is not built. make kernel")
        return
    user.dumbbell("kernel", "info")
    user.dumbbell("run", OWN, "--backend", "kernel", "--out", "on-kernel")
    check_capture(user, user.folder / "on-kernel")


def newest(place: Path) -> Path:
    """The wheel itself, or the newest of a folder."""
    wheels = sorted(place.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    if place.suffix != ".whl" and not wheels:
        fail(f"{place}: no wheel")
    return place if place.suffix == ".whl" else wheels[-1]


def check(wheel: Path, folder: Path) -> None:
    """Do what a user does."""
    check_file(wheel)
    user = installed(wheel, folder)
    check_whose(user, wheel.name.split("-")[1])

    shutil.copy(ROOT / "examples" / EXAMPLE, folder)
    user.dumbbell("run", EXAMPLE, "--out", "simulated")
    (folder / OWN).write_text(CAPTURED, encoding="utf-8")
    user.dumbbell("run", OWN, "--out", "captured")
    check_capture(user, folder / "captured")
    user.dumbbell("lab", EXAMPLE, "--no-open", "--output", "laboratory.html")
    user.dumbbell("reproduce", STUDY, "--quick", "--out", "study")
    check_results(folder / "study")
    # Not by the checkout's package: a script finds what its environment has.
    print(f"  {user.python(str(ROOT / 'scripts/digests.py')).strip()}")
    check_kernel(user, folder / "nowhere")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheel = newest(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="dumbbell wheel ") as temporary:
        check(wheel, Path(temporary))
    print("check_wheel: it works")
