"""A release as an entry of OpenDP's registry of deployments: `deployment` in its schemas/deployments-schema.yaml.

github.com/opendp/deployments-registry-data, at commit 057e5d8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pages.decide.briefing.content import Briefing


def deployment(briefing: Briefing) -> dict[str, Any]:
    """The release in the registry's fields, empty where only its holder can fill them in."""
    lines = {name: line for section in briefing.sections.values() for name, line in section.items()}
    total, spec = briefing.total, briefing.released.spec
    spent = {} if total is None else {"epsilon": total.epsilon} | ({"delta": total.delta} if total.delta else {})
    return {
        "basic": {
            "name": briefing.question,
            "data_curators": [{"data_curator_name": "", "data_curator_type": ""}],
            "description": f"A linear model. {briefing.question}.",
            "intended_use": "",
            "data_product_type": "Machine learning model",
            "data_product_region": "",
            "publication_date": "",
        },
        "dp_variant": {
            "variant_name": "Approximate DP" if total is None or total.delta else "Pure DP",
            "data_domain": f"Tables of {spec.n:,} rows. Columns: {lines['Columns']}",
            "unprotected_quantities": "The number of rows, and names, bounds and levels of the columns.",
        },
        "privacy_loss": {
            "privacy_unit": briefing.unit,
            "privacy_unit_details": f"{lines['Protected']} {lines['Neighbours']}",
            **({"number_of_privacy_units": spec.n} if briefing.answer.records == 1 else {}),
            "privacy_parameters": spent,
            "privacy_parameters_details": f"{lines['One release']} {lines['All releases']}",
        },
        "deployment_model": {
            "model_name": "Central",
            "trust_assumptions": "The curator holds the records; nobody who receives the model is trusted.",
            "release_type": "One release" if briefing.releases == 1 else "Many releases",
            "release_type_details": lines["All releases"],
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": f"{lines['Seen before']} {lines['Not in ε']}",
            "mechanisms": lines["Mechanism"],
            "composition": lines["All releases"],
            "post_processing": "None.",
            "justification": f"{briefing.strength}. {briefing.why}",
            "utility": lines["Loss of one release"],
            "additional_information": f"{briefing.answer.sentence()} {briefing.link}",
        },
        "administrative": {"status": "Draft", "registry_authors": [""], "tier": 3},
    }
