"""Files of lectures: the faults that are found in them, a teacher's own lectures, and the steps that pages copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.lectures import present, stories
from pages.lectures.__main__ import main
from pages.lectures.reader import shipped
from pages.server import arguments
from pages.ui.share_link import BEHIND
from tests.harness import ROOT
from tests.page_driver import LIVE, SCRIPTS, finished, open_app, said, texts

from ..nights import each


@pytest.mark.parametrize(
    "shipped_words, written, line, sentence",
    [
        ("page: Overview", "page: Windows", 1, "There are lectures on Overview,"),
        ("page: Overview\n", "", 1, "Missing: page."),
        ("title:", "titel:", 2, "There is no “titel” here, only page, title, controls, steps."),
        ("title:", "title: {", 3, "This cannot be read: "),
        ("controls: {", "controls: [", 3, "This cannot be read: "),
        ("source: synthetic", "n: 7", 3, "“n” stands here twice."),
        ("kept: [epsilon]", "kept: [lambda]", 9, "“kept” must be at most 3 of epsilon, delta, "),
        ("kept: [epsilon]", "kept: [1]", 9, "This must be text (in quotes, where it looks like more), got 1."),
        ("kept: [epsilon]", "kept: epsilon", 9, "This must be a list"),
        ("    kept: [epsilon]", "    same_picture: true", 9, "Only a question stays at the picture"),
        ("    shows: cost\n", "", 10, "A step has either a picture (“shows”), or “answers” to choose from."),
        ("state: {epsilon: 1.0}", "state: {epsilon: 1.0, price: 1}", 8, "There is no “price” here, only epsilon,"),
        ("state: {epsilon: 1.0}", "state: !!python/tuple [1]", 8, "This cannot be read: leave out the tag (!)."),
        ("state: {epsilon: 1.0}", "state: [1]", 8, "This must be names of controls with"),
        ("state: {epsilon: 1.0}", "state: {epsilon: 2020-13-45}", 8, "This is no value: month must be in 1..12."),
        (
            "state: {epsilon: 1.0}",
            "state: {n: 0x" + 5_000 * "f" + "}",
            8,
            "This cannot be read: a number has at most 40",
        ),
        (
            "state: {epsilon: 1.0}",
            "state: " + 3_000 * "[",
            8,
            "This cannot be read: nothing is nested more than 8 deep.",
        ),
        ("right: 3", "randomised: true", 23, "A randomised question has two answers, and none of them is right."),
        ("right: 3", "right: 4", 23, "“right” must be the number of an answer, from 1, got 4."),
        ("right: 3", "right: yes", 23, "This must be a whole number"),
        ("    right: 3\n", "", 18, "“right” must be the number of an answer"),
        ("- about a fifth as", "- about a twenty-fifth as", 20, "“answers” must be 2 to 4 different"),
        ('"as large: ε is the same"', "as large: ε is the same", 20, "This must be text (in quotes"),
        ("right: 3", "right: 3\n    kept: [epsilon]", 24, "A question keeps no control: moving one would answer it."),
        (
            "{n:,} people: one record",
            "2,000 people: one record",
            24,
            "A number is not typed, but the name of a control",
        ),
        ("{n:,} people: one record", "{people} people: one record", 24, "“people” must be a control or next_ and one"),
        ("{n:,} people: one record", "{n.real} people: one record", 24, "“n.real” must be a control"),
        ("{n:,} people: one record", "{n!r} people: one record", 24, "“n” must be a control"),
        ("{n:,} people: one record", "{n:{p}} people: one record", 24, "“n” must be a control"),
        ("{n:,} people: one record", "{source:g} people: one record", 24, "The words cannot be filled in: "),
        ("{n:,} people: one record", "{behind:g} people: one record", 24, "The words cannot be filled in: "),
        ("{n:,} people: one record", "{n people: one record", 24, "The words cannot be filled in: "),
        (
            "{n:,} people: one record",
            12 * "very " + "many people: one record",
            24,
            "A step has 1 to 25 words, this one ",
        ),
        ("title:", "title: \a", 0, "unacceptable character"),
    ],
)
def test_a_fault_in_a_file_is_a_sentence_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shipped_words: str, written: str, line: int, sentence: str
):
    file = tmp_path / "overview.yaml"
    text = shipped("Overview").read_text(encoding="utf-8")
    assert shipped_words in text
    file.write_text(text.replace(shipped_words, written, 1), encoding="utf-8")
    assert main(["check", str(file)]) == 1
    said = capsys.readouterr().err
    assert (f"{file}, line {line}: {sentence}" if line else sentence) in said


def test_a_short_file_takes_no_more_memory_than_its_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """An alias for a list of aliases stands for nine times as many values, and a value is not told at any length."""
    bomb = "a: &a [1,1,1,1,1,1,1,1,1]\n"
    for name, before in zip("bcde", "abcd", strict=True):
        bomb += f"{name}: &{name} [{','.join(9 * [f'*{before}'])}]\n"
    for text, line, sentence in (
        (f"{bomb}title: *e", 2, "write out what the alias (*) stands for."),
        (
            f"page: Overview\ntitle: [{'1, ' * 10_000}]",
            2,
            "This must be text (in quotes, where it looks like more), got [1",
        ),
        (f"page: Overview\n{'x' * 1_000}: 1", 2, "There is no “xxx"),
        (f"page: {'x' * 10_000}", 1, "There are lectures on Overview,"),
    ):
        file = tmp_path / "overview.yaml"
        file.write_text(text, encoding="utf-8")
        assert main(["check", str(file)]) == 1
        said = capsys.readouterr().err
        assert f", line {line}: " in said and sentence in said and len(said) < 900, said[:900]


def test_only_the_page_that_shows_what_phones_sent_has_a_randomised_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file, text = tmp_path / "mine.yaml", shipped("Survey").read_text(encoding="utf-8")
    file.write_text(text.replace("page: Survey", "page: Audit", 1), encoding="utf-8")
    assert main(["check", str(file)]) == 1
    assert f"{file}, line 5: Only a lecture on Survey has a randomised question" in capsys.readouterr().err


def test_all_faults_of_a_file_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "overview.yaml"
    for text, count in (("", 3), ("steps: [1, {}]", 6), ("page: Overview\ntitle: [x]\ncontrols: {}\nsteps: 4", 2)):
        file.write_text(text, encoding="utf-8")
        assert main(["check", str(file)]) == 1
        assert len(capsys.readouterr().err.splitlines()) == count
    steps = shipped("Overview").read_text(encoding="utf-8").split("\n  - ")
    file.write_text("\n  - ".join(steps[:5]), encoding="utf-8")
    assert main(["check", str(file)]) == 1
    assert "line 18: The last step must not be a question" in capsys.readouterr().err
    assert main(["check", str(tmp_path / "none.yaml")]) == 1


# A teacher's own.

GUIDE = (ROOT / "docs" / "teachers_guide.md").read_text(encoding="utf-8")
(CLINIC,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """With the guide's lecture in it; what a test adds to the lectures is gone after it."""
    before = dict(stories.STORIES)
    (tmp_path / "clinic.yaml").write_text(CLINIC, encoding="utf-8")
    stories.OWN.append(tmp_path)
    yield tmp_path
    stories.STORIES.clear()
    stories.STORIES.update(before)
    stories.OWN.clear()


