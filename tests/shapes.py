"""The shapes and types that annotations promise, checked while the tests run.

Plain scalars are left out: what a caller gets for a wrong one is the package's own sentence, which has tests of its own.
"""

from beartype import BeartypeConf, FrozenDict, beartype

PLAIN = (int, float, bool, str)
check = beartype(conf=BeartypeConf(hint_overrides=FrozenDict(dict.fromkeys(PLAIN, object))))
