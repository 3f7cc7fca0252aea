"""The command `price-of-privacy`; where it is installed, it finds the dashboard in the folder `dashboard`."""
