// The entry points of the backends, for the table of backends.
#pragma once

#include "core/points/backend.h"

namespace kith::cpu {
std::string missing(const BackendOptions& options);
std::unique_ptr<Backend> open(const BackendOptions& options, const ForcedPaths& forced);
Machine machine(const BackendOptions& options);
}  // namespace kith::cpu

namespace kith::cuda {
std::string missing(const BackendOptions& options);
std::unique_ptr<Backend> open(const BackendOptions& options, const ForcedPaths& forced);
/// The rates of an H200, than which no GPU that kith knows is faster: what it does not win, no GPU is opened for.
inline Machine machine(const BackendOptions&) {
  return {{.copied = 3.6e12,
           .gathered = 2.7e12,
           .sent = 50e9,
           .fp16 = 4e14,
           .int8 = 4e14,
           .float32 = 2.5e13,
           .definitions = 6e12},
          5e-6,
          0.1};
}
/// values: their pointer is one of the GPU's memory, with which the work that was queued there before has ended when
/// this returns. Throws Error(usage) if it is another.
RowsOnGpu rows_on_gpu(const PointsView& values);
/// Whether each of the first `count` GPUs reaches the memory of all others; if not, they exchange through the host.
bool gpus_reach_each_other(int count);
}  // namespace kith::cuda
