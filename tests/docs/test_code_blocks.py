"""The code that README and docs show is run as it stands there: Python blocks in Python, command lines by the program."""

import re
import shlex
import sys
from pathlib import Path

import jax
import pytest

from boltzflow import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(language):
    found = [
        pytest.param(code, id=f"{page.relative_to(ROOT)}-{k}")
        for page in PAGES
        for k, code in enumerate(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
    ]
    assert found, f"no {language} blocks"
    return found


@pytest.fixture(autouse=True)
def as_a_user_has_it(monkeypatch, tmp_path):
    """Single precision and promotion as JAX sets them, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        yield


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_run(code):
    exec(compile(code, "block", "exec"), {})


@pytest.mark.parametrize("code", blocks("bash"))
def test_command_lines_run(code, monkeypatch):
    for line in filter(None, code.splitlines()):
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code, line


def test_no_page_is_empty_or_holds_a_word_to_be_replaced():
    for page in PAGES:
        text = page.read_text()
        assert len(text) > 200, page.name
        assert not re.search(r"^[A-Z0-9_]+$|\b(PENDING|TBD)\b", text, re.MULTILINE), page.name


def test_links_lead_somewhere():
    for page in (*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
