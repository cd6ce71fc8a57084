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
/// Whether each of the first `count` GPUs reaches the memory of all others; if not, they exchange through the host.
bool gpus_reach_each_other(int count);
}  // namespace kith::cuda
