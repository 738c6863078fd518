"""The table of a comparison, for a terminal of 80 columns: verdicts first, then the cells, then what was left out."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from downbeat.base.text import counted, microseconds, printable
from downbeat.data.launch_file import IMPLIED
from downbeat.data.metrics import METRICS
from downbeat.experiment.experiment import FACTORS, MOST_ROWS
from downbeat.statistics.modes import unseen_text
from downbeat.statistics.power import POWER
from downbeat.statistics.verdicts import FEW_ALIKE, NOT_AMONG_MANY, NOT_SIGNIFICANT
from downbeat.tables.table import Block, entry, fits, side_by_side, word, wrapped

NOTE_LINES = 8  # of one note; more cells than that are better read from a file
MOST_NAMES = 12  # of cells that were compared, in one line
DECIDED = ("faster", "slower", "equivalent")
ORDER = (*DECIDED, "undecided", "unmatched")
SYNCHRONIZER = "synchronizer"
BARRIER, COMMON_START = "mpi_barrier", "harmonize"
# Of one operation after two synchronizers neither is faster: the same call is read lower or higher.
READINGS = {"faster": "reads lower", "slower": "reads higher"}
ALWAYS = {"operation", "size"}
NO_DIFFERENCE = (NOT_SIGNIFICANT, NOT_AMONG_MANY)
MORE_LAUNCHES = (*NO_DIFFERENCE, FEW_ALIKE)  # are what would help
LONGEST_NAME = 14  # of a value that heads a column
# Columns of a comparison: as many as fit, from the first of these lists that does.
COLUMNS = (("a", "b", "ratio", "interval", "verdict"), ("a", "b", "ratio", "verdict"), ("a", "ratio", "verdict"))
NOT_TIMES = ("exit_skew", "end_skew", "imbalance_worst", "imbalance_mean")  # metrics: less of them is not faster
LEAST_COLUMNS = ("ratio", "verdict")


def describe(frame: pd.DataFrame) -> list[str]:
    """Returns the lines that say what `compare` found."""
    about = frame.attrs
    launches = frame[["launches_a", "launches_b"]].dropna().astype(int)
    lines = [summary(frame), ""]
    lines += entry("metric", f"{about['metric']} in us: {METRICS[about['metric']].meaning}")
    lines += entry("", f"{about['statistic']} of a launch, geometric mean over launches")
    unit = "session" if about["history_is_a"] else "launch"
    lines += entry("A", side(about["name_a"], about["where_a"], launches["launches_a"], unit))
    lines += entry("B", side(about["name_b"], about["where_b"], launches["launches_b"]))
    lines += entry("history", history(frame)) if across_sessions(frame) else []
    lines += entry("ratio", ratio_line(frame))
    lines += entry("", method(frame))
    lines += entry("assumes", about["assumes"]) if about["assumes"] else []
    notes = [*legend(frame), *undecided(frame), *about["notes"]]
    lines += ["", *cell_table(frame)]
    lines += [*([""] if notes else []), *(line for note in notes for line in wrapped(note, NOTE_LINES))]
    return [*lines, *(line for sentence in conclusion(frame) for line in ("", *wrapped(sentence)))]


def conclusion(frame: pd.DataFrame) -> list[str]:
    """Returns what the comparison comes to, in a sentence; none if no cell has a ratio.

    Over cells, ratio and ends of the interval are geometric means. The interval is wide enough however much cells of a
    launch resemble each other: the deviation of a mean is at most the mean of the deviations.
    """
    cells = frame[frame["ratio"] > 0]
    firm = cells[cells["ratio_low"].notna()]
    cells = firm if len(firm) else cells
    if cells.empty:
        return []
    about, metric = frame.attrs, frame.attrs["metric"]
    ratio, low, high = np.exp(np.log(cells[["ratio", "ratio_low", "ratio_high"]].to_numpy()).mean(axis=0))
    a, b = names_of(frame) if about["where_a"] else (about["name_a"], about["name_b"])
    times = not readings(frame) and metric not in NOT_TIMES
    if times and ratio < 1:  # the faster one comes first
        a, b, ratio, low, high = b, a, 1 / ratio, 1 / high, 1 / low
    interval = f" ({low:.2f} to {high:.2f})" if low > 0 else ""
    end = f", over {len(cells)} cells" if len(cells) > 1 else ""
    end += "; the interval includes 1" if low <= 1 <= high else "" if interval else "; no verdict"
    if readings(frame):
        return [f"After {b} {metric} reads {ratio:.2f}{interval} times as much as after {a}{end}."]
    if times:
        return [f"{a} is {ratio:.2f}{interval} times as fast as {b}{end}."]
    return [f"{metric} of {b} is {ratio:.2f}{interval} times that of {a}{end}."]


def rows_of(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Returns headings and cells of a table in which factors are columns, too."""
    shown = shown_factors(frame)
    rows = [[*(word(row[name]) for name in shown), *cell_texts(frame, row, COLUMNS[0])] for _, row in frame.iterrows()]
    return [*shown, *heads_of(frame).values()], rows


