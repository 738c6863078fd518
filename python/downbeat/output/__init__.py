"""What is shown, as blocks, and the four writers of it: terminal, Markdown, HTML, JSON."""
