"""A mistake on the command line as one line: what is wrong, and what was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from downbeat.errors import DownbeatError

# Options of other benchmarks, and those of downbeat-bench that do the same.
ELSEWHERE = "shared/options_elsewhere.h"
LIST = "; choose one of "
SIZE = r"(\d+) ?([kmg]?)(?:i?b)?"


def from_elsewhere(words: Sequence[str]) -> str:
    """Returns what is wrong with the words of a command if one is an option of another program, else ""."""
    if not any(word.startswith("-") for word in words):
        return ""
    from downbeat.launchers.build import find_source

    try:
        text = (find_source() / ELSEWHERE).read_text(encoding="utf-8")
    except (OSError, DownbeatError):  # an installation without source
        return ""
    rows = re.findall(r'^ELSEWHERE\("(.*?)", "(.*?)", "(.*?)"\)', text, re.MULTILINE)
    known = {option: rest for option, *rest in rows}
    for word in words:
        if word in known:
            program, own = known[word]
            here = "-n" if own == "RANKS" else f"'-- {own}'" if own.startswith("--") else own
            return f"{program}'s {word} is {here} here"
    return ""


def nearest(word: str, valid: Iterable[str]) -> str:
    """Returns the valid word that was probably meant, "" if none is near."""
    plain = word.lower().strip("-").replace("-", "_")
    forms = {one.lower().strip("-").replace("-", "_"): one for one in valid if one != word}
    begun = [form for form in forms if len(plain) > 1 and form.startswith(plain)]
    found = begun or difflib.get_close_matches(plain, forms, 1)
    return forms[found[0]] if found else ""


# Directories that have a file of such a name, and the command that reads them.
OTHERS = {
    "rules.json": "is that of a tuning, with its choices and proofs in rules.json",
    "*.trace": "has a trace; run: downbeat arrivals {}",
}


def what_is(directory: Path) -> str:
    """Returns what a directory is that is not of an experiment, "" if that is not known."""
    said = [text.format(directory) for pattern, text in OTHERS.items() if any(directory.glob(pattern))]
    depths = ("*", "*/*", "*/*/*")
    for kind in ("plan.json", "*.nc"):
        inner = sorted({file.parent for depth in depths for file in directory.glob(f"{depth}/{kind}")})
        if not inner:
            continue
        more = f" (or another of {len(inner)})" if len(inner) > 1 else ""
        said.append(f"has experiments in it; run: downbeat report {inner[0]}{more}")
        break
    return ", and ".join(said)


def with_suggestion(line: str) -> str:
    """Returns an error with the word that was probably meant in place of a list of all that are valid."""
    line = line.removeprefix("downbeat-bench: ")
    wrong, _, valid = line.partition(LIST)
    meant = ""
    if found := re.search(rf"'{SIZE}(?:-{SIZE})?' is not a message size", line, re.IGNORECASE):
        wrong = line.partition(";")[0]
        meant = found[1] + found[2].upper() + (f":{found[3]}{found[4].upper()}" if found[3] else "")
        meant = "" if f"'{meant}'" in line else meant
    elif found := re.match("'(.*)' is not the directory of an experiment: ", line):
        known = what_is(Path(found[1]))
        return f"'{found[1]}' is not the directory of an experiment: it {known}" if known else line
    elif found := re.fullmatch("there is no experiment '(.*)'", line):
        path = Path(found[1])
        meant = nearest(path.name, (one.name for one in path.parent.glob("*/")))
        return f"{line}; did you mean '{path.with_name(meant)}'?" if meant else f"{line}; 'downbeat run' makes one"
    elif "; did you mean " in line:  # downbeat-bench says so
        return line
    elif found := re.search(r".*'([^']+)'|no cell has \w+=(\S+)$", wrong):
        if "unknown operation" in wrong and re.fullmatch(rf"{SIZE}([:,].*)?", found[1], re.IGNORECASE):
            return f"{wrong}; message sizes are an option: -m {found[1]}"
        meant = nearest(found[1] or found[2], re.findall(r"[\w.+-]+", valid))
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
