// Rows far longer than the others of a base: a search measures them apart, since the error bound of low-precision
// scores grows with the longest row.
#pragma once

#include "kernels/cuda/search/fp16_operands.h"

namespace kith::cuda {

/// The long rows of the held ones, whose tree the first call builds. They are few or none. Requires fp16 rows and
/// resident rows. Throws OutOfMemory. Asynchronous.
template <class T>
const LongRows<T>& find_long_rows(const HeldRows<T>& held);

/// A base of squared distances for a search whose queries have norms up to `max_query_norm`, without the long rows.
/// max_query_norm: 0 for the usual limit. score_base: memory for a limit that is not the usual. Throws OutOfMemory.
/// Asynchronous.
template <class T>
SearchBase<T> without_long_rows(const HeldRows<T>& held, double max_query_norm, Buffer<float>& score_base);

}  // namespace kith::cuda
