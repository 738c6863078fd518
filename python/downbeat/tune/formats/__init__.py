"""The forms in which MPI libraries take rules, a file for each."""
