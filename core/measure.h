// The names of kith's measures of distance; core/distance.h defines them.
#pragma once

namespace kith {

/// What D is: the smaller, the nearer. An inner product counts negated.
enum class Measure { squared_euclidean, inner_product, manhattan, chebyshev };

}  // namespace kith
