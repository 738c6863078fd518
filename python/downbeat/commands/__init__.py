"""The subcommands of `downbeat`: a file for each holds its options, what it prints, and its exit status.

What takes long to load is imported when a command runs, so that `--help` comes at once.
"""
