"""The changes that a mutant makes: one small defect, at one place of the syntax tree of a file.

The tree-sitter grammars tell an operator from a template's bracket and a condition from an argument, in C, C++ and
Python alike.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import tree_sitter_cpp
import tree_sitter_python
from tree_sitter import Language, Node, Parser

CPP = Language(tree_sitter_cpp.language())  # C is near enough to a subset
PYTHON = Language(tree_sitter_python.language())
LANGUAGES = {".c": CPP, ".h": CPP, ".cc": CPP, ".py": PYTHON}

OTHER_OPERATORS = {
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "is": ["is not"],
    "is not": ["is"],
    "in": ["not in"],
    "not in": ["in"],
    "&&": ["||"],
    "||": ["&&"],
    "and": ["or"],
    "or": ["and"],
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "//": ["*"],
    "%": ["*"],
    "**": ["*"],
    "<<": [">>"],
    ">>": ["<<"],
    "&": ["|"],
    "|": ["&"],
    "^": ["&"],
    "+=": ["-="],
    "-=": ["+="],
    "*=": ["/="],
    "/=": ["*="],
    "|=": ["&="],
    "&=": ["|="],
    "++": ["--"],
    "--": ["++"],
}
KINDS_OF_OPERATOR = [
    ({"<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in"}, "relation"),
    ({"&&", "||", "and", "or"}, "logic"),
]
OPERATIONS = {
    "augmented_assignment",
    "assignment_expression",
    "binary_expression",
    "binary_operator",
    "boolean_operator",
    "update_expression",
}
COMPARISONS = {"binary_expression", "boolean_operator", "comparison_operator", "not_operator"}
# A type, a text, what the compiler decides: no defect that a test could find.
PASSED_OVER = {
    "attribute_declaration",
    "comment",
    "decorator",
    "import_from_statement",
    "import_statement",
    "preproc_elif",
    "preproc_if",
    "preproc_include",
    "static_assert_declaration",
    "string",
    "string_literal",
    "type",
    "type_descriptor",
}
# Of what follows such a directive, the directive's own condition is passed over, not the code.
DIRECTIVES = {"preproc_if", "preproc_elif"}
# Their arguments may come in any order.
SYMMETRIC = re.compile(r"(.*[.:])?(f?min|f?max|minimum|maximum|hypot|gcd|isclose|allclose|array_equal)(<.*>)?")
NOTHING = {"0", "MPI_SUCCESS", "NULL", "None", "nullptr", "false", "False", "{}", "nullopt", "std::nullopt"}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A file with one change. `number` tells changes apart that look the same on lines that look the same."""

    file: str  # from the root of the tree
    line: int  # from 1
    start: int  # bytes of the file that are replaced
    end: int
    replacement: str
    operator: str
    before: str  # the lines that the change touches, without indentation
    after: str
    number: int = 0

    @property
    def key(self) -> str:
        """What stays the same while other lines of the file change."""
        return "\n".join((self.file, self.before, self.after, str(self.number)))

    def apply(self, text: bytes) -> bytes:
        """Returns the content of the file with the change."""
        return text[: self.start] + self.replacement.encode() + text[self.end :]


Change = tuple[int, int, str, str]  # start, end, replacement, operator


def text_of(node: Node) -> str:
    """Returns the source of a node."""
    return (node.text or b"").decode()


def replaced(node: Node, replacement: str, operator: str) -> Change:
    """Returns the change that puts a text in place of a node."""
    return node.start_byte, node.end_byte, replacement, operator


def other_operators(node: Node) -> Iterator[Change]:
    """A neighbor in place of a relational, logical, arithmetic or assignment operator."""
    if node.type == "comparison_operator":
        tokens = [child for child in node.children if not child.is_named or child.type in ("is not", "not in")]
    elif node.type in OPERATIONS:
        token = node.child_by_field_name("operator")
        tokens = [token] if token else []
    else:
        return
    for token in tokens:
        text = text_of(token)
        kind = next((kind for texts, kind in KINDS_OF_OPERATOR if text in texts), "arithmetic")
        for other in OTHER_OPERATORS.get(text, []):
            yield replaced(token, other, kind)


def other_number(text: str) -> list[str]:
    """Returns the neighbors of an integer, and twice and half of another number."""
    if re.fullmatch(r"0|[1-9][0-9']*", text):
        value = int(text.replace("'", ""))
        return [str(value + 1), str(value - 1)] if value else ["1"]
    if re.fullmatch(r"[0-9.]+(e[-+]?[0-9]+)?", text, re.IGNORECASE):
        return [f"({text} * 2)", f"({text} / 2)"] if float(text) else ["1.0"]
    return []


def is_size(node: Node) -> bool:
    """Whether a number is the size of an array: one more or less is not what goes wrong."""
    return node.parent is not None and node.parent.type == "array_declarator"


def other_constants(node: Node) -> Iterator[Change]:
    """Another number, or the other truth value; macros that are a number, too."""
    if node.type in ("number_literal", "integer", "float") and not is_size(node):
        truth = text_of(node) == "1" and node.parent is not None and node.parent.type == "return_statement"
        for other in ["0"] if truth else other_number(text_of(node)):
            yield replaced(node, other, "constant")
    if node.type == "preproc_def" and (value := node.child_by_field_name("value")) is not None:
        text = text_of(value).partition("/*")[0].strip()
        for other in other_number(text):
            yield value.start_byte, value.start_byte + len(text), other, "constant"
    if node.type in ("true", "false"):
        pair = {"true": "false", "false": "true", "True": "False", "False": "True"}
        yield replaced(node, pair[text_of(node)], "constant")


