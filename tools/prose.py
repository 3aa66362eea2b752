"""Check the English of the documents: tools/prose.py [FILE ...] prints file:line of each sentence to rewrite.

CONTRIBUTING.md, "English", has the rules. Markdown, R (roxygen comments) and Python (docstrings) can be checked.
Strings of code with four words or more, such as messages, are checked by the rules in ``MESSAGE_RULES``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The documents that must be free of all patterns.
DOCUMENTS = (
    "README.md",
    "NEWS.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "bench/README.md",
    "inst/python/tfdistribute/*/README.md",
    "vignettes/*.Rmd",
    "vignettes/articles/*.Rmd",
    "R/*.R",
    "inst/python/tfdistribute/**/*.py",
)

_VERBS = (
    r"(?:is|are|was|were|has|have|had|does|do|did|can|cannot|could|may|might|must|shall|should|will|would|need|needs"
    r"|gets?|runs?|takes?|trains?|reads?|writes?|starts?|ends?|uses?|returns?|shows?|gives?|makes?|stops?|waits?)"
)
_SUBJECT = r"(?:the|a|an|it|its|they|their|this|these|each|every|all|both|no|none|you|your|we|there|one|R|TensorFlow)"
_JOINS = r"(?:that|which|who|whose|where|when|if|and|or|for|as)"
PATTERNS = {
    "repeat the noun": re.compile(r"\b(?:that|those) of\b|\bof before\b", re.IGNORECASE),
    "name the subject": re.compile(r"(?:^|[.!?] )(?:What|Whatever|Who|Whoever)\b[^.?]*[.:;]"),
    "two sentences, or a conjunction": re.compile(
        rf"[:;] {_SUBJECT}\b(?: (?!{_JOINS}\b)[\w`'()/-]+){{0,6}}? {_VERBS}\b"
    ),
    "another word": re.compile(
        r"\brefus(?:e|es|ed|ing|al)\b|\bat once\b|\bby itself\b", re.IGNORECASE
    ),
    "a function has parentheses": re.compile(
        rf"(?:^|[.:;] |`)(?:train|evaluate|predict|launch|export)`? {_VERBS}\b"
    ),
}
MESSAGE_RULES = (
    "repeat the noun",
    "name the subject",
    "another word",
    "a function has parentheses",
)
_ANY_VERB = re.compile(
    rf"\b{_VERBS}\b|\w(?:s|ed)\b|\b(?:keep|took|export|put|join|leave|let|see|give|mark|add|set|call|follow)\b",
    re.IGNORECASE,
)


def british_spellings() -> dict[str, str]:
    """British words and how they are spelled in American English, from codespell's table."""
    table = (files("codespell_lib") / "data" / "dictionary_en-GB_to_en-US.txt").read_text("utf-8")
    return dict(line.split("->", 1) for line in table.splitlines() if "->" in line)


def markdown_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of the lines that are not code."""
    fence = ""
    front_matter = text.startswith("---\n")
    for number, line in enumerate(text.split("\n"), start=1):
        found = re.match(r"\s*(```+)", line)
        if front_matter:
            front_matter = number == 1 or line != "---"
        elif fence:
            fence = "" if found and found[1] == fence else fence
        elif found:
            fence = found[1]
        else:
            yield number, line
            continue
        yield number, ""


def roxygen_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of the lines of roxygen comments, without examples."""
    examples = False
    for number, line in enumerate(text.split("\n"), start=1):
        tag = re.match(r"#' ?@(\w+)", line)
        if tag or not line.startswith("#'"):
            examples = bool(tag) and tag[1] == "examples"
        content = re.sub(r"^#' ?(?:@\w+ ?)?", "", line) if line.startswith("#'") else ""
        yield number, "" if examples else content


def docstring_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of the lines of docstrings."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, kinds) and ast.get_docstring(node):
            string = node.body[0]
            for offset, line in enumerate(ast.get_source_segment(text, string).split("\n")):
                yield string.lineno + offset, line.strip().strip('"')
            yield string.lineno, ""


