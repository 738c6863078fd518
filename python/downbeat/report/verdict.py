"""What was found, in sentences with numbers."""

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


def experiment_verdict(experiment: Experiment) -> tuple[tuple[str, ...], pd.DataFrame]:
    """Returns what was found in sentences, and the verdicts on single cells that stand behind them."""
    judged = judge_barriers(experiment)
    sentences = [
        *latency_sentence(experiment),
        *configuration_sentences(experiment),
        *barrier_sentences(judged),
        *algorithm_sentences(experiment),
        *delay_sentences(experiment),
        *overlap_sentences(experiment),
        *skew_sentence(experiment),
    ]
    return tuple(sentences), judged_frame(judged)
