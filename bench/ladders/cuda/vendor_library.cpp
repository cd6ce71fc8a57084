// Loads cuBLAS with dlopen() and declares the few functions that kith calls.
#include "bench/ladders/cuda/vendor_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>

#include "core/error.h"

namespace kith::cuda {
namespace {

// Values from cublas_api.h of releases 12 and 13, so that the header need not be installed to build kith.
constexpr int kTransposed = 1, kNotTransposed = 0;
constexpr int kCompute32 = 68, kComputeInt32 = 72, kComputeTf32 = 77;
constexpr int kDefaultAlgorithm = -1;
constexpr int kDevicePointers = 1;
using Create = int (*)(void** handle);
using Destroy = int (*)(void* handle);
using SetStream = int (*)(void* handle, cudaStream_t stream);
using SetPointerMode = int (*)(void* handle, int mode);
using Product = int (*)(void* handle, int transpose_a, int transpose_b, int m, int n, int k, const void* alpha,
                        const void* a, cudaDataType a_type, int lda, const void* b, cudaDataType b_type, int ldb,
                        const void* beta, void* c, cudaDataType c_type, int ldc, int compute_type, int algorithm);
using Norm = int (*)(void* handle, int count, const float* values, int increment, float* result);

void check(int status, const char* call) {
  if (status != 0) throw Error(ExitCode::device, fmt::format("cuda: cuBLAS: {} failed with status {}", call, status));
}

template <class Function>
Function find(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) throw Error(ExitCode::device, fmt::format("cuda: cuBLAS has no {}", name));
  return reinterpret_cast<Function>(symbol);
}

}  // namespace

VendorLibrary::VendorLibrary(cudaStream_t stream) {
  for (const char* name : {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13",
                           "/usr/local/cuda/lib64/libcublas.so.12"}) {
    library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) break;
  }
  if (library_ == nullptr) {
    missing_ = "cuBLAS not found (libcublas.so.13 or .12); add its directory to LD_LIBRARY_PATH";
    return;
  }
  try {
    check(find<Create>(library_, "cublasCreate_v2")(&handle_), "cublasCreate");
    check(find<SetStream>(library_, "cublasSetStream_v2")(handle_, stream), "cublasSetStream");
  } catch (const Error& error) {
    missing_ = error.what();
  }
}

VendorLibrary::~VendorLibrary() {
  if (handle_ != nullptr) {
    const auto destroy = reinterpret_cast<Destroy>(dlsym(library_, "cublasDestroy_v2"));
    if (destroy == nullptr || destroy(handle_) != 0) std::fputs("kith: cuda: cublasDestroy failed\n", stderr);
  }
  if (library_ != nullptr) dlclose(library_);
}

void VendorLibrary::product(ProductType type, int n, const void* a, const void* b, void* c) const {
  const bool is_integer = type == ProductType::int8;
  const float one = 1.0F, zero = 0.0F;
  const std::int32_t integer_one = 1, integer_zero = 0;
  const cudaDataType element = type == ProductType::float16 ? CUDA_R_16F : is_integer ? CUDA_R_8I : CUDA_R_32F;
  const cudaDataType result = is_integer ? CUDA_R_32I : element;
  const int compute = is_integer ? kComputeInt32 : type == ProductType::tf32 ? kComputeTf32 : kCompute32;
  const void* alpha = is_integer ? static_cast<const void*>(&integer_one) : &one;
  const void* beta = is_integer ? static_cast<const void*>(&integer_zero) : &zero;
  check(find<Product>(library_, "cublasGemmEx")(handle_, kTransposed, kNotTransposed, n, n, n, alpha, a, element, n, b,
                                                element, n, beta, c, result, n, compute, kDefaultAlgorithm),
        "cublasGemmEx");
}

void VendorLibrary::norm(int count, const float* values, float* result) const {
  const auto mode = find<SetPointerMode>(library_, "cublasSetPointerMode_v2");
  check(mode(handle_, kDevicePointers), "cublasSetPointerMode");
  check(find<Norm>(library_, "cublasSnrm2_v2")(handle_, count, values, 1, result), "cublasSnrm2");
  check(mode(handle_, 0), "cublasSetPointerMode");
}

}  // namespace kith::cuda
