"""The files of downbeat-bench, read: samples, metrics of samples, summaries of cells."""
