"""The figures of the papers, measured again at the size at hand, beside the papers' results."""
