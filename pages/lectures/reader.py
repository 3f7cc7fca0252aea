"""Lectures are files: YAML beside this module, or a teacher's own. Every fault of one is a sentence with its line.

page: Perturbation
title: Where should the noise go?
controls: {n: 1_000, noise: gaussian}     # where those stand that not every page has
steps:
  - words: Three mechanisms, one guarantee. Move ε.    # `Step` says what these are
    shows: perturbation
    state: {epsilon: 0.1}
    kept: [epsilon, n]
  - words: "And with {next_n:,} people instead of {n:,}? Less is lost in …"
    same_picture: true                    # as the step before; without it a question has none
    answers: [the answer, the question]
    right: 2                              # counted from 1, or in its place
                                          # randomised: true
"""

import dataclasses as dc
import re
import string
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml

from pages.ui.share_link import cut
from pages.ui.sidebar import DEFAULTS

# Pages that a lecture may be on, in the order of the navigation.
PAGES = (
    "Overview",
    "Perturbation",
    "Dimension",
    "Selection",
    "Geometry",
    "Multiclass",
    "Survey",
    "Audit",
    "Composition",
    "Decide",
    "Papers",
)
_FILE = ("page", "title", "controls", "steps")
_PICTURE = ("shows", "aside", "state")
_STEP = ("words", *_PICTURE, "kept", "same_picture", "answers", "right", "randomised")
_KINDS = {
    str: "text (in quotes, where it looks like more)",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
}
_NUMBERS = ("", "g", ",")  # forms that a field may have
_DEEPEST, _LONGEST = 8, 40  # nesting in a file; characters of a value that is no text

Names = dict[str, yaml.Node]


@dc.dataclass(frozen=True)
class Question:
    """What the room predicts before the next step shows it. options: short; answer: place of the right one.

    Without a right one it is a question to people about themselves: phones answer it by randomised response at the
    step's epsilon, and the next step shows the share of the first of two options.
    """

    options: tuple[str, ...]
    answer: int | None


@dc.dataclass(frozen=True)
class Step:
    """One picture and what is said about it.

    words: at most 25; a number is not typed but a field, {control} for a value in this step's state, {next_control} in
    the next one's. shows: key of the chart or block on the screen, none while every picture would give the answer away.
    aside: the chart stands beside the page's main one, so that its own caption is read and not the page's headline.
    state: control -> value; what is not named stands at its default. kept: controls that stay, at most 3. question:
    answered by the next step. line: where it begins in its file.
    """

    words: str
    shows: str = ""
    state: Mapping[str, Any] = dc.field(default_factory=dict)
    kept: tuple[str, ...] = ()
    aside: bool = False
    question: Question | None = None
    line: int = 0


@dc.dataclass(frozen=True)
class Story:
    """A lecture on one page.

    name: in the address; its file's, without the ending. defaults: all controls that the page has, also those that only
    some states draw.
    """

    name: str
    page: str
    title: str
    defaults: Mapping[str, Any]
    steps: tuple[Step, ...]

    def state(self, number: int) -> dict[str, Any]:
        """Every control's value on entering a step; steps count from 1."""
        return {**self.defaults, **self.steps[number - 1].state}

    def words(self, number: int) -> str:
        """What a step says, with its numbers filled in."""
        upcoming = self.state(min(number + 1, len(self.steps)))
        fields = self.state(number) | {f"next_{key}": value for key, value in upcoming.items()}
        return self.steps[number - 1].words.format(**fields)


class FaultyLecture(ValueError):
    """A file that is no lecture. Its text has a line for each fault."""


def shipped(name: str) -> Path:
    """The file of a lecture that comes with the dashboard, by its name or its page's."""
    return Path(__file__).with_name(f"{name.lower()}.yaml")


def written(state: Mapping[str, Any]) -> str:
    """A step's state on one line of its file.

    >>> written({"epsilon": 0.5, "steps": "n²", "behind": None})
    '{epsilon: 0.5, steps: n², behind: null}'
    """
    return yaml.safe_dump(dict(state), default_flow_style=True, allow_unicode=True, sort_keys=False, width=1e9).strip()


