"""Lecture mode: one step of a story around a page, in the place of the page's own frame.

The address alone says where a lecture stands (?lecture=perturbation&step=3), so that every step is a link. Entering a
step sets all of the page's controls; after that the controls that stay may be moved: a step is a start, not a cage.
"""

import html
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from dpcore.core.facts import text_beside
from dpcore.studies.survey.coin import coin_for
from pages.lectures import present
from pages.lectures.reader import Step, Story
from pages.lectures.stories import OWN, STORIES, of_page
from pages.rooms import screen
from pages.rooms.room import Asked
from pages.ui.html import framed, unbroken
from pages.ui.live_figure import LARGE
from pages.ui.set_controls import set_address, set_controls

# At import, so once per process.
_keys = st.components.v2.component("lecture_keys", js=text_beside(__file__, "keys.js"), isolate_styles=False)
_STYLE = text_beside(__file__, "lecture.css")
_NO_ROOM = "Open a room, and phones answer. Without one, the next step shows a simulated class."
_ENTERED, _AGAIN, _CHECKED = "lecture entered", "lecture entered again", "lecture checked"
_VOTES = "lecture votes"
_TOUR = "overview"  # which its page offers itself


@contextmanager
def lecture(page: str) -> Iterator[None]:
    """Around a page's script: a step of a lecture if the address asks for one, else the ways to the first steps.

    page: its title in the navigation.
    """
    found = asked_for(page, st.query_params.get("lecture"), st.query_params.get("step", "1"))
    st.session_state[LARGE] = not isinstance(found, str)
    if isinstance(found, str):
        st.session_state.pop(_ENTERED, None)
        screen.leave()
        if found:
            st.html(framed(found))
        yield
        with st.sidebar.container(horizontal=True, gap="small", key="lectures"):
            _offer([story for story in of_page(page) if story.name != _TOUR])
            if OWN:
                present.offer()
    else:
        story, number = found
        wanted = _enter(story, number)
        _panel(story, number)
        yield
        st.session_state[_CHECKED] = story.name, number
        # On a fresh visit, and when the browser goes back, Streamlit lets the address win over the step.
        if any(st.session_state.get(key) != value for key, value in wanted.items()):
            st.session_state[_AGAIN] = True
            st.rerun()


def asked_for(page: str, name: str | None, step: str) -> tuple[Story, int] | str:
    """The story and the step that an address asks for; else a sentence with what is wrong, empty if it asks for none.

    >>> asked_for("Perturbation", None, "1"), asked_for("Perturbation", "windows", "1")
    ('', 'There is no lecture “windows”: this is the page without one.')
    """
    if name is None:
        return ""
    story = STORIES.get(name)
    if story is None:
        return f"There is no lecture “{name[:40]}”: this is the page without one."
    if story.page != page:
        return f"The lecture “{name}” belongs to the page {story.page}: this is {page}, without one."
    last = len(story.steps)
    if step not in map(str, range(1, last + 1)):
        return f"The lecture “{name}” has steps 1 to {last}, and no “{step[:40]}”: this is the page without one."
    return story, int(step)


def _offer(stories: list[Story]) -> None:
    """Lectures to begin with: a button where there is one, a list of titles where there are many."""
    if len(stories) == 1:
        st.button("Teach this page", on_click=_turn_to, args=(stories[0], 1), key="teach", type="tertiary")
    elif stories:
        with st.popover("Teach this page", key="teach", type="tertiary"):
            for story in stories:
                st.button(story.title, on_click=_turn_to, args=(story, 1), key=f"teach_{story.name}", type="tertiary")


def tour_button() -> None:
    """The button that begins the tour; none within a lecture."""
    if not st.session_state.get(LARGE):
        st.button("5-minute tour", on_click=_turn_to, args=(STORIES[_TOUR], 1), key="tour", type="primary")


def _turn_to(story: Story, number: int) -> None:
    """Ask for a step, or for the nearest there is; runs before the next script run."""
    step = min(max(number, 1), len(story.steps))
    place = {"lecture": story.name, "step": str(step)}
    set_address(place)
    st.query_params.from_dict(place)  # nothing else is left in the address


def _leave() -> None:
    """Back to the page, with the controls as they stand."""
    set_address({"lecture": None, "step": None})


def _enter(story: Story, number: int) -> dict[str, Any]:
    """Set every control of the page when the address has come to another step; the controls that must stand so once the
    page is drawn, none at the second attempt. After a first run that was interrupted, perhaps by a move of a control
    that stays, they are the others."""
    place, wanted, again = (story.name, number), story.state(number), st.session_state.pop(_AGAIN, False)
    if st.session_state.get(_ENTERED) == place and not again:
        if st.session_state.get(_CHECKED) == place:
            return {}
        return {key: value for key, value in wanted.items() if key not in story.steps[number - 1].kept}
    st.session_state[_ENTERED] = place
    if not again:
        st.session_state.pop(_CHECKED, None)
    _turn_to(story, number)  # nothing else is left in the address
    set_controls(wanted)
    st.session_state["drawn"] = {}  # no slider was asked for anything else before
    return {} if again else wanted


