"""Drawers that several figures share."""
