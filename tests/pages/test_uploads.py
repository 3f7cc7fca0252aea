"""Uploads on a page: what their holder declares and sees, that nobody else does, and that they end with the session."""

import gc
import io
import json
import logging
import weakref

import pandas as pd
import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest

from dpcore import data
from dpcore.data import uploads as private
from dpcore.mechanisms.signed import keyed_digest
from pages.decide.upload import form, session
from pages.server import upload_lifetime
from tests.page_driver import open_source
from tests.upload_page import MAIN, people

CSV = "people.csv"
BOUNDS = "age, 0, 100\ndose, 0, 1"
LEDGER = json.dumps({"file": CSV, "releases": []}).encode()


@pytest.fixture(autouse=True)
def on(monkeypatch):
    gc.collect()  # sessions of tests before
    gc.freeze()  # nothing of what is left now goes with this test, and `gc.collect` need not look through all modules
    monkeypatch.setenv(upload_lifetime.SETTING, "on")


def opened(content: bytes | None = None, name: str = CSV, **others: bytes) -> AppTest:
    """The page, with a file where there is one, and with others that end in .json."""
    page = open_source(MAIN)
    assert not page.exception
    files = {name: content} if content is not None else {}
    return dropped(page, files | {f"{other}.json": content for other, content in others.items()})


def dropped(page: AppTest, files: dict[str, bytes]) -> AppTest:
    """With files that come together."""
    if files:
        page.file_uploader[0].set_value([(name, content, "text/plain") for name, content in files.items()])
        page.run()
    return page


def named(page: AppTest, label: str):
    """The control whose label begins so."""
    kinds = (page.selectbox, page.multiselect, page.text_input, page.text_area, page.checkbox, page.toggle, page.button)
    return next(control for kind in kinds for control in kind if control.label.startswith(label))


def labels(page: AppTest) -> str:
    return "; ".join(control.label for kind in (page.selectbox, page.checkbox, page.button) for control in kind)


def pasted(page: AppTest, codebook: str) -> AppTest:
    named(page, "A line for each column").set_value(codebook)
    return named(page, "Import").click().run()


def edited(page: AppTest, column: str, **cells: object) -> AppTest:
    """With cells of a column's row as they are typed."""
    held = page.session_state[session._HELD]
    rows = {[*held.frame.index].index(column): cells}
    page.session_state[f"upload columns {held.frames}"] = {"edited_rows": rows, "added_rows": [], "deleted_rows": []}
    page.run()
    assert not page.exception
    return page


def confirmed(page: AppTest) -> AppTest:
    named(page, "Confirm").click().run()
    assert not page.exception
    return page


def declared(page: AppTest, codebook: str = BOUNDS) -> AppTest:
    return confirmed(pasted(page, codebook))


def table(page: AppTest) -> pd.DataFrame:
    """The table of columns with what was typed into it since it was drawn anew."""
    shown = page.data_editor[0].value
    for row, cells in page.session_state[page.data_editor[0].key]["edited_rows"].items():
        for cell, value in cells.items():
            shown.loc[shown.index[row], cell] = value
    return shown


def row_of(page: AppTest, column: str) -> dict[str, object]:
    return table(page).loc[column].to_dict()


def used(page: AppTest) -> list[str]:
    return [column for column, use in table(page)["use"].items() if use]


def bounds(page: AppTest, column: str) -> tuple[object, object]:
    return row_of(page, column)["smallest"], row_of(page, column)["largest"]


def said(page: AppTest) -> str:
    elements = [*page.markdown, *page.caption, *page.info, *page.warning, *page.error]
    return "\n".join(element.value for element in elements).replace("\\", "")


def key_of(page: AppTest) -> str:
    return held(page).key


def held(page: AppTest) -> private.UploadedRecords:
    return page.session_state[session._HELD].kept["records"][1]


# What the holder does and sees


