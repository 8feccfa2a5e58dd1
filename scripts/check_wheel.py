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
    """A virtual environment with the wheel installed.

    Attributes:
        folder: Working directory, used for nothing else.
        programs: Directory of its programs.
        environment: Environment variables for its programs.
    """

    folder: Path
    programs: Path
    environment: Mapping[str, str]

    def python(self, *words: str) -> str:
        """Return the output of its Python."""
        return run([str(self.programs / "python"), *words], self.folder, self.environment)

    def dumbbell(self, *words: str, status: int = 0) -> str:
        """Return the output of its dumbbell, including standard error if failure is expected."""
        command = [str(self.programs / "dumbbell"), *words]
        return run(command, self.folder, self.environment, status=status)


def fail(reason: str) -> None:
    """Print the reason and exit."""
    sys.exit(f"check_wheel: {reason}")


def clean_environment(programs: Path | None = None) -> dict[str, str]:
    """Return this process's environment without a checkout, another environment or a compiler."""
    leaks = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "DUMBBELL_GUEST", "CC", "CXX")
    kept = {name: value for name, value in os.environ.items() if name not in leaks}
    if programs is not None:
        kept["PATH"] = str(programs)
    return kept


def run(
    command: list[str], folder: Path, environment: Mapping[str, str], *, status: int = 0
) -> str:
    """Run a command and print its time; return its output, with standard error if it must fail."""
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
    """Return the first line of a word of a command line."""
    return word.strip().splitlines()[0] if word.strip() else word


def check_file(wheel: Path) -> None:
    """Check tags, size, and that compiled code runs on the systems in the tags."""
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
    """Check for one SBOM with hashes of packages and without local paths."""
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
    """Check for a manylinux tag, and that no binary needs a newer glibc than the tag states.

    maturin checks the native module only.
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
    """Return the optional extras of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode("utf-8"))
    return [extra for extra in metadata.get_all("Provides-Extra", []) if extra != "test"]


def installed(wheel: Path, folder: Path) -> Installed:
    """Install the wheel into a new environment; check that its extras can be installed."""
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    found = Installed(folder, programs, clean_environment(programs))
    install = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    found.python(*install, "--require-hashes", "-r", str(ROOT / "locks/runtime.txt"))
    # All its requirements are installed by now.
    found.python(*install, "--no-index", str(wheel))
    install += ["-c", str(ROOT / "constraints.txt")]
    for extra in extras(wheel):
        found.python(*install, "--dry-run", f"{wheel}[{extra}]")
    return found


def check_results(folder: Path) -> None:
    """Check that the study's page and claims exist, and that the claims were judged."""
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]
    reproduced = sum(claim["verdict"] == "reproduced" for claim in claims)
    if not (folder / "index.html").is_file() or not reproduced:
        fail(f"{folder}: {reproduced} claims reproduced")
    print(f"  {reproduced} of {len(claims)} claims reproduced")


def check_capture(user: Installed, result: Path) -> None:
    """Check that a greedy download used the full rate of its link."""
    (capture,) = result.rglob("*.pcapng")
    *_, after = json.loads(user.dumbbell("analyze", str(capture), "--json"))["places"]
    (flow,) = after["flows"]
    print(f"  {after['name']}: {flow['throughput_bps'] / 1e6:.3f} Mbit/s")
    if abs(flow["throughput_bps"] / CAPTURED_BPS - 1) > 0.01:
        fail(f"{CAPTURED_BPS / 1e6:g} Mbit/s were expected")


def check_whose(user: Installed, version: str) -> None:
    """Check that the wheel is used and reports its version."""
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
    """Check instructions without a kernel; run on the kernel if there is one."""
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
    """Return the wheel, or the newest one of a folder."""
    wheels = sorted(place.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    if place.suffix != ".whl" and not wheels:
        fail(f"{place}: no wheel")
    return place if place.suffix == ".whl" else wheels[-1]


def check(wheel: Path, folder: Path) -> None:
    """Perform the actions of a user."""
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
    # Not with the checkout's package: a script imports from its environment.
    print(f"  {user.python(str(ROOT / 'scripts/digests.py')).strip()}")
    check_kernel(user, folder / "nowhere")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheel = newest(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="dumbbell wheel ") as temporary:
        check(wheel, Path(temporary))
    print("check_wheel: it works")
