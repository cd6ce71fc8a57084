// Buffered writing to an output file, with errors that name the file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "data/io/output_file.h"

namespace kith::data {

/// Writes to the temporary file of an output. close() reports errors that a destructor could not. Every function throws
/// Error(output) with the system's reason.
class OutputBytes {
 public:
  explicit OutputBytes(const OutputFile& output);

  void write(const void* bytes, std::size_t count);
  void write(const std::string& text) { write(text.data(), text.size()); }
  /// Continues at this byte of the file.
  void seek(std::int64_t position);
  void close();

 private:
  [[noreturn]] void fail() const;

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace kith::data