def _panel(story: Story, number: int) -> None:
    """Words, question and bar, above the controls that stay."""
    step, last = story.steps[number - 1], len(story.steps)
    votes = st.session_state.setdefault(_VOTES, {})
    asked = asked_of(story, number)
    screen.ask(asked)

    st.html(f"<style>{_STYLE}\n{screen.STYLE}\n{whitelist(step)}</style>")
    with st.sidebar.container(key="lecture_bar", horizontal=True, vertical_alignment="center", gap="small"):
        back, on = (story, number - 1), (story, number + 1)
        st.button("◀", on_click=_turn_to, args=back, key="back", disabled=number == 1)
        # Streamlit's own help would stay on the screen over the next step.
        keys = "Back: PageUp, next: PageDown"
        st.html(f'<span class="lecture-step" title="{keys}">{number} of {last}</span>', width="content")
        st.button("▶", on_click=_turn_to, args=on, key="next", disabled=number == last)
        st.button("Leave", on_click=_leave, key="leave", type="tertiary")
        screen.button(f"{story.name}/{number}")
        _keys(key="lecture_keys")
    # Without a picture the question has the screen to itself. Both places are always there, so that nothing else moves.
    beside, alone = st.sidebar.empty(), st.empty()
    with (beside if step.shows else alone).container(key="lecture", gap="small"):
        # One element, so that no word of the step before stands beside those of this one.
        title = story.title if number == 1 or not step.shows else ""
        result = screen.result(asked_of(story, number - 1))  # which says, too, what is right
        verdict = "" if result else verdict_on(story, number, votes.get((story.name, number - 1)))
        said = (("title", title), ("verdict", verdict), ("words", story.words(number)))
        *before, words = (f'<p class="lecture-{part}">{html.escape(unbroken(text))}</p>' for part, text in said if text)
        st.html("".join(before) + result + words)
        counted = asked is not None and screen.room() is not None
        if asked and counted:
            screen.count(asked)
        elif asked and asked.keep is not None:  # nobody is to answer this one by a show of hands
            st.html(f'<p class="lecture-title">{_NO_ROOM}</p>')
        for k, option in enumerate(asked.answers if asked and asked.keep is None and not counted else ()):
            chosen = votes.get((story.name, number)) == k
            st.button(
                option,
                on_click=votes.__setitem__,
                args=((story.name, number), k),
                key=f"option_{k}",
                type="primary" if chosen else "secondary",
                width="stretch",
            )
    if counted:
        with st.sidebar.container(key="room"):
            screen.invite()


def asked_of(story: Story, number: int) -> Asked | None:
    """A step's question as phones see it, or None."""
    question = story.steps[number - 1].question if number > 0 else None
    if question is None:
        return None
    keep = coin_for(story.state(number)["epsilon"]).keep if question.answer is None else None
    return Asked(f"{story.name}/{number}", story.words(number), question.options, question.answer, keep)


def verdict_on(story: Story, number: int, vote: int | None) -> str:
    """What the step after a question says first: whether the picture agrees with the room; else nothing.

    vote: the option that was chosen before, None if none was.
    """
    question = story.steps[number - 2].question if number > 1 else None
    if question is None or question.answer is None:
        return ""
    right = question.options[question.answer]
    if vote == question.answer:
        return f"You said “{right}”, and the picture agrees."
    said = f"You said “{question.options[vote]}”. " if vote is not None else ""
    return f"{said}The picture says “{right}”."


def whitelist(step: Step) -> str:
    """Style rules that hide all of the page but one chart with its sentence, the controls that stay, and errors."""
    stay = [
        ".st-key-lecture",
        ".st-key-lecture_bar",
        ".st-key-room",
        ".stException",
        ".stAlert",
        "[data-testid=stAlert]",
    ]
    stay += [f".st-key-{key}" for key in (step.shows, *step.kept) if key]
    if step.shows and not step.aside and step.shows != "attack_success":
        stay += [".takeaway"]
    listed = ", ".join(stay)
    inside = ", ".join(f"{each} *" for each in stay)
    rules = (
        ":is([data-testid=stMain], [data-testid=stSidebarUserContent]) "
        ":is(.stElementContainer, .stColumn, .stHorizontalBlock, .stVerticalBlock, [data-testid=stLayoutWrapper])"
        f":not({listed}, {inside}, :has({listed})) {{ display: none !important }}"
    )
    if step.aside:  # what is written in the chart's own column
        column = f"[data-testid=stMain] .stColumn:has(.st-key-{step.shows}):not(:has(.stColumn))"
        said = ".stElementContainer:has(.stMarkdown, [data-testid=stCaptionContainer])"
        rules += f"\n{column} {said} {{ display: block !important }}"
    return rules
