"""Pictures of experiments in a notebook, from `import downbeat` alone."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from downbeat.errors import UsageError
from downbeat.report.pictures import OF_EXPERIMENTS
from downbeat.report.style import Picture
from downbeat.run import experiment


@dataclass(frozen=True)
class Experiment(experiment.Experiment):
    """An experiment, returned by `open_experiment`.

    Attributes:
        path: its directory or file.
        name: of its plan, else of the path.
        launches: the complete ones, by configuration and number.
        plan: what was to be measured; None if files of launches were collected by hand.
        failures: launch.json of the failed launches, with `directory`, their place.
    """

    def plot(self, name: str = "") -> Picture:
        """Returns a picture of the report, which a notebook shows; it has a matplotlib `figure` and its `numbers`.

        Args:
            name: of the picture, or how it begins: "latency_by_size-bcast"; by default the report's first.

        Raises:
            UsageError: the experiment has no such picture.
        """
        pictures = {picture.name: picture for draw in OF_EXPERIMENTS for picture in draw(self)}
        for one, picture in pictures.items():
            if one.startswith(name):
                return picture
        raise UsageError(f"no picture '{name}'; choose one of {', '.join(pictures)}")


def open_experiment(path: str | Path) -> Experiment:
    """Opens an experiment.

    Args:
        path: the directory of `downbeat run`; a `.nc` file of downbeat-bench, which is one launch; or a directory of
            such files, which count as launches of one experiment.

    Returns:
        The experiment; its samples are read on demand.

    Raises:
        UsageError: the path is something else, or one of its files is truncated or of another program.
    """
    opened = experiment.open_experiment(path)
    return Experiment(**{one.name: getattr(opened, one.name) for one in dataclasses.fields(opened)})
