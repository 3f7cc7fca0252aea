"""The foundation of all other rooms: specifications, losses, sets, checks of arguments, arrays and caches."""
