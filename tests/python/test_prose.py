"""Tests of ``tools/prose.py``, which prints the sentences to rewrite."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROSE = Path(__file__).parents[2] / "tools" / "prose.py"

SENTENCES = {
    "The weights are those of one process.": "repeat the noun",
    "What is wrong is told.": "name the subject",
    "Training continues: the chief has written a checkpoint.": "two sentences, or a conjunction",
    "Such a value is refused.": "another word",
    "The same model from Python and from a data frame.": "a sentence has a verb",
    "This is its behaviour.": "behavior",
}


def faults(root: Path, name: str, text: str) -> list[str]:
    """The lines that a copy of the script prints for a file beside it."""
    (root / "tools").mkdir(exist_ok=True)
    script = root / "tools" / "prose.py"
    script.write_text(PROSE.read_text("utf-8"), "utf-8")
    (root / name).write_text(text, "utf-8")
    done = subprocess.run(
        [sys.executable, str(script), name],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


def test_each_rule_is_found_at_its_line_in_markdown_comments_and_docstrings(tmp_path: Path) -> None:
    page = "\n\n".join(SENTENCES)
    comments = "\n".join(f"#' {line}" for line in page.split("\n"))
    docstring = f'"""{page}"""\n'
    for name, text in (("page.md", page), ("page.R", comments), ("page.py", docstring)):
        lines = faults(tmp_path, name, text)
        assert [line.split(":")[1] for line in lines] == ["1", "3", "5", "7", "9", "11"]
        assert [line.rsplit("(", 1)[1].rstrip(")") for line in lines] == list(SENTENCES.values())


def test_code_and_examples_are_not_read(tmp_path: Path) -> None:
    page = "\n\n".join(SENTENCES)
    code = f"Text with `{page.splitlines()[0]}` is right.\n\n```r\n{page}\n```\n"
    assert faults(tmp_path, "page.md", code) == []
    examples = "#' @examples\n" + "\n".join(f"#' {line}" for line in page.split("\n"))
    assert faults(tmp_path, "page.R", examples) == []
    docstring = (
        '"""The ``size`` of a thing, as those of ``others``, and\n``those of all`` things."""\n'
    )
    assert len(faults(tmp_path, "page.py", docstring)) == 1


def test_messages_in_code_are_read_by_some_of_the_rules(tmp_path: Path) -> None:
    messages = (*SENTENCES, "train would never end.")
    rules = ["repeat the noun", "name the subject", "another word", "a function has parentheses"]
    python = "\n".join(f"stop(f{each!r}, {{}})" for each in messages)
    r = "\n".join(f'# "{each}"\nstop("{each}")' for each in messages)
    for name, text in (("page.py", python), ("page.R", r), ("page.md", f"`{messages[0]}`")):
        found = [line.rsplit("(", 1)[1].rstrip(")") for line in faults(tmp_path, name, text)]
        assert found == ([] if name == "page.md" else rules)
