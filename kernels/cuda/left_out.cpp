// The names of the parts of the contract that can be left out.
#include "kernels/cuda/left_out.h"

#include <fmt/format.h>

#include "core/error.h"

namespace kith::cuda {

LeftOut left_out(const std::string& name) {
  if (name.empty()) return {};
  const bool all = name == "all";
  const LeftOut parts{all || name == "certificate", all || name == "recheck", all || name == "integer-sums"};
  if (parts.certificate || parts.recheck || parts.integer_sums) return parts;
  throw Error(ExitCode::usage,
              fmt::format("--without: expected certificate, recheck, integer-sums or all, found '{}'", name));
}

}  // namespace kith::cuda
