"""Recordings of several hosts, by whatever tool, on one time axis; time bases, which do this for any tool's stamps."""
