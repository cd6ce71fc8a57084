// Points of the CPU backend: each operation of core/points/backend.h calls the function of its file.
#pragma once

#include <memory>

#include "core/points/backend.h"
#include "core/runtime/threads.h"
#include "kernels/cpu/instructions/instructions.h"

namespace kith::cpu {

/// Points in the memory of the block. `set`, `threads` and `decisions` (null: none are recorded) must outlive them.
std::unique_ptr<Points> hold_points(const PointBlock& block, const Instructions& set, Threads& threads,
                                    const BackendOptions& options, const ForcedPaths& forced,
                                    Decisions* decisions = nullptr);

}  // namespace kith::cpu
