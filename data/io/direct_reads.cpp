// Reads aligned blocks that cover the wanted bytes.
#include "data/io/direct_reads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "data/io/input_bytes.h"

namespace kith::data {
namespace {

constexpr std::int64_t kAlignment = 4096;  // a multiple of all usual block sizes
// Twice the 512 KiB that readers request at a time, so that an unaligned request fits.
constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20;

}  // namespace

DirectReads::DirectReads(int file, std::int64_t from)
    : cached_(file),
      uncached_(open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC)),
      from_(from),
      direct_(static_cast<bool>(uncached_)) {}

DirectReads::Buffer DirectReads::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!buffers_.empty()) {
      Buffer buffer = std::move(buffers_.back());
      buffers_.pop_back();
      return buffer;
    }
  }
  Buffer buffer(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kBufferBytes)));
  if (!buffer) throw std::bad_alloc();
  return buffer;
}

void DirectReads::release(Buffer buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.push_back(std::move(buffer));
}

std::int64_t DirectReads::read_piece(std::byte* buffer, std::int64_t at, std::int64_t count, std::byte* out) const {
  const std::int64_t begin = at / kAlignment * kAlignment;
  const std::int64_t covering = std::min((at + count - begin + kAlignment - 1) / kAlignment * kAlignment, kBufferBytes);
  ssize_t got = 0;
  do {
    got = pread(uncached_.get(), buffer, static_cast<std::size_t>(covering), begin);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return -1;
  const std::int64_t useful = std::min(begin + got - at, count);
  if (useful <= 0) return 0;
  std::memcpy(out, buffer + (at - begin), static_cast<std::size_t>(useful));
  return useful;
}

std::string DirectReads::read(std::int64_t at, std::int64_t count, std::byte* out) {
  if (!direct_ || at < from_) return read_at(cached_, at, count, out);
  Buffer buffer = take();
  while (count > 0) {
    const std::int64_t got = read_piece(buffer.get(), at, count, out);
    if (got <= 0) {  // the other way of reading knows why
      if (got < 0 && errno == EINVAL) direct_ = false;
      break;
    }
    at += got;
    out += got;
    count -= got;
  }
  release(std::move(buffer));
  return read_at(cached_, at, count, out);
}

}  // namespace kith::data
