// The memory that this run may use, and the check that something fits before it is allocated.
#pragma once

#include <cstdint>
#include <string>

namespace kith::data {

struct MemoryLimit {
  std::int64_t bytes = 0;
  std::string source;  // "allowed by --memory", "free on this machine", "left of the control group's limit"
};

/// The smallest of the memory available by /proc/meminfo and within the limits of this process's control groups
/// (version 1 and 2).
MemoryLimit free_memory();

/// `requested` bytes more than the process holds now; 0: what is free now. Without a call, what is free at the first
/// use.
void set_memory_limit(std::int64_t requested);

/// What set_memory_limit() was given last, 0 before.
std::int64_t requested_memory();

/// What is left of the limit, in bytes.
std::int64_t memory_limit();

/// Throws Error(memory) if `needed` more bytes do not fit, with both numbers and the remedy.
/// `what` is the file or dataset. Call it before the memory is taken.
void require_memory(std::int64_t needed, const std::string& what);
/// The same for another limit.
void require_memory(std::int64_t needed, const std::string& what, const MemoryLimit& limit);

/// Memory that grows while a file is read; checked every few megabytes.
class MemoryGrowth {
 public:
  explicit MemoryGrowth(std::string what) : what_(std::move(what)) {}
  void add(std::int64_t bytes) {
    bytes_ += bytes;
    if (bytes_ < kStep) return;
    require_memory(kStep, what_);
    bytes_ = 0;
  }
  /// Checks at once.
  void require(std::int64_t bytes) const { require_memory(bytes, what_); }

 private:
  static constexpr std::int64_t kStep = std::int64_t{8} << 20;
  std::string what_;
  std::int64_t bytes_ = 0;
};

/// "1.5 GiB"
std::string show_bytes(std::int64_t bytes);

}  // namespace kith::data
