// Creates, writes and reads files that have no name.
#include "data/io/scratch_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/error.h"
#include "data/io/memory_limit.h"

namespace kith::data {

void ScratchFile::fail(const std::string& why) const {
  throw Error(ExitCode::output, fmt::format("--scratch {}: {}", folder_, why));
}

ScratchFile::ScratchFile(std::string folder) : folder_(std::move(folder)) {
  const Descriptor directory(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) fail(fmt::format("expected a folder, found: {}; name one that exists", std::strerror(errno)));
  try {
    const TemporaryFile named(directory.get(), "kith-scratch", S_IRUSR | S_IWUSR);
    file_ = Descriptor(fcntl(named.descriptor(), F_DUPFD_CLOEXEC, 0));
    if (!file_) throw std::system_error(errno, std::generic_category());
  } catch (const std::system_error& error) {
    fail(fmt::format("cannot create a file in it: {}; choose another folder", error.code().message()));
  }
}

void ScratchFile::require_space(std::int64_t bytes) const {
  const std::int64_t missing = missing_space(file_.get(), bytes);
  if (missing == 0) return;
  fail(fmt::format("needs {} of disk space, {} more than is free there; free some or choose another folder",
                   show_bytes(bytes), show_bytes(missing)));
}

void ScratchFile::write(std::int64_t at, const void* bytes, std::int64_t count) {
  size_ = std::max(size_, at + count);
  const std::int64_t written = write_at(file_.get(), at, bytes, count);
  if (written == count) return;
  fail(fmt::format("writing failed after {}: {}; free space or choose another folder; nothing was left behind",
                   show_bytes(at + written), std::strerror(errno)));
}

void ScratchFile::read(std::int64_t at, std::int64_t count, void* out) const {
  auto* to = static_cast<std::byte*>(out);
  const std::string problem = direct_ ? direct_->read(at, count, to) : read_at(file_.get(), at, count, to);
  if (!problem.empty()) fail(fmt::format("reading failed: {}; check the disk or choose another folder", problem));
}

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

void ByteStore::append(std::string_view text) {
  while (!text.empty()) {
    const std::span<std::byte> to = next();
    const std::size_t count = std::min(to.size(), text.size());
    std::memcpy(to.data(), text.data(), count);
    add(count);
    text.remove_prefix(count);
  }
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
