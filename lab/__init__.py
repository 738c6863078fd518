"""How Downbeat is proven: faults, hosts, fuzzing, mutation; by hand or at night."""
