// Replaces the CUDA backend in a build without nvcc: reports that CUDA is missing.
#include "core/error.h"
#include "kernels/backends.h"

namespace kith::cuda {

std::string missing(const BackendOptions&) {
  return "this kith was built without CUDA; rebuild where nvcc is installed (./dev build)";
}

std::unique_ptr<Backend> open(const BackendOptions& options, const ForcedPaths&) {
  throw Error(ExitCode::device, "cuda: " + missing(options));
}

RowsOnGpu rows_on_gpu(const PointsView&) { throw Error(ExitCode::device, "cuda: " + missing({})); }

bool gpus_reach_each_other(int) { return false; }

}  // namespace kith::cuda
