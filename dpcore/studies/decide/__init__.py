"""From curves to a decision: budgets, people, odds and what others signed."""
