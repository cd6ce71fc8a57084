// Collects bytes in memory, and moves them to a scratch file when they become many.
#include "data/io/byte_store.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

/// Calls require_memory(); its error also suggests --scratch.
void require(std::size_t bytes, const std::string& what) {
  try {
    require_memory(static_cast<std::int64_t>(bytes), what);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) + ", or --scratch DIR, a folder for temporary files");
  }
}

}  // namespace

bool stays_in_memory(std::int64_t bytes, const std::string& scratch) {
  constexpr std::int64_t kShare = 4;
  return scratch.empty() || bytes <= memory_limit() / kShare;
}

ByteStore::ByteStore(std::string name, std::string scratch, std::int64_t expected)
    : name_(std::move(name)), scratch_(std::move(scratch)), expected_(static_cast<std::size_t>(expected)) {
  if (expected == 0 || stays_in_memory(expected, scratch_)) return;
  file_.emplace(scratch_);
  file_->require_space(expected);
}

std::span<std::byte> ByteStore::next() {
  if (!file_ && expected_ > 0) {
    if (bytes_.empty()) {
      require(expected_, name_ + " (inflated)");
      bytes_.resize(expected_);
    }
  } else if (bytes_.size() - used_ < kStep) {
    const std::size_t grown = std::max(used_ + kStep, used_ + used_ / 2);
    if (file_ || !stays_in_memory(static_cast<std::int64_t>(grown), scratch_)) {
      flush();
    } else {
      require(grown, name_ + " (inflated or from a stream)");
      bytes_.resize(grown);
    }
  }
  return std::span(bytes_).subspan(used_);
}

void ByteStore::flush() {
  if (!file_) file_.emplace(scratch_);
  file_->write(flushed_, bytes_.data(), static_cast<std::int64_t>(used_));
  flushed_ += static_cast<std::int64_t>(used_);
  used_ = 0;
  if (bytes_.size() < 2 * kStep) bytes_.resize(2 * kStep);
}

InputBytes ByteStore::finish(bool shrink) {
  if (file_) {
    flush();
    return InputBytes::stored(name_, file_->release());
  }
  bytes_.resize(used_);
  if (shrink && static_cast<std::int64_t>(used_) <= memory_limit()) bytes_.shrink_to_fit();
  return InputBytes::held(name_, std::move(bytes_));
}

}  // namespace kith::data
