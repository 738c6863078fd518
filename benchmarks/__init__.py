"""Downbeat itself, measured and simulated: what `make bench` and `make bench-...` run."""
