"""Pictures of experiments, a file for each, drawn with matplotlib, for `downbeat report` and `downbeat reproduce`."""
