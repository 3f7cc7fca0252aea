"""Audits: attacks on a mechanism's claimed guarantee, and the lower bounds on privacy loss that they certify."""
