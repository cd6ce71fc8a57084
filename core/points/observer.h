// Progress reports of long computations: core/ calls the observer, and the program displays them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace kith {

/// The record of one Lloyd iteration.
struct IterationRecord {
  double inertia = 0.0;      // the objective after the iteration's update (docs/contract.md, The objective)
  std::int64_t changed = 0;  // labels that differ from the previous iteration
  double shift = 0.0;        // sum of squared centroid shifts
  double seconds = 0.0;
  double assign_seconds = 0.0;  // spent on labels; 0 if labels and sums are computed together
  std::int64_t screened = 0;
  std::int64_t products = 0;
  std::int64_t pairs = 0;  // of a row and a cluster: the products of an iteration that prunes nothing
  std::int64_t ambiguous = 0;
  std::int64_t candidates = 0;
  std::int64_t relocated = 0;  // empty clusters that received a row

  /// The share of the pairs that needed neither a product nor the definition; 0 if no products were counted.
  double pruned() const {
    const double done = static_cast<double>(products) + static_cast<double>(candidates);
    return products > 0 && pairs > 0 ? std::max(0.0, 1.0 - done / static_cast<double>(pairs)) : 0.0;
  }
};

/// The record of one run of Lloyd's iteration.
struct RunRecord {
  int run = 0;  // from 0
  double inertia = 0.0;
  std::int64_t iterations = 0;
  std::string stopped_by;  // "labels", "tolerance" or "max-iterations"
  std::int64_t empty_clusters = 0;
};

class Observer {
 public:
  virtual ~Observer() = default;
  /// A phase begins ("prepare", "seed", "iterate", "assign", "search", ...); steps: its length, 0 if unknown.
  virtual void phase(const std::string& /*name*/, std::int64_t /*steps*/) {}
  /// done: number of completed steps of the phase.
  virtual void progress(std::int64_t /*done*/) {}
  virtual void iteration(const IterationRecord&) {}
  /// Run number `run` (from 0) of `runs` begins.
  virtual void begin_run(int /*run*/, int /*runs*/) {}
  virtual void end_run(const RunRecord&) {}
  virtual void warning(const std::string& /*message*/) {}
};

}  // namespace kith
