"""What libdownbeat-preload recorded: a record per collective and process, on the global clock, with error bounds."""
