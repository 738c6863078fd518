"""The kinds of figures: `kind` in `figures/*.toml` is a module of this package and a class of it."""