def read(path: Path, pages: Mapping[str, Mapping[str, Any]] | None = None) -> Story:
    """The lecture in a file.

    pages: page -> where its controls stand that the file does not name under “controls”.

    Raises FaultyLecture, which says what is wrong and in which lines, and OSError where there is no such file.
    """
    reader = _Reader(path.stem, pages or {})
    try:
        story = reader.story(yaml.compose(path.read_bytes(), Loader=_PlainLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise FaultyLecture(f"{path}, line {line}: This cannot be read: {error.problem}.") from None
    except yaml.YAMLError as error:  # bytes that are no text
        raise FaultyLecture(f"{path}: {error}.") from None
    if reader.faults:
        raise FaultyLecture("\n".join(f"{path}, line {line}: {sentence}" for line, sentence in sorted(reader.faults)))
    return story


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases, of which a few hundred bytes stand for gigabytes, without tags, and not too deep."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        self.depth += 1
        self.must(not isinstance(event, yaml.AliasEvent), "write out what the alias (*) stands for", event)
        self.must(getattr(event, "tag", None) is None, "leave out the tag (!)", event)
        self.must(self.depth <= _DEEPEST, f"nothing is nested more than {_DEEPEST} deep", event)
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode) and not node.tag.endswith(":str"):
            self.must(len(node.value) <= _LONGEST, f"a number has at most {_LONGEST} characters", event)
        self.depth -= 1
        return node

    def must(self, held: bool, rule: str, event: yaml.Event) -> None:
        if not held:
            raise yaml.composer.ComposerError(None, None, rule, event.start_mark)


class _Reader:
    """Goes through a file to its end and notes its faults: (line, sentence)."""

    def __init__(self, name: str, pages: Mapping[str, Mapping[str, Any]]) -> None:
        self.name, self.pages = name, pages
        self.faults: list[tuple[int, str]] = []

    def story(self, node: yaml.Node | None) -> Story:
        top = self.names(node, _FILE, ("page", "title", "steps"))
        page, title = self.value(top.get("page"), str), self.value(top.get("title"), str)
        if page not in PAGES:
            self.fault(top.get("page"), f"There are lectures on {', '.join(PAGES)}, and none on “{cut(page)}”.")
        defaults = {**DEFAULTS, **self.pages.get(page, {}), **self.state(top.get("controls"), None)}
        found = top.get("steps")
        nodes = found.value if isinstance(found, yaml.SequenceNode) else []
        if not nodes:
            self.fault(found, "“steps” must be a list of one step or more.")
        steps: list[Step] = []
        for each in nodes:
            steps.append(self.step(each, steps[-1] if steps else None, defaults))
        story = Story(self.name, page, title, defaults, tuple(steps))
        for number, each in enumerate(nodes, 1):
            self.check_words(story, number, each)
            question = steps[number - 1].question
            if question and question.answer is None and page != "Survey":
                self.fault(
                    each, "Only a lecture on Survey has a randomised question: that page shows what phones sent."
                )
        if steps and steps[-1].question:
            self.fault(nodes[-1], "The last step must not be a question: the step after a question answers it.")
        return story

    def step(self, node: yaml.Node, before: Step | None, defaults: dict[str, Any]) -> Step:
        found = self.names(node, _STEP)
        asks = not found.keys().isdisjoint(("answers", "right", "randomised"))
        step = Step(
            words=self.value(found.get("words"), str),
            shows=self.value(found.get("shows"), str),
            state=self.state(found.get("state"), defaults),
            kept=self.texts(found.get("kept")),
            aside=self.value(found.get("aside"), bool),
            question=self.question(found, node) if asks else None,
            line=node.start_mark.line + 1,
        )
        if len(step.kept) > 3 or not defaults.keys() >= set(step.kept):
            self.fault(found["kept"], f"“kept” must be at most 3 of {', '.join(defaults)}.")
        if asks and step.kept:
            self.fault(found["kept"], "A question keeps no control: moving one would answer it.")
        if self.value(found.get("same_picture"), bool):
            if before is None or not asks or not found.keys().isdisjoint(_PICTURE):
                self.fault(found["same_picture"], "Only a question stays at the picture of the step before, and whole.")
            elif before:
                step = dc.replace(before, words=step.words, kept=(), question=step.question, line=step.line)
        elif asks == bool(step.shows):
            self.fault(node, "A step has either a picture (“shows”), or “answers” to choose from.")
        return step

    def question(self, found: Names, node: yaml.Node) -> Question:
        answers, right = self.texts(found.get("answers")), self.value(found.get("right"), int)
        if not 2 <= len(set(answers)) == len(answers) <= 4:
            self.fault(found.get("answers", node), "“answers” must be 2 to 4 different ones.")
        if self.value(found.get("randomised"), bool):
            if "right" in found or len(answers) != 2:
                self.fault(found["randomised"], "A randomised question has two answers, and none of them is right.")
            return Question(answers, None)
        if not 1 <= right <= len(answers):
            self.fault(found.get("right", node), f"“right” must be the number of an answer, from 1, got {right}.")
        return Question(answers, right - 1)

    def check_words(self, story: Story, number: int, node: yaml.Node) -> None:
        """Few words, in which every number is that of a control; the 1 of L1 is none."""
        known = {*story.defaults, *(f"next_{key}" for key in story.defaults)}
        try:
            for typed, field, form, conversion in string.Formatter().parse(story.steps[number - 1].words):
                if re.search(r"\b\d", typed):
                    self.fault(
                        node, f"A number is not typed, but the name of a control in braces, got “{cut(typed.strip())}”."
                    )
                if field is not None and (field not in known or form not in _NUMBERS or conversion):
                    self.fault(
                        node, f"“{cut(field)}” must be a control or next_ and one, as such or with :g or :, after it."
                    )
                    return
            count = len(story.words(number).split())
        except (ValueError, TypeError) as error:
            self.fault(node, f"The words cannot be filled in: {error}.")
            return
        if not 1 <= count <= 25:
            self.fault(node, f"A step has 1 to 25 words, this one {count}.")

    def names(self, node: yaml.Node | None, known: Collection[str] | None, needed: Collection[str] = ()) -> Names:
        """What stands at each name. known: the names that may be there, None for all."""
        found: Names = {}
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        for key, value in pairs:
            name = str(key.value)
            if name in found:
                self.fault(key, f"“{cut(name)}” stands here twice.")
            elif known is not None and name not in known:
                self.fault(key, f"There is no “{cut(name)}” here, only {', '.join(known)}.")
            found[name] = value
        if missing := [name for name in needed if name not in found]:
            self.fault(node, f"Missing: {', '.join(missing)}.")
        return found

    def state(self, node: yaml.Node | None, known: Collection[str] | None) -> dict[str, Any]:
        """Control -> value."""
        if node and not isinstance(node, yaml.MappingNode):
            self.fault(node, "This must be names of controls with their values.")
        return {name: self.constructed(value) for name, value in self.names(node, known).items()}

    def texts(self, node: yaml.Node | None) -> tuple[str, ...]:
        return tuple(self.value(each, str) for each in node.value) if node and self.value(node, list) else ()

    def value(self, node: yaml.Node | None, kind: type) -> Any:
        """What stands there, or the empty value of this kind where nothing does, or what is of another."""
        found = self.constructed(node) if node else kind()
        if type(found) is kind:
            return found
        self.fault(node, f"This must be {_KINDS[kind]}, got {cut(repr(found))}.")
        return kind()

    def constructed(self, node: yaml.Node) -> Any:
        try:
            return yaml.constructor.SafeConstructor().construct_document(node)
        except ValueError as error:  # a day that no calendar has
            self.fault(node, f"This is no value: {error}.")
            return None

    def fault(self, node: yaml.Node | None, sentence: str) -> None:
        self.faults.append((node.start_mark.line + 1 if node else 1, sentence))
