"""What a person is told besides the results: on standard error, so that results can be piped."""

from __future__ import annotations

import sys


def tell(sentence: str) -> None:
    """Print a sentence."""
    print(sentence, file=sys.stderr, flush=True)
