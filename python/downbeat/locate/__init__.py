"""The slow node or link of a machine, from times of pairs."""
