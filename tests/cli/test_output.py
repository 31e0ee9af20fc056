"""Tables on terminals of any width: folded where they must be, never cut."""

import re

import pytest

from boltzflow.cli.output import say, say_table, table_lines

HEADER = ("machine", "log p", "its interval", "s.e. over digits", "the error on the left")
ROWS = (
    ("all black", "", "", "", "7.14 ± 0.02"),
    ("RBM(196), decay, epoch chosen by likelihood", "−23.25", "−24.1 to −22.4", "1.31", "3.82"),
    ("[b]means[/b] of neighbours", "−7.72", "exact", "0.93", ""),
)
WIDTHS = range(20, 140)


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of so many columns."""

    def of(width):
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", str(width))

    return of


def told(lines):
    return sorted(re.findall(r"[^\s:]+", " ".join(lines)))


def is_table(lines):
    return not any(line.startswith("    ") and ": " in line for line in lines)


def test_a_table_with_room_has_one_line_a_row():
    lines = table_lines(HEADER, ROWS)
    assert lines == table_lines(HEADER, ROWS, max(map(len, lines)))
    assert len(lines) == 1 + len(ROWS)
    assert lines[0].index("its interval") + len("its interval") == lines[2].index("−22.4") + len("−22.4")
    assert told(lines) == told([*HEADER, *(cell for row in ROWS for cell in row)])


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_left_out(width):
    lines = table_lines(HEADER, ROWS, width)
    assert max(map(len, lines)) <= width
    if is_table(lines):
        assert told(lines) == told([*HEADER, *(cell for row in ROWS for cell in row)])
    for label, *cells in ROWS:
        assert set(told([label, *cells])) <= set(told(lines))


def test_headings_fold_before_labels_and_labels_before_rows_become_blocks():
    tables = [table_lines(HEADER, ROWS, width) for width in WIDTHS]
    kinds = [
        2 * is_table(lines) - any(re.match(r"  \w", line) for line in lines if is_table(lines)) for lines in tables
    ]
    assert kinds == sorted(kinds)
    assert set(kinds) == {0, 1, 2}


def test_a_block_is_a_label_and_a_line_for_each_cell_that_says_something():
    assert table_lines(HEADER, ROWS[:2], 40) == [
        "machine:",
        "  all black",
        "    the error on the left: 7.14 ± 0.02",
        "  RBM(196), decay, epoch chosen by",
        "    likelihood",
        "    log p: −23.25",
        "    its interval: −24.1 to −22.4",
        "    s.e. over digits: 1.31",
        "    the error on the left: 3.82",
    ]


def test_headings_stand_right_above_their_numbers():
    header = ("machine", "s.e. over digits", "AIS")
    assert table_lines(header, [("RBM(196), decay, long", "1.31", "−9.5")], 40) == [
        "                       s.e. over",
        "machine                   digits   AIS",
        "RBM(196), decay, long       1.31  −9.5",
    ]


@pytest.mark.parametrize(("header", "rows"), [(("a", "b"), [("x", "y")]), (("a",), [("x",)]), (("", ""), [("", "")])])
@pytest.mark.parametrize("width", [None, 1, 80])
def test_small_tables_are_tables_too(header, rows, width):
    assert told(table_lines(header, rows, width)) == told([*header, *(cell for row in rows for cell in row)])


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_goes_to_a_terminal_fits_and_what_goes_to_a_file_is_as_wide_as_it_is(terminal, capsys, width):
    say_table(HEADER, ROWS)
    assert capsys.readouterr().out.splitlines() == table_lines(HEADER, ROWS)
    terminal(width)
    say_table(HEADER, ROWS)
    assert capsys.readouterr().out.splitlines() == table_lines(HEADER, ROWS, width)


def test_words_fold_at_words_on_a_terminal_and_never_in_a_file(terminal, capsys):
    line = "  measured  VPF 3.80 / 4.52 / 3.27 / 3.98; best of the others 3.81 / 4.52"
    say(line, "")
    assert capsys.readouterr().out.splitlines() == [line, ""]
    terminal(50)
    say(line, "")
    assert capsys.readouterr().out.splitlines() == [
        "  measured  VPF 3.80 / 4.52 / 3.27 / 3.98; best of",
        "            the others 3.81 / 4.52",
        "",
    ]
    say("picture   " + 20 * "folder/")
    assert 20 * "folder/" in capsys.readouterr().out.replace("\n", "")