def test_the_guides_lecture_has_nothing_wrong(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'clinic.yaml'}: nothing is wrong with its 3 steps.\n"


@pytest.mark.parametrize(
    "guides, written, line, sentence",
    [
        (
            "shows: cost",
            "shows: costs",
            4,
            "Step 1: There is no chart “costs” in this state. Its charts are: cost, bells, definition.",
        ),
        ("source: breast_cancer", "source: patients", 4, "Step 1: “source” must be one of "),
        ("n: 398", "n: 399", 4, "Step 1: “n” must be one of 200, 300, 398 in this state"),
        ("n: 398", "n: many", 4, "Step 1: “n” must be one of 200, 300, 398 in this state"),
        ("n: 398", "seed: -1", 4, "Step 1: “seed” must be one of 0 to 1000000 in this state, got -1."),
        ("kept: [epsilon]", "kept: [behind, n, title]", 7, "“kept” must be at most 3 of "),
    ],
)
def test_a_step_that_its_page_cannot_show_is_a_fault_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str], guides: str, written: str, line: int, sentence: str
):
    file = folder / "clinic.yaml"
    first, *_ = CLINIC.split('  - words: "And')
    file.write_text(first.replace(guides, written, 1), encoding="utf-8")
    assert guides in first and main(["check", str(file)]) == 1
    assert f"{file}, line {line}: {sentence}" in capsys.readouterr().err