def message_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of the strings in code, each on the line where it begins."""
    text = path.read_text("utf-8") if path.suffix in (".R", ".py") else ""
    found = []
    if path.suffix == ".R":
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.lstrip().startswith("#"):
                found += [(number, each[1]) for each in re.finditer(r'"((?:[^"\\]|\\.)*)"', line)]
    else:
        tree = ast.parse(text)
        statements = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        joined = [each for each in ast.walk(tree) if isinstance(each, ast.JoinedStr)]
        parts = {id(part) for each in joined for part in each.values}
        for node in (*joined, *(each for each in ast.walk(tree) if isinstance(each, ast.Constant))):
            if isinstance(node, ast.JoinedStr):
                texts = (getattr(part, "value", "") for part in node.values)
                found.append(
                    (node.lineno, "".join(x if isinstance(x, str) else "X" for x in texts))
                )
            elif isinstance(node.value, str) and id(node) not in statements | parts:
                found.append((node.lineno, node.value))
    yield from ((number, message) for number, message in found if message.count(" ") > 2)


def paragraphs(path: Path) -> Iterator[list[tuple[int, str]]]:
    """The paragraphs, list items, headings and rows of tables of a file."""
    readers = {".R": roxygen_lines, ".py": docstring_lines}
    block: list[tuple[int, str]] = []
    for number, line in readers.get(path.suffix, markdown_lines)(path.read_text("utf-8")):
        begins = not line.strip() or re.match(r"\s*(?:[*|#>-]|\d+\.) ?", line)
        if begins and block:
            yield block
            block = []
        if line.strip():
            block.append((number, line.strip()))
    if block:
        yield block


def prose_of(block: list[tuple[int, str]]) -> str:
    """A paragraph in one line, with code and addresses replaced by a word of the same length."""
    text = " ".join(line for _, line in block)
    text = re.sub(r"``.+?``|`[^`]+`", lambda code: "X" * len(code[0]), text)
    return re.sub(r"\]\([^)]*\)|<[^>]+>", lambda link: " " * len(link[0]), text)


def faults_of(text: str, british: dict[str, str]) -> Iterator[tuple[int, str, str]]:
    """Position, text and rule of each fault."""
    is_row, is_heading = text.startswith("|"), text.startswith("#")
    for rule, pattern in PATTERNS.items():
        if (is_heading and rule == "name the subject") or (is_row and rule.startswith("two")):
            continue
        for found in pattern.finditer(text):
            yield found.start(), found[0].strip(" .:;"), rule
    if not is_row and not is_heading:
        for sentence in re.finditer(r"[A-Z](?:[^.!?:]|[.](?=\w)){25,}[.](?!\S)", text):
            if "XX" not in sentence[0] and not _ANY_VERB.search(sentence[0]):
                yield sentence.start(), sentence[0], "a sentence has a verb"
    for word in re.finditer(r"\b[A-Za-z]{4,}\b", text):
        if american := british.get(word[0].lower()):
            yield word.start(), word[0], american


def line_at(block: list[tuple[int, str]], position: int) -> int:
    """Number of the line at a position in the joined block."""
    for number, line in block:
        if position <= len(line):
            return number
        position -= len(line) + 1
    return block[-1][0]


def main(names: list[str]) -> int:
    """Print the faults of the named files, or of all documents, and return the exit status."""
    paths = [path for name in names or DOCUMENTS for path in sorted(ROOT.glob(name))]
    british = british_spellings()
    count = 0
    for path in paths:
        found = [
            (line_at(block, position), text, rule)
            for block in paragraphs(path)
            for position, text, rule in faults_of(prose_of(block), british)
        ]
        found += [
            (line, match[0], rule)
            for line, message in message_lines(path)
            for rule in MESSAGE_RULES
            for match in PATTERNS[rule].finditer(message)
        ]
        for line, text, rule in sorted(found):
            print(f"{path.relative_to(ROOT)}:{line}: {text!r} ({rule})")
        count += len(found)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
