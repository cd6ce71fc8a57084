// The bytes of an input: a regular file, or memory that was filled from a stream or a compressed file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kith::data {

/// Reads bytes at .. at + count - 1 of an open file; for any number of threads at once. Returns why it cannot, or "".
std::string read_at(int descriptor, std::int64_t at, std::int64_t count, std::byte* out);

/// Size and time of an open file, to notice that it was cut or written to while it was read.
class FileState {
 public:
  FileState() = default;
  /// Throws Error(data) under the file's name.
  FileState(int descriptor, const std::string& file);
  std::int64_t size() const { return size_; }
  /// Throws Error(data) when the file is not as it was.
  void check_unchanged(int descriptor, const std::string& file) const;

 private:
  std::int64_t size_ = 0;
  std::int64_t modified_ns_ = 0;
};

class InputBytes {
 public:
  /// Opens a regular file. Throws Error(data): missing, not readable, or what it is instead of `expected` ("a NumPy
  /// array").
  static InputBytes open(const std::string& file, const std::string& expected);
  /// Takes bytes that are in memory; `name` is for messages.
  static InputBytes held(std::string name, std::vector<std::byte> bytes);
  InputBytes(InputBytes&& other) noexcept;
  InputBytes& operator=(InputBytes&& other) noexcept;
  ~InputBytes();

  const std::string& name() const { return name_; }
  std::int64_t size() const { return descriptor_ >= 0 ? state_.size() : static_cast<std::int64_t>(memory_.size()); }
  /// Memory that the bytes take.
  std::int64_t held_bytes() const { return static_cast<std::int64_t>(memory_.capacity()); }
  /// Bytes at .. at + count - 1; for any number of threads at once. Throws Error(data) when they are not there.
  void read(std::int64_t at, std::int64_t count, std::byte* out) const;
  /// Throws Error(data) when the file was cut or written to since it was opened.
  void check_unchanged() const;

 private:
  InputBytes() = default;

  std::string name_;
  int descriptor_ = -1;
  FileState state_;
  std::vector<std::byte> memory_;
};

}  // namespace kith::data
