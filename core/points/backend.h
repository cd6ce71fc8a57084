// The interface between the mathematics and the backends: points stay where they are held, centroids go in, integer
// sums come out. Nothing above this line knows where the points are, in how many blocks, or in which precision.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/points/decision.h"
#include "core/points/matrix.h"
#include "core/points/points.h"
#include "core/points/row_reader.h"

namespace kith {

/// Rows that are still being read, from the first on, while a backend takes them over.
class Arrival {
 public:
  virtual ~Arrival() = default;
  /// Waits until at least `rows` rows are in memory and returns how many are, which may be more. Rethrows the error
  /// that ended their reading. One thread at a time.
  virtual std::int64_t wait_for(std::int64_t rows) = 0;
};

/// Rows for a backend to hold. The memory behind `values` and `weights` must outlive the Points made from it.
struct PointBlock {
  PointsView values;                     // (n, d)
  std::int64_t first_row = 0;            // its row number in the whole data set
  Arrival* arrival = nullptr;            // null: all values are in memory. They are when hold() returns.
  std::span<const double> weights = {};  // (n) above 0, those of DataPlan::weights; empty: every row weighs 1
  /// Not null: the rows are read from here, by several threads, whenever they are needed, and `values` has no memory.
  /// Only backends with memory of their own take it.
  RowReader* reader = nullptr;
  /// These points are only searched, by search() and search_radius(), and prepare() is not called: a backend may read
  /// the rows of a reader when they are searched, block by block, and plan each block for itself. copy_rows() works
  /// too.
  bool only_searched = false;
};

struct Device {
  std::string name;         // "NVIDIA H200", "Intel Xeon ..."
  std::string description;  // "132 SMs, 139 GiB", "AVX-512, 2 threads"
  /// Names that BackendOptions::screen may have besides "auto", best first; empty if there is no choice.
  std::vector<std::string> screens = {};
  std::int64_t free_memory = 0;  // bytes of its own memory that a run may use; of all devices together
  std::int64_t devices = 1;      // that divide the rows among them
  bool has_own_memory = false;   // so that points are copied to it, and BackendOptions::device_memory has an effect
  bool uses_threads = false;     // BackendOptions::threads has an effect
  Machine machine = {};          // what each device can do in a second; no rates: not known
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Device device() const = 0;
  /// The backend must outlive the points. Throws Error(device) if the block cannot be held, with the bytes that are
  /// needed and those that are free.
  virtual std::unique_ptr<Points> hold(const PointBlock&) = 0;
  /// Peak number of bytes of the device's own memory that were in use, 0 if it uses the host's.
  virtual std::int64_t device_bytes() const { return 0; }
  /// What its points have chosen so far.
  virtual std::vector<Decision> decisions() const { return {}; }
};

/// None of these changes a result.
struct BackendOptions {
  int threads = 0;                 // CPU threads; 0: those this process may use
  int device = 0;                  // CUDA device number
  std::string screen = "auto";     // CUDA: one of Device::screens; "auto": the first
  std::int64_t block_rows = 0;     // rows per block of work; 0: chosen from sizes
  std::int64_t device_memory = 0;  // bytes of device memory the run may use; 0: what is free
};

/// Paths that a backend takes only for large problems, or on some machines. Tests force them on small ones. Results do
/// not depend on them.
struct ForcedPaths {
  bool bounds = false;         // skip rows by bounds, on the CPU
  bool self_join = false;      // symmetric joins
  bool local_screen = false;   // local screens
  bool cells = false;          // searches by cells
  bool trees = false;          // searches of trees
  bool fp16_by_block = false;  // fp16 rows of one block at a time
  bool no_peers = false;       // devices exchange sums in the memory of the host
  bool kept_parts = false;     // rows that are searched as they are read stay on the device, in parts of block_rows
};

/// Rows (n, d) that a caller has in the memory of a GPU, and that nobody changes meanwhile.
struct RowsOnGpu {
  std::unique_ptr<RowReader> reader;
  std::int64_t wrong = -1;  // the first value that is NaN or infinite, counted over all rows; -1: there is none
};

/// A row of the table of backends.
struct BackendEntry {
  const char* name;
  const char* summary;  // a line for `kith devices`
  bool has_gpus;        // BackendOptions::device and ::screen choose among them; else neither means anything
  /// Empty if the backend can be opened with these options, else the reason and its remedy.
  std::string (*missing)(const BackendOptions&);
  std::unique_ptr<Backend> (*open)(const BackendOptions&, const ForcedPaths&);
  Machine (*machine)(const BackendOptions&);  // its rates before it is open; of GPUs those of the fastest
  /// Rows in the memory of its devices, for PointBlock::reader; null: it has no memory of its own.
  RowsOnGpu (*rows_on_gpu)(const PointsView& values);
};

/// All backends, best first. Defined in kernels/backends.cpp.
std::span<const BackendEntry> backends();

}  // namespace kith
