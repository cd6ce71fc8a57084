// How a long computation tells what it is doing. Core calls it; the program shows it.
#pragma once

#include <cstdint>
#include <string>

namespace kith {

/// One Lloyd iteration, as reported and shown.
struct IterationRecord {
  double inertia = 0.0;      // the objective after the iteration's update (docs/contract.md, The objective)
  std::int64_t changed = 0;  // labels that differ from the iteration before
  double shift = 0.0;        // sum of squared centroid shifts
  double seconds = 0.0;
  double assign_seconds = 0.0;  // of them, for labels; 0 where these are found and summed in one go
  std::int64_t screened = 0;
  std::int64_t ambiguous = 0;
  std::int64_t candidates = 0;
  std::int64_t relocated = 0;  // empty clusters that were given a row
};

/// One run of Lloyd's iteration from its start to its end, of several from different starts.
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
  /// A phase begins ("prepare", "seed", "iterate", "assign", "search"); `steps` is its length, 0 if unknown.
  virtual void phase(const std::string& /*name*/, std::int64_t /*steps*/) {}
  /// `done` of the phase's steps are done.
  virtual void progress(std::int64_t /*done*/) {}
  virtual void iteration(const IterationRecord&) {}
  /// Run `run`, from 0, of `runs` begins.
  virtual void begin_run(int /*run*/, int /*runs*/) {}
  virtual void end_run(const RunRecord&) {}
  virtual void warning(const std::string& /*message*/) {}
};

}  // namespace kith
