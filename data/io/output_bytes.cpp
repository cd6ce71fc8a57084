// Buffered writing with the C library; every call is checked.
#include "data/io/output_bytes.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace kith::data {

OutputBytes::OutputBytes(const OutputFile& output)
    : name_(output.name()), file_(std::fopen(output.temporary().c_str(), "wb"), &std::fclose) {
  if (!file_) fail();
}

void OutputBytes::write(const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, file_.get()) != count) fail();
}

void OutputBytes::seek(std::int64_t position) {
  if (fseeko(file_.get(), position, SEEK_SET) != 0) fail();
}

void OutputBytes::close() {
  if (std::fclose(file_.release()) != 0) fail();
}

void OutputBytes::fail() const {
  throw Error(ExitCode::output,
              fmt::format("{}: writing failed: {}; nothing was left behind", name_, std::strerror(errno)));
}

}  // namespace kith::data
