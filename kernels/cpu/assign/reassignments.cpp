// Tables of the sums of moved rows, one per thread that has any.
#include "kernels/cpu/assign/reassignments.h"

#include <algorithm>

namespace kith::cpu {

ReassignmentTables::ReassignmentTables(const DataPlan& plan, int limbs, std::int64_t clusters, Threads& threads)
    : threads_(threads),
      clusters_(clusters),
      columns_(plan.columns),
      pitch_((plan.columns + 7) / 8 * 8),  // whole vectors of float64, of any instruction set
      limbs_(limbs),
      low_scale_(plan.scales.low_scale()),
      first_(plan.scales.first),
      second_(plan.scales.second),
      own_(static_cast<std::size_t>(threads.count())) {
  first_.resize(static_cast<std::size_t>(pitch_), 0.0);
  second_.resize(static_cast<std::size_t>(pitch_), 0.0);
}

const ReassignmentTable& ReassignmentTables::of(int thread) {
  std::unique_ptr<Own>& own = own_[static_cast<std::size_t>(thread)];
  if (!own) {
    own = std::make_unique<Own>();
    own->sums.resize(static_cast<std::size_t>(clusters_ * limbs_ * pitch_));
    own->counts.resize(static_cast<std::size_t>(clusters_));
    own->table = {own->sums.data(), own->counts.data(), first_.data(), second_.data(), low_scale_, pitch_, limbs_};
  }
  return own->table;
}

void ReassignmentTables::merge(ClusterSums& sums, std::span<std::int64_t> counts) {
  std::vector<Own*> tables;
  for (const std::unique_ptr<Own>& own : own_) {
    if (own) tables.push_back(own.get());
  }
  constexpr std::int64_t kCellsAtOnce = std::int64_t{1} << 16;  // of all tables: worth handing to a thread
  const std::int64_t stride = limbs_ * pitch_, cells = std::max<std::int64_t>(std::ssize(tables), 1) * stride;
  const std::int64_t at_once = std::max<std::int64_t>(kCellsAtOnce / cells, 1);
  threads_.run((clusters_ + at_once - 1) / at_once, [&](std::int64_t task, int) {
    for (std::int64_t c = task * at_once; c < std::min((task + 1) * at_once, clusters_); ++c) {
      for (Own* own : tables) {
        std::int64_t* high = own->sums.data() + c * stride;
        const std::int64_t* low = high + pitch_;
        for (std::int64_t j = 0; j < columns_; ++j) sums.high[c * columns_ + j] += high[j];
        for (std::int64_t j = 0; j < columns_ && limbs_ == 2; ++j) sums.low[c * columns_ + j] += low[j];
        std::fill(high, high + stride, 0);
      }
    }
  });
  for (Own* own : tables) {
    for (std::size_t c = 0; c < counts.size(); ++c) counts[c] += own->counts[c];
    std::fill(own->counts.begin(), own->counts.end(), 0);
  }
}

}  // namespace kith::cpu
