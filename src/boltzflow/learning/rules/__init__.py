"""The rules, by name."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from boltzflow.errors import InputError, unknown
from boltzflow.learning.contract import Rule
from boltzflow.learning.rules.contrastive import CD, PCD
from boltzflow.learning.rules.flow import MPF, VPF
from boltzflow.learning.rules.pseudolikelihood import Pseudolikelihood

RULES: Mapping[str, Any] = {
    "vpf": VPF,
    "mpf": MPF,
    "cd": CD,
    "pcd": PCD,
    "pseudolikelihood": Pseudolikelihood,
}


def make_rule(rule: str | Rule, **options: Any) -> Rule:
    """A rule by name, such as "vpf", "cd" or "cd-10" (ten steps), with its options."""
    if isinstance(rule, type) or not isinstance(rule, str | Rule):
        raise InputError(
            f"a rule is a name, known are {', '.join(sorted(RULES))}, or a rule with its options; got {rule!r}."
        )
    if not isinstance(rule, str):
        if options:
            raise InputError(f"options {sorted(options)} go with the name of a rule; {rule} has its options already.")
        return rule
    name, dash, steps = rule.partition("-")
    if name not in RULES:
        raise unknown("rule", rule, RULES)
    known = [field.name for field in fields(RULES[name])]
    if dash:
        if "steps" not in known:
            raise InputError(
                f"rule {name!r} takes no number of steps; only cd and pcd do, as in 'cd-10'. Got {rule!r}."
            )
        if "steps" in options:
            raise InputError(f"rule {rule!r} names its steps already; got steps={options['steps']!r} as well.")
        options = {"steps": _whole(rule, steps), **options}
    if strange := [option for option in options if option not in known]:
        raise unknown(f"option of rule {name!r}", strange[0], known)
    return RULES[name](**options)


def options_of(rule: Any) -> dict[str, Any]:
    """What a rule was made with, by name."""
    return asdict(rule)


def _whole(rule: str, steps: str) -> int:
    if not steps.isdecimal():
        raise InputError(f"rule {rule!r}: expected a number of steps after the dash, as in 'cd-10'.")
    return int(steps)
