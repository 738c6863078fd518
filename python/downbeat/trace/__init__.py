"""Recordings of libdownbeat-preload: a record per collective and process, on the global clock, with error bounds."""