def test_nothing_is_computed_before_all_is_declared_and_every_bound_confirmed():
    page = opened()
    assert form.STAYS in said(page) and "0 in memory" in said(page) and "came" not in page.session_state
    dropped(page, {CSV: people()})
    assert "**people.csv** · 60 rows, 4 columns" in said(page) and page.session_state["came"]
    question = {label: named(page, f"{label} to predict") for label in ("Column", "Value")}
    assert question["Column"].value == "sick" and question["Value"].options == ["no", "yes"]
    assert used(page) == ["age", "dose"]
    assert row_of(page, "name")["remarks"] == "has a different text in every row"
    assert row_of(page, "age") | {"remarks": "", "use": True} == {
        "use": True,
        "kind": "number",
        "smallest": "0",
        "largest": "120",
        "levels": "",
        "from": "its name",
        "remarks": "",
    }
    assert "Still missing: bounds of dose." in said(page) and "Confirm" not in labels(page)
    edited(page, "dose", smallest="0", largest="1")
    assert row_of(page, "dose")["from"] == "you"
    assert "0 in memory" in said(page), "what is proposed or typed is not yet confirmed"
    confirmed(page)
    assert "people (your file): 42 to learn from, 2 results" in said(page) and "1 in memory" in said(page)
    assert form.NOT_PRIVATE in said(page)
    assert not page.expander[0].proto.expanded
    edited(page, "dose", largest="2")
    assert "0 in memory" in said(page), "another bound is to be confirmed too"
    assert page.run().expander[0].proto.expanded
    edited(page, "dose", use=False)
    assert "1 in memory" in said(page) and held(page).declared.features == ("age",)


def test_a_visit_to_another_page_loses_nothing_and_removing_the_file_loses_all():
    page = declared(opened(people() + b"nobody,,0.5,yes\n"))
    named(page, "Leave out").check().run()
    named(page, "Unit").set_value("patient").run()
    edited(page, "dose", use=False)
    key = key_of(page)
    page.toggle[0].set_value(True).run()
    page.run()
    assert "1 in memory" in said(page) and not page.selectbox
    page.toggle[0].set_value(False).run()
    assert key_of(page) == key and used(page) == ["age"]
    assert bounds(page, "dose") == ("0", "1") and bounds(page, "age") == ("0", "100")
    assert "**people.csv** · 61 rows" in said(page) and "Read 61 rows; 1 left out" in said(page)
    assert "one patient, 1 at most" in said(page)
    named(page, "Remove").click().run()
    assert "0 in memory" in said(page) and page.file_uploader
    assert [key for key in page.session_state if key.startswith(session.CONTROLS)] == [page.file_uploader[0].key]
    assert bounds(dropped(page, {CSV: people(seed=1)}), "age") == ("0", "120")


def test_a_codebook_says_bounds_and_levels_of_all_columns_at_once():
    page = edited(opened(patients()), "sex", use=False)
    pasted(page, 'column\tsmallest\tlargest\n"age"\t-1e-1\t99,5\n\nsex: f; m\nstage = {1, 2, 3, 4}\nday: a; b')
    assert "Imported: bounds of 1, levels of 3." in said(page)
    assert bounds(page, "age") == ("-0.1", "99.5") and bounds(page, "stage") == ("", "")
    assert [row_of(page, column)["kind"] for column in ("age", "sex", "stage")] == ["number", "category", "category"]
    assert row_of(page, "sex")["levels"] == "f; m" and row_of(page, "sex")["from"] == "codebook"
    assert used(page) == ["age", "sex", "stage"], "what speaks against a column still does"
    pasted(page, "age,0,1\nheight,0,250")
    assert bounds(page, "age") == ("-0.1", "99.5"), "a text with a mistake changes nothing"
    assert "Nothing was imported: line 2 must begin with a column of this file" in said(page)


def test_one_box_sets_several_columns():
    page = opened(people())
    for low, high, told in (("5", "1", "must be below the largest"), ("1,000", "", "“1,000”"), ("-1", "0,5", "")):
        page.multiselect[0].set_value([] if low == "5" else ["dose"])
        named(page, "Smallest").set_value(low)
        named(page, "Largest").set_value(high)
        named(page, "Set bounds").click().run()
        assert bool(page.error) == bool(told) and told in said(page) and ("Confirm" in labels(page)) != bool(told)
    assert bounds(page, "dose") == ("-1", "0.5") and bounds(page, "age") == ("0", "120")


