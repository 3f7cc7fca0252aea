"""From curves to a decision: smallest budget, sample sizes, attack success and published deployments."""
