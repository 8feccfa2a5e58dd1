"""Digests of stored rows: SHA-256 over everything that is read of a row, its key included.

A disk, a cable or a program may change a bit, which SQLite does not notice because its pages have
no checksums. Digests do not detect missing rows; for these
`dumbbell.store.database.check_structure` compares the second copy of every key in an index.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from dumbbell.store.content import Digest


def text_bytes(text: str) -> bytes:
    """Encode as UTF-8; invalid bytes of a damaged file are restored (see `as_text`)."""
    return text.encode("utf-8", "surrogateescape")


def as_text(raw: bytes) -> str:
    """Decode a column as text, also if damaged: its digest then differs."""
    return raw.decode("utf-8", "surrogateescape")


def text_digest(text: str) -> Digest:
    """Digest of a text that many rows share, so that it is hashed once."""
    return hashlib.sha256(text_bytes(text)).digest()


def run_digest(
    key: Digest,
    described: tuple[str, int, int],
    texts: tuple[Digest, Digest],
    numbers: bytes,
) -> Digest:
    """Digest of a row of ``runs``.

    Args:
        key: Key of the run.
        described: Its backend, its replication as stored by SQLite, and its finishing time.
        texts: Digests of its version and of its layout, instead of their ids in this file.
        numbers: Little-endian doubles.
    """
    backend, replication, finished = described
    words = (text_bytes(backend), str(replication).encode(), str(finished).encode())
    return _digest(b"run", key, *words, *texts, numbers)


def asked_digest(key: Digest, experiment: str, settings: str, is_ensemble: int) -> Digest:
    """Digest of a row of ``asked`` with its cell."""
    words = (text_bytes(experiment), text_bytes(settings), str(is_ensemble).encode())
    return _digest(b"asked", key, *words)


def kept_tables_digest(key: Digest, segment: str, described: str) -> Digest:
    """Digest of a row of ``kept_tables``; its description has the digests of the segment's
    files."""
    return _digest(b"kept tables", key, text_bytes(segment), text_bytes(described))


def file_sha256(file: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        OSError: The file cannot be read.
    """
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(*parts: bytes) -> Digest:
    # With their lengths, so that the boundaries between parts matter.
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
