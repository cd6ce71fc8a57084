// Updates cluster sums: reassigned rows are subtracted from their old cluster and added to their new one.
//
// Each thread adds its reassigned rows to a table of its own if the tables fit the cache. Otherwise it sorts the
// reassignments of its range of rows by cluster (a counting sort), adds up the rows of one cluster at a time and
// flushes with integer atomics. Late iterations reassign few rows and cost one comparison of labels per row. Weighted
// rows are sorted likewise: whole weights multiply integers, others multiply values (core/points/weights.h).
#include <algorithm>
#include <atomic>
#include <span>

#include "kernels/cpu/assign/reassignments.h"
#include "kernels/cpu/points.h"

namespace kith::cpu {
namespace {

/// Adds rows to the sums, one cluster at a time.
template <class T>
class Accumulator {
 public:
  Accumulator(const HeldRows<T>& held, ClusterSums& sums)
      : held_(held),
        sums_(sums),
        grid_{held.plan.scales.first.data(), held.plan.scales.second.data(), held.plan.scales.low_scale()},
        high_(held.columns()),
        low_(sums.limbs == 2 ? held.columns() : 0) {}

  void add(std::int64_t cluster, std::span<const std::int64_t> rows, std::int64_t sign) {
    const std::int64_t d = held_.columns();
    std::fill(high_.begin(), high_.end(), 0);
    std::fill(low_.begin(), low_.end(), 0);
    if (held_.weights.weight != nullptr) {
      Limbs weight;
      for (const std::int64_t row : rows) add_weighted(row, weight);
      Limbs& sum = sums_.weights[static_cast<std::size_t>(cluster)];
      flush({&weight.high, 1}, &sum.high, sign);
      flush({&weight.low, 1}, &sum.low, sign);
    } else {
      values_.clear();
      for (const std::int64_t row : rows) values_.push_back(held_.row(row));
      held_.set.template rows<T>().add_rows(values_.data(), std::ssize(values_), d, grid_, high_.data(),
                                            low_.empty() ? nullptr : low_.data());
    }
    flush(high_, sums_.high.data() + cluster * d, sign);
    if (!low_.empty()) flush(low_, sums_.low.data() + cluster * d, sign);
  }

 private:
  void add_weighted(std::int64_t row, Limbs& sum) {
    const RowWeight weight = held_.weights.of(row);
    const T* x = held_.row(row);
    for (std::size_t j = 0; j < high_.size(); ++j) {
      const auto value = static_cast<double>(x[j]);
      if (low_.empty()) {
        high_[j] += weighted_fixed(value, grid_.first[j], grid_.second[j], weight);
      } else {
        const Limbs limbs = weighted_limbs(value, grid_.first[j], grid_.second[j], grid_.low_scale, weight);
        high_[j] += limbs.high;
        low_[j] += limbs.low;
      }
    }
    const FixedScale grid = held_.plan.weights.grid();
    const Limbs limbs = weighted_limbs(1.0, grid.first, grid.second, grid_.low_scale, weight);
    sum.high += limbs.high;
    sum.low += limbs.low;
  }
  static void flush(std::span<const std::int64_t> part, std::int64_t* sum, std::int64_t sign) {
    for (std::size_t j = 0; j < part.size(); ++j) {
      std::atomic_ref<std::int64_t>(sum[j]).fetch_add(sign * part[j], std::memory_order_relaxed);
    }
  }

  const HeldRows<T>& held_;
  ClusterSums& sums_;
  GridView grid_;
  std::vector<std::int64_t> high_, low_;
  std::vector<const T*> values_;
};

/// Adds the reassigned rows, with a sign, to the clusters in cluster_of (-1: none).
template <class T>
void add_by_cluster(const std::vector<std::int64_t>& reassigned, std::span<const std::int32_t> cluster_of,
                    std::int64_t sign, std::int64_t clusters, Accumulator<T>& accumulator) {
  std::vector<std::int64_t> start(clusters + 1, 0);
  for (const std::int64_t row : reassigned) {
    if (cluster_of[row] >= 0) ++start[cluster_of[row] + 1];
  }
  for (std::int64_t c = 0; c < clusters; ++c) start[c + 1] += start[c];
  std::vector<std::int64_t> sorted(start[clusters]), next(start.begin(), start.end() - 1);
  for (const std::int64_t row : reassigned) {
    if (cluster_of[row] >= 0) sorted[next[cluster_of[row]]++] = row;
  }
  const std::span<const std::int64_t> all(sorted);
  for (std::int64_t c = 0; c < clusters; ++c) {
    if (start[c] < start[c + 1]) accumulator.add(c, all.subspan(start[c], start[c + 1] - start[c]), sign);
  }
}

template <class T>
void add_in_tables(HeldRows<T>& held, ClusterSums& sums, std::int64_t clusters) {
  const std::int64_t d = held.columns();
  ReassignmentTables tables(held.plan, sums.limbs, clusters, held.threads);
  held.for_ranges(held.rows_per_task(4 * d), [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
    held.set.narrow.template rows<T>().reassign(held.row(first), last - first, d, held.label.data() + first,
                                                held.kept_labels(first), tables.of(thread));
  });
  tables.merge(sums, {});
}

template <class T>
void add_sorted(HeldRows<T>& held, ClusterSums& sums, std::int64_t clusters) {
  const std::int64_t d = held.columns();
  // One range per thread, because every range costs one flush per cluster.
  const std::int64_t rows_per_thread = ceil_div(held.rows(), held.threads.count());
  const std::int64_t rows_per_range =
      std::max(held.block_rows > 0 ? held.block_rows : rows_per_thread, held.rows_per_task(d));
  held.for_ranges(rows_per_range, [&](std::int64_t first, std::int64_t last, std::int64_t, int) {
    std::vector<std::int64_t> reassigned;
    for (std::int64_t i = first; i < last; ++i) {
      if (held.label[i] != held.summed[i]) reassigned.push_back(i);
    }
    if (reassigned.empty()) return;
    Accumulator<T> accumulator(held, sums);
    add_by_cluster<T>(reassigned, held.summed, -1, clusters, accumulator);
    add_by_cluster<T>(reassigned, held.label, 1, clusters, accumulator);
    for (const std::int64_t row : reassigned) held.summed[row] = held.label[row];
  });
}

}  // namespace

template <class T>
void CpuPoints<T>::update_sums(ClusterSums& sums) {
  held_.pristine = false;
  const auto clusters = static_cast<std::int64_t>(sums.high.size()) / held_.columns();
  if (held_.weights.weight == nullptr && ReassignmentTables::fit(clusters, held_.columns(), sums.limbs)) {
    add_in_tables(held_, sums, clusters);
  } else {
    add_sorted(held_, sums, clusters);
  }
  held_.unsummed = false;
}

#define KITH_INSTANTIATE(T) template void CpuPoints<T>::update_sums(ClusterSums&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

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
