"""Attack success, of 100 guesses, as ten by ten dots."""

_CELL, _DOT = 24, 8.5
ICONS_SIDE = 10 * _CELL  # px


def icons_svg(reached: int, limit: int, cap: int, *, colour: str, rest: str) -> str:
    """An SVG picture of 100 dots: `reached` solid, up to `limit` pale with a rim, up to `cap` ringed, the others grey.

    rest: that grey. 0 <= reached <= limit <= cap <= 100.

    >>> icons_svg(52, 55, 73, colour="#002B95", rest="#ECEAE7").count("<circle")
    100
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
    box = f"0 0 {ICONS_SIDE} {ICONS_SIDE}"
    return f'<svg viewBox="{box}" xmlns="http://www.w3.org/2000/svg">{"".join(dots)}</svg>'