def test_rows_with_gaps_are_left_out_only_when_their_holder_says_so():
    page = declared(opened(people() + b"nobody,n/a,0.5,yes\nno one,5,0.5,\n"))
    assert "2 of 62 rows lack something, such as empty cells and “n/a”." in said(page)
    assert "(here 2 of 62 rows without, “age” in 1, the label in 1); leave these rows out" in said(page)
    assert "0 in memory" in said(page) and page.expander[0].proto.expanded, "what mends it can be seen"
    named(page, "Leave out").check().run()
    assert not page.run().expander[0].proto.expanded
    told = "Read 62 rows; 2 left out, because a number or the label is missing (age 1, the label 1)."
    assert told in said(page)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("0,5", "0.5"), (".5", "0.5"), ("1e3", "1000"), ("1.250,5", "1250.5"), ("1 000", "1000")],
)
def test_a_number_typed_into_the_table_is_shown_as_it_was_understood(typed, meant):
    page = edited(opened(people()), "dose", smallest="\u22120,25", largest=typed)
    assert bounds(page, "dose") == ("-0.25", meant) and not page.error and "Confirm" in labels(page)


@pytest.mark.parametrize("typed", ["1,000", "12%", "many", "1.000"])
def test_a_typed_number_that_may_mean_two_or_none_is_refused(typed):
    page = edited(opened(people()), "dose", smallest="-2", largest=typed)
    assert "The largest value of “dose” is not taken: a number must" in said(page) and "Confirm" not in labels(page)
    edited(page, "dose", largest="-3")
    assert "The smallest value of “dose” must be below the largest (here −2 and −3)." in said(page)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"people.xlsx": b"PK\x03\x04"}, "choose File, Save as, CSV UTF-8"),
        (
            {"a.csv": people(), "b.csv": people()},
            "A page has one file of records (here “a.csv” and “b.csv”): drop only one",
        ),
        ({"people.ledger.json": LEDGER}, "comes with a file of records: drop them together"),
        ({CSV: people(), "l.json": b'{"releases": 1}'}, "Not loaded: l.json must be a ledger of releases"),
        ({CSV: people(), "d.json": b'{"columns": 1}'}, "Not loaded: d.json must be a column dictionary: columns must"),
        ({"other.json": b"{}"}, "A file's name must end in one of .csv"),
    ],
)
def test_files_that_cannot_be_used_are_answered_by_what_to_do(files, told):
    page = dropped(opened(), files)
    assert told in said(page) and not page.exception and "0 in memory" in said(page)


def test_a_second_file_of_records_replaces_none():
    page = dropped(declared(opened(people())), {"other.csv": people()})
    assert "(here “people.csv” and “other.csv”): remove the one that it has first." in said(page)
    assert "**people.csv**" in said(page) and "1 in memory" in said(page)


def test_the_first_rows_are_shown_as_they_were_read_or_hidden():
    page = opened(b"age,sex,sick\n" + b"1.50,f,yes\n,m,no\n" * 20)
    assert page.dataframe[0].value.to_numpy().tolist()[:2] == [["1.5", "f", "yes"], ["", "m", "no"]]
    named(page, "Hide").set_value(True).run()
    assert {*page.dataframe[0].value.to_numpy().ravel()} == {"•••"} and len(page.dataframe[0].value) == 5


def test_what_is_odd_about_a_column_is_told_with_examples():
    rows = [
        f"{('12%', '7 %')[i % 2]},{('x km', '5', '', 'N/A')[i % 11 if i % 11 < 4 else 1]},{i % 3 // 2}"
        for i in range(55)
    ]
    page = opened("\n".join(["rate,way,sick", *rows]).encode())
    assert row_of(page, "rate")["remarks"] == "numbers in %: '5 %' is read as 5"
    told = row_of(page, "way")["remarks"]
    assert told.startswith("5 cells are not numbers, such as 'x km'; ")
    assert told.endswith("; 10 gaps: empty cells and 'N/A'")
    assert "20 of 55" not in said(page) and "15 of 55 rows lack something" in said(page)
    pasted(page, "way = {5; x km}")
    assert row_of(page, "way")["remarks"] == "10 gaps: empty cells and 'N/A'", "a text may be a level"


