"""Uploads on a page: what their holder declares and sees, that nobody else does, and that they end with the session."""

import asyncio
import gc
import io
import logging
import tomllib
import weakref
from types import SimpleNamespace

import pandas as pd
import pytest
import streamlit as st
from starlette.requests import Request
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.testing.v1 import AppTest

from dpcore import data
from dpcore.data import uploads as private
from pages.server import upload_lifetime
from pages.ui import upload_bounds, upload_form
from tests.harness import ROOT
from tests.page_driver import open_source
from tests.upload_page import MAIN, people

CSV = "people.csv"


@pytest.fixture(autouse=True)
def on(monkeypatch):
    gc.collect()  # sessions of tests before
    gc.freeze()  # nothing of what is left now goes with this test, and `gc.collect` need not look through all modules
    monkeypatch.setenv(upload_lifetime.SETTING, "on")


def opened(content: bytes | None = None, name: str = CSV) -> AppTest:
    """The page, with a file where there is one."""
    page = open_source(MAIN)
    assert not page.exception
    return page if content is None else chosen(page, content, name)


def chosen(page: AppTest, content: bytes, name: str = CSV) -> AppTest:
    page.file_uploader[0].set_value((name, content, "text/plain"))
    return page.run()


def named(page: AppTest, label: str):
    """The control whose label begins so."""
    kinds = (page.selectbox, page.multiselect, page.text_input, page.text_area, page.checkbox, page.button)
    return next(control for kind in kinds for control in kind if control.label.startswith(label))


def labelled(page: AppTest, label: str = "sick", positive: str = "yes") -> AppTest:
    named(page, "Which column").select(label).run()
    return named(page, "Which label").select(positive).run()


def bounded(page: AppTest, low: float | str, high: float | str, *columns: str) -> AppTest:
    """With these bounds for the columns, or for all that have none."""
    named(page, "Set several").set_value(list(columns))
    named(page, "Smallest").set_value(str(low))
    named(page, "Largest").set_value(str(high))
    named(page, "Set bounds").click().run()
    assert not page.exception
    return page


def confirmed(page: AppTest) -> AppTest:
    named(page, "Confirm").click().run()
    assert not page.exception
    return page


def declared(page: AppTest) -> AppTest:
    """With all declared; age and dose lie in 0 to 100."""
    return confirmed(bounded(labelled(page), 0.0, 100.0, "age", "dose"))


def table_of(page: AppTest) -> dict[str, list[float]]:
    return {column: [float(text or "nan") for text in row] for column, row in page.data_editor[0].value.T.items()}


def told_in_table(page: AppTest, first: str) -> dict[str, list[str]]:
    """Rows of the table whose first column is called so, by their first cell."""
    table = next((each.value for each in page.table if each.value.columns[0] == first), None)
    return (
        {}
        if table is None
        else {
            first: rest
            for first, *rest in ([cell.replace("\\", "") for cell in row] for row in table.to_numpy().tolist())
        }
    )


def left_out(page: AppTest) -> dict[str, str]:
    return {column: reason for column, (reason,) in told_in_table(page, "Left out").items()}


def said(page: AppTest) -> str:
    elements = [*page.markdown, *page.caption, *page.info, *page.warning, *page.error]
    return "\n".join(element.value for element in elements)


def key_of(page: AppTest) -> str:
    return held(page).key


def held(page: AppTest) -> private.UploadedRecords:
    return page.session_state[upload_form._HELD].kept["records"][1]


# What the holder does and sees


