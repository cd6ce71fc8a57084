// The kinds of distance that kernels compute; core/numbers/distance.h defines them.
#pragma once

namespace kith {

/// The quantity D that is minimised. Inner products are negated.
enum class Measure { squared_euclidean, inner_product, manhattan, chebyshev };

}  // namespace kith
