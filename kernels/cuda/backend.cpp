// The CUDA backend's entry in the table of backends: the reason why it cannot be used, if any, and its construction.
#include <fmt/format.h>

#include <exception>

#include "kernels/backends.h"
#include "kernels/cuda/choice/machine.h"
#include "kernels/cuda/points.h"

namespace kith::cuda {
namespace {

std::string text_of(cudaError_t status) {
  return fmt::format("{} ({})", cudaGetErrorName(status), cudaGetErrorString(status));
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// The reason why the device cannot be used; empty if it can.
std::string unusable_reason(int device) {
  int driver = 0, runtime = 0;
  cudaError_t status = cudaDriverGetVersion(&driver);
  if (status != cudaSuccess || driver == 0) {
    return "no NVIDIA driver was found; install one, or use --backend cpu";
  }
  (void)cudaRuntimeGetVersion(&runtime);

  int devices = 0;
  status = cudaGetDeviceCount(&devices);
  if (status == cudaErrorInsufficientDriver) {
    return fmt::format(
        "the NVIDIA driver supports CUDA {}, kith needs CUDA {}; update the driver, or use --backend cpu",
        version_text(driver), version_text(runtime));
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && devices == 0)) {
    return "no NVIDIA GPU was found (CUDA_VISIBLE_DEVICES may hide it); use --backend cpu";
  }
  if (status != cudaSuccess) return text_of(status) + " while counting devices; use --backend cpu";
  if (device < 0 || device >= devices) {
    return fmt::format("device {} does not exist; expected 0 to {}, choose one with --device", device, devices - 1);
  }

  status = cudaSetDevice(device);
  if (status != cudaSuccess) {
    return fmt::format("device {} cannot be used: {}; free it, choose another one with --device, or use --backend cpu",
                       device, text_of(status));
  }
  status = probe_device();
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess)
      return "the properties of the device are not available";
    return fmt::format(
        "this build of kith has no code for {} (compute capability {}.{}); rebuild with "
        "-DCMAKE_CUDA_ARCHITECTURES={}{}, or use "
        "--backend cpu",
        properties.name, properties.major, properties.minor, properties.major, properties.minor);
  }
  if (status != cudaSuccess) {
    return fmt::format("device {} cannot be used: {}; choose another one with --device, or use --backend cpu", device,
                       text_of(status));
  }
  return {};
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const BackendOptions& options, const ForcedPaths& forced)
      : context_(std::make_shared<Context>(options, forced)), block_rows_(options.block_rows) {}

  Device device() const override {
    cudaDeviceProp properties;
    check(cudaSetDevice(context_->device));  // whose free memory the pool reports
    check(cudaGetDeviceProperties(&properties, context_->device));
    return {.name = properties.name,
            .description = fmt::format("{} multiprocessors, {}, {} screen", properties.multiProcessorCount,
                                       readable_bytes(static_cast<std::int64_t>(properties.totalGlobalMem)),
                                       name_of(context_->screen)),
            .screens = screen_paths(context_->device),
            .free_memory = context_->pool.available(),
            .has_own_memory = true,
            .machine = context_->machine};
  }
  std::unique_ptr<Points> hold(const PointBlock& block) override { return hold_points(context_, block, block_rows_); }
  std::int64_t device_bytes() const override { return context_->pool.peak(); }
  std::vector<Decision> decisions() const override { return context_->decisions.all(); }

 private:
  std::shared_ptr<Context> context_;
  std::int64_t block_rows_;
};

/// Makes the device current, since the stream, a later member, is created on it.
int select_device(int device) {
  check(cudaSetDevice(device));
  return device;
}

}  // namespace

Context::Context(const BackendOptions& options, const ForcedPaths& paths)
    : device(select_device(options.device)), forced(paths), pool(options.device_memory) {
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  screen = choose_screen_path(options.screen, device);
  machine = device_machine(device, screen);
}

std::string missing(const BackendOptions& options) {
  try {
    std::string reason = unusable_reason(options.device);
    (void)cudaGetLastError();  // clears the error, so that a later call does not report it
    return reason;
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::unique_ptr<Backend> open(const BackendOptions& options, const ForcedPaths& forced) {
  const std::string reason = missing(options);
  if (!reason.empty()) throw Error(ExitCode::device, "cuda: " + reason);
  return std::make_unique<CudaBackend>(options, forced);
}

bool gpus_reach_each_other(int count) {
  for (int from = 0; from < count; ++from) {
    for (int to = 0; to < count; ++to) {
      int can = 1;
      if (from != to && cudaDeviceCanAccessPeer(&can, from, to) != cudaSuccess) can = 0;
      if (can == 0) return false;
    }
  }
  return true;
}

}  // namespace kith::cuda
