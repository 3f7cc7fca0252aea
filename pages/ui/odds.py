"""How often an attacker is right, as ten by ten dots and in words."""

from __future__ import annotations

import html

_CELL, _DOT = 24, 8.5


def icon_array(limit: int, cap: int, *, colour: str, rest: str, alt: str) -> str:
    """An SVG of 100 dots: `limit` filled, up to `cap` ringed, the others grey; 0 <= limit <= cap <= 100."""
    if not 0 <= limit <= cap <= 100:
        raise ValueError(f"limit and cap must satisfy 0 <= limit <= cap <= 100, got {limit} and {cap}")
    dots = []
    for i in range(100):
        x, y = _CELL * (i % 10 + 0.5), _CELL * (i // 10 + 0.5)
        if i < limit:
            look = f'fill="{colour}"'
        elif i < cap:
            look = f'fill="none" stroke="{colour}" stroke-width="2"'
        else:
            look = f'fill="{rest}"'
        dots.append(f'<circle cx="{x:g}" cy="{y:g}" r="{_DOT - (1 if limit <= i < cap else 0):g}" {look}/>')
    side = 10 * _CELL
    return (
        f'<svg role="img" aria-label="{html.escape(alt)}" viewBox="0 0 {side} {side}" width="100%" '
        f'style="max-width:{side}px;display:block" xmlns="http://www.w3.org/2000/svg">{"".join(dots)}</svg>'
    )
