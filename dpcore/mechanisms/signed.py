"""Release that somebody has signed: everything public that it needs, and the file that it is made from.

The file is known by HMAC-SHA-256 of its bytes under a random key that stays with its holder. A bare hash would be an
exact release of the records: anybody could test by it whether the file is one that they suspect.
"""

from __future__ import annotations

import dataclasses as dc
import hashlib
import hmac
import json
import math
import re
import secrets
from typing import Any

from .._version import __version__
from ..core.privacy import Budget
from ..core.specification import Spec
from ..core.validation import check_real, integer, shown
from ..data import Category, Declared, Format, UploadedRecords, held, is_private, read_table
from . import api
from .base import Mechanism
from .plan import Plan, Release
from .problem import Problem

ALGORITHM = "HMAC-SHA-256"
_KEY_BYTES = 32
_FINGERPRINT_DIGITS = 32  # hexadecimal
_SAME = 1e-9  # relative: another machine's logarithm may differ in the last digits


def new_key() -> str:
    """Random key of 256 bits, in hexadecimal, from the operating system's entropy."""
    return secrets.token_hex(_KEY_BYTES)


def keyed_digest(content: bytes, key: str) -> str:
    """HMAC-SHA-256 of a file's bytes under a key of `new_key`, both in hexadecimal.

    `openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY FILE` gives the same.

    >>> keyed_digest(b"age,sick", "00" * 32) == keyed_digest(b"age,sick", "01" * 32)
    False
    """
    if not re.fullmatch(f"[0-9a-f]{{{2 * _KEY_BYTES}}}", key):
        # The message must not repeat a key that was mistyped.
        raise ValueError(f"key must be {2 * _KEY_BYTES} digits from 0 to 9 and a to f, got {len(key)} characters")
    return hmac.new(bytes.fromhex(key), content, "sha256").hexdigest()


def released_spec(problem: Problem, mechanism: Mechanism) -> Spec:
    """Specification of what is released: where a problem has all training records of a file, its complete rows."""
    spec = problem.spec(mechanism)
    if not is_private(problem.source) or spec.n != (records := held(problem.source)).source.size:
        return spec
    return dc.replace(spec, n=records.rows)


@dc.dataclass(frozen=True)
class EarlierReleases:
    """Releases from the file that a ledger counts, and their total for one person; None where no guarantee is left."""

    number: int
    total: Budget | None

    @classmethod
    def read(cls, document: dict[str, Any]) -> EarlierReleases:
        """Those that `dataclasses.asdict` wrote; TypeError or ValueError for anything else."""
        found = cls(**document)
        total = None if found.total is None else Budget(**found.total)  # type: ignore[arg-type]
        return cls(integer("number", found.number, at_least=0), total)


