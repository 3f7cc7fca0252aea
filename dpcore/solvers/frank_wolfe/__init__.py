"""Frank-Wolfe: over vertices, with noisy gradients, on sparse records, on trees and in one pass."""
