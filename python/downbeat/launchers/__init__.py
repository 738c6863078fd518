"""MPI libraries and their launchers. Nothing here needs more than Python: tools/launch runs before all else."""
