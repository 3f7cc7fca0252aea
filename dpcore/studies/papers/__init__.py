"""What the papers print, beside what is right."""
