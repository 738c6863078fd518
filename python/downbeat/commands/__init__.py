"""The subcommands of `downbeat`: their options, what they print, and their exit status.

Modules that are slow to load are imported when a command runs, so that `--help` is quick.
"""
