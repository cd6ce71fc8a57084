// Where a computation runs, and how it reports progress and is cancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace kith {

/// A report of a long computation.
struct ProgressReport {
  std::string phase;       // "prepare", "seed", "iterate", "assign", "search"
  std::int64_t done = 0;   // steps of the phase; iterations so far in "iterate"
  std::int64_t steps = 0;  // of the whole phase; 0: unknown
};

/// None of these changes a result.
struct RunOptions {
  std::string backend = "auto";  // "cuda", "cpu", or the best that works; a named one never falls back
  int device = 0;                // number of the GPU
  int threads = 0;               // of the processor, at most 4096; 0: all that this process may use
  /// Called from the calling thread. What it throws ends the computation and is rethrown.
  std::function<void(const ProgressReport&)> on_progress = {};
  std::function<void(const std::string&)> on_warning = {};
  /// Asked at every report, and by the CPU every 20 ms between them; true ends the computation with Error(time_limit).
  /// It may throw, too.
  std::function<bool()> cancelled = {};
};

/// The version of the library, "0.2.0".
const char* library_version();

/// Whether `backend` can be opened on the device of these options; if not, why.
bool is_usable(const std::string& backend, std::string* reason = nullptr, const RunOptions& options = {});

}  // namespace kith
