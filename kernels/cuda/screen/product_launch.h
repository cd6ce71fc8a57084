// Launches the product of fp16 with an epilogue on the path of the context: fp16_product.h or mma_product.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/runtime/held_rows.h"
#include "kernels/cuda/runtime/screen_path.h"
#include "kernels/cuda/screen/mma_product.h"
#include "kernels/cuda/screen/wgmma_product.h"

namespace kith::cuda {

/// Rows and columns in the pieces of fp16_rows.h, whose groups of 128 come in pairs.
struct Fp16Problem {
  const uint4* points;
  Count rows;
  const uint4* columns;
  std::int64_t count;       // of columns
  const float* score_base;  // (columns, padded), in the order of base_place
  Fp16Layout shape;         // of the points
  std::int64_t run = 0;     // columns of an item of work, whole tiles, where the epilogue has runs
};

/// Whether this device and this build have the product on a path of fp16.
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
      row_tiles * (has_runs<Epilogue>      ? (arguments.column_tiles + arguments.run - 1) / arguments.run
                   : Epilogue::kAnyColumns ? arguments.column_tiles
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
                                static_cast<unsigned>(problem.run / kFp16Columns)};
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
void launch_mma(const Context& context, const Fp16Problem& problem, const typename Epilogue::Arguments& epilogue) {
  SharedStorage room;
  check(cudaDeviceGetAttribute(&room.block, cudaDevAttrMaxSharedMemoryPerBlockOptin, context.device));
  check(cudaDeviceGetAttribute(&room.multiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor, context.device));
  check(cudaDeviceGetAttribute(&room.reserved, cudaDevAttrReservedSharedMemoryPerBlock, context.device));
  const MmaShape shape = mma_shape(problem.shape.pieces, room);
  const auto row_groups = static_cast<unsigned>((problem.rows.most + kPieceRows - 1) / kPieceRows);
  const auto column_tiles = static_cast<unsigned>((problem.count + kFp16Columns - 1) / kFp16Columns);
  const unsigned run = has_runs<Epilogue> ? static_cast<unsigned>(problem.run / kFp16Columns) : column_tiles;
  const auto kernel = mma_screen_kernel<Epilogue>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.shared_bytes()));
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  const dim3 blocks(row_groups, (column_tiles + run - 1) / run);
  kernel<<<blocks, kMmaThreads, shape.shared_bytes(), context.stream>>>(
      {problem.points, problem.columns, problem.score_base, problem.rows, column_tiles, shape, run}, epilogue);
  check(cudaGetLastError());
}

/// context.screen must be a path of fp16.
template <class Epilogue>
void launch_product(const Context& context, const Fp16Problem& problem, const typename Epilogue::Arguments& epilogue) {
  if (context.screen == ScreenPath::wgmma) {
    launch_wgmma<Epilogue>(context, problem, epilogue);
  } else {
    launch_mma<Epilogue>(context, problem, epilogue);
  }
}

}  // namespace kith::cuda
