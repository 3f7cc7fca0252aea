"""Many classes: private ellipsoids beside one class against the others."""
