// Rows that a caller has in the memory of a GPU: arrays of PyTorch, CuPy and others.
#include <cstdint>
#include <type_traits>
#include <variant>

#include "kernels/backends.h"
#include "kernels/cuda/device/reduce.h"
#include "kernels/cuda/runtime/memory.h"

namespace kith::cuda {
namespace {

constexpr unsigned kBlocks = 1024;

template <class T>
__global__ void find_wrong_kernel(const T* values, std::int64_t count, unsigned long long* wrong) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    if (!isfinite(values[i])) atomicMin(wrong, static_cast<unsigned long long>(i));
  }
}

template <class T>
__global__ void gather_rows_kernel(const T* values, const std::int64_t* rows, std::int64_t count, std::int64_t d,
                                   T* out) {
  for (std::int64_t i = thread_index(); i < count * d; i += thread_count()) out[i] = values[rows[i / d] * d + i % d];
}

template <class T>
class GpuReader final : public SharedReader {
 public:
  explicit GpuReader(MatrixView<const T> rows) : rows_(rows) {
    cudaPointerAttributes where{};
    check(cudaPointerGetAttributes(&where, rows.data));
    if (where.type != cudaMemoryTypeDevice && where.type != cudaMemoryTypeManaged) {
      throw Error(ExitCode::usage, "points: expected values in the memory of a GPU, found them in that of the host");
    }
    device_ = where.device;
    check(cudaSetDevice(device_));
    check(cudaDeviceSynchronize());  // the values may still be on their way
  }

  std::int64_t rows() const override { return rows_.rows; }
  std::int64_t columns() const override { return rows_.columns; }
  const void* gpu_memory() const override { return rows_.data; }
  void read(std::int64_t first, std::int64_t count, std::byte* out) override {
    check(cudaMemcpy(out, rows_.data + first * rows_.columns,
                     static_cast<std::size_t>(count * rows_.columns) * sizeof(T), cudaMemcpyDefault));
  }
  PointsMatrix gather(std::span<const std::int64_t> rows) override {
    check(cudaSetDevice(device_));
    Pool pool(0);
    const Stream stream;
    Matrix<T> out(std::ssize(rows), rows_.columns);
    Buffer<std::int64_t> chosen(pool, std::ssize(rows));
    Buffer<T> values(pool, out.size());
    stream.upload(chosen.data(), rows.data(), chosen.size());
    gather_rows_kernel<<<kBlocks, kBlock, 0, stream>>>(rows_.data, chosen.data(), out.rows(), out.columns(),
                                                       values.data());
    check(cudaGetLastError());
    stream.download(out.data(), values.data(), values.size());
    return out;
  }

  std::int64_t first_wrong() const {
    if constexpr (!std::is_floating_point_v<T>) {
      return -1;
    } else {
      Pool pool(0);
      const Stream stream;
      const Buffer<unsigned long long> wrong(pool, 1);
      stream.fill(wrong.data(), 0xFF, 1);
      find_wrong_kernel<<<kBlocks, kBlock, 0, stream>>>(rows_.data, rows_.size(), wrong.data());
      check(cudaGetLastError());
      std::int64_t found = -1;  // all bits set, which stay where every value is finite
      stream.download(reinterpret_cast<unsigned long long*>(&found), wrong.data(), 1);
      return found;
    }
  }

 private:
  MatrixView<const T> rows_;
  int device_ = 0;
};

}  // namespace

RowsOnGpu rows_on_gpu(const PointsView& values) {
  return std::visit(
      []<class T>(MatrixView<const T> rows) -> RowsOnGpu {
        auto reader = std::make_unique<GpuReader<T>>(rows);
        const std::int64_t wrong = reader->first_wrong();
        return {std::move(reader), wrong};
      },
      values);
}

}  // namespace kith::cuda
