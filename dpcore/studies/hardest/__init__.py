"""The hardest records known: those of a written list on which a mechanism has its largest excess risk."""
