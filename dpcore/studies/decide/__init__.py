"""Studies for a decision: smallest budget, sample sizes, attack success and published deployments."""
