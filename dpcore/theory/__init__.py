"""Risk bounds with explicit constants, as plain formulas of public quantities.

F is the average loss, J adds (lam/2) ||theta||^2, theta_hat minimises J, and B = `theta_norm` is a public guess of
||theta_ref||. docs/formulas.md holds the derivations.
"""

from .erm import earlier_objective_rate as earlier_objective_rate
from .erm import earlier_output_rate as earlier_output_rate
from .erm import inexactness as inexactness
from .erm import linear_term_excess as linear_term_excess
from .erm import noise_excess as noise_excess
from .erm import population_lam as population_lam
from .erm import published_lam as published_lam
from .erm import published_objective_lam as published_objective_lam
from .erm import published_objective_rate as published_objective_rate
from .erm import published_output_rate as published_output_rate
from .erm import rate as rate
from .erm import regularisation_bias as regularisation_bias
from .erm import stability as stability
from .frank_wolfe import frank_wolfe_bound as frank_wolfe_bound
from .frank_wolfe import published_frank_wolfe_rate as published_frank_wolfe_rate
from .frank_wolfe import published_frank_wolfe_steps as published_frank_wolfe_steps
from .frank_wolfe import published_lasso_corollary as published_lasso_corollary
from .frank_wolfe import published_lasso_rate as published_lasso_rate
from .frank_wolfe import published_width_rate as published_width_rate
from .frank_wolfe import tuned_frank_wolfe_bound as tuned_frank_wolfe_bound
from .gradient_descent import averaged_bound as averaged_bound
from .gradient_descent import last_iterate_bound as last_iterate_bound
from .gradient_descent import published_gradient_rate as published_gradient_rate
from .gradient_descent import smooth_bound as smooth_bound
from .one_pass_frank_wolfe import constant_steps_bound as constant_steps_bound
from .one_pass_frank_wolfe import estimate_range as estimate_range
from .one_pass_frank_wolfe import falling_steps_bound as falling_steps_bound
from .one_pass_frank_wolfe import published_polyhedral_rate as published_polyhedral_rate
from .one_pass_frank_wolfe import tree_choices_rate as tree_choices_rate
from .phased_sgd import best_phased_step as best_phased_step
from .phased_sgd import kink_width as kink_width
from .phased_sgd import longest_phased_step as longest_phased_step
from .phased_sgd import non_private_rate as non_private_rate
from .phased_sgd import phase_sizes as phase_sizes
from .phased_sgd import phased_bound as phased_bound
from .phased_sgd import phased_terms as phased_terms
from .phased_sgd import published_phased_rate as published_phased_rate
from .phased_sgd import replaced_share as replaced_share
from .sampling_and_regret import earlier_stream_rate as earlier_stream_rate
from .sampling_and_regret import entropy_bias as entropy_bias
from .sampling_and_regret import published_sampling_lam as published_sampling_lam
from .sampling_and_regret import published_sampling_rate as published_sampling_rate
from .sampling_and_regret import published_stream_lam as published_stream_lam
from .sampling_and_regret import published_stream_rate as published_stream_rate
from .sampling_and_regret import regret_band as regret_band
from .sampling_and_regret import regret_bound as regret_bound
from .sampling_and_regret import sampling_excess as sampling_excess
from .tree_frank_wolfe import published_tree_rate as published_tree_rate
from .tree_frank_wolfe import tree_frank_wolfe_bound as tree_frank_wolfe_bound
