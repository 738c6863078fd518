"""The fault table: what Downbeat survives, tried again and again (docs/reliability.md)."""
