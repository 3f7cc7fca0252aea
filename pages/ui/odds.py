"""How often an attacker is right, as ten by ten dots and in words."""

from __future__ import annotations

import base64
import html

_CELL, _DOT = 24, 8.5


def icon_array(reached: int, limit: int, cap: int, *, colour: str, rest: str, alt: str) -> str:
    """An HTML image of 100 dots: `reached` solid, up to `limit` pale with a rim, up to `cap` ringed, the others grey.

    0 <= reached <= limit <= cap <= 100.
    """
    if not 0 <= reached <= limit <= cap <= 100:
        raise ValueError(
            f"reached, limit and cap must satisfy 0 <= reached <= limit <= cap <= 100, got {reached}, {limit} and {cap}"
        )
    dots = []
    for i in range(100):
        x, y = _CELL * (i % 10 + 0.5), _CELL * (i // 10 + 0.5)
        if i < reached:
            look = f'fill="{colour}"'
        elif i < limit:
            look = f'fill="{colour}" fill-opacity="0.4" stroke="{colour}" stroke-width="2"'
        elif i < cap:
            look = f'fill="none" stroke="{colour}" stroke-width="2"'
        else:
            look = f'fill="{rest}"'
        dots.append(f'<circle cx="{x:g}" cy="{y:g}" r="{_DOT - (1 if reached <= i < cap else 0):g}" {look}/>')
    side = 10 * _CELL
    picture = f'<svg viewBox="0 0 {side} {side}" xmlns="http://www.w3.org/2000/svg">{"".join(dots)}</svg>'
    source = "data:image/svg+xml;base64," + base64.b64encode(picture.encode()).decode()
    return f'<img src="{source}" alt="{html.escape(alt)}" style="width:100%;max-width:{side}px;display:block">'
