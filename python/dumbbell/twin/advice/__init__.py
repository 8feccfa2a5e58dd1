"""Advice for a line: candidates of a router's settings, run on its twin over what is not known."""
