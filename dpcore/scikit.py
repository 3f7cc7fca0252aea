"""What scikit-learn asks of an estimator: tags about itself, and labels of declared classes; it is not imported."""

from __future__ import annotations

from collections.abc import Hashable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .checks import shown

_LISTED = 10


def declared_classes(classes: Any, two: bool) -> np.ndarray:
    """Declared labels as a sorted array [C], which holds them as they were written; C = 2 if `two`, else C >= 2.

    ValueError for fewer or more, for labels of several kinds, and for what is no list of labels.

    >>> declared_classes(("virginica", "setosa", "versicolor"), two=False).tolist()
    ['setosa', 'versicolor', 'virginica']
    """
    try:
        array = np.asarray(classes)
        plain = array.tolist()
        fitting = len(plain) == 2 if two else len(plain) >= 2
        if fitting and array.ndim == 1 and plain == list(classes) and len(set(plain)) == len(plain):
            return np.sort(array)
    except (TypeError, ValueError):  # labels that numpy cannot hold, sort or hash
        pass
    many = "two" if two else "at least two"
    raise ValueError(f"classes must be {many} different labels of one kind, got {shown(classes)}")


def class_numbers(classes: np.ndarray, y: Any) -> np.ndarray:
    """The place in `classes` of each label of y [n], integers [n]; ValueError for any other label.

    >>> class_numbers(np.array(["no", "yes"]), ["yes", "yes", "no"])
    array([1, 1, 0])
    """
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    if np.ma.is_masked(y):
        raise ValueError("y must have a value in every place, got a masked array")
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have shape (n,), got {labels.shape}")
    numbers = np.empty(len(labels), dtype=int)
    for i, label in enumerate(labels.tolist()):
        if not isinstance(label, Hashable) or label not in number_of:
            raise ValueError(f"y must be one of the declared classes {_listed(list(number_of))}, got {shown(label)}")
        numbers[i] = number_of[label]
    return numbers


def _listed(labels: list[Any]) -> str:
    """All of few labels, some of many."""
    texts = [shown(label) for label in labels]
    if len(texts) > _LISTED:
        texts[_LISTED // 2 : -1] = ["..."]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def tags(kind: str, multi_class: bool) -> SimpleNamespace:
    """What scikit-learn (1.6 and later) asks an estimator about itself, as a plain record with its names.

    kind: "classifier" or "regressor". multi_class: whether a classifier takes more than two classes.

    >>> tags("classifier", multi_class=True).classifier_tags.multi_class
    True
    """
    classification = kind == "classifier"
    return SimpleNamespace(
        estimator_type=kind,
        target_tags=SimpleNamespace(
            required=True,
            one_d_labels=False,
            two_d_labels=False,
            positive_only=False,
            multi_output=False,
            single_output=True,
        ),
        transformer_tags=None,
        classifier_tags=(
            SimpleNamespace(poor_score=True, multi_class=multi_class, multi_label=False) if classification else None
        ),
        regressor_tags=None if classification else SimpleNamespace(poor_score=True),
        array_api_support=False,
        no_validation=False,
        non_deterministic=True,
        requires_fit=True,
        input_tags=SimpleNamespace(
            one_d_array=False,
            two_d_array=True,
            three_d_array=False,
            sparse=True,
            categorical=False,
            string=False,
            dict=False,
            positive_only=False,
            allow_nan=False,
            pairwise=False,
        ),
    )
