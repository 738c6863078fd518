"""The output of commands: blocks of a view, facts with wordings, writers for terminals, Markdown, HTML and JSON."""
