"""What several pages share; no module here is a page."""
