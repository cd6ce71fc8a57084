// The CPU backend's side of the seam: core/backend.h's verbs, each handed to its operation.
#pragma once

#include <memory>

#include "core/backend.h"
#include "kernels/cpu/instructions/instructions.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::cpu {

/// Points in the memory of the block. `set` and `threads` must outlive them.
std::unique_ptr<Points> hold_points(const PointBlock& block, const Instructions& set, Threads& threads,
                                    const BackendOptions& options, const ForcedPaths& forced);

}  // namespace kith::cpu
