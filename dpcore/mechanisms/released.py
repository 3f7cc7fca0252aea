"""Model that a signed plan has released, as a file with everything that its use needs, and its answers."""

from __future__ import annotations

import dataclasses as dc
import json
import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
from scipy.special import expit

from .._version import __version__
from ..core.arrays import Array
from ..core.losses import get_loss
from ..core.privacy import Budget
from ..core.validation import check_real, integer, shown
from ..data import Declared, RawTable, mismatches, read_dictionary, scaled_rows, write_dictionary
from .plan import Release
from .signed import SignedPlan

UNFINISHED = "a release was begun and not finished; treat it as made"


@dc.dataclass(frozen=True, eq=False)
class Answers:
    """Answers to the rows of a table.

    scores: [rows], <x, theta>, above 0 for the positive label, nan for a row that lacks something. probabilities:
    [rows], of the positive label, None unless the loss has them. clipped: values of each column beyond its bounds, in
    rows that have an answer. lacking: rows without a declared value, by column.
    """

    scores: Array
    probabilities: Array | None
    clipped: dict[str, int]
    lacking: dict[str, int]


@dc.dataclass(frozen=True)
class ReleasedModel:
    """A released linear model.

    made: when, in UTC, ISO 8601. version: that made it. plan: fingerprint of the signed plan. rows: learned from.
    spent: on one record. label, declared: as in `UploadedRecords`. theta: a coefficient for each of `declared.names`.
    """

    made: str
    version: str
    plan: str
    mechanism: str
    loss: str
    rows: int
    spent: Budget
    label: str
    declared: Declared
    theta: tuple[float, ...]

    @classmethod
    def of(cls, release: Release, signed: SignedPlan) -> ReleasedModel:
        """Model of a release by a signed plan that was made now."""
        plan, made = release.plan, datetime.now(UTC).isoformat(timespec="seconds")
        facts = (plan.mechanism.key, plan.spec.loss, plan.spec.n, release.spent)
        theta = tuple(release.theta.tolist())
        return cls(made, __version__, signed.fingerprint, *facts, signed.label, signed.declared, theta)

    def document(self) -> dict[str, Any]:
        """Everything as JSON's own types.

        `declared` is a column dictionary: label, bounds and levels. `scaling` says in words how records become x, and
        `divisor` is what they are divided by.
        """
        kept = ("made", "version", "plan", "mechanism", "loss", "rows")
        return {name: getattr(self, name) for name in kept} | {
            "spent": dc.asdict(self.spent),
            "declared": json.loads(write_dictionary(self.label, self.declared)),
            "scaling": self.declared.scaling,
            "divisor": math.sqrt(self.declared.squared_divisor),
            "columns": list(self.declared.names),
            "theta": list(self.theta),
        }

    @classmethod
    def read(cls, content: bytes, name: str) -> ReleasedModel:
        """Model of a file as `document` writes it; ValueError for an unfinished or another one. name: of the file."""
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and {"plan", "theta"} <= set(found) and found["theta"] is None:
            raise ValueError(f"{name} must hold a released model, got none: {UNFINISHED}")
        fields = {field.name for field in dc.fields(cls)} - {"label"} | {"scaling", "divisor", "columns"}
        if not isinstance(found, dict) or not fields <= set(found) or not isinstance(found["theta"], list):
            raise ValueError(f"{name} must be a model that `solve --plan` has released, got another file")
        try:
            label, declared = read_dictionary(json.dumps(found["declared"]).encode(), "declared")
            theta = tuple(check_real("theta", each, "finite numbers", lambda _: True) for each in found["theta"])
            divisor = check_real("divisor", found["divisor"], "> 0", lambda v: v > 0)
            if found["columns"] != list(declared.names) or len(theta) != len(declared.names):
                raise ValueError(
                    f"theta must have a number for each of {len(declared.names)} columns, got {len(theta)}"
                )
            if not math.isclose(divisor, math.sqrt(declared.squared_divisor), rel_tol=1e-9):
                raise ValueError(f"divisor must be sqrt({declared.squared_divisor}), got {divisor:g}")
            for each in ("made", "version", "plan", "mechanism", "loss"):
                if not isinstance(found[each], str):
                    raise ValueError(f"{each} must be a text, got {shown(found[each])}")
            get_loss(found["loss"])
            rows, spent = integer("rows", found["rows"], at_least=1), Budget(**found["spent"])
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name} must be a model as it was released: {error}") from None
        texts = {each: found[each] for each in ("made", "version", "plan", "mechanism", "loss")}
        return cls(**texts, rows=rows, spent=spent, label=label, declared=declared, theta=theta)

    def predict(self, table: RawTable) -> Answers:
        """Answers to a table with the columns that were declared; others are not read, and the label may be missing.

        Values beyond their bounds are clipped and counted. Raises ValueError for a table that lacks a column.
        """
        numbers = [name for name, column in table.columns.items() if not np.isnan(column.numbers).all()]
        if wrong := mismatches(self.declared, [*table.columns], numbers, [self.declared.positive]):
            raise ValueError(f"{table.name} must have the columns of the model: {'; '.join(wrong)}")
        scaled = scaled_rows(table, self.declared, np.ones(table.rows, bool))
        scores = np.full(table.rows, math.nan)
        scores[scaled.whole] = scaled.X @ np.array(self.theta)
        lacking = {name: count + scaled.unknown.get(name, 0) for name, count in scaled.gaps.items()}
        return Answers(scores, expit(scores) if self.loss == "logistic" else None, scaled.clipped, lacking)
