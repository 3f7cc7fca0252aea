"""Labels of declared classes, as estimators take them, and the places that stand for them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..core.validation import shown

_LISTED = 10  # labels in a refusal


def unmasked(name: str, values: Any) -> Any:
    """The given values; ValueError for a masked array, whose mask scikit-learn would drop."""
    if np.ma.is_masked(values):
        raise ValueError(f"{name} must have a value in every place, got a masked array; fill or drop masked values")
    return values


def declared_classes(classes: Any, two: bool) -> np.ndarray:
    """Declared labels as a sorted array [C], which holds them as they were written; C = 2 if `two`, else C >= 2.

    ValueError for another number of labels, for labels of several kinds, and for anything but a list of labels.

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


def class_places(classes: np.ndarray, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels of all classes in the form that y [n] has, and the place among them of each label of y, integers [n].

    classes: sorted [C]. The form is `classes`, or the numbers 0 to C - 1 that some of scikit-learn's tools put in their
    place before they fit, unless these are labels of other classes. ValueError for a label that is neither, or for a
    mixture of both forms.

    >>> class_places(np.array(["no", "yes"]), ["yes", "yes", "no"])
    (array(['no', 'yes'], dtype='<U3'), array([1, 1, 0]))
    >>> class_places(np.array([-1, 1]), [1, 0])
    (array([0, 1]), array([1, 0]))
    """
    labels = column_or_1d(unmasked("y", y)).tolist()
    numbers = np.arange(len(classes))
    declared, numbered = ({label: k for k, label in enumerate(form.tolist())} for form in (classes, numbers))
    known = declared if any(numbered.get(label, k) != k for label, k in declared.items()) else numbered | declared
    for label in labels:
        if not isinstance(label, Hashable) or label not in known:
            raise ValueError(f"y must be one of the declared classes {_listed(classes)}, got {_advice(label, classes)}")
    for form in (declared, numbered):
        if all(label in form for label in labels):
            return classes if form is declared else numbers, np.array([known[label] for label in labels], dtype=int)
    raise ValueError(
        f"y must hold the declared classes {_listed(classes)} or their numbers {_listed(numbers)}, got both"
    )


def _advice(label: Any, classes: np.ndarray) -> str:
    """A label that is refused, and what to write for it to be taken."""
    if label in range(len(classes)):
        every = ", ".join(map(str, range(len(classes))))
        return f"{label}; for tools that number the classes before they fit, declare classes=({every})"
    return f"{shown(label)}; declare all labels that can occur: classes=({shown(label)}, ...)"


def _listed(classes: np.ndarray) -> str:
    """Text of a list of labels, shortened if there are many."""
    texts = [shown(label) for label in classes.tolist()]
    if len(texts) > _LISTED:
        texts[_LISTED // 2 : -1] = ["..."]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"
