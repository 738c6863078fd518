"""Pictures of experiments: a file for each, drawn with matplotlib; `downbeat report` and `downbeat reproduce` use them."""
