"""What everything else rests on: specifications, losses, sets, checks of arguments, arrays and caches."""
