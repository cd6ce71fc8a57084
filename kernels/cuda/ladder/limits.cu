// Limits of the device: bandwidth of its memory and of its link to the host, latency of a launch, rates of products.
//
// Memory is walked in streams of 16 bytes a thread over a gibibyte, far beyond the second-level cache. Bytes are
// counted as they are named: a copy moves twice its size. Products are cuBLAS's, on random values: zeros draw less
// power, and would be faster.
#include <cuda_fp16.h>

#include <chrono>

#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/ladder/ladder.h"
#include "kernels/cuda/ladder/vendor_library.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMemoryBytes = std::int64_t{1} << 30;
constexpr std::int64_t kLinkBytes = std::int64_t{1} << 28;
constexpr int kEach = 4;            // 16-byte words of a thread
constexpr int kProductSide = 8192;  // rows and columns of the matrices

/// The first word of this thread; the next ones are kBlock further each.
__device__ std::int64_t first_word() { return static_cast<std::int64_t>(blockIdx.x) * (kBlock * kEach) + threadIdx.x; }

__global__ void read_kernel(const uint4* from, uint4* out) {
  uint4 word[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) word[i] = __ldcs(from + first_word() + i * kBlock);
  unsigned seen = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) seen |= word[i].x | word[i].y | word[i].z | word[i].w;
  if (seen != 0) *out = word[0];  // memory is zero; only the compiler does not know
}

__global__ void write_kernel(uint4* to, unsigned value) {
#pragma unroll
  for (int i = 0; i < kEach; ++i) __stcs(to + first_word() + i * kBlock, make_uint4(value, value, value, value));
}

__global__ void copy_kernel(const uint4* from, uint4* to) {
  uint4 word[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) word[i] = __ldcs(from + first_word() + i * kBlock);
#pragma unroll
  for (int i = 0; i < kEach; ++i) __stcs(to + first_word() + i * kBlock, word[i]);
}

__global__ void empty_kernel() {}

/// Values in [-1, 1) of either type, by a hash of their place.
template <class T>
__global__ void fill_kernel(T* values, std::int64_t count) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    auto hash = static_cast<std::uint32_t>(i) * 2654435769U;
    hash = (hash ^ (hash >> 15)) * 2246822519U;
    hash ^= hash >> 13;
    values[i] = static_cast<T>(static_cast<float>(static_cast<std::int32_t>(hash)) * 0x1p-31F);
  }
}

/// Host memory that the device reads and writes by itself.
class Pinned {
 public:
  explicit Pinned(std::int64_t bytes) { check(cudaMallocHost(&data_, static_cast<std::size_t>(bytes))); }
  ~Pinned() {
    const cudaError_t status = cudaFreeHost(data_);
    if (status != cudaSuccess)
      std::fprintf(stderr, "kith: cuda: %s while releasing host memory\n", cudaGetErrorName(status));
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

class LimitRun {
 public:
  explicit LimitRun(const BenchRequest& request) : request_(request), context_(request.backend) {}

  std::vector<Measurement> operator()() {
    memory();
    link();
    launches();
    products();
    return std::move(found_);
  }

 private:
  bool wanted(const std::string& name) const {
    return request_.names.empty() ||
           std::find(request_.names.begin(), request_.names.end(), name) != request_.names.end();
  }
  bool any_wanted(std::initializer_list<const char*> names) const {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return wanted(name); });
  }

  template <class Launch>
  void measure(const char* name, double work, WorkUnit unit, const Launch& launch) {
    if (!wanted(name)) return;
    request_.on_progress(name);
    found_.push_back(
        {.name = name, .seconds = timed(context_.stream, request_.repeat, launch), .work = work, .unit = unit});
  }

  void memory() {
    if (!any_wanted({kReadLimit, kWriteLimit, kCopyLimit})) return;
    constexpr std::int64_t kBlockBytes = std::int64_t{16} * kBlock * kEach;
    const std::int64_t blocks = std::min(kMemoryBytes, context_.pool.available() / 4) / kBlockBytes;
    const std::int64_t words = blocks * kBlock * kEach;
    const double bytes = 16.0 * static_cast<double>(words);
    const Stream& stream = context_.stream;
    const auto grid = static_cast<unsigned>(blocks);
    Buffer<uint4> from(context_.pool, words), to(context_.pool, words);
    stream.fill(from.data(), 0, words);
    measure(kReadLimit, bytes, WorkUnit::bytes,
            [&](std::int64_t) { read_kernel<<<grid, kBlock, 0, stream>>>(from.data(), to.data()); });
    measure(kWriteLimit, bytes, WorkUnit::bytes, [&](std::int64_t turn) {
      write_kernel<<<grid, kBlock, 0, stream>>>(to.data(), static_cast<unsigned>(turn));
    });
    measure(kCopyLimit, 2 * bytes, WorkUnit::bytes,
            [&](std::int64_t) { copy_kernel<<<grid, kBlock, 0, stream>>>(from.data(), to.data()); });
  }

