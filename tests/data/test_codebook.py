"""Typed numbers, and codebooks: what is read is what was meant, or it is refused with what to do."""

import math

import numpy as np
import pytest

from dpcore import data
from dpcore.data.cells import marks_in, number_and_unit, typed, typed_number

MINUS = "\u2212"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("0,5", 0.5), (".5", 0.5), (",5", 0.5), ("0.125", 0.125), ("0,125", 0.125), ("1.2500", 1.25)),
        *(("1e3", 1e3), ("1E-3", 1e-3), ("1,5e3", 1500.0), (f"{MINUS}0,25", -0.25), ("- 5", -5.0), ("(5)", -5.0)),
        *(("1.250,5", 1250.5), ("1,250.5", 1250.5), ("1,250,000", 1.25e6), ("1.250.000", 1.25e6)),
        *(("1 250", 1250.0), ("1\u202f250,5", 1250.5), ("1'250", 1250.0), ("1\u2019250.5", 1250.5)),
        *((" 12 ", 12.0), ("+3", 3.0), ("0", 0.0), ("1234,567", 1234.567)),
    ],
)
def test_a_typed_number_means_one_number(text, number):
    assert typed_number(text) == number


@pytest.mark.parametrize("text", ["1,250", "1.000", f"{MINUS}12.345"])
def test_a_typed_number_that_may_mean_two_needs_known_marks(text):
    with pytest.raises(ValueError, match=r"^a number must have one meaning, got '.*'; type '\d+' or '\d+\.\d{4}'$"):
        typed_number(text)
    small = float(text.replace(",", ".").replace(MINUS, "-"))
    mark = "," if "," in text else "."
    other = {",": ".", ".": ","}[mark]
    assert typed_number(text, (mark, "")) == small and typed_number(text, (other, mark)) == 1_000 * small


@pytest.mark.parametrize(
    "text",
    ["", " ", "x", "1 2", "12%", "5 kg", "€ 5", "nan", "inf", "1e999", "1-2", "1_0", "٣", "1,25,0", "12,34.5", "5,"],
)
def test_what_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match=r"^a number must be typed in digits, without a unit, got "):
        typed_number(text)


def test_a_number_is_shown_as_one_would_type_it():
    draw = np.random.default_rng(0)
    numbers = [*draw.standard_normal(300) * 10.0 ** draw.integers(-12, 25, 300), *range(-5, 2_000, 7), 1.125, -92.201]
    assert all(typed_number(typed(float(number))) == number for number in numbers)


@pytest.mark.parametrize(
    ("cell", "number", "unit"),
    [
        *((f"{MINUS}21", -21.0, ""), ("\u201321", -21.0, ""), ("(21.00)", -21.0, ""), ("21.0%", 21.0, "%")),
        *(("21 %", 21.0, "%"), ("€ 21,000.00", 21_000.0, "€"), ("€21.00", 21.0, "€"), ("-$5", -5.0, "$")),
        *(("($1,250.50)", -1250.5, "$"), ("$ (5)", -5.0, "$"), ("US$ 5", 5.0, "US$"), ("54.000,00 €", 54_000.0, "€")),
        *(("CHF 54'000.\u2013", 54_000.0, "CHF"), ("1\xa0234,5 zł", 1234.5, "zł"), ("5,- kr", 5.0, "kr")),
        *((cell, math.nan, "") for cell in ("1-2", "12 (3)", "(1", "a)", "$", "%", "5 kg", "EUR 5 €", "-(5)", "0 no")),
    ],
)
def test_numbers_in_other_dress_are_read(cell, number, unit):
    decimal, thousands = marks_in([cell])
    assert repr(number_and_unit(cell, decimal or ".", thousands)) == repr((number, unit))


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["5%", "7%", "0", "0.5", "7%"], [5, 7, 0, None, 7]),
        (["0.5", "0.25", "50%", "x"], [0.5, 0.25, None, None]),
        (["$5", "7", "$9", "x"], [5, 7, 9, None]),
        (["$5", "$7", "€9", "EUR 9"], [5, 7, None, None]),
    ],
)
def test_a_column_has_one_unit(cells, numbers):
    table = data.read_table("\n".join(["a,y", *(f"{cell},1" for cell in cells)]).encode(), "people.csv")
    assert [None if math.isnan(number) else number for number in table.columns["a"].numbers.tolist()] == numbers


def test_a_codebook_declares_all_columns_in_one_text():
    text = (
        'column; smallest; largest\n"age"\t0\t120\n\nsize, cm; 40; 250,5\ndose: 0..1,5\nshare - of all; -1 - 1\n'
        "sex, f, m\nstage = {1, 2}\ngrade | 1 | 2 | 3\njob: 1 = clerk; 2 = nurse\n"
        "town: new york; rome\nband: 18-30, 31-50\npain: 0 to 10"
    )
    numbers = ["age", "size, cm", "dose", "pain", "share - of all", "size"]
    book = data.read_codebook(text, [*numbers, "sex", "stage", "grade", "job", "town", "band"], numbers)
    assert book.bounds == {
        **{"age": (0, 120), "size, cm": (40, 250.5), "dose": (0, 1.5), "share - of all": (-1, 1), "pain": (0, 10)}
    }
    assert book.levels == {
        **{"sex": ("f", "m"), "stage": ("1", "2"), "grade": ("1", "2", "3"), "job": ("1", "2")},
        **{"town": ("new york", "rome"), "band": ("18-30", "31-50")},
    }


def test_a_number_of_a_codebook_is_told_by_the_others():
    assert data.read_codebook("a; 92.201; 94.77", ["a"], ["a"]).bounds == {"a": (92.201, 94.77)}
    assert data.read_codebook("a; 1.000; 2.000,5", ["a"], ["a"]).bounds == {"a": (1_000, 2_000.5)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age,0", "line 1 .* a column must have its smallest and its largest value, or two levels, got '0'"),
        ("column,smallest,largest\nage,0,nan", "line 2 .* a number must be typed in digits, without a unit, got 'nan'"),
        ("age\t0\t1,000", "line 1 .* a number must have one meaning, got '1,000'; type '1000' or '1.0000'"),
        ("age,5,5", "line 1 .* the smallest value must come first, got 5 and 5"),
        ("age,0,5\nage,0,6", "line 2 must be about another column, got 'age' twice"),
        ("\nAge,0,5", "line 2 must begin with a column of this file, got 'Age'"),
        ("dose,0,5,10", "line 1 .* levels that are numbers must be separated by semicolons, got '0,5,10'"),
        ("sex; 0; 1", "line 1 .* levels of 'sex', which holds texts, must be given, got ' 0; 1'"),
        ("sex: f", "line 1 .* or two levels, got ' f'"),
        (" \n", 'a table must have a line like "column, smallest, largest" or "column: level; level", got none'),
    ],
)
def test_a_codebook_with_a_mistake_is_told_by_its_line(text, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        data.read_codebook(text, ["age", "dose", "sex"], ["age", "dose"])
