// kith --version --verbose: what this program was built from, with and for.
#include "app/version.h"

#include <fmt/format.h>
#include <kith_commit.h>  // cmake/commit.cmake writes it

#include <string_view>
#include <vector>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "data/arrow/arrow_table.h"
#include "kernels/cpu/instructions/instructions.h"

namespace kith::app {

std::string commit() { return KITH_COMMIT; }

std::string hdf5_version() { return KITH_HDF5_VERSION; }

std::string cuda_version() { return KITH_CUDA_VERSION; }

std::string version_page() {
  std::vector<std::string_view> instructions;
  for (const cpu::Instructions* set : cpu::instruction_sets()) instructions.emplace_back(set->name);
  std::string page = "kith " KITH_VERSION "\n";
  const auto line = [&page](const char* name, const std::string& text) {
    const std::string lead = fmt::format("  {:<12} ", name);
    page += hang(lead, wrap(text, prose_width(Stream::output) - lead.size()));
  };
  line("commit", commit());
  line("compiler", KITH_COMPILER);
  line("libraries", KITH_LIBRARIES);
  line("instructions", fmt::format("{}", fmt::join(instructions, ", ")));
  line("CUDA", *KITH_CUDA_VERSION != '\0' ? "CUDA " KITH_CUDA_VERSION ", for the architectures " KITH_CUDA_ARCHITECTURES
                                          : "built without CUDA");
  line("Arrow", !data::has_arrow()            ? "the program kith-arrow is missing"
                : *KITH_ARROW_VERSION == '\0' ? "the program kith-arrow, of another build"
                                              : "Arrow " KITH_ARROW_VERSION ", in the program kith-arrow");
  return page;
}

}  // namespace kith::app
