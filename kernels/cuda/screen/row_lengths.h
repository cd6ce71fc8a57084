// How long a row may be to be screened: a few rows that are much longer than the others would widen the margin of all.
// Assignments decide the longer rows apart (assign/longer_rows.h), searches measure them apart (search/long_rows.h).
#pragma once

#include "kernels/cuda/runtime/held_rows.h"

namespace kith::cuda {

/// Counts the rows by the norms in fp16, of which there are `rows`. Asynchronous.
Buffer<unsigned> count_lengths(const Context& context, Pool& pool, std::int64_t rows, const Fp16Rows& fp16);

/// Sets fp16.screened, the list of longer rows, fp16.shortest_longer and fp16.usual_norm. bins: of count_lengths().
/// Waits for the device.
void limit_screened_lengths(const Context& context, Pool& pool, std::int64_t rows, const Buffer<unsigned>& bins,
                            Fp16Rows& fp16);

}  // namespace kith::cuda