def test_nothing_is_computed_before_all_is_declared_and_every_bound_confirmed():
    page = opened()
    assert upload_form.STAYS in said(page) and "0 in memory" in said(page)
    chosen(page, people())
    assert page.selectbox[-1].label == "Which column is the label?"
    page.selectbox[-1].select("sick").run()
    assert named(page, "Which columns").value == ["age", "dose"], "a column of words is no feature"
    assert left_out(page) == {"name": "has a different text in every row"}
    assert named(page, "Which label").options == ["no", "yes"]
    named(page, "Which label").select("yes").run()
    assert "still missing: dose." in said(page) and "proposed from the column's name: age." in said(page)
    bounded(page, 0.0, 1.0)
    assert table_of(page) == {"age": [0.0, 120.0], "dose": [0.0, 1.0]}
    assert "0 in memory" in said(page), "what is proposed or typed is not yet confirmed"
    confirmed(page)
    assert "people (your file): 42 to learn from, 2 results" in said(page) and "1 in memory" in said(page)
    assert upload_form.NOT_PRIVATE in said(page)
    bounded(page, 0.0, 2.0, "dose")
    assert "0 in memory" in said(page), "another bound is to be confirmed too"
    named(page, "Which columns").unselect("dose").run()
    assert "1 in memory" in said(page) and table_of(page) == {"age": [0.0, 120.0]}


def test_a_visit_to_another_page_loses_nothing_and_removing_the_file_loses_all():
    page = declared(opened(people() + b"nobody,,0.5,yes\n"))
    named(page, "Leave out").check().run()
    named(page, "Which columns").unselect("dose").run()
    key, table = key_of(page), table_of(page)
    page.toggle[0].set_value(True).run()
    page.run()
    assert "1 in memory" in said(page) and not page.selectbox
    page.toggle[0].set_value(False).run()
    assert key_of(page) == key and table_of(page) == table == {"age": [0.0, 100.0]}
    assert "**people\\.csv**, 1 kB" in said(page) and "Read 61 rows; 1 left out" in said(page)
    assert [box.value for box in page.selectbox[-2:]] == ["sick", "yes"]
    named(page, "Which columns").select("dose").run()
    assert table_of(page) == {"age": [0.0, 100.0], "dose": [0.0, 100.0]}
    named(page, "Remove people").click().run()
    assert "0 in memory" in said(page) and page.file_uploader
    assert not [key for key in page.session_state if key.startswith(upload_bounds.CONTROLS)]
    labelled(chosen(page, people(seed=1)))
    assert table_of(page)["age"] == [0, 120]


def test_bounds_are_pasted_from_a_spreadsheet():
    page = labelled(opened(people()))
    named(page, "One line per column").set_value('column\tsmallest\tlargest\n"dose"\t-1e-1\t1\n\nage; 0; 99.5\n')
    named(page, "Import").click().run()
    assert table_of(page) == {"age": [0.0, 99.5], "dose": [-0.1, 1.0]} and "bounds of 2 columns" in said(page)
    named(page, "One line per column").set_value("age,0,1\nheight,0,250")
    named(page, "Import").click().run()
    assert table_of(page)["age"] == [0.0, 99.5], "a table with a mistake changes nothing"
    assert "Nothing was imported: line 2 must begin with a column of this file" in said(page).replace("\\", "")


def test_rows_with_gaps_are_left_out_only_when_their_holder_says_so():
    page = declared(opened(people() + b"nobody,,0.5,yes\nnobody,5,0.5,\n"))
    assert "Rows with a gap: 1 in age, 1 in the label." in said(page)
    told = said(page).replace("\\", "")
    assert "here 2 of 62 rows without, “age” in 1, the label in 1); leave these rows out" in told
    assert "0 in memory" in told and page.expander[0].proto.expanded, "what mends it can be seen"
    named(page, "Leave out").check().run()
    assert not page.run().expander[0].proto.expanded
    assert "Read 62 rows; 2 left out, because a number or the label is missing." in said(page)
    assert told_in_table(page, "Column") == {
        "age": ["0 to 100", "1", "", "0 (0.0%)"],
        "the label": ["", "1", "", ""],
    }


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("0,5", 0.5), (".5", 0.5), ("1e3", 1_000.0), ("\u22120,25", -0.25), ("1.250,5", 1_250.5), ("1 000", 1_000.0)],
)
def test_a_typed_number_is_what_was_meant(typed, meant):
    page = bounded(labelled(opened(people())), "-2", typed, "dose")
    assert table_of(page)["dose"] == [-2.0, meant]
    assert not page.error


