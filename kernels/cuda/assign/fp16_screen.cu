// The fp16 screen: the screening pass over all rows, in one step for few centroids and in two for many, and
// the refinement pass over ambiguous rows.
//
// One step compares every score with the best two so far. Two steps keep only the smallest score of each group of 32
// columns, with a third of the instructions, and then multiply only the one or two groups that may contain the nearest
// column (fp16_groups.h), which reads the rows once more. The refinement pass gathers the ambiguous rows, multiplies
// them again and lists every column within their limits; its cost is their share of the screening pass.
#include "kernels/cuda/assign/fp16_screen.h"

#include "kernels/cuda/assign/nearest_epilogues.h"
#include "kernels/cuda/screen/product_launch.h"

namespace kith::cuda {
namespace {

/// The product of rows, given as tiles, with the columns.
template <class T>
Fp16Problem problem_of(const HeldRows<T>& held, const Fp16Columns& columns, const uint4* points, Count rows) {
  return {.points = points,
          .rows = rows,
          .columns = columns.centroids.values.data(),
          .count = columns.count,
          .score_base = columns.score_base.data(),
          .shape = held.fp16.shape};
}

}  // namespace

bool device_multiplies_fp16(ScreenPath path, int device) { return device_has_product<KeepTwo>(path, device); }

template <class T>
Fp16Screen::Fp16Screen(const HeldRows<T>& held, std::int64_t count, bool in_groups)
    : columns(allocate_fp16_columns(held.pool(), count, held.columns())),
      row_(held.pool(), held.largest_block()),
      limit_(held.pool(), held.largest_block()),
      counts_(held.pool(), (held.rows() + held.block_rows - 1) / held.block_rows),
      block_rows_(held.block_rows) {
  if (in_groups) groups = GroupWorkspace(held.pool(), held.largest_block(), count);
  const Fp16Layout shape = held.fp16.shape;
  const std::int64_t batch = row_groups_of(std::min(held.largest_block(), kBatch)) * shape.depth_tiles;
  gathered_ = Buffer<uint4>(held.pool(), batch * (shape.tile_bytes() / 16));
}

template <class T>
ScreeningInput whole_block(const HeldRows<T>& held, const Block<T>& block, bool bounds) {
  ScreeningInput rows;
  rows.count = block.rows;
  rows.nearest = held.label.data() + block.first;
  if (held.fp16.values.size() == 0) return rows;
  rows.tiles = fp16_tiles(held, block);
  rows.norm = held.fp16.norm.data() + block.first;
  rows.residual = held.fp16.residual.data() + block.first;
  if (bounds) rows.bounds = {held.bounds.bound.data() + block.first, held.half_sq_norm.data() + block.first};
  return rows;
}

template <class T>
void gather_fp16_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                      const std::int32_t* chosen, Count count) {
  const Fp16Layout shape = held.fp16.shape;
  if (held.fp16.by_block && !held.is_on_device(block) && count.known == nullptr) {
    const ChosenRows<T> rows = held.chosen_on_device(block, chosen, count.most);
    if (rows.chosen == nullptr) return queue_fp16_tiles(held, rows.values, count.most, screen.gathered());
  }
  gather_fp16_tiles(*held.context, fp16_tiles(held, block), chosen, count, shape, screen.gathered());
}

template <class T>
void screen_fp16(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block, const ScreeningInput& rows,
                 const RefinementWorkspace& workspace) {
  const Fp16Columns& columns = screen.columns;
  const bool in_groups = screen.groups.groups > 0;
  const float* part = in_groups ? columns.group_part.data() : columns.part.data();
  const DecisionArguments bounds{rows.norm, rows.residual,           columns.bound.data(),
                                 part,      screen.ambiguous(block), rows.bounds};
  Fp16Problem problem = problem_of(held, columns, rows.tiles, rows.count);
  held.stream().fill(screen.counts(block), 0, 1);
  if (in_groups) {
    launch_product<KeepGroups>(*held.context, problem, {bounds, screen.groups.rows()});
    nearest_in_groups(held, columns, rows, screen.groups, workspace, screen.counts(block));
  } else {
    problem.score_base = columns.quantized_base.data();
    launch_product<KeepTwo>(*held.context, problem, {bounds, rows.nearest});
  }
}

template <class T>
void append_listed_rows(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                        const ScreeningInput& rows) {
  append_listed_rows(held, rows, screen.groups, screen.ambiguous(block));
}

template <class T>
void collect_fp16_candidates(const HeldRows<T>& held, const Fp16Screen& screen, const Block<T>& block,
                             const AmbiguousRows& ambiguous, const CandidateOutput& candidates, std::int64_t first,
                             Count count) {
  gather_fp16_rows(held, screen, block, ambiguous.row + first, count);
  launch_product<WithinLimit>(*held.context, problem_of(held, screen.columns, screen.gathered(), count),
                              {ambiguous.limit + first, screen.columns.count, candidates});
}

#define KITH_INSTANTIATE(T)                                                                                           \
  template Fp16Screen::Fp16Screen(const HeldRows<T>&, std::int64_t, bool);                                            \
  template ScreeningInput whole_block(const HeldRows<T>&, const Block<T>&, bool);                                     \
  template void gather_fp16_rows(const HeldRows<T>&, const Fp16Screen&, const Block<T>&, const std::int32_t*, Count); \
  template void screen_fp16(const HeldRows<T>&, const Fp16Screen&, const Block<T>&, const ScreeningInput&,            \
                            const RefinementWorkspace&);                                                              \
  template void append_listed_rows(const HeldRows<T>&, const Fp16Screen&, const Block<T>&, const ScreeningInput&);    \
  template void collect_fp16_candidates(const HeldRows<T>&, const Fp16Screen&, const Block<T>&, const AmbiguousRows&, \
                                        const CandidateOutput&, std::int64_t, Count);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
