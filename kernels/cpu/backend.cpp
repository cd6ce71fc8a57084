// The CPU backend: any x86-64 or arm64 processor, its best instruction set, and all threads that this process may use.
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "kernels/backends.h"
#include "kernels/cpu/choice/machine.h"
#include "kernels/cpu/points.h"

namespace kith::cpu {
namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const BackendOptions& options, const ForcedPaths& forced)
      : set_(instructions()), threads_(options.threads), options_(options), forced_(forced) {}

  Device device() const override {
    return {
        .name = processor_name(),
        .description = fmt::format("{}, {} thread{}", set_.summary, threads_.count(), threads_.count() == 1 ? "" : "s"),
        .uses_threads = true,
        .machine = processor_machine(set_, threads_.count())};
  }
  std::unique_ptr<Points> hold(const PointBlock& block) override {
    if (block.arrival != nullptr) block.arrival->wait_for(rows_of(block.values));
    return hold_points(block, set_, threads_, options_, forced_, &decisions_);
  }
  std::vector<Decision> decisions() const override { return decisions_.all(); }

 private:
  const Instructions& set_;
  Threads threads_;
  BackendOptions options_;
  ForcedPaths forced_;
  Decisions decisions_;
};

}  // namespace

std::string missing(const BackendOptions&) { return ""; }

std::unique_ptr<Backend> open(const BackendOptions& options, const ForcedPaths& forced) {
  return std::make_unique<CpuBackend>(options, forced);
}

Machine machine(const BackendOptions& options) {
  return processor_machine(instructions(), options.threads > 0 ? options.threads : usable_threads());
}

}  // namespace kith::cpu
