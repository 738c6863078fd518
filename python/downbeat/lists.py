"""Lists as downbeat-bench reads them: words with commas between them, which may have parameters in parentheses."""

from __future__ import annotations


def split_list(text: str) -> list[str]:
    """Returns the words of a list; commas within parentheses, however deep, belong to a word: `my_op(a,f(x,y)),bcast`.

    Words are stripped; empty ones are kept for the caller to refuse.
    """
    words = [""]
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth <= 0:
            words.append("")
        else:
            words[-1] += character
    return [word.strip() for word in words]


def name_of(word: str) -> str:
    """Returns the name of a word of a list, without its parameters: that of `reduce(root=1)` is `reduce`."""
    return word.partition("(")[0]
