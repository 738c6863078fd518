"""A mistake on the command line as one line: what is wrong, and what was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

# Options of other benchmarks, and those of `downbeat run` that do the same.
ELSEWHERE = {
    "-i": ("OSU", "-r"),
    "-x": ("OSU", "'-- --warmup N'"),
    "-c": ("OSU", "'-- --validate'"),
    "-iter": ("IMB", "-r"),
    "-msglen": ("IMB", "-m"),
    "-msglog": ("IMB", "-m, e.g. 8:64K,"),
    "-npmin": ("IMB", "-n, a list,"),
    "-np": ("mpirun", "-n"),
    "--np": ("mpirun", "-n"),
}
NAMED = {"latency": "ping_pong"}  # OSU's osu_latency
PREFIX = re.compile(r"(osu_|mpi_|imb[-_])")
LIST = "; choose one of "
SIZE = r"(\d+) ?([kmg]?)(?:i?b)?"


def from_elsewhere(words: Sequence[str]) -> str:
    """Returns what is wrong with the words of a command if one is an option of another program, else ""."""
    for word in words:
        if word in ELSEWHERE:
            program, own = ELSEWHERE[word]
            return f"{program}'s {word} is {own} here"
    return ""


def nearest(word: str, valid: Iterable[str]) -> str:
    """Returns the valid word that was probably meant, "" if none is near."""
    plain = PREFIX.sub("", word.lower()).strip("-").replace("-", "_")
    forms = {one.lower().strip("-").replace("-", "_"): one for one in valid if one != word}
    plain = NAMED[plain] if NAMED.get(plain) in forms else plain
    begun = [form for form in forms if len(plain) > 1 and form.startswith(plain)]
    found = begun or difflib.get_close_matches(plain, forms, 1)
    return forms[found[0]] if found else ""


def with_suggestion(line: str) -> str:
    """Returns an error with the word that was probably meant in place of a list of all that are valid."""
    line = line.removeprefix("downbeat-bench: ")
    wrong, _, valid = line.replace("; the options are ", LIST).partition(LIST)
    meant = ""
    if found := re.search(rf"'{SIZE}(?:-{SIZE})?' is not a message size", line, re.IGNORECASE):
        wrong = line.partition(";")[0]
        meant = found[1] + found[2].upper() + (f":{found[3]}{found[4].upper()}" if found[3] else "")
        meant = "" if f"'{meant}'" in line else meant
    elif found := re.fullmatch("there is no experiment '(.*)'", line):
        path = Path(found[1])
        meant = nearest(path.name, (one.name for one in path.parent.glob("*/")))
        return f"{line}; did you mean '{path.with_name(meant)}'?" if meant else f"{line}; 'downbeat run' makes one"
    elif found := re.search(r".*'([^']+)'|(?:no cell has \w+=|not expected: )(\S+)$", wrong):
        if "unknown operation" in wrong and re.fullmatch(rf"{SIZE}([:,].*)?", found[1], re.IGNORECASE):
            return f"{wrong}; message sizes are an option: -m {found[1]}"
        names = re.findall(r"[\w.+-]+", valid)
        if "unknown operation" in wrong:  # the list says in words what forms there are
            names += [form for one in names for form in (f"i{one}", f"{one}_init")]
        meant = nearest(found[1] or found[2], names)
    return f"{wrong}; did you mean '{meant}'?" if meant else line


def usage_line(message: str, command: str, valid: Sequence[str]) -> str:
    """Returns an error of the parser of the command line.

    Args:
        message: its own words.
        command: e.g. `downbeat run`.
        valid: commands or options that it has.
    """
    program, _, name = command.partition(" ")
    if unknown := re.match(r"No such option:? (-[-\w]+)", message):
        if "--repetitions" in valid and not difflib.get_close_matches(unknown[1], valid, 1, 0.8):
            return f"{name} has no option '{unknown[1]}'; options of downbeat-bench go after --; {command} -h lists all"
        options = [one for one in valid if one.startswith("--")]
        return f"{name or program} has no option '{unknown[1]}'{LIST}{', '.join(options)}"
    if unknown := re.match("No such command ('.*?')", message):
        commands = [one for one in valid if not one.startswith("--")]
        return f"there is no command {unknown[1]}{LIST}{', '.join(commands)}"
    if value := re.match(r"Invalid value for '(.*?)':.*?('.*?') is not one of (.*)", message):
        return f"{value[1]}: {value[2]} is not valid{LIST}{value[3]}".rstrip(".")
    if value := re.match(r"Invalid value for '(.*?)':.*?(integer|int|number|float)", message):
        return f"{value[1]}: give {'a whole number' if value[2].startswith('int') else 'a number'}"
    said = message.strip(".").replace("'", "")
    return f"{said[:1].lower()}{said[1:]}; {command} -h has examples"
