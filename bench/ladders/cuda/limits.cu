// Limits of the device: bandwidth of its memory, of the multiprocessors' shared memory and of its link to the host,
// latency of a launch, rates of products.
//
// The memory kernels stream over 1 GiB, far beyond the L2 cache, in 16-byte words. A copy counts the bytes read and the
// bytes written. cuBLAS computes the products, on random values: zeros draw less power, and the clock would be higher.
#include <cuda_fp16.h>

#include <chrono>
#include <type_traits>

#include "bench/ladders/cuda/ladder.h"
#include "bench/ladders/cuda/vendor_library.h"
#include "kernels/cuda/device/reduce.h"

namespace kith::cuda {
namespace {

constexpr std::int64_t kMemoryBytes = std::int64_t{1} << 30;
constexpr std::int64_t kLinkBytes = std::int64_t{1} << 28;
constexpr int kThreadWords = 4;     // 16-byte words per thread
constexpr int kProductSide = 8192;  // rows and columns of the matrices

/// The first word of this thread; its other words follow at distances of kBlock.
__device__ std::int64_t first_word() {
  return static_cast<std::int64_t>(blockIdx.x) * (kBlock * kThreadWords) + threadIdx.x;
}

__global__ void read_kernel(const uint4* from, uint4* out) {
  uint4 word[kThreadWords];
#pragma unroll
  for (int i = 0; i < kThreadWords; ++i) word[i] = __ldcs(from + first_word() + i * kBlock);
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < kThreadWords; ++i) bits |= word[i].x | word[i].y | word[i].z | word[i].w;
  if (bits != 0) *out = word[0];  // never true, since memory is zero, but it keeps the compiler from removing the loads
}

__global__ void write_kernel(uint4* to, unsigned value) {
#pragma unroll
  for (int i = 0; i < kThreadWords; ++i) __stcs(to + first_word() + i * kBlock, make_uint4(value, value, value, value));
}

__global__ void copy_kernel(const uint4* from, uint4* to) {
  uint4 word[kThreadWords];
#pragma unroll
  for (int i = 0; i < kThreadWords; ++i) word[i] = __ldcs(from + first_word() + i * kBlock);
#pragma unroll
  for (int i = 0; i < kThreadWords; ++i) __stcs(to + first_word() + i * kBlock, word[i]);
}

constexpr int kSharedReads = 4;  // of every thread in a round
constexpr int kSharedRounds = 256;

/// Reads shared memory in 16-byte words, all threads of a warp in different banks.
__global__ void shared_kernel(unsigned* out) {
  __shared__ uint4 words[kWarp * kSharedReads];
  if (threadIdx.x < kWarp * kSharedReads) words[threadIdx.x] = make_uint4(0, 0, 0, 0);
  __syncthreads();
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(words + lane_index()));
  unsigned bits = 0;
  for (int round = 0; round < kSharedRounds; ++round) {
#pragma unroll
    for (unsigned i = 0; i < kSharedReads; ++i) {
      uint4 word;
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                   : "r"(address + i * kWarp * 16));
      bits |= word.x | word.y | word.z | word.w;
    }
  }
  if (bits != 0) *out = bits;  // never true, as in read_kernel
}

__global__ void empty_kernel() {}

/// Values in [-1, 1), or all integers, hashes of their indices.
template <class T>
__global__ void fill_kernel(T* values, std::int64_t count) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    auto hash = static_cast<std::uint32_t>(i) * 2654435769U;
    hash = (hash ^ (hash >> 15)) * 2246822519U;
    hash ^= hash >> 13;
    if constexpr (std::is_integral_v<T>) {
      values[i] = static_cast<T>(hash >> 24);
    } else {
      values[i] = static_cast<T>(static_cast<float>(static_cast<std::int32_t>(hash)) * 0x1p-31F);
    }
  }
}

class LimitBenchmark {
 public:
  explicit LimitBenchmark(const BenchRequest& request) : request_(request), context_(request.backend) {}

  std::vector<Measurement> operator()() {
    memory();
    shared_memory();
    link();
    launches();
    products();
    return std::move(measurements_);
  }