@pytest.mark.parametrize("typed", ["1,000", "12%", "many", "1.000"])
def test_a_typed_number_that_may_mean_two_or_none_is_refused(typed):
    page = bounded(labelled(opened(people())), "-2", typed, "dose")
    assert "The largest value is not taken: a number must" in page.error[0].value.replace("\\", "")
    assert "still missing: dose." in said(page)


def test_a_number_typed_into_the_table_is_shown_as_it_was_understood():
    page = labelled(opened(people()))
    held = page.session_state[upload_bounds._HELD]
    for typed, shown, error in (("0,5", "0.5", False), ("1e3", "1000", False), ("1,000", "1,000", True)):
        table = held.table.copy()
        table.loc["dose"] = ["-1", typed]
        held.table = table
        page.run()
        assert page.data_editor[0].value.loc["dose"].tolist() == ["-1", shown] and bool(page.error) == error
        assert ("still missing: dose." in said(page)) == error


def test_levels_and_bounds_are_pasted_in_one_text():
    page = labelled(opened(patients()))
    named(page, "Which columns are features").select("sex").run()
    pasted(page, "age: 0 to 120\nsex: f; m\nstage, 1, 4")
    assert "Imported the bounds of 2 and levels of 1 columns" in said(page)
    assert named(page, "Levels of sex").value == "f; m" and table_of(page)["stage"] == [1.0, 4.0]


def test_a_spreadsheet_is_answered_by_how_to_save_it():
    page = opened(b"PK\x03\x04", "people.xlsx")
    assert "choose File, Save as, CSV UTF-8" in page.error[0].value.replace("\\", "") and not page.exception


def test_what_is_odd_about_a_column_is_told_with_examples():
    rows = [
        f"{('12%', '7 %')[i % 2]},{('x km', '5', '', 'N/A')[i % 11 if i % 11 < 4 else 1]},{i % 3 // 2}"
        for i in range(55)
    ]
    page = labelled(opened("\n".join(["rate,way,sick", *rows]).encode()), positive="1")
    told = told_in_table(page, "In this column")
    assert told["rate"] == ["numbers in %: “5 %” is read as 5"]
    assert told["way"][0].startswith("5 cells are not numbers, such as “x km”; ")
    assert told["way"][0].endswith("; 10 gaps: empty cells and “N/A”")


def test_a_parquet_file_is_declared_like_a_csv_file():
    first = with_categories(opened(patients()))
    content = pd.read_csv(io.BytesIO(patients())).to_parquet(index=False)
    second = loaded(opened(content, "patients.parquet"), dictionary_of(first))
    assert not second.exception and not second.error and "Read as" not in said(second)
    assert held(second).declared == held(first).declared and held(second).report == held(first).report
    damaged = opened(content[:-9], "patients.parquet")
    assert "patients\\.parquet” must be a whole Parquet file" in damaged.error[0].value and not damaged.exception


@pytest.mark.parametrize(
    "give, told",
    [
        (
            lambda page: bounded(page, 1e-06, 1e-07, "dose_mg"),
            "The smallest value must be a number below the largest (here 10⁻⁶ and 10⁻⁷): type both again.",
        ),
        (
            lambda page: pasted(page, "no_mg,0,1"),
            "Nothing was imported: line 1 must begin with a column of this file (here “no_mg”).",
        ),
        (
            lambda page: named(page, "Columns are separated").select("|").run(),
            "“my_people_2020.csv” must have a label and at least one feature, separated by commas, semicolons, tabs, "
            "| or blanks (here one column); delete the lines above the names, if there are any",
        ),
    ],
)
def test_a_mistake_is_told_in_people_s_words_and_the_file_s_own_stay(give, told):
    page = labelled(opened(people().replace(b"dose", b"dose_mg"), "my_people_2020.csv"))
    give(page)
    assert [error.value.replace("\\", "") for error in page.error] == [told]


def pasted(page: AppTest, table: str) -> AppTest:
    named(page, "One line per column").set_value(table)
    return named(page, "Import").click().run()


