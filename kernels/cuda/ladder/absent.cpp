// Stands in for limits and ladders in a build without nvcc.
#include "core/error.h"
#include "kernels/backends.h"
#include "kernels/bench.h"

namespace kith::cuda {
namespace {

[[noreturn]] void refuse(const BenchRequest& request) {
  throw Error(ExitCode::device, "cuda: " + missing(request.backend));
}

}  // namespace

std::vector<Measurement> measure_limits(const BenchRequest& request) { refuse(request); }
std::vector<Measurement> climb_distances(const BenchRequest& request) { refuse(request); }
std::vector<Measurement> climb_plane(const BenchRequest& request) { refuse(request); }
std::vector<Measurement> climb_reduce(const BenchRequest& request) { refuse(request); }
std::vector<Measurement> climb_sort(const BenchRequest& request) { refuse(request); }

}  // namespace kith::cuda
