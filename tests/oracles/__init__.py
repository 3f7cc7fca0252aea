"""What other implementations say, frozen, with a version and how it was made."""

import json
from pathlib import Path

SCRIPT = Path(__file__).with_name("dp_accounting_values.py")
DP_ACCOUNTING = json.loads(SCRIPT.with_name("dp_accounting.json").read_text())
