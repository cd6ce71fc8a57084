// Launches the product of halves with an epilogue on the path of the context: half_product.h or mma_product.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/device/half_product.h"
#include "kernels/cuda/device/mma_product.h"
#include "kernels/cuda/held_rows.h"
#include "kernels/cuda/screen_path.h"

namespace kith::cuda {

/// Rows and columns in the pieces of half_rows.h, whose groups of 128 come in pairs.
struct HalfProblem {
  const uint4* points;
  Count rows;
  const uint4* columns;
  std::int64_t count;       // of columns
  const float* score_base;  // (columns, padded), in the order of base_place
  HalfShape shape;          // of the points
};

/// Whether this device and this build have the product on a path of halves.
template <class Epilogue>
bool device_has_product(ScreenPath path, int device) {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  const bool has_unit = path == ScreenPath::wgmma ? major == 9 && minor == 0 : major >= 8;
  if (!has_unit) return false;
  // Built for an earlier capability, or for plain 9.0, the kernel is there but empty.
  constexpr int kMoreThanEmpty = 64;
  cudaFuncAttributes attributes{};
  check(path == ScreenPath::wgmma ? cudaFuncGetAttributes(&attributes, half_screen_kernel<8, Epilogue>)
                                  : cudaFuncGetAttributes(&attributes, mma_screen_kernel<Epilogue>));
  return attributes.numRegs > kMoreThanEmpty;
}

template <int kHeldSteps, class Epilogue>
void launch_ring(const Context& context, const HalfArguments& arguments, const typename Epilogue::Arguments& epilogue) {
  const auto kernel = half_screen_kernel<kHeldSteps, Epilogue>;
  const int shared = arguments.shape.shared_bytes();
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const std::int64_t row_tiles = (arguments.rows.most + kHalfBlockRows - 1) / kHalfBlockRows;
  const std::int64_t items = Epilogue::kAnyColumns ? row_tiles * arguments.column_tiles : row_tiles;
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(items, context.multiprocessors));
  kernel<<<blocks, kHalfThreads, shared, context.stream>>>(arguments, epilogue);
  check(cudaGetLastError());
}

template <class Epilogue>
void launch_wgmma(const Context& context, const HalfProblem& problem, const typename Epilogue::Arguments& epilogue) {
  const HalfArguments arguments{problem.points,
                                problem.columns,
                                problem.score_base,
                                problem.rows,
                                static_cast<unsigned>((problem.count + kHalfColumns - 1) / kHalfColumns),
                                ring_shape(problem.shape)};
  switch (arguments.shape.held_steps) {
    case 1:
      return launch_ring<1, Epilogue>(context, arguments, epilogue);
    case 2:
      return launch_ring<2, Epilogue>(context, arguments, epilogue);
    case 4:
      return launch_ring<4, Epilogue>(context, arguments, epilogue);
    case 8:
      return launch_ring<8, Epilogue>(context, arguments, epilogue);
    default:
      return launch_ring<0, Epilogue>(context, arguments, epilogue);
  }
}

template <class Epilogue>
void launch_mma(const Context& context, const HalfProblem& problem, const typename Epilogue::Arguments& epilogue) {
  SharedRoom room;
  check(cudaDeviceGetAttribute(&room.block, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device));
  check(cudaDeviceGetAttribute(&room.multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor, context.device));
  check(cudaDeviceGetAttribute(&room.reserved, cudaDevAttrReservedSharedMemoryPerBlock, context.device));
  const MmaShape shape = mma_shape(problem.shape.pieces, room);
  const auto row_groups = static_cast<unsigned>((problem.rows.most + kPieceRows - 1) / kPieceRows);
  const auto column_tiles = static_cast<unsigned>((problem.count + kHalfColumns - 1) / kHalfColumns);
  const auto kernel = mma_screen_kernel<Epilogue>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes()));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  kernel<<<row_groups, kMmaThreads, shape.shared_bytes(), context.stream>>>(
      {problem.points, problem.columns, problem.score_base, problem.rows, column_tiles, shape}, epilogue);
  check(cudaGetLastError());
}

/// context.screen must be a path of halves.
template <class Epilogue>
void launch_product(const Context& context, const HalfProblem& problem, const typename Epilogue::Arguments& epilogue) {
  if (context.screen == ScreenPath::wgmma) {
    launch_wgmma<Epilogue>(context, problem, epilogue);
  } else {
    launch_mma<Epilogue>(context, problem, epilogue);
  }
}

}  // namespace kith::cuda
