// cuBLAS, loaded at run time. Only `kith bench` uses it, to measure the rates that matrix products can reach.
#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <string>

namespace kith::cuda {

enum class ProductType { float16, int8, tf32, float32 };

class VendorLibrary {
 public:
  /// Loads the library. If it cannot be loaded, missing() gives the reason.
  explicit VendorLibrary(cudaStream_t stream);
  ~VendorLibrary();
  VendorLibrary(const VendorLibrary&) = delete;
  VendorLibrary& operator=(const VendorLibrary&) = delete;

  /// Why the library cannot be used; empty if it can.
  const std::string& missing() const { return missing_; }
  /// c = a^T b of n x n matrices of fp16, float32, or int8 with an int32 product. Throws Error(device) with the
  /// library's status.
  void product(ProductType type, int n, const void* a, const void* b, void* c) const;
  /// Sets *result, on the device, to the Euclidean norm of `count` values.
  void norm(int count, const float* values, float* result) const;

 private:
  void* library_ = nullptr;
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace kith::cuda
