// Going on with a run of kith cluster that stopped at its limit of iterations, as if it had not stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/run/results.h"
#include "core/kmeans.h"
#include "data/source.h"

namespace kith::app {

/// What the result of such a run says of it.
struct Continuation {
  std::string file;
  StoppedRun stopped;
  Iterations iterations;
  /// How it started, where that alone led to its centroids; nothing where they were the best of several runs.
  struct Start {
    std::string init;  // as stored
    std::int64_t seed = 0;
    std::string options;  // "--init k-means++ --n-init 1 --seed 0", of the stored command
  };
  std::optional<Start> start;
};

/// Nothing unless `init`, of --init, is a result that stopped at its limit, of these points and of a command like
/// `command`: one that differs only in its start, in its limit, and in what it writes besides.
std::optional<Continuation> find_continuation(const std::string& init, const std::string& command,
                                              const data::PointSource& points);

/// A command line that goes on from `result`: the words of this one, with another start and another output.
std::string continuing_command(const std::vector<std::string>& words, const std::string& result);

}  // namespace kith::app
