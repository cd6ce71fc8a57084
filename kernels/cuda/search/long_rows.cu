// Parts rows far longer than the others (screen/row_lengths.h) from a base: a tree of boxes (tree_build.h) holds them,
// which a search visits after its lists hold the nearest other rows.
#include "kernels/cuda/search/long_rows.h"

#include <limits>

#include "kernels/cuda/search/tree_build.h"
#include "kernels/cuda/search/tree_launch.h"

namespace kith::cuda {

template <class T>
const LongRows<T>& find_long_rows(const HeldRows<T>& held) {
  LongRows<T>& parted = held.long_rows;
  if (parted.examined) return parted;
  const Fp16Rows& fp16 = held.fp16;
  const std::int64_t count = fp16.longer_rows.size();
  parted.others = fp16.largest;
  parted.max_norm = std::numeric_limits<float>::infinity();
  if (count > 0 && !held.sent && held.columns() <= kMostTreeColumns) {
    // |x'| <= |x^| + |x' - x^|
    const LargestNorms others{fp16.screened.norm + fp16.screened.residual, fp16.screened.residual};
    const auto max_norm = static_cast<float>(fp16.screened.norm);
    Buffer<float> score_base = make_score_base(held, usual_limits(held, others).bound, max_norm);
    parted.tree = build_tree(held, fp16.longer_rows.data(), 1, count);
    parted.others = others;
    parted.max_norm = max_norm;
    parted.score_base = std::move(score_base);
  }
  parted.examined = true;
  return parted;
}

template <class T>
SearchBase<T> without_long_rows(const HeldRows<T>& held, double max_query_norm, Buffer<float>& score_base) {
  const LongRows<T>& parted = find_long_rows(held);
  SearchBase<T> base = search_base(held, Measure::squared_euclidean);
  const bool usual = max_query_norm == 0;
  if (usual && parted.tree.is_empty()) return base;
  const QueryLimits limits =
      usual ? usual_limits(held, parted.others) : limits_for(held, parted.others, max_query_norm);
  base.bound = limits.bound;
  base.max_query_norm = static_cast<float>(limits.max_query_norm);
  if (!usual) score_base = make_score_base(held, limits.bound, parted.max_norm);
  base.score_base = usual ? parted.score_base.data() : score_base.data();
  return base;
}

#define KITH_INSTANTIATE(T)                                       \
  template const LongRows<T>& find_long_rows(const HeldRows<T>&); \
  template SearchBase<T> without_long_rows(const HeldRows<T>&, double, Buffer<float>&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
