// Allocates tables of reassigned rows, one per thread that needs one, and merges them.
#include "kernels/cpu/assign/reassignments.h"

#include <algorithm>

namespace kith::cpu {

ReassignmentTables::ReassignmentTables(const DataPlan& plan, int limbs, std::int64_t clusters, Threads& threads)
    : threads_(threads),
      clusters_(clusters),
      columns_(plan.columns),
      pitch_((plan.columns + 7) / 8 * 8),  // a multiple of every vector of float64
      limbs_(limbs),
      low_scale_(plan.scales.low_scale()),
      first_(plan.scales.first),
      second_(plan.scales.second),
      tables_(static_cast<std::size_t>(threads.count())) {
  first_.resize(static_cast<std::size_t>(pitch_), 0.0);
  second_.resize(static_cast<std::size_t>(pitch_), 0.0);
}

const ReassignmentTable& ReassignmentTables::of(int thread) {
  std::unique_ptr<ThreadTable>& table = tables_[static_cast<std::size_t>(thread)];
  if (!table) {
    table = std::make_unique<ThreadTable>();
    table->sums.resize(static_cast<std::size_t>(clusters_ * limbs_ * pitch_));
    table->counts.resize(static_cast<std::size_t>(clusters_));
    table->table = {
        table->sums.data(), table->counts.data(), first_.data(), second_.data(), low_scale_, pitch_, limbs_};
  }
  return table->table;
}

void ReassignmentTables::merge(ClusterSums& sums, std::span<std::int64_t> counts) {
  std::vector<ThreadTable*> tables;
  for (const std::unique_ptr<ThreadTable>& table : tables_) {
    if (table) tables.push_back(table.get());
  }
  constexpr std::int64_t kCellsPerTask = std::int64_t{1} << 16;  // cells of all tables that are worth a task
  const std::int64_t stride = limbs_ * pitch_, cells = std::max<std::int64_t>(std::ssize(tables), 1) * stride;
  const std::int64_t clusters_per_task = std::max<std::int64_t>(kCellsPerTask / cells, 1);
  threads_.run(ceil_div(clusters_, clusters_per_task), [&](std::int64_t task, int) {
    for (std::int64_t c = task * clusters_per_task; c < std::min((task + 1) * clusters_per_task, clusters_); ++c) {
      for (ThreadTable* table : tables) {
        std::int64_t* high = table->sums.data() + c * stride;
        const std::int64_t* low = high + pitch_;
        for (std::int64_t j = 0; j < columns_; ++j) sums.high[c * columns_ + j] += high[j];
        for (std::int64_t j = 0; j < columns_ && limbs_ == 2; ++j) sums.low[c * columns_ + j] += low[j];
        std::fill(high, high + stride, 0);
      }
    }
  });
  for (ThreadTable* table : tables) {
    for (std::size_t c = 0; c < counts.size(); ++c) counts[c] += table->counts[c];
    std::fill(table->counts.begin(), table->counts.end(), 0);
  }
}

}  // namespace kith::cpu
