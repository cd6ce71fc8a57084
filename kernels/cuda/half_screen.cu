// The half-precision screen: the first look at every row, in one step for few centroids and in two for many, and the
// second look at rows that are left undecided.
//
// In one step every score is compared with the best two so far. In two, only the smallest of each group of 32 columns
// is kept, at a third of the instructions, and the one or two groups that may have the nearest column are then
// multiplied alone (half_groups.h), which reads the rows once more. The second look multiplies the rows that are still
// undecided again, gathered, and lists every column within their limits; it costs their share of the first.
#include "kernels/cuda/half_screen.h"

#include "kernels/cuda/device/half_epilogues.h"
#include "kernels/cuda/device/half_launch.h"
#include "kernels/cuda/device/unproven_epilogues.h"

namespace kith::cuda {
namespace {

/// From so many columns on, two steps cost less. A score that is not compared twice saves 0.14 ps; the second step
/// moves a row's 2 d bytes once more, at 4 TB/s.
std::int64_t columns_for_groups(std::int64_t d) { return 2 * kHalfColumns + 4 * pieces_of(d) * kPieceColumns; }

/// Pieces of chosen rows: row i of `to` is row chosen[i] of `from`; the last pair of groups is filled with zeros.
__global__ void gather_kernel(const uint4* from, const std::int32_t* chosen, Count rows, HalfShape shape, uint4* to) {
  const std::int64_t count = rows.get(), pair = 2 * kPieceRows, padded = (count + pair - 1) / pair * pair;
  const int units = shape.pieces * shape.units;
  for (std::int64_t i = thread_index(); i < padded * units; i += thread_count()) {
    const std::int64_t row = i / units;
    const int at = static_cast<int>(i % units), piece = at / shape.units, unit = at % shape.units;
    to[shape.place(row, piece, unit)] = row < count ? from[shape.place(chosen[row], piece, unit)] : uint4{};
  }
}

/// Rows in pieces against the columns.
template <class T>
HalfProblem problem_of(const HeldRows<T>& held, const HalfColumns& columns, const uint4* points, Count rows) {
  return {.points = points,
          .rows = rows,
          .columns = columns.centroids.values.data(),
          .count = columns.count,
          .score_base = columns.score_base.data(),
          .shape = held.half.shape};
}

template <class T>
const uint4* pieces_at(const HeldRows<T>& held, std::int64_t first) {
  return held.half.values.data() + held.half.shape.place(first, 0, 0);
}

}  // namespace

bool device_multiplies_halves(ScreenPath path, int device) { return device_has_product<KeepTwo>(path, device); }

template <class T>
HalfScreen::HalfScreen(const HeldRows<T>& held, std::int64_t count)
    : columns(room_for_half_columns(held.pool(), count, held.columns())),
      row_(held.pool(), held.largest_block()),
      limit_(held.pool(), held.largest_block()),
      left_(held.pool(), (held.rows() + held.block_rows - 1) / held.block_rows),
      block_rows_(held.block_rows) {
  if (count >= columns_for_groups(held.columns())) groups = GroupRoom(held.pool(), held.largest_block(), count);
  const HalfShape shape = held.half.shape;
  const std::int64_t batch = row_groups_of(std::min(held.largest_block(), kBatch)) * shape.pieces;
  gathered_ = Buffer<uint4>(held.pool(), batch * (shape.piece_bytes() / 16));
}

template <class T>
LookedRows whole_block(const HeldRows<T>& held, const Block<T>& block, bool gaps) {
  LookedRows rows;
  rows.count = block.rows;
  rows.nearest = held.label.data() + block.first;
  if (held.half.values.size() == 0) return rows;
  rows.pieces = pieces_at(held, block.first);
  rows.norm = held.half.norm.data() + block.first;
  rows.residual = held.half.residual.data() + block.first;
  if (gaps) rows.gaps = {held.gaps.gap.data() + block.first, held.half_norm.data() + block.first};
  return rows;
}

template <class T>
void gather_halves(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block, const std::int32_t* chosen,
                   Count count) {
  const HalfShape shape = held.half.shape;
  gather_kernel<<<held.context->grid(row_groups_of(count.most) * kPieceRows * shape.pieces * shape.units, kBlock),
                  kBlock, 0, held.stream()>>>(pieces_at(held, block.first), chosen, count, shape, screen.gathered());
  check(cudaGetLastError());
}

template <class T>
void look_at_halves(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block, const LookedRows& rows,
                    const RecheckRoom& room) {
  const HalfColumns& columns = screen.columns;
  const LeftOut& left_out = held.context->left_out;
  const RowBounds bounds{rows.norm, rows.residual, columns.bound.data(),
                         left_out.one_look() ? Undecided{} : screen.undecided(block), rows.gaps};
  HalfProblem problem = problem_of(held, columns, rows.pieces, rows.count);
  held.stream().fill(screen.left(block), 0, 1);
  if (screen.groups.groups > 0) {
    if (left_out.certificate) {
      launch_product<KeepBestGroup>(*held.context, problem, {screen.groups.rows()});
    } else {
      launch_product<KeepGroups>(*held.context, problem, {bounds, screen.groups.rows()});
    }
    nearest_in_groups(held, columns, rows, screen.groups, room, screen.left(block));
  } else {
    problem.score_base = columns.coarse_base.data();
    if (left_out.certificate) {
      launch_product<KeepBest>(*held.context, problem, {columns.bound.data(), rows.nearest});
    } else {
      launch_product<KeepTwo>(*held.context, problem, {bounds, rows.nearest});
    }
  }
}

template <class T>
void leave_open_rows(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block, const LookedRows& rows) {
  leave_open_rows(held, rows, screen.groups, screen.undecided(block));
}

template <class T>
void collect_half_candidates(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block,
                             const CandidateOutput& candidates, std::int64_t first, Count count) {
  const Undecided undecided = screen.undecided(block);
  gather_halves(held, screen, block, undecided.row + first, count);
  launch_product<WithinLimit>(*held.context, problem_of(held, screen.columns, screen.gathered(), count),
                              {undecided.limit + first, screen.columns.count, candidates});
}

#define KITH_INSTANTIATE(T)                                                                                        \
  template HalfScreen::HalfScreen(const HeldRows<T>&, std::int64_t);                                               \
  template LookedRows whole_block(const HeldRows<T>&, const Block<T>&, bool);                                      \
  template void gather_halves(const HeldRows<T>&, const HalfScreen&, const Block<T>&, const std::int32_t*, Count); \
  template void look_at_halves(const HeldRows<T>&, const HalfScreen&, const Block<T>&, const LookedRows&,          \
                               const RecheckRoom&);                                                                \
  template void leave_open_rows(const HeldRows<T>&, const HalfScreen&, const Block<T>&, const LookedRows&);        \
  template void collect_half_candidates(const HeldRows<T>&, const HalfScreen&, const Block<T>&,                    \
                                        const CandidateOutput&, std::int64_t, Count);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
