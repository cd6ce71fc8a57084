// Rows in one byte a value, beside the held ones, for searches of few queries: their time is that of reading the rows.
//
// Each row has its own step (scalar quantization: FAISS calls it SQ8) and a bound of its rounding error, so that the
// distance to the quantized row bounds that to the row itself on both sides, by the triangle inequality. The definition
// ranks the rows that the bounds do not exclude. docs/contract.md, Screens, derives the bounds.
#pragma once

#include <memory>
#include <vector>

#include "core/points/points.h"
#include "kernels/cpu/runtime/held_rows.h"

namespace kith::cpu {

struct QuantizedRows {
  std::int64_t pitch = 0;                    // values of a row, with zeros at its end
  std::vector<float> center;                 // (pitch) of x' = x scale - center
  double scale = 1.0;                        // 2^-exponent of the plan
  UninitializedVector<std::int8_t> values;   // (n, pitch)
  UninitializedVector<float> step, error{};  // (n) x^ = step * values, and at least |x' - x^|
};

/// The quantized rows, made if there are none yet; null: memory is short.
template <class T>
std::shared_ptr<const QuantizedRows> quantized_rows(const HeldRows<T>& held);

/// search() by quantized rows. False, with unchanged lists, if they do not serve these queries: a query is far outside
/// the rows, or too many rows remain, which is remembered.
template <class T>
bool search_quantized(const HeldRows<T>& held, const QuantizedRows& rows, const Queries& queries, NeighborLists& lists);

}  // namespace kith::cpu
