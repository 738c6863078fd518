"""How properties are tested: on the same examples each time, however long one takes on a busy machine.

`pytest --hypothesis-profile=default` draws others.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")
