"""A mistake on the command line as one line: what is wrong, and what was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import typer

LIST = "; choose one of "


def from_elsewhere(words: Sequence[str]) -> str:
    """Returns what is wrong with the words of a command if one is an option of another program, else ""."""
    from downbeat.run.bench import find_source

    source = find_source() if any(word.startswith("-") for word in words) else None
    if not source:
        return ""
    text = (source / "shared/options_elsewhere.h").read_text(encoding="utf-8")  # downbeat-bench has the same table
    known = {
        option: rest for option, *rest in re.findall(r'^ELSEWHERE\("(.*?)", "(.*?)", "(.*?)"\)', text, re.MULTILINE)
    }
    for word in words:
        if word in known:
            program, own = known[word]
            here = "-n" if own == "RANKS" else f"'-- {own}'" if own.startswith("--") else own
            return f"{program}'s {word} is {here} here"
    return ""


def nearest_word(word: str, valid: Iterable[str]) -> str:
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
    """Returns an error with what was probably meant in place of a list of all that is valid."""
    line = line.removeprefix("downbeat-bench: ")
    if found := re.match("'(.*)' is not the directory of an experiment: ", line):
        known = what_is(Path(found[1]))
        return f"'{found[1]}' is not the directory of an experiment: it {known}" if known else line
    if found := re.fullmatch("there is no experiment '(.*)'", line):
        path = Path(found[1])
        meant = nearest_word(path.name, (one.name for one in path.parent.glob("*/")))
        return f"{line}; did you mean '{path.with_name(meant)}'?" if meant else f"{line}; 'downbeat run' makes one"
    wrong, _, valid = line.partition(LIST)
    if valid and (found := re.search(r".*'([^']+)'|no cell has \w+=(\S+)$", wrong)):
        meant = nearest_word(found[1] or found[2], re.findall(r"[\w.+-]+", valid))
        return f"{wrong}; did you mean '{meant}'?" if meant else line
    return line


def usage_line(error: typer.BadParameter, command: str, passes: bool) -> str:
    """Returns an error of the parser of the command line.

    Args:
        error: with its own words, and what was probably meant.
        command: e.g. `downbeat run`.
        passes: whether the command hands options on to downbeat-bench.
    """
    said = error.format_message().rstrip(".").replace(". Did you mean", "; did you mean").replace("Value error, ", "")
    if said.startswith("No such option"):
        option = str(getattr(error, "option_name", ""))
        # Of an option of downbeat-bench the parser finds one that is as far off as any.
        meant = difflib.get_close_matches(
            option, getattr(error, "possibilities", None) or (), 1, 0.8 if passes else 0.6
        )
        more = "; options of downbeat-bench go after --" if passes else ""
        advice = f"did you mean '{meant[0]}'?" if meant else f"{command} -h lists all"
        return f"{command} has no option '{option}'{more}; {advice}"
    said = f"{said[:1].lower()}{said[1:]}"
    return said if "; did you mean" in said else f"{said}; {command} -h has examples"
