"""From curves to a decision: what one epsilon means, costs and becomes."""
