"""Foundation of all other packages: specifications, losses, sets, checks of arguments, arrays and caches."""
