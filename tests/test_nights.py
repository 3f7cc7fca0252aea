"""The few cases that run always: each two values meet in one of them."""

import itertools

from tests.nights import cover


def test_every_two_values_meet_in_few_of_all_cases():
    rows = [dict(zip("abcd", values, strict=True)) for values in itertools.product(range(4), range(3), range(3), "xy")]
    chosen = [rows[k] for k in cover(rows)]
    for first, second in itertools.combinations("abcd", 2):
        met, all_of_them = ({(row[first], row[second]) for row in some} for some in (chosen, rows))
        assert met == all_of_them
    assert 12 <= len(chosen) <= 18 < len(rows) == 72


def test_of_one_factor_every_value_stays():
    assert cover([{"a": k} for k in range(5)]) == set(range(5))