 private:
  bool requested(const std::string& name) const {
    return request_.names.empty() ||
           std::find(request_.names.begin(), request_.names.end(), name) != request_.names.end();
  }
  bool any_requested(std::initializer_list<const char*> names) const {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return requested(name); });
  }

  template <class Launch>
  void measure(const char* name, double work, WorkUnit unit, const Launch& launch) {
    if (!requested(name)) return;
    request_.on_progress(name);
    measurements_.push_back(
        {.name = name, .seconds = time_launches(context_.stream, request_.repeat, launch), .work = work, .unit = unit});
  }

  void memory() {
    if (!any_requested({kReadLimit, kWriteLimit, kCopyLimit})) return;
    constexpr std::int64_t kBlockBytes = std::int64_t{16} * kBlock * kThreadWords;
    const std::int64_t blocks = std::min(kMemoryBytes, context_.pool.available() / 4) / kBlockBytes;
    const std::int64_t words = blocks * kBlock * kThreadWords;
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

  void shared_memory() {
    Buffer<unsigned> out(context_.pool, 1);
    const int blocks = context_.multiprocessors * 8;
    measure(kSharedLimit, 16.0 * kSharedReads * kSharedRounds * kBlock * blocks, WorkUnit::bytes,
            [&](std::int64_t) { shared_kernel<<<blocks, kBlock, 0, context_.stream>>>(out.data()); });
  }

  void link() {
    if (!any_requested({kUploadLimit, "device to host", "both directions"})) return;
    PageLocked<std::byte> host_up(kLinkBytes), host_down(kLinkBytes);
    Buffer<std::byte> device_up(context_.pool, kLinkBytes), device_down(context_.pool, kLinkBytes);
    const Stream& stream = context_.stream;
    const Stream second;
    const auto bytes = static_cast<double>(kLinkBytes);
    const auto upload = [&](cudaStream_t on) {
      check(cudaMemcpyAsync(device_up.data(), host_up.data(), kLinkBytes, cudaMemcpyHostToDevice, on));
    };
    const auto download = [&](cudaStream_t on) {
      check(cudaMemcpyAsync(host_down.data(), device_down.data(), kLinkBytes, cudaMemcpyDeviceToHost, on));
    };
    measure(kUploadLimit, bytes, WorkUnit::bytes, [&](std::int64_t) { upload(stream); });
    measure("device to host", bytes, WorkUnit::bytes, [&](std::int64_t) { download(stream); });
    Event fork, join;
    measure("both directions", 2 * bytes, WorkUnit::bytes, [&](std::int64_t) {
      fork.record(stream);
      check(cudaStreamWaitEvent(second, fork));
      upload(stream);
      download(second);
      join.record(second);
      check(cudaStreamWaitEvent(stream, join));
    });
  }

  /// Timed by the host's clock: events on the device would not include the host's wait.
  void launches() {
    constexpr int kLaunches = 1000;
    const auto per_launch = [&](const char* name, const std::function<void()>& work) {
      if (!requested(name)) return;
      request_.on_progress(name);
      Measurement line{.name = name};
      for (int i = -2; i < request_.repeat; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
        if (i >= 0) line.seconds.push_back(elapsed.count() / kLaunches);
      }
      check(cudaGetLastError());
      measurements_.push_back(std::move(line));
    };
    const Stream& stream = context_.stream;
    per_launch("launch and wait", [&] {
      for (int i = 0; i < kLaunches; ++i) {
        empty_kernel<<<1, 32, 0, stream>>>();
        stream.wait();
      }
    });
    per_launch("queued launch", [&] {
      for (int i = 0; i < kLaunches; ++i) empty_kernel<<<1, 32, 0, stream>>>();
      stream.wait();
    });
  }

  void products() {
    if (!any_requested({kFp16Limit, kInt8Limit, "product TF32", kFloatLimit})) return;
    const VendorLibrary library(context_.stream);
    constexpr std::int64_t kCells = std::int64_t{kProductSide} * kProductSide;
    product<__half>(library, kFp16Limit, ProductType::float16, kCells);
    product<std::int8_t>(library, kInt8Limit, ProductType::int8, kCells);
    product<float>(library, "product TF32", ProductType::tf32, kCells);
    product<float>(library, kFloatLimit, ProductType::float32, kCells);
  }

  template <class T>
  void product(const VendorLibrary& library, const char* name, ProductType type, std::int64_t cells) {
    if (!requested(name)) return;
    const std::string shape = std::to_string(kProductSide) + "^3";
    if (!library.missing().empty()) {
      measurements_.push_back({.name = name, .shape = shape, .missing = library.missing()});
      return;
    }
    Buffer<T> a(context_.pool, cells), b(context_.pool, cells);
    using Element = std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t, T>;  // of the product
    Buffer<Element> c(context_.pool, cells);
    for (T* values : {a.data(), b.data()}) {
      fill_kernel<<<context_.grid(cells, kBlock), kBlock, 0, context_.stream>>>(values, cells);
    }
    const WorkUnit unit = type == ProductType::int8 ? WorkUnit::operations : WorkUnit::flops;
    measure(name, 2.0 * kProductSide * static_cast<double>(cells), unit,
            [&](std::int64_t) { library.product(type, kProductSide, a.data(), b.data(), c.data()); });
    measurements_.back().shape = shape;
    measurements_.back().note = "cuBLAS";
  }

  const BenchRequest& request_;
  Context context_;
  std::vector<Measurement> measurements_;
};

}  // namespace

std::vector<Measurement> measure_limits(const BenchRequest& request) { return LimitBenchmark(request)(); }

}  // namespace kith::cuda
