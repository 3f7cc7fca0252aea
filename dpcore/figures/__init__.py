"""Pure functions from an experiment's table to what plotly draws: the only place that knows plotly.

Every figure has a stable trace order and `uirevision`, so that a browser can update it in place, and a
`layout.meta["narrow"]` with the changes a phone needs. Everywhere `height` is in px, and the keyword of an
axis (epsilon, n, p, T, m, steps, p_norm, cursor) is where the cursor stands.
"""