@dc.dataclass(frozen=True)
class SignedPlan:
    """Plan of one release from an uploaded file, as it is signed.

    arguments: of `dpcore.calibrate`. calibrated: what that finds (lam, scale, steps, epsilon and delta spent), so that
    another version that would find something else is noticed. seed: of the random order of all complete rows, of which
    the first n are learned from; the noise has none. file, label, form, declared: as in `UploadedRecords`. digest: of
    the file. releases: planned. unit: what one row is, such as "person". records_per_person: rows of one unit, at most.
    earlier: releases from the file before, None where no ledger was shown. version: that calibrated.
    """

    arguments: dict[str, Any]
    calibrated: dict[str, float]
    seed: int
    file: str
    label: str
    form: Format | None
    declared: Declared
    digest: str
    releases: int
    unit: str
    records_per_person: int
    earlier: EarlierReleases | None
    version: str

    @classmethod
    def of(
        cls,
        problem: Problem,
        mechanism: Mechanism,
        epsilon: float,
        records: UploadedRecords,
        digest: str,
        *,
        releases: int,
        unit: str,
        records_per_person: int,
        earlier: EarlierReleases | None = None,
    ) -> SignedPlan:
        """Plan of a problem on these records; ValueError if its n or p are not those of the file.

        A problem with all training records tells what to expect, and the release learns from all complete rows, those
        held out included; a smaller n is kept.
        """
        size, p = records.source.size or 0, records.source.p
        if problem.n > size:
            raise ValueError(
                f"n must be at most the file's {size:,} training records, got {problem.n:,}; from copies of a record "
                "the guarantee for one record does not hold"
            )
        if problem.p != p:
            raise ValueError(f"p must be the file's {p}, got {problem.p}")
        spec = released_spec(problem, mechanism)
        domain = spec.domain
        arguments: dict[str, Any] = {"key": mechanism.key, "n": spec.n, "p": spec.p}
        arguments |= {"epsilon": epsilon, "delta": problem.delta}
        arguments |= {"loss": spec.loss, "lam": spec.lam, "R": domain.R, "y_max": domain.y_max}
        arguments |= {"radius": spec.radius, "theta_norm": spec.theta_norm, **mechanism.knobs}
        found = _calibrated(api.calibrate(**arguments))
        read = (records.file, records.label, records.form, records.declared)
        planned = (releases, unit, records_per_person, earlier)
        return cls(arguments, found, problem.seed, *read, digest, *planned, __version__)

    @classmethod
    def read(cls, document: Any) -> SignedPlan:
        """The plan that `document` wrote; ValueError, naming what is wrong, for anything else."""
        names = {field.name for field in dc.fields(cls)}
        if not isinstance(document, dict) or set(document) != names:
            raise ValueError(f"release must have {', '.join(sorted(names))}, got {shown(document)}")
        given = dict(document)
        try:
            form, declared = given["form"], dict(given["declared"])
            given["form"] = None if form is None else Format(**form)
            for name in ("columns", "low", "high", "after_looking"):
                declared[name] = tuple(declared[name])
            declared["categories"] = tuple(
                Category(**c | {"levels": tuple(c["levels"])}) for c in declared["categories"]
            )
            for name in ("low", "high"):
                declared[name] = tuple(check_real(name, v, "finite numbers", lambda v: True) for v in declared[name])
            given["declared"] = Declared(**declared)
            for name, least in (("seed", 0), ("releases", 1), ("records_per_person", 1)):
                given[name] = integer(name, given[name], at_least=least)
            if given["earlier"] is not None:
                given["earlier"] = EarlierReleases.read(given["earlier"])
            for name in ("file", "label", "digest", "unit", "version"):
                if not isinstance(given[name], str):
                    raise ValueError(f"{name} must be a text, got {shown(given[name])}")
            return cls(**given)
        except (TypeError, KeyError) as error:
            raise ValueError(f"release must be as a briefing writes it, got one that is not ({error})") from None

    def document(self) -> dict[str, Any]:
        """Everything as JSON's own types."""
        return json.loads(json.dumps(dc.asdict(self), allow_nan=False))

    @property
    def fingerprint(self) -> str:
        """128 bits of the SHA-256 of the whole document, by which a signed page and its JSON are compared.

        The digest in it is keyed, and all else is public.
        """
        text = json.dumps(self.document(), sort_keys=True, separators=(",", ":"))
        whole = hashlib.sha256(text.encode()).hexdigest()
        return "-".join(whole[k : k + 4] for k in range(0, _FINGERPRINT_DIGITS, 4))

    def plan(self) -> Plan:
        """The plan, calibrated anew; ValueError if this version finds another one than was signed."""
        plan = api.calibrate(**self.arguments)
        for name, value in _calibrated(plan).items():
            if not math.isclose(value, self.calibrated[name], rel_tol=_SAME):
                raise ValueError(
                    f"{name} must be {self.calibrated[name]:.12g}, as signed, got {value:.12g} from this version; "
                    f"release with version {self.version}, or have a new briefing signed"
                )
        return plan

    def check(self, content: bytes, key: str) -> None:
        """Raise ValueError for another file or key than those of the digest."""
        if not hmac.compare_digest(keyed_digest(content, key), self.digest):
            raise ValueError(
                "the file must be the one whose keyed digest was signed, byte for byte, and the key the one of that "
                "digest, got another file or another key"
            )

    def release(self, content: bytes, key: str) -> Release:
        """Release from a file's bytes, once checked, with noise from the operating system's entropy."""
        self.check(content, key)
        table = read_table(content, self.file, self.label, self.form)
        records = UploadedRecords(table, self.declared, self.file)
        plan = self.plan()
        return api.release_once(plan, records.first(plan.spec.n, self.seed))


def _calibrated(plan: Plan) -> dict[str, float]:
    spent = plan.spent
    found = {"lam": plan.spec.lam, "scale": plan.scale, "steps": plan.steps}
    return found | {"epsilon": spent.epsilon, "delta": spent.delta}  # type: ignore[return-value]
