// How many rows the threads of a radius search have stored together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace kith::cpu {

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
