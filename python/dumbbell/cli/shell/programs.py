"""Recognize command lines that do not end by themselves (servers), for which the shell does not
wait.
"""

from __future__ import annotations

import shlex

_STARTERS = {"sudo", "nohup", "exec", "command", "env", "time", "nice", "stdbuf", "strace"}
_VALUED = {
    "nice": ("-n",),
    "stdbuf": ("-i", "-o", "-e"),
    "strace": ("-e", "-o", "-P", "-s", "-u"),
    "sudo": ("-u", "-g"),
}
_ALWAYS = {"ITGRecv", "ITGLog", "netserver", "top", "htop", "watch", "iftop"}
_FLAGGED = {
    "iperf": ("-s", "--server"),
    "iperf3": ("-s", "--server"),
    "nc": ("-l",),
    "ncat": ("-l", "--listen"),
    "netcat": ("-l",),
    "tail": ("-f", "-F", "--follow"),
    "dmesg": ("-w", "--follow"),
}
_UNLESS = {
    "ping": ("-c", "-w"),
    "tcpdump": ("-c", "-r", "-D", "--version"),
    "tshark": ("-c", "-a", "-r", "-D", "--version", "-v"),
    "dumpcap": ("-c", "-a", "-D", "--version", "-v"),
}
_SUBCOMMANDS = {("irtt", "server"), ("tc", "monitor"), ("ip", "monitor")}


def serves(line: str) -> bool:
    """Whether a line's foreground command runs until it is ended, as ITGRecv does.

    It is recognized by name and options: servers (``iperf3 -s``), and endless programs (``ping``
    without ``-c``, ``tcpdump`` without ``-c``). In a pipeline the first program counts.
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return False  # the line is incomplete
    if not words or words[-1] == "&":
        return False
    # In a list of commands the last one counts.
    for separator in (";", "&&", "||"):
        while separator in words:
            words = words[words.index(separator) + 1 :]
    ends = [index for index, word in enumerate(words) if word == "|"]
    return _goes_on(_command(words[: ends[0]] if ends else words))


def _command(words: list[str]) -> list[str]:
    """A command without wrappers such as sudo."""
    while words:
        name = words[0].rpartition("/")[2]
        if "=" in name and not name.startswith("-"):
            words = words[1:]
        elif name in _STARTERS:
            words = words[1:]
            while words and words[0].startswith("-"):
                words = words[2:] if words[0] in _VALUED.get(name, ()) else words[1:]
        else:
            break
    return words


def _goes_on(words: list[str]) -> bool:
    if not words:
        return False
    name, options = words[0].rpartition("/")[2], words[1:]
    if name in _ALWAYS or (name, *options[:1]) in _SUBCOMMANDS:
        return True
    if name in _FLAGGED:
        return any(_is_option(word, flag) for word in options for flag in _FLAGGED[name])
    if name in _UNLESS:
        return not any(_is_option(word, flag) for word in options for flag in _UNLESS[name])
    return name.startswith("python") and options[:2] == ["-m", "http.server"]


def _is_option(word: str, flag: str) -> bool:
    """Whether a word sets an option: ``-s``, ``-sD``, ``-c10``, ``--server`` or
    ``--server=...``.
    """
    if flag.startswith("--"):
        return word == flag or word.startswith(f"{flag}=")
    if word.startswith("--") or not word.startswith("-"):
        return False
    return flag[1] in word[1:] if word[1:].isalpha() else word.startswith(flag)
