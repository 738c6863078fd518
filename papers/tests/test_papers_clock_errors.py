"""Figures on clocks: by true errors where these are known, by measured ones and their bounds between nodes."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from downbeat_papers.clock_errors import MEASURED, POSSIBLE, TRUE, judged, shown, within
from downbeat_papers.results import Results
from downbeat_papers.schuchart2023.clocks import clock_runs, draw_clock_accuracy
from papers_site import site

DIMS = ("scheme", "repetition", "wait", "rank")


def synchronized(*, truth: bool) -> xr.Dataset:
    """Returns a file of the experiment `clock`: rank 1 is off by 0.1 to 0.4 us as measured, by 1.5 us in truth."""

    def of(values: object) -> tuple[tuple[str, ...], np.ndarray]:
        column = np.reshape(np.asarray(values, float), (1, -1, 1, 1)) * 1e-6
        return DIMS, np.concatenate([np.zeros_like(column), column], axis=3)

    variables = {
        "offset": of([0.1, -0.2, 0.3, -0.4]),
        "offset_bound": of([8.0, 9.0, 9.0, 10.0]),
        "error_bound": of([12.0, 12.0, 12.0, 1.0]),
    }
    return xr.Dataset(variables | ({"true_error": of([1.5, -1.5, 1.5, -1.5])} if truth else {}))


class Files(Results):
    """Results that are one file, of one run on two ranks."""

    def have(self) -> list[str]:
        return ["n2"]

    def datasets(self, label: str) -> list[xr.Dataset]:
        return list(self.launches[label])  # type: ignore[arg-type]


def results(*files: xr.Dataset) -> Results:
    place = site((2,))
    return Files("schuchart2023-fig16", place, clock_runs(place), {"n2": files})  # type: ignore[dict-item]


def test_truth_counts_where_all_files_know_it() -> None:
    known, unknown = synchronized(truth=True), synchronized(truth=False)
    assert (shown([known]), judged([known]), within([known])) == ((MEASURED, TRUE), TRUE, "")
    assert (shown([known, unknown]), judged([unknown])) == ((MEASURED, POSSIBLE), MEASURED)
    assert "within 9 us" in within([unknown])
    assert POSSIBLE.pooled([unknown]) == pytest.approx([8.1, 9.2, 9.3, 10.4])
    assert TRUE.pooled([known]) == pytest.approx([1.5] * 4)


def test_accuracy_is_drawn_between_nodes_where_no_truth_is_known() -> None:
    drawn = draw_clock_accuracy(results(synchronized(truth=False)))
    numbers = drawn.pictures[0].numbers
    assert numbers["max"].tolist() == pytest.approx([0.4, 10.4])
    assert "true errors are not known" in drawn.pictures[0].caption
    mean, outliers = drawn.findings
    assert "measured offset" in mean.claim
    assert "means 0.25 us on 2 ranks; the error of each is known to within 9 us" in mean.here
    assert "largest of launches 0.4 us" in outliers.here


def test_accuracy_is_judged_by_true_errors_on_one_node() -> None:
    drawn = draw_clock_accuracy(results(synchronized(truth=True)))
    assert drawn.pictures[0].numbers["max"].tolist() == pytest.approx([0.4, 1.5])
    mean, outliers, outside = drawn.findings
    assert "true error" in mean.claim
    assert "1.5 us" in mean.here
    assert "1.5 us" in outliers.here
    assert outside.here == "1"