def test_a_parquet_file_is_declared_like_a_csv_file():
    first = with_categories(opened(patients()))
    content = pd.read_csv(io.BytesIO(patients())).to_parquet(index=False)
    second = opened(content, "patients.parquet", columns=dictionary_of(first))
    assert not second.exception and not second.error and "Read as" not in said(second)
    assert held(second).declared == held(first).declared and held(second).report == held(first).report
    damaged = opened(content[:-9], "patients.parquet")
    assert "patients.parquet” must be a whole Parquet file" in said(damaged) and not damaged.exception


@pytest.mark.parametrize(
    "give, told",
    [
        (
            lambda page: pasted(page, "no_mg,0,1"),
            "Nothing was imported: line 1 must begin with a column of this file (here “no_mg”).",
        ),
        (
            lambda page: named(page, "Columns are separated").select("|").run(),
            "“my_people_2020.csv” must have a label and at least one feature, separated by commas, semicolons, tabs, "
            "| or blanks (here one column); delete the lines above the names, if there are any.",
        ),
        (
            lambda page: named(page, "Unit").set_value("2 <b>").run(),
            "Say what one row is, such as patient: unit must be a word of at most 20 letters (here “2 <b>”).",
        ),
    ],
)
def test_a_mistake_is_told_in_people_s_words_and_the_file_s_own_stay(give, told):
    page = opened(people().replace(b"dose", b"dose_mg"), "my_people_2020.csv")
    give(page)
    assert [error.value.replace("\\", "") for error in page.error] == [told]


def test_how_a_file_is_written_is_seen_said_and_changed():
    lines = [f"{i % 7},25;{7 * i % 40 + 1}.250,5;{'krank' if i % 2 else 'gesund'}" for i in range(40)]
    text, codebook = "\n".join(["größe;alter;zustand", *lines]), "größe;-1,5;9\nalter;0;60000"
    page = opened(text.encode("cp1252"))
    marks = "decimal commas, points between groups of three digits"
    read = f"separated by semicolons, {marks}, Western European (Windows), the first line is a header"
    assert f"Read as: {read}." in said(page) and not page.error
    named(page, "Groups of three digits").select("").run()
    assert row_of(page, "alter")["remarks"].startswith("has numbers that may mean two")
    named(page, "Groups of three digits").select(".").run()
    declared(page, codebook)
    assert held(page).report == data.Report(40, 0, dict.fromkeys(("größe", "alter"), 0), {"größe": 0, "alter": 0})
    named(page, "The first line").uncheck().run()
    assert "0 in memory" in said(page) and "the first line is a record" in said(page)
    assert named(page, "Column to").options == ["column 1", "column 2", "column 3"]
    named(page, "The first line").check().run()
    named(page, "Columns are separated").select("|").run()
    assert "here one column" in said(page), "a mistake is told, and can be changed back"
    named(page, "Columns are separated").select(";").run()
    assert held(page).report.read == 40


@pytest.mark.parametrize("encoding, words", [("cp1251", ("доза", "да", "нет")), ("cp932", ("用量", "有", "無"))])
def test_an_encoding_that_cannot_be_guessed_is_asked_for_once(encoding, words):
    dose, yes, no = words
    lines = [f"{i % 7},{7 * i % 40},{no if i % 3 else yes}" for i in range(40)]
    page = opened("\n".join([f"{dose},age,ill", *lines]).encode(encoding))
    choice = named(page, "Text is written in")
    assert "must be a text file in UTF-8 (here binary content or another encoding in line 1); save" in said(page)
    assert f"choose the encoding in which it is written: {', '.join(choice.options)}; Latin-1" in said(page)
    choice.select(encoding).run()
    assert (
        not page.error
        and [*table(page).index] == [dose, "age"]
        and named(page, "Value to").options == sorted([yes, no])
    )


