"""Advice for a line: candidate router settings, run on its twin over the twin's uncertainty."""
