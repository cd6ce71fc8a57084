// An open Parquet or Arrow file: its schema, and its rows in parts (row groups, record batches) that are decoded alone.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "data/arrow/arrow_calls.h"
#include "data/format/point_source.h"
#include "data/io/input_bytes.h"

namespace kith::data {

/// Throws Error(data) about a damaged file, with the reason.
[[noreturn]] void refuse_arrow_file(const std::string& name, const std::string& reason);

/// Memory of Arrow, within the memory of the run. One for the process: threads of Arrow may return memory late.
class ArrowMemory final : public arrow::ProxyMemoryPool {
 public:
  ArrowMemory() : ProxyMemoryPool(arrow::default_memory_pool()) {}
  using ProxyMemoryPool::Allocate;
  using ProxyMemoryPool::Reallocate;
  arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override;
  arrow::Status Reallocate(std::int64_t old_size, std::int64_t new_size, std::int64_t alignment,
                           std::uint8_t** data) override;
  /// The bytes of the last request that was refused.
  std::int64_t refused() const { return refused_; }

 private:
  arrow::Status check(std::int64_t bytes);

  std::atomic<std::int64_t> refused_ = 0;
};

/// The rows of a part in order, in batches; null after the last one.
using ArrowBatches = std::function<std::shared_ptr<arrow::RecordBatch>()>;

class ArrowFile {
 public:
  virtual ~ArrowFile() = default;
  const std::string& name() const { return input_->name(); }
  const InputBytes& input() const { return *input_; }
  const arrow::Schema& schema() const { return *schema_; }
  std::int64_t rows() const { return starts_.back(); }
  std::int64_t parts() const { return std::ssize(starts_) - 1; }
  /// The first row of a part; that of parts() is the number of rows.
  std::int64_t start(std::int64_t part) const { return starts_[static_cast<std::size_t>(part)]; }
  virtual std::string kind() const = 0;                            // "a Parquet file"
  virtual std::string layout() const = 0;                          // "row groups: 3"
  virtual std::vector<std::string> filters() const { return {}; }  // "snappy"
  /// About the memory that decoding these fields of a part takes, with rows of `row_bytes`.
  virtual std::int64_t decoding_bytes(std::int64_t part, const std::vector<int>& fields,
                                      std::int64_t row_bytes) const = 0;
  /// Reads these fields, which ascend, of a part. Several threads may read.
  virtual ArrowBatches read(std::int64_t part, const std::vector<int>& fields) = 0;

  /// Lists of float32 or float64 numbers in a part that all have one length, none missing, as none of their numbers is.
  struct Lists {
    std::int64_t part = 0;
    int field = 0;
    std::int64_t length = 0;
  };
  /// All numbers of these lists, in order. Nothing if they are no such lists: then read() has them.
  virtual std::vector<ArrowStretch> stretches(const Lists&) { return {}; }
  /// Copies numbers, without arrays of Arrow; returns false if the lists are no such lists. Several threads may copy.
  virtual bool copy_numbers(const Lists&, std::int64_t /*first*/, std::int64_t /*count*/, std::byte* /*out*/) {
    return false;
  }

  /// Throws Error unless Arrow succeeded: about memory if there is not enough, else Error(data) with its reason.
  void require(const arrow::Status& status) const;
  template <class T>
  T require(arrow::Result<T> result) const {
    require(result.status());
    return std::move(result).ValueUnsafe();
  }
  [[noreturn]] void refuse(const std::string& reason) const { refuse_arrow_file(name(), reason); }

 protected:
  explicit ArrowFile(InputBytes input);
  /// The bytes of the input, for Arrow.
  std::shared_ptr<arrow::io::RandomAccessFile> bytes();
  /// Where these bytes of a buffer are in the file; -1 if the buffer is no part of the file.
  std::int64_t place_of(const std::uint8_t* bytes, std::int64_t count) const;
  static ArrowMemory& memory();
  void add_part(std::int64_t rows);

  std::shared_ptr<arrow::Schema> schema_;

 private:
  std::shared_ptr<InputBytes> input_;
  std::shared_ptr<const std::uint8_t> mapped_;  // null: read call by call
  std::vector<std::int64_t> starts_{0};
};

/// Opens a file of either format; throws Error(data).
std::unique_ptr<ArrowFile> open_arrow_file(InputBytes input);

// The two formats.
std::unique_ptr<ArrowFile> open_parquet_file(InputBytes input);
std::unique_ptr<ArrowFile> open_ipc_file(InputBytes input);

/// Returns work(). Exceptions of Arrow become Error(data) about the file.
template <class Work>
auto without_foreign_exceptions(const std::string& name, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& failure) {
    refuse_arrow_file(name, failure.what());
  }
}

class ArrowWriter {
 public:
  /// input: its columns come first, a part with each append(); null: none.
  ArrowWriter(const ArrowTableForm& form, std::shared_ptr<ArrowFile> input);
  ~ArrowWriter();
  /// Writes a row group or a record batch: values of each field of the form. Throws UnpackError if they do not fit.
  void append(std::int64_t rows, std::vector<ArrowColumnValues> columns);
  void finish();
  /// The bytes of the file since the last call.
  std::string take_bytes();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kith::data
