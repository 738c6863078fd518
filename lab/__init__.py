"""How Downbeat is proven: faults, soaks, hosts, fuzzing, mutation; by hand or at night."""
