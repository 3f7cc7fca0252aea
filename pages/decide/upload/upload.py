"""A file whose question and columns its holder has confirmed."""

import dataclasses as dc

from dpcore.data import Source
from dpcore.studies.decide.release_ledger import ReleaseLedger


@dc.dataclass(frozen=True)
class Upload:
    """A file whose question and columns its holder has confirmed.

    source: of its records, which `dpcore.data.held` has by the source's key. unit: what one row is, such as "person".
    records: rows that one unit has at most. key: random, of this session; digest: of the file's bytes under it. ledger:
    of earlier releases, None where none was handed over.
    """

    source: Source
    unit: str
    records: int
    key: str
    digest: str
    ledger: ReleaseLedger | None = None
