"""Attack success as ten by ten dots."""

import base64
import html

from dpcore.figures.icon_array import ICONS_SIDE, icons_svg

ATTACK_SUCCESS = "Attack success: your record or a substitute?"


def icon_array(reached: int, limit: int, cap: int, *, colour: str, rest: str, alt: str) -> str:
    """`icons_svg` as an HTML image that screen readers know by `alt`."""
    picture = icons_svg(reached, limit, cap, colour=colour, rest=rest)
    source = "data:image/svg+xml;base64," + base64.b64encode(picture.encode()).decode()
    return f'<img src="{source}" alt="{html.escape(alt)}" style="width:100%;max-width:{ICONS_SIDE}px;display:block">'