def test_all_lectures_of_a_page_are_offered_by_their_titles(folder: Path):
    arguments.accept(["--lectures", str(folder)])
    assert [story.name for story in stories.of_page("Overview")] == ["overview", "clinic"]
    page = open_app()
    assert page.button("tour").label == "5-minute tour"
    page.button("teach").click().run()
    assert "Records of 398 patients and a guarantee of ε = 5 for each of them." in texts(page)
    assert page.query_params["lecture"] == "clinic" and page.session_state["epsilon"] == 5.0
    page.button("next").click().run()
    page.button("option_1").click().run()
    page.button("next").click().run()
    assert "You said “at least twice as much”, and the picture agrees." in texts(page)
    loss = re.search(r"([\d.]+)% of what can be", said(page))
    page.select_slider("epsilon").set_value(5.0).run()
    less = re.search(r"([\d.]+)% of what can be", said(page))
    assert loss and less and float(loss[1]) > 2 * float(less[1])


def test_a_faulty_folder_ends_the_start_with_all_its_sentences(folder: Path):
    (folder / "other.yml").write_text("page: Overview\ntitel: x\n", encoding="utf-8")
    (folder / "Übung.yaml").write_text(CLINIC, encoding="utf-8")
    (folder / "decide.yaml").write_text(CLINIC, encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        arguments.accept(["--lectures", str(folder)])
    told = str(ended.value)
    assert f"{folder / 'other.yml'}, line 2: There is no “titel” here" in told
    assert "Übung.yaml: The file's name stands in the address and must be 1 to 40 of a-z, 0-9, _ and -, got " in told
    assert "decide.yaml: There is another lecture “decide”: rename the file." in told
    assert "clinic" not in stories.STORIES
    with pytest.raises(SystemExit, match="There is no such file or folder"):
        arguments.accept(["--lectures", str(folder / "none")])


def test_an_empty_folder_is_one_to_begin_with(folder: Path):
    stories.OWN.clear()
    (folder / "mine").mkdir()
    arguments.accept(["--lectures", str(folder / "mine")])
    assert [folder / "mine"] == stories.OWN


# Steps that are copied.


@pytest.mark.parametrize("name", each(9, (*LIVE, "papers")))
def test_a_copied_step_is_the_pages_present_state(folder: Path, name: str):
    """Every page; read back, it sets what the page had."""
    page = open_app(SCRIPTS[name], make_a_step=True, **({} if name == "papers" else {"epsilon": 0.5, "seed": 11}))
    page = finished(page)
    (code,) = [each.value for each in page.get("code") if present.WORDS in each.value]
    file = folder / "copied.yaml"
    file.write_text(f"page: {name.capitalize()}\ntitle: x\nsteps:\n{code}\n", encoding="utf-8")
    (story, _), *_ = stories.read_own(file)
    step = story.steps[0]
    drawn = [getattr(each, "proto", None) for each in (*page.main, *page.sidebar)]
    keys = {key for proto in drawn if (key := getattr(proto, "query_param_key", ""))} - {"hide", BEHIND}
    assert {"seed"} < keys and {key: page.session_state[key] for key in keys} == dict(step.state)
    assert any(str(getattr(proto, "id", "")).endswith(f"-{step.shows}") for proto in drawn)


def test_nothing_is_copied_where_there_is_no_chart_or_nobody_looks(folder: Path):
    page = open_app("papers/page.py", about="algorithms", make_a_step=True)
    assert "A step shows a chart, and there is none here." in texts(page)
    page.session_state["make_a_step"] = False
    assert "A step shows a chart" not in texts(page.run())
