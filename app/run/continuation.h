// Resuming a run of kith cluster that reached its iteration limit, as if it had not stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/run/results.h"
#include "core/kmeans/kmeans.h"
#include "data/source.h"

namespace kith::app {

/// The state of such a run, from its result.
struct Continuation {
  std::string file;
  StoppedRun stopped;
  bool interrupted = false;  // before it reached its limit
  Iterations iterations;
  /// How it started; nothing if it was the best of several runs.
  struct Start {
    std::string init;  // as stored
    std::uint64_t seed = 0;
    std::string options;  // "--init k-means++ --n-init 1 --seed 0", of the stored command
  };
  std::optional<Start> start;

  /// Sets the limit of the whole run; `given`: that of --max-iterations, or its default. An interrupted run has not
  /// reached the one it had. By default it is that of the run as if it had not stopped, or a multiple of it.
  void set_limit(std::int64_t given, bool is_default);
};

/// Nothing unless `init`, the value of --init, is a result that reached its iteration limit, for these points and a
/// command that differs from `command` only in its start, its limit, and the datasets that it writes besides.
std::optional<Continuation> find_continuation(const std::string& init, const std::string& command,
                                              const data::PointSource& points);

/// A command line that resumes `result`: these words with another start and another output.
std::string continuing_command(const std::vector<std::string>& words, const std::string& result);

}  // namespace kith::app