def markdown(frame: pd.DataFrame) -> list[str]:
    """Returns the cells and what they come to, for an issue or a page."""
    heads, rows = rows_of(frame)
    texts = [[text.replace("|", "\\|") for text in row] for row in (heads, ["---"] * len(heads), *rows)]
    lines = [f"| {' | '.join(row)} |" for row in texts]
    return [summary(frame), "", *lines, *(line for sentence in conclusion(frame) for line in ("", sentence))]


class Verdicts(pd.DataFrame):
    """The frame of a comparison, which a notebook shows as the command prints it."""

    def _repr_html_(self) -> str:
        heads, rows = rows_of(self)
        table = pd.DataFrame(rows, columns=heads).to_html(index=False, max_rows=MOST_ROWS)
        return f"<p>{html.escape(' '.join([*conclusion(self), summary(self)]))}</p>{table}"


def readings(frame: pd.DataFrame) -> bool:
    """Whether the synchronizer is what is compared."""
    return set(frame.attrs["where_a"]) == {SYNCHRONIZER}


def names_of(frame: pd.DataFrame) -> tuple[str, str]:
    """Returns what heads the columns of A and B: the values that are compared, if they are short; else A and B."""
    about = frame.attrs
    if len(about["where_a"]) == 1:
        (a,), (b,) = (map(word, about[where].values()) for where in ("where_a", "where_b"))
        if max(len(a), len(b)) <= LONGEST_NAME:
            return a, b
    return "A", "B"


def cell_table(frame: pd.DataFrame) -> list[str]:
    """Returns a row per operation and size; synchronizers, where they are not compared, are side by side."""
    shown = shown_factors(frame)
    labels = [name for name in shown if name != SYNCHRONIZER]
    values = list(dict.fromkeys(tuple(word(row[name]) for name in labels) for _, row in frame.iterrows()))
    titles = list(dict.fromkeys(map(str, frame[SYNCHRONIZER]))) if SYNCHRONIZER in shown else [""]
    cells = {
        (str(row[SYNCHRONIZER]) if SYNCHRONIZER in shown else "", tuple(word(row[name]) for name in labels)): row
        for _, row in frame.iterrows()
    }
    heads = heads_of(frame)

    def blocks(columns: Sequence[str]) -> list[Block]:
        texts = {title: [cell_texts(frame, cells.get((title, value)), columns) for value in values] for title in titles}
        return [Block(title, [heads[name] for name in columns], texts[title], ends_in_words=True) for title in titles]

    # A single block keeps all its columns: labels become headings where it is too wide.
    choices = COLUMNS if len(titles) > 1 else COLUMNS[:1]
    whole = (columns for columns in choices if fits(labels, values, blocks(columns), 0))
    folded = (columns for columns in choices if fits(labels, values, blocks(columns)))
    last = LEAST_COLUMNS if len(titles) > 1 else COLUMNS[0]
    return side_by_side(labels, values, blocks(next(whole, next(folded, last))))


def heads_of(frame: pd.DataFrame) -> dict[str, str]:
    """Returns the headings of `COLUMNS`."""
    name_a, name_b = names_of(frame)
    return {"a": name_a, "b": name_b, "ratio": "ratio", "interval": "interval", "verdict": verdict_head(frame)}


