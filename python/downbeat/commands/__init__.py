"""The subcommands of `downbeat`: a file for each holds its options, what it prints, and its exit status.

Modules that are slow to load are imported when a command runs, so that `--help` is quick.
"""
