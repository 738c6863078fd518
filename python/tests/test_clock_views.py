"""The facts about clocks that files have: known numbers."""

from __future__ import annotations

import xarray as xr
from downbeat.output.facts.clocks import BestScheme, SchemeError, SharedClock
from downbeat.views.clocks import best_scheme, clock_drift


def test_schemes_are_not_judged_where_all_ranks_share_a_clock() -> None:
    data = xr.Dataset(
        {"duration_median": ("scheme", [1e-6, 2e-6]), "offset_max": (("scheme", "wait"), [[1e-9], [2e-9]])},
        coords={"scheme": ["a", "b"], "wait": [0.0]},
        attrs={"clock_domains": 1},
    )
    assert best_scheme(data) == SharedClock()
    for known in (data.assign_attrs(clock_domains=2), data.assign(true_max=data["offset_max"])):
        fact = best_scheme(known)
        assert isinstance(fact, BestScheme)
        assert fact.best == fact.quickest == SchemeError("a", 1e-9, 1e-6)


def test_a_drift_within_the_bounds_may_be_none() -> None:
    dims = ("pair", "time")
    data = xr.Dataset(
        {
            "drift": (dims, [[0.0, 3e-7], [0.0, 5e-7]]),
            "offset_bound": (dims, [[2e-7, 2e-7], [2e-7, 2e-7]]),
            "skew": ("pair", [3e-8, 5e-8]),
            "residual_max": ("pair", [1e-8, 1e-8]),
            "prediction_error": ("pair", [1e-8, 1e-8]),
        },
        coords={"pair": ["0:1", "0:2"], "time": [0.0, 10.0]},
    )
    pairs = [(pair.pair, pair.skew, pair.within_error) for pair in clock_drift(data).pairs]
    assert pairs == [("0:1", 3e-8, True), ("0:2", 5e-8, False)]
