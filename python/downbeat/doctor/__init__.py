"""What a careful experimenter looks at before measuring: a file for each check, and the list of them."""

from __future__ import annotations

from downbeat.doctor.finding import Finding as Finding
from downbeat.doctor.registry import examine as examine
