// Opens and reads an input, and checks that the file does not change in between.
#include "data/io/input_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"

namespace kith::data {

std::string read_at(int descriptor, std::int64_t at, std::int64_t count, std::byte* out) {
  while (count > 0) {
    const ssize_t got = pread(descriptor, out, static_cast<std::size_t>(count), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::strerror(errno);
    if (got == 0) return "the file ends before them";
    out += got;
    at += got;
    count -= got;
  }
  return "";
}

FileState::FileState(int descriptor, const std::string& file) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) refuse_input(file, fmt::format("cannot get its size: {}", std::strerror(errno)));
  size_ = status.st_size;
  modified_ns_ = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

void FileState::check_unchanged(int descriptor, const std::string& file) const {
  const FileState now(descriptor, file);
  if (now.size_ != size_) {
    refuse_input(file, fmt::format("changed while it was read: it had {} bytes and now has {}; run kith again when no "
                                   "other program writes to it",
                                   size_, now.size_));
  }
  if (now.modified_ns_ != modified_ns_) {
    refuse_input(file, "changed while it was read; run kith again when no other program writes to it");
  }
}

InputBytes InputBytes::open(const std::string& file, const std::string& expected) {
  require_regular(file, expected);
  InputBytes input;
  input.name_ = file;
  input.descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (input.descriptor_ < 0) {
    refuse_input(file, fmt::format("cannot be read: {}; check its permissions", std::strerror(errno)));
  }
  input.state_ = FileState(input.descriptor_, file);
  return input;
}

InputBytes::InputBytes() = default;

uid_t InputBytes::owner() const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) refuse_input(name_, fmt::format("cannot be read: {}", std::strerror(errno)));
  return status.st_uid;
}

Descriptor InputBytes::shared() const {
  if (descriptor_ >= 0) return Descriptor(fcntl(descriptor_, F_DUPFD_CLOEXEC, 0));
  Descriptor file(memfd_create("kith", MFD_CLOEXEC));
  for (std::size_t at = 0; file && at < memory_.size();) {
    const ssize_t put = write(file.get(), memory_.data() + at, memory_.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) file = Descriptor();
    at += static_cast<std::size_t>(std::max<ssize_t>(put, 0));
  }
  if (file) return file;
  throw Error(ExitCode::memory, fmt::format("{}: its bytes cannot be passed to another process: {}; write it to a "
                                            "file first",
                                            name_, std::strerror(errno)));
}

void InputBytes::bypass_cache_from(std::int64_t at) {
  if (descriptor_ >= 0) direct_ = std::make_unique<DirectReads>(descriptor_, at);
}

InputBytes InputBytes::held(std::string name, std::vector<std::byte> bytes) {
  InputBytes input;
  input.name_ = std::move(name);
  input.memory_ = std::move(bytes);
  return input;
}

InputBytes InputBytes::stored(std::string name, Descriptor file) {
  InputBytes input;
  input.name_ = std::move(name);
  input.descriptor_ = file.release();
  input.state_ = FileState(input.descriptor_, input.name_);
  return input;
}

InputBytes::InputBytes(InputBytes&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      state_(other.state_),
      memory_(std::move(other.memory_)),
      direct_(std::move(other.direct_)),
      own_text_(other.own_text_) {}

InputBytes& InputBytes::operator=(InputBytes&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(state_, other.state_);
  std::swap(memory_, other.memory_);
  std::swap(direct_, other.direct_);
  std::swap(own_text_, other.own_text_);
  return *this;
}

InputBytes::~InputBytes() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::string InputBytes::try_read(std::int64_t at, std::int64_t count, std::byte* out) const {
  if (direct_) return direct_->read(at, count, out);
  if (descriptor_ >= 0) return read_at(descriptor_, at, count, out);
  if (at < 0 || count < 0 || count > size() - at) return "the data end before them";
  std::copy_n(memory_.begin() + at, count, out);
  return "";
}

void InputBytes::read(std::int64_t at, std::int64_t count, std::byte* out) const {
  const std::string problem = try_read(at, count, out);
  if (problem.empty()) return;
  check_unchanged();  // a change of the file explains the failure better
  refuse_input(
      name_, fmt::format("cannot read bytes {} to {}: {}; copy or create the file again", at, at + count - 1, problem));
}

std::string InputBytes::begin(std::int64_t count) const {
  std::string bytes(static_cast<std::size_t>(std::min(count, size())), '\0');
  read(0, std::ssize(bytes), reinterpret_cast<std::byte*>(bytes.data()));
  return bytes;
}

void InputBytes::check_unchanged() const {
  if (descriptor_ >= 0) state_.check_unchanged(descriptor_, name_);
}

// Reads aligned blocks that cover the wanted bytes.

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

// Threads claim blocks from a shared counter; the exception of the lowest block that failed is kept.

void read_in_blocks(std::int64_t blocks, int threads, const std::function<void(std::int64_t, Matrix<std::byte>&)>& read,
                    std::int64_t least) {
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> lowest_failed{blocks};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto take_blocks = [&] {
    Matrix<std::byte> buffer;
    for (std::int64_t block = next++; block < lowest_failed; block = next++) {
      try {
        read(block, buffer);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (block >= lowest_failed) continue;
        lowest_failed = block;
        failure = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  const std::int64_t requested = std::min<std::int64_t>(threads, blocks / least);
  try {
    for (std::int64_t thread = 1; thread < requested; ++thread) others.emplace_back(take_blocks);
  } catch (const std::system_error&) {  // the threads that did start read everything
  }
  take_blocks();
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kith::data