def test_how_a_file_is_written_is_seen_said_and_changed():
    lines = [f"{i % 7},25;{7 * i % 40 + 1}.250,5;{'krank' if i % 2 else 'gesund'}" for i in range(40)]
    text, bounds = "\n".join(["größe;alter;zustand", *lines]), "größe;-1,5;9\nalter;0;60000"
    page = labelled(opened(text.encode("cp1252")), "zustand", "krank")
    marks = "decimal commas, points between groups of three digits"
    read = f"separated by semicolons, {marks}, Western European (Windows), the first line is a header"
    assert f"Read as: {read}." in said(page) and not page.error
    named(page, "Groups of three digits").select("").run()
    labelled(page, "zustand", "krank")
    assert left_out(page)["alter"].startswith("has numbers that may mean two")
    named(page, "Groups of three digits").select(".").run()
    labelled(page, "zustand", "krank")
    named(page, "One line per column").set_value(bounds)
    named(page, "Import").click().run()
    confirmed(page)
    assert held(page).report == data.Report(40, 0, dict.fromkeys(("größe", "alter"), 0), {"größe": 0, "alter": 0})
    named(page, "The first line").uncheck().run()
    assert "0 in memory" in said(page) and "the first line is a record" in said(page)
    assert named(page, "Which column").options == ["column 1", "column 2", "column 3"]
    named(page, "The first line").check().run()
    named(page, "Columns are separated").select("|").run()
    assert "here one column" in said(page), "a mistake is told, and can be changed back"
    named(page, "Columns are separated").select(";").run()
    labelled(page, "zustand", "krank")
    assert held(page).report.read == 40


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
    labelled(page)
    named(page, "Which columns are features").select("sex").run()
    named(page, "Which columns of numbers").select("stage").run()
    named(page, "Levels of sex").set_value("f, m")
    named(page, "Levels of stage").set_value("1\n2\n3\n4").run()
    named(page, "Leave out").check().run()
    return confirmed(page)


def test_columns_of_text_are_features_once_their_levels_are_declared():
    page = labelled(opened(patients()))
    assert left_out(page) == {
        "sex": "is text: choose it, and declare its levels",
        "day": "holds dates or times",
    }
    assert named(page, "Which columns are features").value == ["age", "stage"]
    named(page, "Which columns are features").select("sex").unselect("stage").run()
    assert "still missing: sex." in said(page) and named(page, "Levels of sex").value in ("", None)
    named(page, "Levels of sex").set_value("f, m").run()
    confirmed(page)
    wrong = [line for line in patients().decode().splitlines()[1:] if line.split(",")[1] not in ("f", "m")]
    assert "0 in memory" in said(page) and f"here {len(wrong)} of 140 rows without, “sex”" in said(page).replace(
        "\\", ""
    )
    named(page, "Leave out").check().run()
    told = told_in_table(page, "Column")["sex"]
    gaps, unknown = (sum(line.split(",")[1] == word for line in wrong) for word in ("", "F."))
    assert told == ["2 levels", str(gaps), str(unknown), ""] and gaps and unknown
    assert held(page).declared.categories == (data.Category("sex", ("f", "m")),)
    assert held(page).source.p == 4 and "1 in memory" in said(page)


def test_levels_come_from_the_file_only_where_that_is_recorded():
    page = labelled(opened(patients()))
    named(page, "Which columns are features").select("sex").run()
    named(page, "A public list").select("F, M").run()
    named(page, "Use this list").click().run()
    assert named(page, "Levels of sex").value == "F; M"
    named(page, "They are public").click().run()
    assert named(page, "Levels of sex").value == "F.; f; m"
    bounded(page, 1.0, 4.0, "stage")
    named(page, "Leave out").check().run()
    confirmed(page)
    assert held(page).declared.after_looking == ("sex",)
    assert f"sex: bounds or levels {upload_form._AFTER_LOOKING}." in said(page)


def test_bounds_changed_after_their_clipping_was_shown_are_recorded():
    page = declared(opened(people()))
    assert held(page).declared.after_looking == ()
    confirmed(bounded(page, 0.0, 50.0, "age"))
    assert held(page).declared.after_looking == ("age",)
    confirmed(bounded(page, 0.0, 100.0, "age"))
    assert held(page).declared.after_looking == ("age",), "what was seen is not forgotten"
    assert upload_form._AFTER_LOOKING in said(page)


