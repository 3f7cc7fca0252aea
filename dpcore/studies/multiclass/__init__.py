"""Many classes: private ellipsoids against one-vs-rest."""
