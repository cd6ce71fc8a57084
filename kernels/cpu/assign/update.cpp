// Updates cluster sums: reassigned rows are subtracted from their old cluster and added to their new one.
//
// Each thread adds its reassigned rows to a table of its own if the tables fit the cache. Otherwise it sorts the
// reassignments of its range of rows by cluster (a counting sort), adds up the rows of one cluster at a time and
// flushes with integer atomics. Late iterations reassign few rows and cost one comparison of labels per row.
#include <atomic>
#include <span>

#include "kernels/cpu/assign/reassignments.h"
#include "kernels/cpu/operations.h"

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

  void add(std::int64_t cluster, std::span<const T* const> rows, std::int64_t sign) {
    const std::int64_t d = held_.columns();
    std::fill(high_.begin(), high_.end(), 0);
    std::fill(low_.begin(), low_.end(), 0);
    held_.set.template rows<T>().add_rows(rows.data(), static_cast<std::int64_t>(rows.size()), d, grid_, high_.data(),
                                          low_.empty() ? nullptr : low_.data());
    flush(high_, sums_.high.data() + cluster * d, sign);
    if (!low_.empty()) flush(low_, sums_.low.data() + cluster * d, sign);
  }

 private:
  static void flush(const std::vector<std::int64_t>& part, std::int64_t* sum, std::int64_t sign) {
    for (std::size_t j = 0; j < part.size(); ++j) {
      std::atomic_ref<std::int64_t>(sum[j]).fetch_add(sign * part[j], std::memory_order_relaxed);
    }
  }

  const HeldRows<T>& held_;
  ClusterSums& sums_;
  GridView grid_;
  std::vector<std::int64_t> high_, low_;
};

/// Adds the reassigned rows, with a sign, to the clusters in cluster_of (-1: none).
template <class T>
void add_by_cluster(const HeldRows<T>& held, const std::vector<std::int64_t>& reassigned,
                    std::span<const std::int32_t> cluster_of, std::int64_t sign, std::int64_t clusters,
                    Accumulator<T>& accumulator) {
  std::vector<std::int64_t> start(clusters + 1, 0);
  for (const std::int64_t row : reassigned) {
    if (cluster_of[row] >= 0) ++start[cluster_of[row] + 1];
  }
  for (std::int64_t c = 0; c < clusters; ++c) start[c + 1] += start[c];
  std::vector<const T*> sorted(start[clusters]);
  std::vector<std::int64_t> next(start.begin(), start.end() - 1);
  for (const std::int64_t row : reassigned) {
    if (cluster_of[row] >= 0) sorted[next[cluster_of[row]]++] = held.row(row);
  }
  const std::span<const T* const> all(sorted);
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
    add_by_cluster(held, reassigned, held.summed, -1, clusters, accumulator);
    add_by_cluster(held, reassigned, held.label, 1, clusters, accumulator);
    for (const std::int64_t row : reassigned) held.summed[row] = held.label[row];
  });
}

}  // namespace

template <class T>
void update_sums(HeldRows<T>& held, ClusterSums& sums) {
  const auto clusters = static_cast<std::int64_t>(sums.high.size()) / held.columns();
  if (held.weights.weight != nullptr) {
    update_weighted_sums(held, sums);
  } else if (ReassignmentTables::fit(clusters, held.columns(), sums.limbs)) {
    add_in_tables(held, sums, clusters);
  } else {
    add_sorted(held, sums, clusters);
  }
  held.unsummed = false;
}

#define KITH_INSTANTIATE(T) template void update_sums(HeldRows<T>&, ClusterSums&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