def cell_texts(frame: pd.DataFrame, row: pd.Series | None, columns: Sequence[str]) -> list[str]:
    """Returns what a cell has in these columns."""
    if row is None:
        return ["" for _ in columns]
    low, high = row["ratio_low"], row["ratio_high"]
    texts = {
        "a": microseconds(row["a"]),
        "b": microseconds(row["b"]),
        "ratio": "-" if pd.isna(row["ratio"]) else f"{row['ratio']:.3f}",
        "interval": "-" if pd.isna(low) else f"{low:.3f}-{high:.3f}",
        "verdict": verdict_word(frame, row),
    }
    return [texts[name] for name in columns]


def verdict_head(frame: pd.DataFrame) -> str:
    """Returns the heading of verdicts, which names B, for they are verdicts on B."""
    name = names_of(frame)[1]
    return f"after {name}" if readings(frame) else f"{name} is"


def verdict_word(frame: pd.DataFrame, row: pd.Series) -> str:
    """Returns the verdict on a cell in words."""
    verdict = str(row["verdict"])
    return READINGS.get(verdict, verdict) if readings(frame) else verdict


def explanation(frame: pd.DataFrame, row: pd.Series) -> str:
    """Returns why a cell is undecided; an interval without 1 needs a word more."""
    if row["reason"] not in NO_DIFFERENCE or not excludes_1(row):
        return str(row["reason"])
    tests = frame.attrs["tests"]
    test = f"after Holm's correction for {tests} cells" if tests > 1 else "by a test that is stricter than the interval"
    return f"not significant {test}, although the interval excludes 1"


def excludes_1(row: pd.Series) -> bool:
    """Whether the interval of a cell's ratio, taken alone, says that the ratio is not 1."""
    return bool(row["ratio_low"] > 1 or row["ratio_high"] < 1)


def shown_factors(frame: pd.DataFrame) -> list[str]:
    """Returns the factors that need a column."""
    shown = [name for name in FACTORS if name in frame and (name in ALWAYS or frame[name].nunique() > 1)]
    return [name for name in shown if name not in IMPLIED]


def summary(frame: pd.DataFrame) -> str:
    """Returns how many cells have which verdict; the verdicts are of B."""
    counts = Counter(frame["verdict"])
    words = READINGS if readings(frame) else {}
    found = {words.get(one, one): counts[one] for one in ORDER if counts[one] or one != "unmatched"}
    described = ", ".join(
        f"{count} {one.replace('reads', 'read') if count != 1 else one}" for one, count in found.items()
    )
    name = names_of(frame)[1]
    of = f"after {name}" if readings(frame) else "B against A"
    return f"{counted(len(frame), 'cell')}: {described} ({of})"


def ratio_line(frame: pd.DataFrame) -> str:
    """Returns what the ratio is of, and how it relates to delta where a barrier is compared with the common start."""
    about = frame.attrs
    name_a, name_b = names_of(frame)
    names = [about[where].get(SYNCHRONIZER) for where in ("where_a", "where_b")]
    if readings(frame) and names == [COMMON_START, BARRIER]:
        return "barrier / common start (delta in Schuchart 2023, section 6.1)"
    if readings(frame) and names == [BARRIER, COMMON_START]:
        return "common start / barrier (1 / delta in Schuchart 2023, section 6.1)"
    return f"{name_b} / {name_a}"


def legend(frame: pd.DataFrame) -> list[str]:
    """Returns what verdicts mean that do not explain themselves."""
    verdicts = set(frame["verdict"])
    lines = []
    if readings(frame) and verdicts & set(READINGS):
        names = [str(frame.attrs[where][SYNCHRONIZER]) for where in ("where_b", "where_a")]
        lines.append(f"reads lower, higher: the same operation takes less, more time after {names[0]} than {names[1]}")
    if "equivalent" in verdicts:
        cells = f"; of each cell alone, not corrected for {len(frame)} cells" if len(frame) > 1 else ""
        lines.append(f"equivalent: the interval is within {100 * frame.attrs['margin']:g} % of 1{cells}")
    sides = ["launches_b"] if frame.attrs.get("history_is_a") else ["launches_a", "launches_b"]
    fewest = frame.loc[frame["verdict"].isin(DECIDED), sides].min().min()
    if fewest > 0:
        lines.append(f"verdicts are on the launches there are: {unseen_text(int(fewest))}")
    return lines