def test_lines_in_two_encodings_are_told_on_the_page():
    lines = [f"Zoë{i % 3},{i % 7},{i % 2}".encode("cp1252" if i == 8 else "utf-8") for i in range(40)]
    page = opened(b"\n".join([b"name,age,ill", *lines]))
    assert "(here lines that are, such as line 2, and others that are not, such as line 10); save all of it" in said(
        page
    )


# The question


def test_another_question_looks_for_copies_anew_and_keeps_what_was_typed():
    lines = [f"{i * i % 83},{i * i * i % 61},{i * i * i % 61 // 45},{i % 2}" for i in range(120)]
    page = edited(opened("\n".join(["dose,score,passed,sick", *lines]).encode()), "dose", smallest="0", largest="83")
    assert named(page, "Column to").value == "sick" and used(page) == ["dose", "score", "passed"]
    named(page, "Column to").select("passed").run()
    assert used(page) == ["dose", "sick"] and "copy of the answer" in row_of(page, "score")["remarks"]
    assert "Alone it tells the label: **score**." in said(page) and bounds(page, "dose") == ("0", "83")
    edited(page, "score", use=True)
    named(page, "Value to").select("0").run()
    assert used(page) == ["dose", "score", "sick"], "what the holder has said holds"


def test_a_label_of_numbers_may_have_a_threshold():
    lines = [f"{i * i % 83},{7 * i % 60}" for i in range(120)]
    page = pasted(opened("\n".join(["dose,y", *lines]).encode()), "dose, 0, 83")
    assert named(page, "Value to").value == "≥ a threshold" and "Still missing: the value to predict." in said(page)
    named(page, "Threshold").set_value("1,000").run()
    assert "The threshold is not taken: a number must have one meaning" in said(page)
    named(page, "Threshold").set_value("44,5").run()
    confirmed(page)
    assert held(page).declared.positive == ">= 44.5" and (held(page)._y > 0).sum() == 30
    again = opened("\n".join(["dose,y", *lines]).encode(), columns=dictionary_of(page))
    assert held(again).declared == held(page).declared


# Categories, dictionaries, and what was changed after looking


def patients(stages: str = "1234") -> bytes:
    """Ages, a sex with some gaps and one misprint, a stage that is a code, a day and an outcome."""
    lines = [
        f"{20 + 7 * i % 60},{('f', 'm', '', 'F.')[min(i % 7 - i % 5, 3) if i % 7 > i % 5 else i % 2]},"
        f"{stages[i % len(stages)]},2026-0{1 + i % 9}-11,{'yes' if i * i % 11 < 5 else 'no'}"
        for i in range(140)
    ]
    return "\n".join(["age,sex,stage,day,sick", *lines]).encode()


def with_categories(page: AppTest) -> AppTest:
    """With age, sex and stage as features, the latter two with public levels; rows without are left out."""
    edited(page, "sex", levels="f, m")
    edited(page, "stage", levels="1; 2; 3; 4")
    named(page, "Leave out").check().run()
    return confirmed(page)


def test_columns_are_categories_once_their_levels_are_declared():
    page = edited(opened(patients()), "stage", levels="1; 2; 3; 4")
    assert row_of(page, "day")["remarks"] == "holds dates or times" and used(page) == ["age", "sex", "stage"]
    assert [row_of(page, column)["kind"] for column in ("sex", "stage")] == ["category", "category"]
    edited(page, "stage", smallest="1", largest="4")
    assert row_of(page, "stage")["kind"] == "number" and row_of(page, "stage")["levels"] == ""
    edited(page, "sex", smallest="1")
    assert "“sex” holds texts: it has levels, no bounds." in said(page) and bounds(page, "sex") == ("", "")
    edited(page, "sex", kind="number")
    assert "Column “sex” must be a category, since it holds texts (here the kind “number”)." in said(page)
    edited(page, "sex", kind="category", levels="f")
    assert "Still missing: levels of sex." in said(page)
    confirmed(edited(page, "sex", levels="f, m"))
    wrong = [line for line in patients().decode().splitlines()[1:] if line.split(",")[1] not in ("f", "m")]
    assert "0 in memory" in said(page) and f"here {len(wrong)} of 140 rows without, “sex”" in said(page)
    named(page, "Leave out").check().run()
    assert {line.split(",")[1] for line in wrong} == {"", "F."}, "a gap or another level"
    assert f"{len(wrong)} left out, because a number or the label is missing, or a level was not declared" in said(page)
    assert f"(sex {len(wrong)})." in said(page)
    assert held(page).declared.categories == (data.Category("sex", ("f", "m")),)
    assert held(page).source.p == 5 and "1 in memory" in said(page)


