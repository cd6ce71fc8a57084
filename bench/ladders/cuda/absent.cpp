// Replaces the limits and the ladders in a build without nvcc: each function throws.
#include "bench/measurement.h"
#include "core/error.h"
#include "kernels/backends.h"

namespace kith::cuda {
namespace {

[[noreturn]] void fail(const BenchRequest& request) {
  throw Error(ExitCode::device, "cuda: " + missing(request.backend));
}

}  // namespace

std::vector<Measurement> measure_limits(const BenchRequest& request) { fail(request); }
std::vector<Measurement> climb_distances(const BenchRequest& request) { fail(request); }
std::vector<Measurement> climb_plane(const BenchRequest& request) { fail(request); }
std::vector<Measurement> climb_vector(const BenchRequest& request) { fail(request); }
std::vector<Measurement> climb_reduce(const BenchRequest& request) { fail(request); }
std::vector<Measurement> climb_sort(const BenchRequest& request) { fail(request); }
std::vector<Measurement> climb_sobel(const BenchRequest& request) { fail(request); }

}  // namespace kith::cuda
