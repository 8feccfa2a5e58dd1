"""Terminal input and output: text, errors, progress, signals."""
