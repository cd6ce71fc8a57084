// The vendor's matrix library, cuBLAS, opened at run time: kith needs it only to say how fast a product can be.
#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>
#include <string>

namespace kith::cuda {

enum class ProductType { float16, tf32, float32 };

class VendorLibrary {
 public:
  /// Looks for the library; when it is not there, missing() says so.
  explicit VendorLibrary(cudaStream_t stream);
  ~VendorLibrary();
  VendorLibrary(const VendorLibrary&) = delete;
  VendorLibrary& operator=(const VendorLibrary&) = delete;

  const std::string& missing() const { return missing_; }
  /// c = a^T b of n x n matrices, of halves or floats. Throws Error(device) with the library's status.
  void product(ProductType type, int n, const void* a, const void* b, void* c) const;
  /// *result, on the device, becomes the Euclidean norm of `count` numbers.
  void norm(int count, const float* values, float* result) const;

 private:
  void* library_ = nullptr;
  void* handle_ = nullptr;
  std::string missing_;
};

}  // namespace kith::cuda
