// An output file of plain bytes: buffered writing, and a check of what reached the disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/io/checksum.h"
#include "data/io/output_file.h"

namespace kith::data {

/// Writes an output that is no HDF5 file. Every function throws Error(output) with the system's reason.
class OutputBytes {
 public:
  /// Checks the target and creates a temporary file, as OutputFile does.
  OutputBytes(const std::string& path, const OutputOptions& options);

  void require_space(std::int64_t bytes) const { file_.require_space(bytes); }
  void write(const void* bytes, std::size_t count);
  void write(const std::string& text) { write(text.data(), text.size()); }
  /// Continues at this byte of the file. No byte may be written twice.
  void seek(std::int64_t position);
  /// Writes everything to the disk, reads it back, compares its checksums with those of the written bytes, calls
  /// `before_naming`, and gives the file its name.
  void publish(const std::function<void()>& before_naming = [] {});

 private:
  /// Bytes that were written one after another.
  struct Part {
    std::int64_t begin = 0;
    std::int64_t bytes = 0;
    Checksum checksum;
  };
  void flush();
  void check() const;
  [[noreturn]] void fail(const char* doing, int error) const;

  OutputFile file_;
  std::vector<char> buffer_;
  std::vector<Part> parts_;  // the last one ends with the buffer
};

}  // namespace kith::data
