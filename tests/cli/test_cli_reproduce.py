"""`boltzflow reproduce`, quickly, on the built-in digits; and done wrong."""

import json

import pytest

from boltzflow.experiments import NAMES
from boltzflow.experiments.record import read_record


def test_all_experiments_run_quickly_and_leave_records_and_pictures(call, tmp_path):
    code, out, err = call("reproduce", "all", "--quick", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    results = tmp_path / found["out"]
    assert [each["name"] for each in found["experiments"]] == list(NAMES)
    for each in found["experiments"]:
        record = read_record(results / f"{each['name']}.json")
        assert record.quick
        assert record.claim == each["claim"]
        assert record.tables
        assert all((results / picture).stat().st_size > 5000 for picture in record.pictures)
        assert {judged.answer for judged in record.verdicts} <= {"not judged"}
    assert not (tmp_path / "experiments").exists()


def test_words_for_a_person_name_the_paper_the_measurement_and_the_verdict(call, tmp_path):
    code, out, err = call("reproduce", "filters", "--quick", "--out", "here")
    assert code == 0
    for part in ("filters: VPF learns", "RBM(400)", "paper", "measured", "verdict   not judged", "here/filters.png"):
        assert part in out
    assert "filters: piece 1 of 4, rbm100; about" in err
    assert (tmp_path / "here" / "filters.json").exists()


WRONG = {
    "an unknown name": (("tabel2",), "unknown experiment 'tabel2': did you mean 'table2'? known are all, claims"),
    "no data": (("table1",), "the four files of mnist were not found: no folder was named"),
    "no such folder": (
        ("fashion", "--data-dir", "gone"),
        "the four files of fashion-mnist were not found: looked in gone",
    ),
    "no seeds": (("table1", "--quick", "--seeds", "0"), "seeds must be a whole number, 1 or more; got 0"),
    "a file for results": (
        ("table1", "--quick", "--out", "taken"),
        "taken is a file; results and work are kept in folders",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_gets_one_sentence_and_exit_code_2(call, tmp_path, monkeypatch, name):
    monkeypatch.delenv("BOLTZFLOW_DATA", raising=False)
    (tmp_path / "taken").write_text("")
    words, sentence = WRONG[name]
    code, out, err = call("reproduce", *words)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