  void link() {
    if (!any_wanted({"link up", "link down", "link both"})) return;
    Pinned host_up(kLinkBytes), host_down(kLinkBytes);
    Buffer<std::byte> up(context_.pool, kLinkBytes), down(context_.pool, kLinkBytes);
    const Stream& stream = context_.stream;
    const Stream second;
    const auto bytes = static_cast<double>(kLinkBytes);
    const auto send = [&](cudaStream_t where) {
      check(cudaMemcpyAsync(up.data(), host_up.data(), kLinkBytes, cudaMemcpyHostToDevice, where));
    };
    const auto fetch = [&](cudaStream_t where) {
      check(cudaMemcpyAsync(host_down.data(), down.data(), kLinkBytes, cudaMemcpyDeviceToHost, where));
    };
    measure("link up", bytes, WorkUnit::bytes, [&](std::int64_t) { send(stream); });
    measure("link down", bytes, WorkUnit::bytes, [&](std::int64_t) { fetch(stream); });
    Event fork, join;
    measure("link both", 2 * bytes, WorkUnit::bytes, [&](std::int64_t) {
      fork.record(stream);
      check(cudaStreamWaitEvent(second, fork));
      send(stream);
      fetch(second);
      join.record(second);
      check(cudaStreamWaitEvent(stream, join));
    });
  }

  /// By the clock of the host, which is the one that waits.
  void launches() {
    constexpr int kMany = 1000;
    const auto per_launch = [&](const char* name, const std::function<void()>& work) {
      if (!wanted(name)) return;
      request_.on_progress(name);
      Measurement line{.name = name};
      for (int i = -2; i < request_.repeat; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
        if (i >= 0) line.seconds.push_back(taken.count() / kMany);
      }
      check(cudaGetLastError());
      found_.push_back(std::move(line));
    };
    const Stream& stream = context_.stream;
    per_launch("launch and wait", [&] {
      for (int i = 0; i < kMany; ++i) {
        empty_kernel<<<1, 32, 0, stream>>>();
        stream.wait();
      }
    });
    per_launch("launch, queued", [&] {
      for (int i = 0; i < kMany; ++i) empty_kernel<<<1, 32, 0, stream>>>();
      stream.wait();
    });
  }

  void products() {
    if (!any_wanted({kFp16Limit, "product TF32", kFloatLimit})) return;
    const VendorLibrary library(context_.stream);
    constexpr std::int64_t kCells = std::int64_t{kProductSide} * kProductSide;
    product<__half>(library, kFp16Limit, ProductType::float16, kCells);
    product<float>(library, "product TF32", ProductType::tf32, kCells);
    product<float>(library, kFloatLimit, ProductType::float32, kCells);
  }

  template <class T>
  void product(const VendorLibrary& library, const char* name, ProductType type, std::int64_t cells) {
    if (!wanted(name)) return;
    const std::string shape = std::to_string(kProductSide) + "^3";
    if (!library.missing().empty()) {
      found_.push_back({.name = name, .shape = shape, .missing = library.missing()});
      return;
    }
    Buffer<T> a(context_.pool, cells), b(context_.pool, cells), c(context_.pool, cells);
    for (T* values : {a.data(), b.data()}) {
      fill_kernel<<<context_.grid(cells, kBlock), kBlock, 0, context_.stream>>>(values, cells);
    }
    measure(name, 2.0 * kProductSide * static_cast<double>(cells), WorkUnit::flops,
            [&](std::int64_t) { library.product(type, kProductSide, a.data(), b.data(), c.data()); });
    found_.back().shape = shape;
    found_.back().note = "cuBLAS";
  }

  const BenchRequest& request_;
  Context context_;
  std::vector<Measurement> found_;
};

}  // namespace

std::vector<Measurement> measure_limits(const BenchRequest& request) { return LimitRun(request)(); }

}  // namespace kith::cuda
