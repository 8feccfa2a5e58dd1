"""Digests of what a store keeps: SHA-256 over everything that is read of a row, its key included.

A disk, a cable or a program may change a bit that SQLite, whose pages have no checksums, reads as
another number. Of rows that are missing a digest says nothing; for these there is the second copy
of every key in an index, which `dumbbell.store.database.check_structure` compares.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from dumbbell.store.content import Digest


def text_bytes(text: str) -> bytes:
    """UTF-8; bytes that are none, which only a damaged file has, as they were (see `as_text`)."""
    return text.encode("utf-8", "surrogateescape")


def as_text(raw: bytes) -> str:
    """A column as text, whatever is in it: a damaged one has another digest, and is no error."""
    return raw.decode("utf-8", "surrogateescape")


def text_digest(text: str) -> Digest:
    """Of a text that many rows have in common: hashed once."""
    return hashlib.sha256(text_bytes(text)).digest()


def run_digest(
    key: Digest,
    described: tuple[str, int, int],
    texts: tuple[Digest, Digest],
    numbers: bytes,
) -> Digest:
    """Of a row of ``runs``.

    Args:
        key: Of the run.
        described: Its backend, its replication as SQLite keeps it, and when it was finished.
        texts: Digests of its version and of its layout, not their numbers in this file.
        numbers: Little-endian doubles.
    """
    backend, replication, finished = described
    words = (text_bytes(backend), str(replication).encode(), str(finished).encode())
    return _digest(b"run", key, *words, *texts, numbers)


def asked_digest(key: Digest, experiment: str, settings: str, is_ensemble: int) -> Digest:
    """Of a row of ``asked`` with the cell that it names."""
    words = (text_bytes(experiment), text_bytes(settings), str(is_ensemble).encode())
    return _digest(b"asked", key, *words)


def kept_tables_digest(key: Digest, segment: str, described: str) -> Digest:
    """Of a row of ``kept_tables``; its description has the digests of the segment's files."""
    return _digest(b"kept tables", key, text_bytes(segment), text_bytes(described))


def file_sha256(file: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal.

    Raises:
        OSError: It cannot be read.
    """
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(*parts: bytes) -> Digest:
    # With their lengths: where one ends and the next begins matters.
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
