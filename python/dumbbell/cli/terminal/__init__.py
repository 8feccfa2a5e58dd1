"""How the command line reaches its terminal: output, errors, progress, signals, input."""
