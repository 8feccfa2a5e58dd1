"""Fuzzes a reader that is written in Python: ``fuzz_readers.py NAME SECONDS``.

By coverage, with Atheris (`python3 -m pip install atheris`): inputs that reach new branches of the
readers are kept in fuzz/found/NAME, one that ends the search in fuzz/found/NAME-crash-... What must
hold stands in `reader_targets.py`. Exit status 1 with what was found, 2 without Atheris.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(name: str, seconds: str) -> None:
    """Search for the given time."""
    try:
        import atheris
    except ImportError:
        print("atheris is not installed: python3 -m pip install atheris", file=sys.stderr)
        sys.exit(2)
    with atheris.instrument_imports(include=["dumbbell"]):
        import reader_targets

    target = reader_targets.TARGETS.get(name)
    if target is None:
        sys.exit(f"{name!r}: {', '.join(reader_targets.TARGETS)}")
    found = ROOT / "fuzz/found"
    (found / name).mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={int(seconds)}", "-timeout=20", "-rss_limit_mb=2048"]
    kept = [f"-artifact_prefix={found / name}-", str(found / name), str(target.folder)]
    atheris.Setup([sys.argv[0], *limits, "-max_len=16384", *kept], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
