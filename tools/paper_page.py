"""Write docs/paper.md from the records in experiments/results: no number on that page is typed by hand.

Run it as `python tools/paper_page.py` after an experiment.
"""

from pathlib import Path

from boltzflow.experiments import NAMES
from boltzflow.experiments.record import Record, Row, Table, Verdict, read_record

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "experiments" / "results"
PAGE = ROOT / "docs" / "paper.md"

OPENING = """# The paper, claim by claim

What *Variational Probability Flow for Biologically Plausible Training of Deep Neural Networks* says, what was measured here, and
whether it holds. Each experiment is one file in `src/boltzflow/experiments/`; it opens with its claim, the numbers
expected and the minutes it takes. A run leaves a record and its pictures in `experiments/results/`, and this page is
written from these records by `python tools/paper_page.py`.

Digits 1–50,000 of the training set train, 50,001–60,000 choose settings, the test set judges. The rule that decides
stands beside each verdict and is part of the experiment's program. Seconds and minutes are those of the machine named, with
whatever else ran there; `benchmarks/` measures speed.
"""

HEAD = "| {} | where | paper | measured here | verdict | see |\n|---|---|---|---|---|---|"


def page(records: list[Record]) -> str:
    """The whole page."""
    found = [(record, each) for record in records for each in record.verdicts]
    asked = [claim_row(record, each) for record, each in found if each.asked]
    ours = [claim_row(record, each) for record, each in found if not each.asked]
    parts = [
        OPENING,
        unrun(records),
        "## What the paper says\n",
        "\n".join([HEAD.format("the paper says"), *asked]) + "\n",
        "## What it does not say, and one would like to know\n",
        "\n".join([HEAD.format("sentence"), *ours]) + "\n",
        *(section(record) for record in records),
    ]
    return "\n".join(parts)


def unrun(records: list[Record]) -> str:
    """Which experiments have left no record yet."""
    missing = [name for name in NAMES if name not in {record.name for record in records}]
    told = ", ".join(f"`boltzflow reproduce {name}`" for name in missing)
    return f"Not yet run in full, so without a number here: {told}.\n" if missing else ""


def claim_row(record: Record, found: Verdict) -> str:
    """One claim, with a link to its section."""
    verdict = f"**{found.answer}**" + (f" ({found.because})" if found.because else "")
    cells = (found.claim, found.where, found.paper, found.measured, verdict, f"[{record.name}](#{record.name})")
    return f"| {' | '.join(map(plain, cells))} |"


def section(record: Record) -> str:
    """One experiment: how to run it again, its tables, its pictures."""
    made = record.versions or {}
    said = ", ".join(f"{name} {made[name]}" for name in ("boltzflow", "jax", "machine") if name in made)
    seeds = f"{len(record.seeds)} seed{'s' if len(record.seeds) > 1 else ''}"
    lines = [
        f"## {record.name}\n",
        f"{record.claim} `boltzflow reproduce {record.name}`: {record.minutes:.0f} minutes of work, {seeds} ({said}).\n",
        *(table(each) for each in record.tables),
        *(f"{note}\n" for note in record.notes),
        *(f"![{name}](../experiments/results/{name})\n" for name in record.pictures),
    ]
    return "\n".join(lines)


def table(of: Table) -> str:
    """A table in Markdown, its title above, its note below."""
    head = f"| {' | '.join(map(plain, of.columns))} |\n|{'---|' * len(of.columns)}"
    rows = "\n".join(row(each) for each in of.rows)
    return f"**{of.title}**\n\n{head}\n{rows}\n" + (f"\n{of.note}\n" if of.note else "")


def row(of: Row) -> str:
    """Cells as they are told."""
    cells = [of.label, *("" if cell is None else str(cell) for cell in of.cells)]
    return f"| {' | '.join(map(plain, cells))} |"


def plain(text: str) -> str:
    """Text that does not break a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def records() -> list[Record]:
    """All records that are there, in the order of their names' list."""
    paths = [RESULTS / f"{name}.json" for name in NAMES]
    return [read_record(path) for path in paths if path.is_file()]


if __name__ == "__main__":
    PAGE.write_text(page(records()))
    print(f"wrote {PAGE}")
