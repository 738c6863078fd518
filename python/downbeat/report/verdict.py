"""The findings, in sentences with numbers."""

from __future__ import annotations

import pandas as pd

from downbeat.experiment.experiment import Experiment
from downbeat.report.findings.algorithms import algorithm_sentences
from downbeat.report.findings.barriers import barrier_sentences, judge_barriers, judged_frame
from downbeat.report.findings.configurations import configuration_sentences
from downbeat.report.findings.delays import delay_sentences
from downbeat.report.findings.latencies import latency_sentence
from downbeat.report.findings.overlap import overlap_sentences
from downbeat.report.findings.skews import skew_sentence
from downbeat.report.page import Fact
from downbeat.summaries.cells import measured_cells


def experiment_verdict(experiment: Experiment) -> tuple[tuple[Fact, ...], pd.DataFrame]:
    """Returns what was found in sentences, and the verdicts on single cells that they rest on."""
    if measured_cells(experiment).empty:  # of a run that was cut short before the first cell was complete
        return (), judged_frame([])
    judged = judge_barriers(experiment)
    found = {
        "latency": latency_sentence(experiment),
        "comparison": configuration_sentences(experiment),
        "effect of the barrier": barrier_sentences(judged),
        "algorithms": algorithm_sentences(experiment),
        "late ranks": delay_sentences(experiment),
        "overlap": overlap_sentences(experiment),
        "exit skew": skew_sentence(experiment),
    }
    facts = tuple(Fact(about, "\n".join(sentences)) for about, sentences in found.items() if sentences)
    return facts, judged_frame(judged)
