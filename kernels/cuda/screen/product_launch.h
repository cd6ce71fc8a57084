// Launches the fp16 product with an epilogue on the screen path of the context: wgmma_product.h or mma_product.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/runtime/screen_path.h"
#include "kernels/cuda/screen/mma_product.h"
#include "kernels/cuda/screen/wgmma_product.h"

namespace kith::cuda {

/// The problem: rows and columns in the tiles of fp16_rows.h, padded to pairs of groups of 128.
struct Fp16Problem {
  const uint4* points;
  Count rows;
  const uint4* columns;
  std::int64_t count;              // of columns
  const float* score_base;         // (columns, padded), in the order of base_place
  Fp16Layout shape;                // of the points
  std::int64_t range_columns = 0;  // of a column range, whole tiles, where the epilogue has ranges
};

/// Whether this device and this build support the product on an fp16 path.
template <class Epilogue>
bool device_has_product(ScreenPath path, int device) {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  const bool has_instructions = path == ScreenPath::wgmma ? major == 9 && minor == 0 : major >= 8;
  if (!has_instructions) return false;
  // A build for an earlier capability, or for 9.0 instead of 9.0a, contains the kernel without its code.
  constexpr int kMoreThanEmpty = 64;
  cudaFuncAttributes attributes{};
  check(path == ScreenPath::wgmma ? cudaFuncGetAttributes(&attributes, fp16_screen_kernel<8, Epilogue>)
                                  : cudaFuncGetAttributes(&attributes, mma_screen_kernel<Epilogue>));
  return attributes.numRegs > kMoreThanEmpty;
}

template <int kHeldSteps, class Epilogue>
void launch_ring(const Context& context, const Fp16Arguments& arguments, const typename Epilogue::Arguments& epilogue) {
  const auto kernel = fp16_screen_kernel<kHeldSteps, Epilogue>;
  const int shared = arguments.shape.shared_bytes();
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  const std::int64_t row_tiles = (arguments.rows.most + kFp16BlockRows - 1) / kFp16BlockRows;
  const std::int64_t items =
      row_tiles *
      (has_column_ranges<Epilogue> ? (arguments.column_tiles + arguments.range_tiles - 1) / arguments.range_tiles
       : Epilogue::kAnyColumns     ? arguments.column_tiles
                                   : 1);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(items, context.multiprocessors));
  kernel<<<blocks, kFp16Threads, shared, context.stream>>>(arguments, epilogue);
  check(cudaGetLastError());
}

template <class Epilogue>
void launch_wgmma(const Context& context, const Fp16Problem& problem, const typename Epilogue::Arguments& epilogue) {
  const Fp16Arguments arguments{problem.points,
                                problem.columns,
                                problem.score_base,
                                problem.rows,
                                static_cast<unsigned>((problem.count + kFp16Columns - 1) / kFp16Columns),
                                ring_shape(problem.shape),
                                static_cast<unsigned>(problem.range_columns / kFp16Columns)};
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

/// The shape of mma_product.h for rows of this many tiles.
inline MmaShape mma_shape(const Context& context, int depth_tiles) {
  SharedStorage available;
  check(cudaDeviceGetAttribute(&available.block, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device));
  check(cudaDeviceGetAttribute(&available.multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor, context.device));
  check(cudaDeviceGetAttribute(&available.reserved, cudaDevAttrReservedSharedMemoryPerBlock, context.device));
  return mma_shape(depth_tiles, available);
}

template <class Epilogue>
void launch_mma(const Context& context, const Fp16Problem& problem, const typename Epilogue::Arguments& epilogue) {
  const MmaShape shape = mma_shape(context, problem.shape.depth_tiles);
  const auto row_groups = static_cast<unsigned>((problem.rows.most + kFp16TileRows - 1) / kFp16TileRows);
  const auto column_tiles = static_cast<unsigned>((problem.count + kFp16Columns - 1) / kFp16Columns);
  const unsigned range_tiles =
      has_column_ranges<Epilogue> ? static_cast<unsigned>(problem.range_columns / kFp16Columns) : column_tiles;
  const auto kernel = mma_screen_kernel<Epilogue>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes()));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  const dim3 blocks(row_groups, (column_tiles + range_tiles - 1) / range_tiles);
  kernel<<<blocks, kMmaThreads, shape.shared_bytes(), context.stream>>>(
      {problem.points, problem.columns, problem.score_base, problem.rows, column_tiles, shape, range_tiles}, epilogue);
  check(cudaGetLastError());
}

/// context.screen must be an fp16 path.
template <class Epilogue>
void launch_product(const Context& context, const Fp16Problem& problem, const typename Epilogue::Arguments& epilogue) {
  if (context.screen == ScreenPath::wgmma) {
    launch_wgmma<Epilogue>(context, problem, epilogue);
  } else {
    launch_mma<Epilogue>(context, problem, epilogue);
  }
}

}  // namespace kith::cuda
