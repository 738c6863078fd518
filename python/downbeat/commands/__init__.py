"""The subcommands of `downbeat`: their options, their output, and their exit status.

Modules that are slow to load are imported when a command runs, so that `--help` is quick.
"""