def side(name: str, where: dict[str, object], launches: pd.Series[int], unit: str = "launch") -> str:
    """Returns what A or B is."""
    values = ", ".join(f"{factor}={value}" for factor, value in where.items())
    numbers = sorted(set(launches))
    count = "-".join(str(number) for number in dict.fromkeys((numbers[0], numbers[-1]))) if numbers else "no"
    plural = "" if count == "1" else "es" if unit == "launch" else "s"
    return f"{name}{', ' if values else ''}{values}, {count} {unit}{plural}"


def history(frame: pd.DataFrame) -> str:
    """Returns what the history is, and by how much its sessions deviate."""
    part, count = int(frame["sessions"].max()), len(frame.attrs["history"])
    deviations = frame["session_deviation"].dropna()
    found = dict.fromkeys(f"{100 * deviations.agg(end):.1f}" for end in ("min", "max")) if len(deviations) else ()
    described = f", which deviate by {' to '.join(found)} % beyond what launches do" if found else ""
    return f"{f'{part} of ' if part < count else ''}{counted(count, 'experiment')}{described}"


def across_sessions(frame: pd.DataFrame) -> bool:
    """Whether A and B are compared by the sessions of a history."""
    return bool(frame["sessions"].notna().any())


def method(frame: pd.DataFrame) -> str:
    """Returns how A and B are compared."""
    about = frame.attrs
    confidence = f"{100 * about['confidence']:g} %"
    how = "pairs of launches" if about["paired"] else "independent launches"
    how = "across sessions" if across_sessions(frame) else how
    tests = {0: "no test", 1: "one test"}.get(about["tests"], f"Holm's correction for {about['tests']} cells")
    return f"{how}, {confidence} interval; {tests}"


def undecided(frame: pd.DataFrame) -> list[str]:
    """Returns why cells are undecided or unmatched, and what more launches would do."""
    shown = shown_factors(frame)
    open_ = frame[frame["verdict"].isin(["undecided", "unmatched"])]
    helped = open_.index[open_["reason"].isin(MORE_LAUNCHES)]
    lines = []
    whys = open_.assign(reason=[explanation(frame, row) for _, row in open_.iterrows()])
    for (verdict, why), rows in whys.groupby(["verdict", "reason"], sort=False):
        # Before lines are wrapped, which makes spaces of what control characters are.
        names = [printable(" ".join(word(row[name]) for name in shown)) for _, row in rows.iterrows()]
        many = rows.index.isin(helped).any() or len(names) == len(frame)
        many |= verdict == "undecided" and len(names) > MOST_NAMES
        which = f"{len(names)} cells" if many and len(names) > 1 else ", ".join(names)
        lines.append(f"{verdict}, {why}: {which}")
    power = open_[np.isfinite(open_["detectable_ratio"]) & open_["reason"].isin(MORE_LAUNCHES)]
    if len(power):
        found = dict.fromkeys(percent(power["detectable_ratio"].agg(end)) for end in ("min", "max"))
        chance = f"with a probability of {100 * POWER:g} %"
        if power["launches_needed"].notna().all():
            needed = dict.fromkeys(str(int(power["launches_needed"].agg(end))) for end in ("min", "max"))
            lines.append(
                f"undecided cells: these launches detect a difference of {' to '.join(found)} % {chance}; "
                f"detecting 5 % takes {' to '.join(needed)} launches"
            )
        else:
            lines.append(
                f"undecided cells: these sessions detect a difference of {' to '.join(found)} % {chance}; more "
                "launches do not make up for what differs between sessions: measure A and B in one "
                "experiment (docs/compare.md)"
            )
    return lines


def percent(ratio: float) -> str:
    """Returns by how many percent a ratio is above 1."""
    value = 100 * (ratio - 1)
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