def dictionary_of(page: AppTest) -> bytes:
    records = held(page)
    return data.write_dictionary(records.label, records.declared).encode()


def loaded(page: AppTest, dictionary: bytes) -> AppTest:
    page.file_uploader[0].set_value(("columns.json", dictionary, "application/json"))
    return page.run()


def test_a_dictionary_declares_the_next_file_at_once():
    first = with_categories(opened(patients()))
    second = loaded(opened(patients("4321"), "march.csv"), dictionary_of(first))
    assert not second.exception and not second.error
    assert held(second).declared == held(first).declared and key_of(second) != key_of(first)
    assert named(second, "Levels of sex").value == "f\nm" and named(second, "Leave out").value
    named(second, "Levels of sex").set_value("f, m, x").run()
    confirmed(second)
    assert held(second).declared.after_looking == ("sex",), "its clipping was shown, too"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (patients().replace(b"stage", b"Stage", 1), "the file has no column “stage”"),
        (patients().replace(b",yes", b",ja").replace(b",no", b",nein"), "no row has the label “yes”"),
        (patients().replace(b"sick", b"ill", 1), "which has no column “sick” for the label"),
    ],
)
def test_what_a_dictionary_declares_and_a_file_lacks_is_named(content, told):
    page = loaded(opened(content), dictionary_of(with_categories(opened(patients()))))
    assert told in "".join(warning.value.replace("\\", "") for warning in page.warning)
    assert "records" not in page.session_state[upload_form._HELD].kept and not page.exception


# Nobody else, and not for ever


@pytest.mark.parametrize("how", ["removed", "switched off", "session", "declared anew"])
def test_the_records_are_gone_when(how, monkeypatch):
    page, other = declared(opened(people())), declared(opened(people()))
    assert "2 in memory" in said(other) and key_of(other) != key_of(page)
    records, key = held(page), key_of(page.run())
    watched = [weakref.ref(part) for part in (records, records._X, records._y, data.load(key, 42, 3, 7).train.X)]
    if how != "declared anew":
        watched.append(weakref.ref(page.session_state[upload_form._HELD]))
    del records
    assert all(ref() is not None for ref in watched)
    if how == "removed":
        named(page, "Remove").click().run()
    elif how == "switched off":
        monkeypatch.setenv(upload_lifetime.SETTING, "off")
        page.run()
    elif how == "declared anew":
        named(page, "Which columns").unselect("dose").run()
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
    assert "Which column" in "".join(control.label for control in opened(people()).selectbox)
    assert list(left.values()) == [(1, 0)]


