"""The words of the page Survey. Every number comes out of the messages and the law of the coin."""

import pandas as pd

from dpcore.core.facts import text_beside
from dpcore.studies.survey.coin import coin_for
from dpcore.studies.survey.estimates import AgainstPeople, Survey, people_needed
from pages.rooms.screen import Randomised
from pages.ui.chips import chips_beside
from pages.ui.numbers import rounded, tenths
from pages.ui.sources import assumed

CHIPS = chips_beside(__file__, "chips.json")
FORMULA = text_beside(__file__, "formula.md")
CAPTION = (
    "**Same guarantee for both curves:** one person's answer replaced, pure ε. Randomised response needs no trust in "
    "anybody; the trusted server sees every answer."
)
_GUESS = 0.5  # the error of always saying 50%


def takeaway(curves: AgainstPeople, n: int) -> str:
    """Error bounds at the cursor, and with how many people a trusted server has the same."""
    at = list(curves.people).index(n)
    local, central = float(curves.local[at]), float(curves.central[at])
    kept = _kept(coin_for(curves.epsilon).p)
    start = f"At ε = {curves.epsilon:g} each phone sends the true answer with probability {kept}%."
    server = f"a trusted server with {_people(n)} is within **±{points(central)}**"
    if central >= _GUESS:
        return f"{start} Then {n:,} messages tell **no more than a guess of 50%**, and a trusted server does no better."
    if local >= _GUESS:
        return f"{start} Then {n:,} messages tell **no more than a guess of 50%**; {server}."
    told = f"{start} Then {n:,} messages give the share of yes to within **±{points(local)}** (95%); {server}"
    if local <= central:
        return f"{told}: hardly a phone lies, and the server still adds its noise."
    needed = people_needed(local, curves.epsilon)
    return f"{told}, and needs only **{_people(needed)}** for the same error." if needed < n else f"{told}."


def _kept(share: float) -> str:
    """A probability in percent, with as many digits as tell it from 100.

    >>> _kept(0.7311), _kept(0.99995)
    ('73.1', '99.995')
    """
    return tenths(100 * share) if share < 0.999 else f"{100 - float(f'{100 * (1 - share):.1g}'):g}"


def points(share: float) -> str:
    """A difference of shares, with two digits.

    >>> points(0.1953), points(0.01), points(0.0004)
    ('20 points', '1 point', '0.04 points')
    """
    shown = rounded(100 * share, 2)
    return f"{shown} point{'s' * (shown != '1')}"


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


def messages(found: Survey, answered: Randomised | None, seed: int) -> str:
    """What the messages tell, of whom, and whether there were any people at all."""
    low, high = _percent(found.low), _percent(found.high)
    sure = "which is exact with 95% confidence" if low == high else f"with a 95% interval from {low} to {high}"
    tells = f"{found.yes} of {found.n} messages say yes: the estimate is {_percent(found.estimate)}, {sure}"
    if answered is None:
        assert found.share is not None
        return (
            f"Simulated class, without phones (seed {seed}): {found.n} people, {_percent(found.share)} of whom "
            f"would truly say yes. {tells}."
        )
    return (
        f"Your room, which was asked “{answered.words}” with the coin of ε = {rounded(found.coin.epsilon)} "
        f"(the slider does not change it). {tells}. Nobody here knows the true share."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def table(curves: AgainstPeople) -> pd.DataFrame:
    """A row for each number of people."""
    return pd.DataFrame(
        {
            "people": curves.people.astype(int),
            "epsilon": curves.epsilon,
            "error_randomised_response": curves.local,
            "error_trusted_server": curves.central,
        }
    )


def assumptions(found: Survey, answered: Randomised | None) -> str:
    """What must be true for the guarantee and for the numbers."""
    class_ = "a simulated class: no phone took part" if answered is None else f"{found.n} phones of your room"
    return assumed(__file__, "assumptions.md", people=class_, keep=f"{found.coin.keep:,}")
