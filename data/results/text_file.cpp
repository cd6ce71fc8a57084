// Writes text to a temporary file and renames it when it is complete.
#include "data/results/text_file.h"

#include "data/io/output_bytes.h"

namespace kith::data {

void write_text_file(const std::string& path, const OutputOptions& options, const std::string& text) {
  OutputBytes output(path, options);
  output.require_space(static_cast<std::int64_t>(text.size()));
  output.write(text);
  output.publish();
}

}  // namespace kith::data
