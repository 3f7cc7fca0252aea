"""What a reader would see as broken: labels over one another, texts that are cut. Scripts for the browser."""

# Labels of the chart that share space, in px: none may overlap another or leave the drawing.
OVERLAPS = """(it) => {
    const frame = it.getBoundingClientRect();
    const boxes = [...it.querySelectorAll('.annotation-text, .legendtext, .xtick text, .ytick text')]
        .filter(e => e.textContent.trim())
        .map(e => [e.textContent, e.getBoundingClientRect()]);
    const bad = [];
    for (const [text, b] of boxes)
        if (b.left < frame.left - 1 || b.right > frame.right + 1 || b.bottom > frame.bottom + 1)
            bad.push('cut: ' + text);
    boxes.forEach(([s, a], i) => boxes.slice(i + 1).forEach(([t, b]) => {
        const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        const flag = /^[ελp] = /.test(s) || /^[ελp] = /.test(t);  // the cursor's value replaces tick labels
        if (width > 2 && height > 4 && !flag) bad.push(s + ' over ' + t);
    }));
    return bad;
}"""


# Texts of the page, outside the chart, that are wider than the box that hides their overflow.
CUT = """() => [...document.querySelectorAll('[data-testid=stMain] *')]
    .filter(e => !e.closest('.live-figure') && e.innerText?.trim() && e.clientWidth)
    .filter(e => getComputedStyle(e).overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1)
    .map(e => e.innerText)"""
