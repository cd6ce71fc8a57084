// Writing a text file that appears under its name only when it is whole.
#include "data/text_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"
#include "data/output_file.h"

namespace kith::data {

void write_text(const std::string& path, const OutputOptions& options, std::string_view text) {
  OutputFile output(path, options);
  std::FILE* const file = std::fopen(output.temporary().c_str(), "wb");
  bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int reason = errno;
  if (file != nullptr && std::fclose(file) != 0) {
    reason = written ? errno : reason;
    written = false;
  }
  if (!written) {
    throw Error(ExitCode::output,
                fmt::format("{}: writing failed: {}; nothing was left behind", output.name(), std::strerror(reason)));
  }
  output.sync();
  output.publish();
}

}  // namespace kith::data
