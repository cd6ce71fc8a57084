// Writes text to a temporary file and renames it when it is complete.
#include "data/results/text_file.h"

#include <fmt/format.h>

#include <fstream>

#include "core/error.h"
#include "data/io/output_file.h"

namespace kith::data {

void write_text_file(const std::string& path, const OutputOptions& options, const std::string& text) {
  OutputFile output(path, options);
  output.require_space(static_cast<std::int64_t>(text.size()));
  std::ofstream file(output.temporary(), std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(ExitCode::output, fmt::format("{}: writing failed; nothing was left behind", output.name()));
  output.sync();
  output.publish();
}

}  // namespace kith::data
