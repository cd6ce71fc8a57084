// What the devices of a run, and its processes, show each other in every iteration: sums, and new centroids.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/points/communicator.h"
#include "core/points/points.h"
#include "kernels/cuda/device/word.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {

inline constexpr int kMostShards = 16;

/// Sums of the rows of each cluster, as the sum of what several shards have. Signed numbers as their bits.
struct ShardTotals {
  int shards = 0;
  std::int64_t cells = 0;                // k d
  const Word* sums[kMostShards] = {};    // (limbs, k, d)
  const Word* counts[kMostShards] = {};  // (k)
};

/// Where new centroids are written to.
struct CentroidPlaces {
  int count = 0;
  double* centroids[kMostShards] = {};  // (k, d)
};

/// How a centroid changed.
struct ClusterChange {
  double shift;    // D(new, old)
  double between;  // count x D(new, mean)
  bool empty;      // there is no new centroid, and the numbers above are undefined
  bool altered;    // some bit changed
};

/// The shards of a run, each with a device and a thread of its own, iterate in step. Each makes the centroids of some
/// of the clusters, from the sums of all, and gives them to all. Devices that reach each other's memory do both there;
/// others, and other processes, exchange sums and centroids in the memory of the host. All sums are of integers, so the
/// bits do not depend on the way.
///
/// A shard calls share_sums() and share_changes() once in an iteration. Both return false once another shard has
/// failed; it ends then.
class ShardExchange {
 public:
  struct Sizes {
    std::int64_t clusters = 0, columns = 0;
    int limbs = 1;
    std::int64_t cells() const { return clusters * columns; }
    std::int64_t words() const { return limbs * cells() + clusters; }
  };
  /// devices: of the shards of this process. peers: whether devices may reach each other's memory.
  ShardExchange(std::span<const int> devices, const Sizes& sizes, Communicator& processes, bool peers);

  /// While a shard takes part. Ends the exchange if it does not `finish`.
  class Attendance {
   public:
    explicit Attendance(ShardExchange& exchange) : exchange_(exchange) {}
    ~Attendance();
    Attendance(const Attendance&) = delete;
    Attendance& operator=(const Attendance&) = delete;
    void finish() { finished_ = true; }

   private:
    ShardExchange& exchange_;
    bool finished_ = false;
  };

  /// The buffers of a shard, on its device.
  struct Shown {
    const Stream* stream = nullptr;
    Word* totals = nullptr;            // (limbs, k, d) and (k) counts, of the rows of the shard; the first shard of the
                                       // first process has those of all rows before the first iteration
    double* next_centroids = nullptr;  // (k, d)
  };
  /// The sums of the shard are queued on its stream. Work queued afterwards reads totals() and writes places().
  bool share_sums(int shard, const Shown& shown);
  ShardTotals totals() const;
  CentroidPlaces places() const;
  /// The clusters whose centroids the shard makes.
  Shard clusters_of(int shard) const;

  /// The centroids of the shard's clusters are in their places. changes: of these clusters. record: the counts of the
  /// shard's rows. is_last: whether control should return to the caller; the first shard of the first process decides.
  /// Afterwards changes(), counts() and is_last() are those of all, and the shard has all its next centroids.
  bool share_changes(int shard, std::span<const ClusterChange> changes, const IterationRecord& record, bool is_last);
  std::span<const ClusterChange> changes() const { return changes_; }  // (k)
  IterationRecord counts() const;
  bool is_last() const { return is_last_; }
  /// Whether sums and centroids stay in the memory of the devices.
  bool is_direct() const { return direct_; }
  /// Whether there is one shard, in one process.
  bool is_alone() const { return shards() == 1 && processes_.is_alone(); }

  /// Between iterations: copies the sums and counts of all rows. False if they are with the shards.
  bool copy_totals(LloydState& state) const;

 private:
  int shards() const { return static_cast<int>(shown_.size()); }
  /// Waits for the other shards.
  bool meet();
  void add_mirrors(int shard);
  void share_counts();

  const Sizes sizes_;
  Communicator& processes_;
  bool direct_;
  std::barrier<> barrier_;
  std::atomic<bool> failed_ = false;
  std::vector<Shown> shown_;              // (shards)
  std::vector<IterationRecord> records_;  // (shards)
  std::vector<ClusterChange> changes_;    // (k)
  bool is_last_ = false;
  // Only where devices do not reach each other:
  std::vector<PageLocked<Word>> mirrors_;        // (shards) of the totals of each shard
  std::vector<std::int64_t> before_;             // the sum of the mirrors an iteration ago
  std::vector<std::int64_t> added_;              // to it since, by this process; then by all
  std::optional<PageLocked<Word>> all_;          // of all shards of all processes
  std::optional<PageLocked<double>> centroids_;  // (k, d)
};

}  // namespace kith::cuda
