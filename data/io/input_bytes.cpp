// The bytes of an input, checked when it is opened and when it was read.
#include "data/io/input_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "data/io/file_kind.h"

namespace kith::data {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw Error(ExitCode::data, fmt::format("{}: {}", file, what));
}

}  // namespace

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
  if (fstat(descriptor, &status) != 0) fail(file, fmt::format("cannot be examined: {}", std::strerror(errno)));
  size_ = status.st_size;
  modified_ns_ = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

void FileState::check_unchanged(int descriptor, const std::string& file) const {
  const FileState now(descriptor, file);
  if (now.size_ != size_) {
    fail(file,
         fmt::format("changed while it was read: it had {} bytes and now has {}; run again when nothing writes to it",
                     size_, now.size_));
  }
  if (now.modified_ns_ != modified_ns_) fail(file, "changed while it was read; run again when nothing writes to it");
}

InputBytes InputBytes::open(const std::string& file, const std::string& expected) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) {
    if (errno == ENOENT) fail(file, "no such file; check the name and the directory");
    fail(file, fmt::format("cannot be opened: {}", std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {  // a pipe would be waited for
    fail(file, fmt::format("expected {}, found {}; give a regular file", expected, special_kind(status.st_mode)));
  }
  InputBytes input;
  input.name_ = file;
  input.descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (input.descriptor_ < 0) {
    fail(file, fmt::format("cannot be read: {}; check its permissions", std::strerror(errno)));
  }
  input.state_ = FileState(input.descriptor_, file);
  return input;
}

InputBytes InputBytes::held(std::string name, std::vector<std::byte> bytes) {
  InputBytes input;
  input.name_ = std::move(name);
  input.memory_ = std::move(bytes);
  return input;
}

InputBytes::InputBytes(InputBytes&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      state_(other.state_),
      memory_(std::move(other.memory_)) {}

InputBytes& InputBytes::operator=(InputBytes&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(state_, other.state_);
  std::swap(memory_, other.memory_);
  return *this;
}

InputBytes::~InputBytes() {
  if (descriptor_ >= 0) close(descriptor_);
}

void InputBytes::read(std::int64_t at, std::int64_t count, std::byte* out) const {
  std::string wrong;
  if (descriptor_ >= 0) {
    wrong = read_at(descriptor_, at, count, out);
  } else if (at < 0 || count < 0 || count > size() - at) {
    wrong = "they end before";
  } else {
    std::copy_n(memory_.begin() + at, count, out);
  }
  if (wrong.empty()) return;
  check_unchanged();  // a better explanation
  fail(name_, fmt::format("bytes {} to {} cannot be read: {}; copy or make the file again", at, at + count - 1, wrong));
}

void InputBytes::check_unchanged() const {
  if (descriptor_ >= 0) state_.check_unchanged(descriptor_, name_);
}

}  // namespace kith::data
