"""What others have signed: public facts on real deployments, for scale. None of them is a recommendation.

Numbers stand as their owners published them, read there or in the deployments registry of OpenDP
(github.com/opendp/deployments-registry-data) and in Desfontaines' list of real-world uses (desfontain.es/blog). They
are not comparable as they stand: units differ, and budgets that renew add up over time.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Literal

from ...accounting.zcdp import zcdp_epsilon

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


DEPLOYMENTS = (
    Deployment(
        who="US Census Bureau",
        what="2020 Census redistricting data, tables of persons",
        date="2021-08",
        epsilon=17.14,
        delta=1e-10,
        unit="person",
        model="central",
        renews=False,
        note="2.56-zCDP, converted by the Bureau at this delta; state populations are published exactly",
        source="Abowd and others, The 2020 Census Disclosure Avoidance System TopDown Algorithm (2022)",
        address="https://arxiv.org/abs/2204.08986",
    ),
    Deployment(
        who="US Census Bureau",
        what="2020 Census redistricting data, tables of housing units",
        date="2021-08",
        epsilon=2.47,
        delta=1e-10,
        unit="housing unit",
        model="central",
        renews=False,
        note="0.07-zCDP, converted by the Bureau at this delta",
        source="Abowd and others, The 2020 Census Disclosure Avoidance System TopDown Algorithm (2022)",
        address="https://arxiv.org/abs/2204.08986",
    ),
    Deployment(
        who="Ministry of Health of Israel",
        what="registry of live births in 2014, as synthetic records",
        date="2024-02",
        epsilon=9.98,
        delta=0.0,
        unit="birth (mother and newborn)",
        model="central",
        renews=False,
        note="covers the choice of the model and the checks of the result too",
        source="Hod and Canetti, Differentially Private Release of Israel's National Registry of Live Births (2024)",
        address="https://arxiv.org/abs/2405.00267",
    ),
    Deployment(
        who="LinkedIn",
        what="Audience Engagements API",
        date="2020",
        epsilon=34.9,
        delta=7e-09,
        unit="member and month",
        model="central",
        renews=True,
        note="what one analyst may learn in a month; each month costs as much again",
        source="Rogers and others, LinkedIn's Audience Engagements API (2020)",
        address="https://arxiv.org/abs/2002.05839",
    ),
    Deployment(
        who="Google",
        what="COVID-19 Community Mobility Reports",
        date="2020-04",
        epsilon=2.64,
        delta=0.0,
        unit="person and day",
        model="central",
        renews=True,
        note="each day costs as much again",
        source="Aktay and others, Google COVID-19 Community Mobility Reports: Anonymization Process Description (2020)",
        address="https://arxiv.org/abs/2004.04145",
    ),
    Deployment(
        who="Google",
        what="COVID-19 Search Trends symptoms dataset",
        date="2020-09",
        epsilon=1.68,
        delta=0.0,
        unit="person and day",
        model="central",
        renews=True,
        note="each day costs as much again",
        source="Google COVID-19 Search Trends Symptoms Dataset: Anonymization Process Description (2020)",
        address="https://arxiv.org/abs/2009.01265",
    ),
    Deployment(
        who="Google",
        what="COVID-19 Vaccination Search Insights",
        date="2021-07",
        epsilon=2.19,
        delta=1e-05,
        unit="person and day",
        model="central",
        renews=True,
        note="each day costs as much again",
        source="Google COVID-19 Vaccination Search Insights: Anonymization Process Description (2021)",
        address="https://arxiv.org/abs/2107.01179",
    ),
    Deployment(
        who="Google",
        what="Gboard, next words in Spanish",
        date="2022-02",
        epsilon=zcdp_epsilon(0.81, 1e-10),
        delta=1e-10,
        unit="device",
        model="federated",
        renews=True,
        note="published as 0.81-zCDP and converted here; each new model costs again",
        source="Google Research, Federated Learning with Formal Differential Privacy Guarantees (2022)",
        address="https://research.google/blog/federated-learning-with-formal-differential-privacy-guarantees/",
    ),
    Deployment(
        who="Wikimedia Foundation",
        what="page views by country",
        date="2023-06",
        epsilon=1.0,
        delta=1e-07,
        unit="device and day, its first 10 pages",
        model="central",
        renews=True,
        note="0.015-zCDP, converted by the Foundation at this delta and rounded; each day costs as much again",
        source="Publishing Wikipedia usage data with strong privacy guarantees (2023)",
        address="https://arxiv.org/abs/2308.16298",
    ),
    Deployment(
        who="Apple",
        what="popular emojis",
        date="2017",
        epsilon=4.0,
        delta=0.0,
        unit="typed emoji that is sent",
        model="local",
        renews=True,
        note="each contribution costs as much again; a limit on contributions a day is set but not part of epsilon",
        source="Apple, Learning with Privacy at Scale (2017)",
        address="https://machinelearning.apple.com/research/learning-with-privacy-at-scale",
    ),
    Deployment(
        who="Microsoft",
        what="telemetry of Windows Insiders, time spent in apps",
        date="2017-12",
        epsilon=1.672,
        delta=0.0,
        unit="person and six hours",
        model="local",
        renews=True,
        note="one round of collection, over any number of apps; rounds repeat",
        source="Ding, Kulkarni and Yekhanin, Collecting Telemetry Data Privately (2017)",
        address="https://www.microsoft.com/en-us/research/publication/collecting-telemetry-data-privately/",
    ),
    Deployment(
        who="Facebook and Social Science One",
        what="Full URLs data set",
        date="2020-02",
        epsilon=0.45,
        delta=1e-05,
        unit="person and type of action",
        model="central",
        renews=False,
        note="holds for 99% of people; noise protects single actions, and who acts more than most is protected less",
        source="Messing and others, Facebook Privacy-Protected Full URLs Data Set (2020)",
        address="https://doi.org/10.7910/DVN/TDOAPG",
    ),
    Deployment(
        who="IOM and Microsoft",
        what="Global Victim-Perpetrator Synthetic Dataset",
        date="2022-12",
        epsilon=12.0,
        delta=5.8e-06,
        unit="victim",
        model="central",
        renews=False,
        note="synthetic records drawn from noisy counts",
        source="Counter Trafficking Data Collaborative, The Global Victim-Perpetrator Synthetic Data Codebook (2022)",
        address="https://www.ctdatacollaborative.org/global-victim-perpetrator-synthetic-dataset",
    ),
)
