"""Tags such as [Eq. 2] in the source's docstrings against the tables of docs/paper-to-code.md: neither knows more."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "boltzflow"
TABLES = ROOT / "docs" / "paper-to-code.md"

TAG = re.compile(r"\[(?:Eq\. [1-6]|Alg\. [12]|§[A-Z]+: [^\]]+|ours|differs: [^\]]+)\]")
TAG_LIKE = re.compile(r"\[(?:eq|alg|§|our|differ)[^\]]*\]", re.IGNORECASE)
ASIDES = re.compile(r"`[^`]*`|\[[^\]]*\]|\([^()]*\)")
"""Code, tags and brackets: an equation in them is said by the way."""
EQUATION = re.compile(r"[=∝≈~∂Σ∏]")
CELLS = re.compile(r"(?<!\\)\|")

NAMED = ast.ClassDef | ast.FunctionDef

Docstring = tuple[str, ast.AST, str]
"""Dotted name inside the package, what it is, what it says."""


def docstrings(source: str, module: str) -> Iterator[Docstring]:
    """Every docstring of a module, its own and those of all its classes and functions."""
    waiting: list[tuple[str, ast.AST]] = [(module, ast.parse(source))]
    for name, node in waiting:
        if isinstance(node, ast.Module | NAMED):
            yield name, node, ast.get_docstring(node) or ""
        children = ast.iter_child_nodes(node)
        waiting += [(f"{name}.{child.name}" if isinstance(child, NAMED) else name, child) for child in children]


def is_untagged_equation(name: str, node: ast.AST, text: str) -> bool:
    """A public function whose first paragraph states an equation, and that says nowhere where it comes from."""
    public = not any(part.startswith("_") for part in name.split("."))
    stated = EQUATION.search(ASIDES.sub("", text.split("\n\n")[0]))
    return isinstance(node, ast.FunctionDef) and public and bool(stated) and not TAG.search(text)


def in_source() -> list[Docstring]:
    """Every docstring of the package."""
    paths = sorted(SOURCE.rglob("*.py"))
    return [found for path in paths for found in docstrings(path.read_text("utf-8"), module_name(path))]


def module_name(path: Path) -> str:
    return ".".join(part for part in path.relative_to(SOURCE).with_suffix("").parts if part != "__init__")


def tags_in_source() -> set[tuple[str, str]]:
    return {(tag, name) for name, _, text in in_source() for tag in TAG.findall(text)}


def tags_in_tables() -> set[tuple[str, str]]:
    """First cell a tag, last cell the code: other lines are prose."""
    rows = [CELLS.split(line.strip().strip("|")) for line in TABLES.read_text("utf-8").splitlines()]
    tagged = [(row[0].replace("\\|", "|").strip(" `"), row[-1]) for row in rows]
    return {(tag, name) for tag, code in tagged if TAG.fullmatch(tag) for name in re.findall(r"`([^`]+)`", code)}


def test_every_tag_in_the_source_has_a_row() -> None:
    assert sorted(tags_in_source() - tags_in_tables()) == []


def test_every_row_names_code_that_carries_its_tag() -> None:
    assert sorted(tags_in_tables() - tags_in_source()) == []


def test_every_public_function_that_opens_with_an_equation_carries_a_tag() -> None:
    assert [name for name, node, text in in_source() if is_untagged_equation(name, node, text)] == []


def test_no_tag_is_misspelt() -> None:
    assert [like for _, _, text in in_source() for like in TAG_LIKE.findall(text) if not TAG.fullmatch(like)] == []


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("K = Σ_j δ_j for each state.", True),
        ("Δw ∝ −∂K/∂w for a state.", True),
        ("K = Σ_j δ_j for each state [§VMPF: K].", False),
        ("The visible units alone: p(x | h = 0).", False),
        ("Stops where `patience=3`.", False),
        ("A table of numbers.\n\n>>> x = 1", False),
    ],
)
def test_an_untagged_equation_is_noticed(text: str, caught: bool) -> None:
    (found,) = [found for found in docstrings(f"def flow():\n    {text!r}", "planted") if found[2]]
    assert is_untagged_equation(*found) is caught
