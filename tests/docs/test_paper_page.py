"""docs/paper.md is what the records say."""

import paper_page
import pytest

from boltzflow.experiments import NAMES


def test_the_page_is_written_from_the_records():
    assert paper_page.PAGE.read_text() == paper_page.page(paper_page.records()), "run python tools/paper_page.py"


@pytest.mark.parametrize("record", paper_page.records(), ids=lambda record: record.name)
def test_a_record_is_of_a_full_run_and_its_pictures_are_there_and_small(record):
    assert record.name in NAMES
    assert not record.quick
    assert record.versions
    for picture in record.pictures:
        assert 0 < (paper_page.RESULTS / picture).stat().st_size < 500_000


def test_the_page_names_what_has_no_record():
    found = paper_page.records()
    assert f"{found[-1].name}`" not in paper_page.unrun(found)
    assert f"`boltzflow reproduce {found[-1].name}`" in paper_page.unrun(found[:-1])


def test_each_name_and_all_together_stay_within_their_time():
    """An hour and a quarter each, four hours for all."""
    minutes = [record.minutes for record in paper_page.records()]
    assert minutes
    assert max(minutes) <= 75
    assert sum(minutes) < 240


def test_nothing_else_lies_among_the_results():
    known = {f"{name}.json" for name in NAMES} | {name for each in paper_page.records() for name in each.pictures}
    assert {path.name for path in paper_page.RESULTS.iterdir()} <= known
