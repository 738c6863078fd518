"""What libdownbeat-preload recorded, read: a record per collective and process, on the global clock, with error bounds."""
