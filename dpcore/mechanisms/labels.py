"""Declared labels of classes, and labels as their places among these."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..core.validation import shown

_LISTED = 10  # labels in a refusal


def unmasked(name: str, values: Any) -> Any:
    """The same values; ValueError for a masked array, whose mask scikit-learn would drop."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have a value in every place, got a masked array")
    return values


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
    labels = column_or_1d(unmasked("y", y))
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
