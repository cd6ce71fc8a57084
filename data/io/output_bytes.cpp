// Buffered writing to a descriptor, with a checksum for each part between two positions.
#include "data/io/output_bytes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace kith::data {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

}  // namespace

OutputBytes::OutputBytes(const std::string& path, const OutputOptions& options) : file_(path, options), parts_(1) {
  buffer_.reserve(kBufferBytes);
}

void OutputBytes::write(const void* bytes, std::size_t count) {
  const auto* from = static_cast<const char*>(bytes);
  Part& part = parts_.back();
  part.checksum.add(bytes, count);
  while (count > 0) {
    const std::size_t fits = std::min(count, kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), from, from + fits);
    part.bytes += static_cast<std::int64_t>(fits);
    from += fits;
    count -= fits;
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void OutputBytes::seek(std::int64_t position) {
  const Part& part = parts_.back();
  if (position == part.begin + part.bytes) return;
  flush();
  parts_.push_back({position, 0, {}});
}

/// Writes the buffer so that it ends where the last part ends.
void OutputBytes::flush() {
  const Part& part = parts_.back();
  const char* from = buffer_.data();
  auto left = static_cast<std::int64_t>(buffer_.size());
  std::int64_t position = part.begin + part.bytes - left;
  while (left > 0) {
    const ssize_t count = pwrite(file_.descriptor(), from, static_cast<std::size_t>(left), position);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail("writing", count < 0 ? errno : ENOSPC);
    from += count;
    left -= count;
    position += count;
  }
  buffer_.clear();
}

void OutputBytes::publish(const std::function<void()>& before_naming) {
  flush();
  file_.sync();
  check();
  before_naming();
  file_.publish();
}

/// A disk or a network may lose bytes without reporting it.
void OutputBytes::check() const {
  std::int64_t bytes = 0;
  for (const Part& part : parts_) bytes = std::max(bytes, part.begin + part.bytes);
  struct stat status {};
  if (fstat(file_.descriptor(), &status) != 0) fail("reading back", errno);
  bool same = status.st_size == bytes;
  for (const Part& part : parts_) {
    if (!same) break;
    const auto found = file_checksum(file_.descriptor(), part.begin, part.bytes);
    if (!found && errno != 0) fail("reading back", errno);
    same = found == part.checksum.value();
  }
  if (same) return;
  throw Error(ExitCode::output,
              fmt::format("{}: does not read back as it was written; the disk may be failing; nothing was left behind, "
                          "choose another place",
                          file_.name()));
}

void OutputBytes::fail(const char* doing, int error) const {
  throw Error(ExitCode::output,
              fmt::format("{}: {} failed: {}; nothing was left behind", file_.name(), doing, std::strerror(error)));
}

}  // namespace kith::data
