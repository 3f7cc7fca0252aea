"""What others have signed: public facts on real deployments, for scale. None of them is a recommendation.

Numbers stand as their owners published them, read there or in the deployments registry of OpenDP
(github.com/opendp/deployments-registry-data) and in Desfontaines' list of real-world uses (desfontain.es/blog). They
are not comparable as they stand: units differ, and budgets that renew add up over time.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Literal

from ..composition import zcdp_epsilon

Model = Literal["central", "local", "federated"]


@dc.dataclass(frozen=True)
class Deployment:
    """Who released what, when, and under which promise.

    date: year and month (ISO), or the year. epsilon, delta: of the whole release, or of each period that the unit
    names; delta 0 is pure. unit: what the promise is about. model: "central": a curator sees the records; "local":
    each is noised before it leaves its owner; "federated": devices send updates, noise is added to their sum. renews:
    whether it is spent again with each period. note: what makes it hard to compare. source, address: where it stands.
    """

    who: str
    what: str
    date: str
    epsilon: float
    delta: float
    unit: str
    model: Model
    renews: bool
    note: str
    source: str
    address: str


_CENSUS = "Abowd and others, The 2020 Census Disclosure Avoidance System TopDown Algorithm (2022)"
_APPLE = "Apple, Learning with Privacy at Scale (2017)"

DEPLOYMENTS = (
    Deployment(
        *("US Census Bureau", "2020 Census redistricting data, tables of persons", "2021-08"),
        *(17.14, 1e-10, "person", "central", False),
        "2.56-zCDP, converted by the Bureau at this delta; state populations are published exactly",
        *(_CENSUS, "https://arxiv.org/abs/2204.08986"),
    ),
    Deployment(
        *("US Census Bureau", "2020 Census redistricting data, tables of housing units", "2021-08"),
        *(2.47, 1e-10, "housing unit", "central", False),
        "0.07-zCDP, converted by the Bureau at this delta",
        *(_CENSUS, "https://arxiv.org/abs/2204.08986"),
    ),
    Deployment(
        *("Ministry of Health of Israel", "registry of live births in 2014, as synthetic records", "2024-02"),
        *(9.98, 0.0, "birth (mother and newborn)", "central", False),
        "covers the choice of the model and the checks of the result too",
        "Hod and Canetti, Differentially Private Release of Israel's National Registry of Live Births (2024)",
        "https://arxiv.org/abs/2405.00267",
    ),
    Deployment(
        *("LinkedIn", "Audience Engagements API", "2020"),
        *(34.9, 7e-9, "member and month", "central", True),
        "what one analyst may learn in a month; each month costs as much again",
        "Rogers and others, LinkedIn's Audience Engagements API (2020)",
        "https://arxiv.org/abs/2002.05839",
    ),
    Deployment(
        *("Google", "COVID-19 Community Mobility Reports", "2020-04"),
        *(2.64, 0.0, "person and day", "central", True),
        "each day costs as much again",
        "Aktay and others, Google COVID-19 Community Mobility Reports: Anonymization Process Description (2020)",
        "https://arxiv.org/abs/2004.04145",
    ),
    Deployment(
        *("Google", "COVID-19 Search Trends symptoms dataset", "2020-09"),
        *(1.68, 0.0, "person and day", "central", True),
        "each day costs as much again",
        "Google COVID-19 Search Trends Symptoms Dataset: Anonymization Process Description (2020)",
        "https://arxiv.org/abs/2009.01265",
    ),
    Deployment(
        *("Google", "COVID-19 Vaccination Search Insights", "2021-07"),
        *(2.19, 1e-5, "person and day", "central", True),
        "each day costs as much again",
        "Google COVID-19 Vaccination Search Insights: Anonymization Process Description (2021)",
        "https://arxiv.org/abs/2107.01179",
    ),
    Deployment(
        *("Google", "Gboard, next words in Spanish", "2022-02"),
        *(zcdp_epsilon(0.81, 1e-10), 1e-10, "device", "federated", True),
        "published as 0.81-zCDP and converted here; each new model costs again",
        "Google Research, Federated Learning with Formal Differential Privacy Guarantees (2022)",
        "https://research.google/blog/federated-learning-with-formal-differential-privacy-guarantees/",
    ),
    Deployment(
        *("Wikimedia Foundation", "page views by country", "2023-06"),
        *(1.0, 1e-7, "device and day, its first 10 pages", "central", True),
        "0.015-zCDP, converted by the Foundation at this delta and rounded; each day costs as much again",
        "Publishing Wikipedia usage data with strong privacy guarantees (2023)",
        "https://arxiv.org/abs/2308.16298",
    ),
    Deployment(
        *("Apple", "popular emojis", "2017"),
        *(4.0, 0.0, "typed emoji that is sent", "local", True),
        "each contribution costs as much again; a limit on contributions a day is set but not part of epsilon",
        *(_APPLE, "https://machinelearning.apple.com/research/learning-with-privacy-at-scale"),
    ),
    Deployment(
        *("Microsoft", "telemetry of Windows Insiders, time spent in apps", "2017-12"),
        *(1.672, 0.0, "person and six hours", "local", True),
        "one round of collection, over any number of apps; rounds repeat",
        "Ding, Kulkarni and Yekhanin, Collecting Telemetry Data Privately (2017)",
        "https://www.microsoft.com/en-us/research/publication/collecting-telemetry-data-privately/",
    ),
    Deployment(
        *("Facebook and Social Science One", "Full URLs data set", "2020-02"),
        *(0.45, 1e-5, "person and type of action", "central", False),
        "holds for 99% of people; noise protects single actions, and who acts more than most is protected less",
        "Messing and others, Facebook Privacy-Protected Full URLs Data Set (2020)",
        "https://doi.org/10.7910/DVN/TDOAPG",
    ),
    Deployment(
        *("IOM and Microsoft", "Global Victim-Perpetrator Synthetic Dataset", "2022-12"),
        *(12.0, 5.8e-6, "victim", "central", False),
        "synthetic records drawn from noisy counts",
        "Counter Trafficking Data Collaborative, The Global Victim-Perpetrator Synthetic Data Codebook (2022)",
        "https://www.ctdatacollaborative.org/global-victim-perpetrator-synthetic-dataset",
    ),
)
