"""Builds libdownbeat and downbeat-bench for an MPI library of the user's, from the source that the package carries."""