def negation(node: Node, text: str) -> str:
    """Returns the opposite of a condition."""
    return f"(not ({text}))" if node.type.startswith("not_") or is_python(node) else f"!({text})"


def is_python(node: Node) -> bool:
    """Whether a node is of Python."""
    root = node
    while root.parent is not None:
        root = root.parent
    return root.type == "module"


def inside(condition: Node) -> Node:
    """Returns a condition without its parentheses."""
    while condition.type in ("condition_clause", "parenthesized_expression") and condition.named_child_count == 1:
        condition = condition.named_children[0]
    return condition


def negated_conditions(node: Node) -> Iterator[Change]:
    """The opposite of a condition that has no operator of its own, and of what was negated."""
    if node.type in ("if_statement", "elif_clause") or (
        node.type == "conditional_expression" and node.child_by_field_name("condition")
    ):
        condition = node.child_by_field_name("condition")
    elif node.type == "conditional_expression":
        condition = node.named_children[1]  # Python: the value comes first
    else:
        condition = None
    if condition is not None:
        condition = inside(condition)
        simple = condition.type not in COMPARISONS | {"declaration", "init_statement"}
        if simple and not (condition.type == "unary_expression" and text_of(condition).startswith("!")):
            yield replaced(condition, negation(condition, text_of(condition)), "negation")
    argument = node.child_by_field_name("argument")
    if argument is not None and (
        node.type == "not_operator" or (node.type == "unary_expression" and text_of(node).startswith("!"))
    ):
        yield replaced(node, text_of(argument), "negation")


def removed_statements(node: Node) -> Iterator[Change]:
    """Nothing in place of a statement that has an effect."""
    if node.type == "expression_statement" and node.named_child_count == 1:
        child = node.named_children[0]
        if not is_python(node):
            yield replaced(node, ";", "removed statement")
        elif child.type in ("call", "augmented_assignment", "yield"):
            yield replaced(node, "pass", "removed statement")
        elif child.type == "assignment":
            left = child.child_by_field_name("left")
            if left is not None and left.type in ("attribute", "subscript"):
                yield replaced(node, "pass", "removed statement")
    elif node.type in ("continue_statement", "raise_statement") or (
        node.type == "break_statement" and (node.parent is None or node.parent.type != "case_statement")
    ):
        yield replaced(node, "pass" if is_python(node) else ";", "removed statement")


def other_results(node: Node) -> Iterator[Change]:
    """Nothing in place of what a function returns."""
    if node.type != "return_statement" or node.named_child_count != 1:
        return
    value = node.named_children[0]
    if text_of(value) not in NOTHING:
        empty = "None" if is_python(node) else "0" if value.type != "initializer_list" else "{}"
        yield replaced(value, empty, "return value")


def swapped_arguments(node: Node) -> Iterator[Change]:
    """The first two arguments of a call in each other's place."""
    called = node.parent.child_by_field_name("function") if node.parent is not None else None
    if node.type != "argument_list" or (called is not None and SYMMETRIC.fullmatch(text_of(called))):
        return
    arguments = [child for child in node.named_children if child.type != "comment"][:2]
    if len(arguments) < 2 or any(child.type in ("keyword_argument", "list_splat") for child in arguments):
        return
    first, second = arguments
    between = (node.text or b"")[first.end_byte - node.start_byte : second.start_byte - node.start_byte].decode()
    if text_of(first) != text_of(second):
        yield first.start_byte, second.end_byte, text_of(second) + between + text_of(first), "swapped arguments"


OPERATORS: tuple[Callable[[Node], Iterator[Change]], ...] = (
    other_operators,
    other_constants,
    negated_conditions,
    removed_statements,
    other_results,
    swapped_arguments,
)


def changes(node: Node) -> Iterator[Change]:
    """Yields every change at a node and below."""
    for operator in OPERATORS:
        yield from operator(node)
    skipped = node.child_by_field_name("condition") if node.type in DIRECTIVES else None
    for child in node.children:
        if child != skipped and (child.type not in PASSED_OVER or child.type in DIRECTIVES):
            yield from changes(child)


def squeeze(lines: bytes) -> str:
    """Returns source in one line."""
    return " ".join(lines.decode().split())


def mutants_of(file: str, text: bytes) -> list[Mutant]:
    """Returns all mutants of a file, in the order of their places.

    Args:
        file: Its path from the root of the tree.
        text: Its content.
    """
    tree = Parser(LANGUAGES[Path(file).suffix]).parse(text)
    starts = [0, *(match.end() for match in re.finditer(rb"\n", text))]
    found: list[Mutant] = []
    seen: dict[tuple[str, str], int] = {}
    for start, end, replacement, operator in sorted(set(changes(tree.root_node))):
        first = starts[bisect.bisect_right(starts, start) - 1]
        last = text.find(b"\n", end)
        last = len(text) if last < 0 else last
        before = squeeze(text[first:last])
        after = squeeze(text[first:start] + replacement.encode() + text[end:last])
        number = seen.get((before, after), 0)
        seen[before, after] = number + 1
        line = bisect.bisect_right(starts, start)
        found.append(Mutant(file, line, start, end, replacement, operator, before, after, number))
    return found
