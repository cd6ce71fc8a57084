// The half-precision screen: the first look at every row, in one step for few centroids and in two for many, and the
// second look at rows that are left undecided.
//
// In one step every score is compared with the best two so far. In two, only the smallest of each group of 32 columns
// is kept, at a third of the instructions, and the row's group is then multiplied alone (half_groups.h), which reads
// the rows once more. The second look multiplies the undecided rows again, gathered, and lists every column within
// their limits; it costs their share of the first.
#include "kernels/cuda/half_screen.h"

#include "kernels/cuda/device/half_epilogues.h"
#include "kernels/cuda/device/half_product.h"

namespace kith::cuda {
namespace {

/// From so many columns on, two steps cost less. A score that is not compared twice saves 0.14 ps; the second step
/// moves a row's 2 d bytes once more, at 4 TB/s.
std::int64_t columns_for_groups(std::int64_t d) { return 2 * kHalfColumns + 4 * pieces_of(d) * kPieceColumns; }

/// Pieces of chosen rows: row i of `to` is row chosen[i] of `from`; rows count .. padded - 1 are zero.
__global__ void gather_kernel(const uint4* from, const std::int32_t* chosen, std::int64_t count, std::int64_t padded,
                              std::int64_t pieces, uint4* to) {
  for (std::int64_t i = thread_index(); i < padded * pieces * kRowUnits; i += thread_count()) {
    const std::int64_t row = i / (pieces * kRowUnits), piece = i / kRowUnits % pieces;
    const int unit = static_cast<int>(i % kRowUnits);
    to[unit_place(row, piece, unit, pieces)] =
        row < count ? from[unit_place(chosen[row], piece, unit, pieces)] : uint4{};
  }
}

template <int kHeldPieces, class Epilogue, class T>
void launch_shape(const HeldRows<T>& held, HalfArguments arguments, const typename Epilogue::Arguments& epilogue) {
  const auto kernel = half_screen_kernel<kHeldPieces, Epilogue>;
  const int shared = arguments.shape.shared_bytes();
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const unsigned blocks = std::min(arguments.row_tiles, static_cast<unsigned>(held.context->multiprocessors));
  kernel<<<blocks, kHalfThreads, shared, held.stream()>>>(arguments, epilogue);
  check(cudaGetLastError());
}

/// Rows in pieces against the columns, with an epilogue.
template <class Epilogue, class T>
void launch(const HeldRows<T>& held, const HalfColumns& columns, const float* score_base, const uint4* points,
            std::int64_t rows, const typename Epilogue::Arguments& epilogue) {
  const HalfArguments arguments{points,
                                columns.centroids.values.data(),
                                score_base,
                                rows,
                                static_cast<unsigned>((rows + kHalfBlockRows - 1) / kHalfBlockRows),
                                static_cast<unsigned>((columns.count + kHalfColumns - 1) / kHalfColumns),
                                ring_shape(held.columns())};
  static_assert(kMostHeldPieces == 2);
  switch (arguments.shape.pieces) {
    case 1:
      return launch_shape<1, Epilogue>(held, arguments, epilogue);
    case 2:
      return launch_shape<2, Epilogue>(held, arguments, epilogue);
    default:
      return launch_shape<0, Epilogue>(held, arguments, epilogue);
  }
}

template <class T>
const uint4* pieces_at(const HeldRows<T>& held, std::int64_t first) {
  return held.half.values.data() + first / kPieceRows * pieces_of(held.columns()) * (kPieceBytes / 16);
}

}  // namespace

bool device_multiplies_halves(int device) {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (major != 9 || minor != 0) return false;
  // Built for plain 9.0 the kernel is there, but empty.
  constexpr int kMoreThanEmpty = 64;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, half_screen_kernel<1, KeepTwo>));
  return attributes.numRegs > kMoreThanEmpty;
}

template <class T>
HalfScreen::HalfScreen(const HeldRows<T>& held, std::int64_t count)
    : columns(room_for_half_columns(held.pool(), count, held.columns())),
      row_(held.pool(), held.largest_block()),
      limit_(held.pool(), held.largest_block()),
      count_(held.pool(), 1) {
  if (count >= columns_for_groups(held.columns())) groups = GroupRoom(held.pool(), held.largest_block(), count);
  const std::int64_t batch = row_groups_of(std::min(held.largest_block(), kBatch)) * pieces_of(held.columns());
  gathered_ = Buffer<uint4>(held.pool(), batch * (kPieceBytes / 16));
}

template <class T>
std::int64_t screen_halves(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block,
                           std::int32_t* nearest) {
  const HalfColumns& columns = screen.columns;
  const RowBounds rows{held.half.norm.data() + block.first, held.half.residual.data() + block.first,
                       columns.bound.data(), screen.undecided()};
  held.stream().fill(rows.undecided.count, 0, 1);
  const uint4* points = pieces_at(held, block.first);
  if (screen.groups.groups > 0) {
    launch<KeepGroups>(held, columns, columns.score_base.data(), points, block.rows,
                       {rows, screen.groups.group.data(), screen.groups.limit.data()});
    nearest_in_groups(held, columns, block, screen.groups, nearest, rows.undecided);
  } else {
    launch<KeepTwo>(held, columns, columns.coarse_base.data(), points, block.rows, {rows, nearest});
  }
  Word left = 0;
  held.stream().download(&left, rows.undecided.count, 1);
  return static_cast<std::int64_t>(left);
}

template <class T>
void collect_half_candidates(const HeldRows<T>& held, const HalfScreen& screen, const Block<T>& block,
                             const RecheckRoom& room, std::int64_t first, std::int64_t count) {
  const Undecided undecided = screen.undecided();
  const std::int64_t padded = row_groups_of(count) * kPieceRows, pieces = pieces_of(held.columns());
  gather_kernel<<<held.context->grid(padded * pieces, kBlock / 8), kBlock, 0, held.stream()>>>(
      pieces_at(held, block.first), undecided.row + first, count, padded, pieces, screen.gathered());
  check(cudaGetLastError());
  launch<WithinLimit>(held, screen.columns, screen.columns.score_base.data(), screen.gathered(), count,
                      {undecided.limit + first, room.candidates(), room.capacity(), room.candidate_count()});
}

#define KITH_INSTANTIATE(T)                                                                                         \
  template HalfScreen::HalfScreen(const HeldRows<T>&, std::int64_t);                                                \
  template std::int64_t screen_halves(const HeldRows<T>&, const HalfScreen&, const Block<T>&, std::int32_t*);       \
  template void collect_half_candidates(const HeldRows<T>&, const HalfScreen&, const Block<T>&, const RecheckRoom&, \
                                        std::int64_t, std::int64_t);
KITH_INSTANTIATE(float)
KITH_INSTANTIATE(double)
#undef KITH_INSTANTIATE

}  // namespace kith::cuda