def test_an_error_that_nobody_foresaw_says_its_kind_only(monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise TypeError("cannot add 0.123456")

    monkeypatch.setattr(data, "read_table", fail)
    with caplog.at_level(logging.DEBUG):
        page = chosen(open_source(MAIN), people())
    assert page.exception and "0.123456" not in caplog.text
    assert "an upload could not be read (TypeError)" in caplog.text


# The server


@pytest.mark.parametrize(
    "setting, address, headers, allowed",
    [
        ("", "localhost", {}, True),
        ("", "127.0.0.1", {"Host": "127.0.0.1:8501"}, True),
        ("", "::1", {"Host": "[::1]:8501"}, True),
        ("", None, {}, False),
        ("", "0.0.0.0", {"Host": "localhost:8501"}, False),
        ("", "localhost", {"Host": "privacy.example.org"}, False),
        ("", "localhost", {"Host": "localhost", "X-Forwarded-For": "192.0.2.1"}, False),
        ("on", None, {"Host": "privacy.example.org"}, True),
        ("off", "localhost", {}, False),
        ("On please", "localhost", {}, False),
    ],
)
def test_who_may_upload(monkeypatch, setting, address, headers, allowed):
    monkeypatch.setenv(upload_lifetime.SETTING, setting)
    monkeypatch.setattr(upload_lifetime.st, "get_option", {"server.address": address}.__getitem__)
    monkeypatch.setattr(type(st.context), "headers", headers)
    off = upload_lifetime.why_off()
    assert off == "" if allowed else off.startswith("This server takes no files")


def test_a_server_that_takes_none_says_why_and_shows_no_uploader(monkeypatch):
    monkeypatch.setenv(upload_lifetime.SETTING, "off")
    page = opened()
    assert not page.file_uploader and upload_lifetime.SETTING in said(page)


def test_the_server_refuses_what_a_sheet_would():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert settings["server"]["maxUploadSize"] * 10**6 == data.UPLOAD.bytes


@pytest.mark.parametrize("mended", [True, False])
def test_no_part_of_an_upload_is_written_to_disk(monkeypatch, mended):
    """The largest file that Streamlit lets through stays in memory while the form is taken apart."""
    monkeypatch.setattr(upload_lifetime.MultiPartParser, "spool_max_size", 2**20)
    if mended:
        upload_lifetime.keep_in_memory()
    size = st.get_option("server.maxUploadSize") * 2**20
    start = b'--x\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\n\r\n'
    body = [start, b"1" * size, b"\r\n--x--\r\n"]

    async def receive():
        return {"type": "http.request", "body": body.pop(0), "more_body": bool(body)}

    headers = [(b"content-type", b"multipart/form-data; boundary=x")]

    async def rolled() -> bool:
        async with Request({"type": "http", "method": "PUT", "headers": headers}, receive).form() as form:
            assert form["file"].size == size
            return form["file"].file._rolled

    assert asyncio.run(rolled()) is not mended


def test_the_app_keeps_uploads_in_memory_and_closes_left_sessions():
    import app

    assert upload_lifetime.MultiPartParser.spool_max_size > st.get_option("server.maxUploadSize") * 2**20
    assert app.app._user_lifespan is upload_lifetime.lifespan


@pytest.mark.parametrize("document", ["data.md", "sharp_edges.md"])
def test_the_documents_say_how_long_a_closed_page_keeps_its_records(document):
    seconds = f"{upload_lifetime.LEFT_SECONDS + upload_lifetime.CHECK_SECONDS:g} seconds"
    assert seconds in (ROOT / "docs" / document).read_text() and seconds in upload_form.STAYS


def test_left_sessions_are_closed_and_no_others(monkeypatch):
    closed: list[str] = []
    files = SimpleNamespace(file_storage={}, remove_session_files=lambda session: None)
    held = {name: SimpleNamespace(session_state={"upload held": name}) for name in ("open", "left")}
    server = SimpleNamespace(
        is_active_session=lambda session: session == "open",
        close_session=closed.append,
        uploaded_file_mgr=files,
        _session_mgr=SimpleNamespace(get_session_info=lambda session: SimpleNamespace(session=held[session])),
    )
    monkeypatch.setattr(upload_lifetime.runtime, "get_instance", lambda: server)
    monkeypatch.setattr(upload_lifetime, "CHECK_SECONDS", 0.01)
    now, looks = [100.0], [0]

    def seconds() -> float:
        looks[0] += 1
        return now[0]

    monkeypatch.setattr(upload_lifetime, "time", SimpleNamespace(monotonic=seconds))
    monkeypatch.setattr(upload_lifetime, "_LAST_SEEN", dict.fromkeys(("open", "left"), 100.0))

    async def look_at(second: float) -> list[str]:
        now[0], looks[0] = second, 0
        async with upload_lifetime.lifespan(None):
            while looks[0] < 2:
                await asyncio.sleep(0.01)
        return list(closed)

    assert asyncio.run(look_at(100.0 + upload_lifetime.LEFT_SECONDS)) == [], "a short break costs nothing"
    assert asyncio.run(look_at(101.0 + upload_lifetime.LEFT_SECONDS)) == ["left"]
    assert held["open"].session_state and not held["left"].session_state
    assert list(upload_lifetime._LAST_SEEN) == ["open"]
