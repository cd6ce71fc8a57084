// What searches collect for a query: candidates by their scores, the nearest rows by the definition, and the number of
// rows that the threads of a radius search have stored together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/neighbors/merge_lists.h"
#include "core/points/points.h"

namespace kith::cpu {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Row: an integer type for row numbers.
template <class Row>
struct Candidate {
  float score;
  Row row;
};

/// The candidates of a query in a fixed buffer, or in memory of their own if there are too many for it.
template <class Row>
class CandidateList {
 public:
  using Entry = Candidate<Row>;

  /// Small, because pruning early lowers the limit early.
  static std::int64_t initial_capacity(std::int64_t k) { return 2 * k + 24; }
  /// Bytes of a list of that capacity.
  static std::int64_t bytes(std::int64_t k) {
    return initial_capacity(k) * static_cast<std::int64_t>(sizeof(Entry)) +
           static_cast<std::int64_t>(sizeof(CandidateList));
  }
  /// The maximum for many equal scores, if memory suffices.
  static std::int64_t max_capacity(std::int64_t k) { return 16 * initial_capacity(k); }

  /// buffer: initial_capacity(k) rows. max_capacity: maximum number of rows in memory of their own.
  void reset(std::int64_t k, Entry* buffer, std::int64_t max_capacity) {
    k_ = k;
    capacity_ = initial_capacity(k);
    max_capacity_ = max_capacity;
    kept_ = buffer;
  }
  /// Raises 2 E, which holds for all rows added before and after.
  void raise_margin(float margin) { margin_ = std::max(margin_, margin); }
  /// The limit for scores of candidates; -infinity after an overflow.
  float limit() const { return overflowed_ ? -kInfinity : kth_score_ + margin_; }
  bool overflowed() const { return overflowed_; }
  void add(Entry candidate) {
    if (overflowed_ || candidate.score > limit()) return;  // the limit may have fallen in the meantime
    kept_[count_++] = candidate;
    if (count_ == capacity_) prune_or_grow();
  }
  void add(const CandidateList& other) {
    if (count_ + other.count_ > capacity_) grow(count_ + other.count_);
    std::copy_n(other.kept_, other.count_, kept_ + count_);
    count_ += other.count_;
    set_limit(other.kth_score_);
  }
  /// Records that k rows, listed or not, have scores of at most `limit`.
  void set_limit(float limit) { kth_score_ = std::min(kth_score_, limit); }
  /// Drops the candidates that the k-th best score excludes.
  void prune() {
    if (count_ <= k_) return;
    kth_score_ = std::min(kth_score_, kth_score());
    const float highest = limit();
    std::int64_t remaining = 0;
    for (std::int64_t i = 0; i < count_; ++i) {  // without unpredictable branches
      const Entry each = kept_[i];
      kept_[remaining] = each;
      remaining += each.score <= highest ? 1 : 0;
    }
    count_ = remaining;
  }
  std::span<const Entry> kept() const { return {kept_, static_cast<std::size_t>(count_)}; }
  void clear() {
    count_ = capacity_ = 0;
    std::vector<Entry>().swap(own_);
  }

 private:
  /// A score slightly above the k-th best, never below it, by bisection.
  float kth_score() const {
    constexpr int kBisections = 24;
    float low = kept_[0].score, high = low;
    for (std::int64_t i = 1; i < count_; ++i) {
      low = kept_[i].score < low ? kept_[i].score : low;
      high = kept_[i].score > high ? kept_[i].score : high;
    }
    for (int i = 0; i < kBisections; ++i) {
      const float middle = low + (high - low) / 2;
      std::int32_t within = 0;
      for (std::int64_t j = 0; j < count_; ++j) within += kept_[j].score <= middle ? 1 : 0;
      (within < k_ ? low : high) = middle;
      if (within >= k_ && within <= k_ + k_ / 16) break;
    }
    return high;
  }
  /// Grows if pruning frees little, up to the maximum capacity: many equal scores could fill the memory.
  void prune_or_grow() {
    prune();
    if (count_ <= capacity_ / 4 * 3) return;
    overflowed_ = 2 * capacity_ > max_capacity_;
    overflowed_ ? clear() : grow(2 * capacity_);
  }
  void grow(std::int64_t capacity) {
    std::vector<Entry> more(static_cast<std::size_t>(capacity));
    std::copy_n(kept_, count_, more.begin());
    own_.swap(more);
    kept_ = own_.data();
    capacity_ = capacity;
  }

  std::int64_t k_ = 0;
  float margin_ = 0.0F;
  float kth_score_ = kInfinity;  // the k-th best score
  bool overflowed_ = false;
  std::int64_t count_ = 0, capacity_ = 0, max_capacity_ = 0;
  Entry* kept_ = nullptr;  // (capacity_)
  std::vector<Entry> own_;
};

/// The k nearest rows so far, as a heap, so that the k-th is known after each row.
class NearestHeap {
 public:
  explicit NearestHeap(std::int64_t k) : k_(static_cast<std::size_t>(k)) { kept_.reserve(k_); }

  bool full() const { return kept_.size() == k_; }
  double limit() const { return full() ? kept_.front().distance : std::numeric_limits<double>::infinity(); }
  void add(Neighbor neighbor) {
    if (full()) {
      if (!(neighbor < kept_.front())) return;
      std::pop_heap(kept_.begin(), kept_.end());
      kept_.back() = neighbor;
    } else {
      kept_.push_back(neighbor);
    }
    std::push_heap(kept_.begin(), kept_.end());
  }
  /// Adds the list of query q.
  void add(const NeighborLists& lists, std::int64_t q) {
    for (std::int64_t i = 0; i < lists.index.columns() && lists.index(q, i) >= 0; ++i) {
      add({lists.distance(q, i), lists.index(q, i)});
    }
  }
  const std::vector<Neighbor>& kept() const { return kept_; }
  /// Writes the list of query q, at the end.
  void store(std::int64_t q, NeighborLists& lists) {
    std::sort_heap(kept_.begin(), kept_.end());
    set_list(kept_, q, lists);
  }

 private:
  std::size_t k_;
  std::vector<Neighbor> kept_;
};

/// For one thread: asks before it stores a row. Threads reserve places some at a time, since a counter that all change
/// for every row takes longer than the distances. As long as all rows are no more than `capacity`, every answer is yes;
/// a few thousand rows more may be stored for each thread.
class StoredRows {
 public:
  /// reserved: places of all threads, of which there are `threads` at most.
  StoredRows(std::atomic<std::int64_t>& reserved, std::int64_t capacity, std::int64_t threads)
      : reserved_(reserved), most_(std::min(capacity, kUnlimited) + threads * kBatch) {}

  bool may_store() {
    if (left_ > 0) {
      --left_;
      return true;
    }
    // A refusal means that all together have stored `capacity` rows: each has at most one batch that is not full.
    if (refused_) return false;
    refused_ = reserved_.fetch_add(kBatch, std::memory_order_relaxed) >= most_;
    if (!refused_) left_ = kBatch - 1;
    return !refused_;
  }

 private:
  static constexpr std::int64_t kBatch = 4096;
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;  // so that no sum overflows
  std::atomic<std::int64_t>& reserved_;
  std::int64_t most_;
  std::int64_t left_ = 0;
  bool refused_ = false;
};

}  // namespace kith::cpu
