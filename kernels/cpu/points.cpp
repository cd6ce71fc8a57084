// Makes points of the CPU backend from blocks of points.
#include "kernels/cpu/points.h"

namespace kith::cpu {

std::unique_ptr<Points> hold_points(const PointBlock& block, const Instructions& set, Threads& threads,
                                    const BackendOptions& options, const ForcedPaths& forced, Decisions* decisions) {
  return std::visit(
      [&]<class T>(MatrixView<const T> values) -> std::unique_ptr<Points> {
        return std::make_unique<CpuPoints<T>>(HeldRows<T>{.values = values,
                                                          .first_row = block.first_row,
                                                          .set = set,
                                                          .threads = threads,
                                                          .block_rows = options.block_rows,
                                                          .forced = forced,
                                                          .decisions = decisions,
                                                          .weights = {block.weights.data()},
                                                          .plan = {}});
      },
      block.values);
}

}  // namespace kith::cpu