def test_rows_with_another_level_are_not_said_to_lack_nothing():
    page = pasted(opened(patients().replace(b",,", b",f,")), "stage, 1, 4\nsex: f; m")
    confirmed(page)
    assert "of 140 rows without, “sex”" in said(page) and "rows lack something" not in said(page)
    assert "leaving rows out reveals how many" in said(page)


def test_an_id_in_several_rows_asks_how_many_rows_a_person_has():
    lines = [f"{i * 7 % 31},{i * i % 83},{i % 2}" for i in range(120)]
    page = opened("\n".join(["patient_id,dose,sick", *lines]).encode())
    (asked,) = page.warning
    told = asked.value.replace("\\", "")
    assert (
        told == "Has one person more than one row? Column “patient_id” is named like an ID: one value stands in 4 rows."
    )
    named(page, "Rows at most").select(4).run()
    assert not page.warning


def test_yes_no_columns_are_declared_by_one_tick():
    lines = [f"{i % 3 // 2},{('No', 'Yes')[i * i % 7 // 4]},{i * i % 83},{i % 2}" for i in range(120)]
    page = opened("\n".join(["smoker,urban,dose,sick", *lines]).encode())
    assert "smoker (0, 1), urban (No, Yes)" in said(page)
    named(page, "Yes/no columns").check().run()
    assert bounds(page, "smoker") == ("0", "1") and row_of(page, "urban")["levels"] == "No; Yes"
    assert row_of(page, "urban")["from"] == "yes/no" and "Still missing: bounds of dose." in said(page)
    named(page, "Yes/no columns").uncheck().run()
    assert "bounds of smoker, dose; levels of urban" in said(page)
    named(page, "Yes/no columns").check().run()
    declared(page, "dose, 0, 83")
    assert held(page).declared.columns == ("smoker", "dose") and not held(page).declared.after_looking


def test_levels_come_from_the_file_only_where_that_is_recorded():
    page = edited(opened(patients()), "stage", kind="category")
    edited(page, "stage", levels="1; 2; 3; 4")
    named(page, "Take missing levels").click().run()
    assert row_of(page, "sex")["levels"] == "F.; f; m" and row_of(page, "stage")["levels"] == "1; 2; 3; 4"
    assert row_of(page, "sex")["from"] == "the file, not covered by ε"
    named(page, "Leave out").check().run()
    assert "except those chosen after looking" in named(page, "Confirm").label
    confirmed(page)
    assert held(page).declared.after_looking == ("sex",)
    assert f"sex: bounds or levels {form._AFTER_LOOKING}." in said(page)


def test_bounds_changed_after_their_clipping_was_shown_are_recorded():
    page = declared(opened(people()))
    assert held(page).declared.after_looking == ()
    declared(page, "age, 0, 50")
    assert held(page).declared.after_looking == ("age",)
    declared(page, "age, 0, 100")
    assert held(page).declared.after_looking == ("age",), "what was seen is not forgotten"
    assert form._AFTER_LOOKING in said(page)


def test_levels_changed_after_a_refusal_told_of_others_are_recorded():
    page = confirmed(edited(pasted(opened(patients()), "stage, 1, 4"), "sex", levels="f, m"))
    named(page, "Leave out").check()
    confirmed(edited(page, "sex", levels="f, m, F."))
    assert held(page).declared.after_looking == ("sex",)


def dictionary_of(page: AppTest) -> bytes:
    records = held(page)
    return data.write_dictionary(records.label, records.declared, "patient", 3).encode()


