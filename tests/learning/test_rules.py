"""Rules are made by name with their options; what no rule can mean is refused."""

import numpy as np
import pytest

import boltzflow as bf
from boltzflow.errors import InputError
from boltzflow.learning.contract import Rule
from boltzflow.learning.rules import CD, MPF, PCD, RULES, VPF, Pseudolikelihood, make_rule, options_of

MADE = {
    "vpf": VPF(),
    "mpf": MPF(),
    "cd": CD(steps=1),
    "cd-10": CD(steps=10),
    "pcd": PCD(steps=1),
    "pcd-5": PCD(steps=5),
    "pseudolikelihood": Pseudolikelihood(),
}


@pytest.mark.parametrize("typed", MADE)
def test_a_rule_is_made_from_what_is_typed(typed):
    assert make_rule(typed) == MADE[typed]


@pytest.mark.parametrize("name", RULES)
def test_a_rule_has_the_name_it_is_made_by_and_says_what_it_is(name):
    rule = make_rule(name)
    assert isinstance(rule, Rule)
    assert rule.name == name
    assert (rule.local, rule.samples_model, rule.convex) == (
        True,
        name in ("cd", "pcd"),
        name in ("mpf", "pseudolikelihood"),
    )


def test_options_go_with_the_name_and_can_be_read_back():
    options = {"e_step": "batch", "completions": 3, "temperature": 0.5, "sweeps": 2}
    rule = make_rule("vpf", **options)
    assert rule == VPF("batch", 3, 0.5, 2)
    assert options_of(rule).items() >= options.items()
    assert make_rule("vpf", **options_of(rule)) == rule
    assert make_rule("pcd-3", n_chains=7) == PCD(3, 7)


def test_a_rule_that_is_made_already_is_taken_as_it_is():
    rule = CD(steps=3)
    assert make_rule(rule) is rule


REFUSED = {
    "a name misspelt": (lambda: make_rule("vfp"), r"unknown rule 'vfp': did you mean 'vpf'\? known are cd, mpf, pcd"),
    "nothing like a name": (lambda: make_rule("backprop"), r"unknown rule 'backprop': known are cd, mpf, pcd"),
    "steps in letters": (lambda: make_rule("cd-x"), r"rule 'cd-x': expected a number of steps .* 'cd-10'"),
    "steps in part": (lambda: make_rule("cd-1.5"), r"rule 'cd-1.5': expected a number of steps"),
    "steps below zero": (lambda: make_rule("cd--1"), r"rule 'cd--1': expected a number of steps"),
    "no steps at all": (lambda: make_rule("cd-0"), r"steps must be a whole number, 1 or more; got 0"),
    "an option misspelt": (
        lambda: make_rule("vpf", completion=2),
        r"unknown option of rule 'vpf' 'completion': did you mean 'completions'\?",
    ),
    "an option of another rule": (lambda: make_rule("cd", n_chains=2), r"unknown option of rule 'cd' 'n_chains'"),
    "an option for a rule without": (lambda: make_rule("mpf", steps=2), r"unknown option of rule 'mpf' 'steps'"),
    "an option where there are none": (lambda: make_rule("mpf", steps=2), r"'steps': there are none\.$"),
    "steps named twice": (
        lambda: make_rule("cd-5", steps=7),
        r"rule 'cd-5' names its steps already; got steps=7 as well",
    ),
    "an order for one machine": (
        lambda: VPF(order="authors").check(bf.deep(3, 2, 2).layout),
        r"order 'authors' says what the next pair of a stack learns from; the layout is 3-2-2 \(",
    ),
    "steps for a rule without": (lambda: make_rule("vpf-3"), r"rule 'vpf' takes no number of steps"),
    "options with a rule": (lambda: make_rule(CD(), steps=2), r"options \['steps'\] go with the name of a rule; CD"),
    "a method misspelt": (lambda: VPF(method="gibs"), r"unknown method 'gibs': did you mean 'gibbs'\?"),
    "an order misspelt": (lambda: VPF(order="author"), r"unknown order 'author': did you mean 'authors'\?"),
    "a moment misspelt": (lambda: VPF(e_step="epochs"), r"unknown e_step 'epochs': did you mean 'epoch'\?"),
}


@pytest.mark.usefixtures("types_unchecked")
@pytest.mark.parametrize(("call", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_no_rule_can_mean_is_refused(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


COUNTS = [
    (VPF, "completions"),
    (VPF, "sweeps"),
    (CD, "steps"),
    (CD, "positive_sweeps"),
    (PCD, "steps"),
    (PCD, "n_chains"),
    (PCD, "positive_sweeps"),
]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2", None, np.nan])
@pytest.mark.parametrize(("rule", "option"), COUNTS)
def test_what_is_counted_is_a_whole_number_and_at_least_one(rule, option, value):
    with pytest.raises(InputError, match=f"{option} must be a whole number, 1 or more; got {value!r}"):
        rule(**{option: value})


@pytest.mark.parametrize("value", [0, -0.5, np.inf, np.nan, "1", None])
def test_a_temperature_is_finite_and_above_zero(value):
    with pytest.raises(InputError, match=f"temperature must be a number .*; got {value!r}"):
        VPF(temperature=value)
