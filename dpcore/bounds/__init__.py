"""Risk bounds with explicit constants, as plain formulas of public quantities.

F is the average loss, J adds (lam/2) ||theta||^2, theta_hat minimises J, and B = `theta_norm` is a public guess of
||theta_ref||. docs/formulas.md holds the derivations.
"""

from .descent import averaged_bound as averaged_bound
from .descent import last_iterate_bound as last_iterate_bound
from .descent import published_gradient_rate as published_gradient_rate
from .descent import smooth_bound as smooth_bound
from .draws import earlier_stream_rate as earlier_stream_rate
from .draws import entropy_bias as entropy_bias
from .draws import published_sampling_lam as published_sampling_lam
from .draws import published_sampling_rate as published_sampling_rate
from .draws import published_stream_lam as published_stream_lam
from .draws import published_stream_rate as published_stream_rate
from .draws import regret_band as regret_band
from .draws import regret_bound as regret_bound
from .draws import sampling_excess as sampling_excess
from .frank_wolfe import frank_wolfe_bound as frank_wolfe_bound
from .frank_wolfe import published_frank_wolfe_rate as published_frank_wolfe_rate
from .frank_wolfe import published_frank_wolfe_steps as published_frank_wolfe_steps
from .frank_wolfe import published_lasso_corollary as published_lasso_corollary
from .frank_wolfe import published_lasso_rate as published_lasso_rate
from .frank_wolfe import published_width_rate as published_width_rate
from .frank_wolfe import tuned_frank_wolfe_bound as tuned_frank_wolfe_bound
from .frank_wolfe import tuned_frank_wolfe_steps as tuned_frank_wolfe_steps
from .lp import published_tree_rate as published_tree_rate
from .lp import tree_frank_wolfe_bound as tree_frank_wolfe_bound
from .phased import best_phased_step as best_phased_step
from .phased import kink_width as kink_width
from .phased import longest_phased_step as longest_phased_step
from .phased import non_private_rate as non_private_rate
from .phased import phase_sizes as phase_sizes
from .phased import phased_bound as phased_bound
from .phased import phased_terms as phased_terms
from .phased import published_phased_rate as published_phased_rate
from .phased import replaced_share as replaced_share
from .polyhedral import constant_steps_bound as constant_steps_bound
from .polyhedral import estimate_range as estimate_range
from .polyhedral import falling_steps_bound as falling_steps_bound
from .polyhedral import published_polyhedral_rate as published_polyhedral_rate
from .polyhedral import tree_choices_rate as tree_choices_rate
from .regularised import earlier_objective_rate as earlier_objective_rate
from .regularised import earlier_output_rate as earlier_output_rate
from .regularised import inexactness as inexactness
from .regularised import linear_term_excess as linear_term_excess
from .regularised import noise_excess as noise_excess
from .regularised import population_lam as population_lam
from .regularised import published_lam as published_lam
from .regularised import published_objective_lam as published_objective_lam
from .regularised import published_objective_rate as published_objective_rate
from .regularised import published_output_rate as published_output_rate
from .regularised import rate as rate
from .regularised import regularisation_bias as regularisation_bias
from .regularised import stability as stability
