// The candidates of one query: rows that may be among its k nearest, by their screened scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace kith::cpu {

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

  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::int64_t k_ = 0;
  float margin_ = 0.0F;
  float kth_score_ = kInfinity;  // the k-th best score
  bool overflowed_ = false;
  std::int64_t count_ = 0, capacity_ = 0, max_capacity_ = 0;
  Entry* kept_ = nullptr;  // (capacity_)
  std::vector<Entry> own_;
};

}  // namespace kith::cpu
