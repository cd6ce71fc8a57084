// The names of the parts of the contract that can be left out.
#include "kernels/cuda/runtime/left_out.h"

#include <fmt/format.h>

#include "core/error.h"

namespace kith::cuda {

LeftOut left_out(const std::string& name) {
  if (name.empty()) return {};
  const bool all = name == "all";
  const LeftOut parts{all || name == "certificate", all || name == "refine", all || name == "integer-sums"};
  if (parts.certificate || parts.refine || parts.integer_sums) return parts;
  throw Error(ExitCode::usage,
              fmt::format("--without: expected certificate, refine, integer-sums or all, found '{}'", name));
}

}  // namespace kith::cuda