def test_a_dictionary_declares_the_next_file_at_once():
    first = with_categories(opened(patients()))
    second = opened(patients("4321"), "march.csv", columns=dictionary_of(first), ledger=LEDGER)
    assert not second.exception and not second.error and not second.expander[0].proto.expanded
    assert held(second).declared == held(first).declared and key_of(second) != key_of(first)
    assert "one patient, 3 at most; 0 releases" in said(second) and "with a ledger of 0 releases" in said(second)
    file = second.session_state[session._HELD]
    assert keyed_digest(patients("4321"), file.key) == file.digest
    assert file.digest[:8] in said(second) and file.key not in said(second)
    assert row_of(second, "sex")["from"] == "dictionary" and named(second, "Leave out").value
    confirmed(edited(second, "sex", levels="f, m, x"))
    assert held(second).declared.after_looking == ("sex",), "its clipping was shown, too"


def test_a_ledger_of_another_file_is_called_so():
    for name, told in ((CSV, "with a ledger of 0 releases"), ("march.csv", f"with a ledger of 0 releases from {CSV}")):
        page = opened(people(), name, ledger=LEDGER)
        assert page.markdown[0].value.replace("\\", "").endswith(told)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (patients().replace(b"stage", b"Stage", 1), "the file has no column “stage”"),
        (patients().replace(b",yes", b",ja").replace(b",no", b",nein"), "no row has the label “no”"),
        (patients().replace(b"sick", b"ill", 1), "which has no column “sick” for the label"),
    ],
)
def test_what_a_dictionary_declares_and_a_file_lacks_is_named(content, told):
    page = opened(content, columns=dictionary_of(with_categories(opened(patients()))))
    assert told in "".join(warning.value.replace("\\", "") for warning in page.warning)
    assert "records" not in page.session_state[session._HELD].kept and not page.exception


# Nobody else, and not for ever


@pytest.mark.parametrize("how", ["removed", "switched off", "session", "declared anew"])
def test_the_records_are_gone_when(how, monkeypatch):
    page, other = declared(opened(people())), declared(opened(people()))
    assert key_of(other) != key_of(page) and not data.is_gone(key_of(page)) and not data.is_gone(key_of(other))
    records, key = held(page), key_of(page.run())
    watched = [weakref.ref(part) for part in (records, records._X, records._y, data.load(key, 42, 3, 7).train.X)]
    if how != "declared anew":
        watched.append(weakref.ref(page.session_state[session._HELD]))
    del records
    assert all(ref() is not None for ref in watched)
    if how == "removed":
        named(page, "Remove").click().run()
    elif how == "switched off":
        monkeypatch.setenv(upload_lifetime.SETTING, "off")
        page.run()
    elif how == "declared anew":
        edited(page, "dose", use=False)
        assert data.get_source(key_of(page)).p == 2
    else:
        del page
    gc.collect()
    assert not any(ref() for ref in watched) and data.is_gone(key) and not data.is_gone(key_of(other))


def test_streamlit_s_own_keeper_of_files_is_told_to_let_them_go(monkeypatch):
    left = {}
    let_go = MemoryUploadedFileManager.remove_session_files

    def watched(keeper, session):
        held = len(keeper.file_storage[session])
        let_go(keeper, session)
        left[session] = held, len(keeper.file_storage.get(session, {}))

    monkeypatch.setattr(MemoryUploadedFileManager, "remove_session_files", watched)
    assert "Column to predict" in labels(opened(people(), ledger=LEDGER))
    assert list(left.values()) == [(2, 0)]


def test_an_error_that_nobody_foresaw_says_its_kind_only(monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise TypeError("cannot add 0.123456")

    monkeypatch.setattr(data, "read_table", fail)
    with caplog.at_level(logging.DEBUG):
        page = dropped(open_source(MAIN), {CSV: people()})
    assert page.exception and "0.123456" not in caplog.text
    assert "an upload could not be read (TypeError)" in caplog.text


def test_a_server_that_takes_none_says_why_and_shows_no_uploader(monkeypatch):
    monkeypatch.setenv(upload_lifetime.SETTING, "off")
    page = opened()
    assert not page.file_uploader and upload_lifetime.SETTING in said(page)
