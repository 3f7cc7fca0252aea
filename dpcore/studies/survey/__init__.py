"""A yes/no survey without a trusted server: randomised response, beside a server that adds noise once."""
