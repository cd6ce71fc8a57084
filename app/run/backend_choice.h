// Which backend computes a run, and on how many devices: the method with the lowest estimated time, unless options say
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "app/cli/common_options.h"
#include "app/plan/plan.h"
#include "core/points/backend.h"

namespace kith::app {

struct Job;

/// What a run does, as far as the sizes of its inputs tell.
struct RunShape {
  std::int64_t rows = 0, columns = 0;
  std::int64_t bytes = 0;       // of all values
  std::vector<Work> work = {};  // with all rows; empty: not known
  bool is_known() const { return rows > 0; }
};

RunShape shape_of(const data::PointSource& points, const std::vector<Work>& work);

/// Seconds of the run on a machine that holds its rows, with as many iterations as most runs take.
double expected_seconds(const RunShape& shape, const Machine& machine);

/// The processor or a GPU: opening a GPU and sending the rows there takes longer than small problems take a processor.
Decision choose_backend_by_cost(const RunShape& shape, const Machine& processor, const Machine& gpu);
/// How many of up to `most` GPUs divide the rows: each takes the time to open it. The method is the number.
Decision choose_gpus_by_cost(const RunShape& shape, const Machine& gpu, std::int64_t most);

/// Opens the backend of --backend and records it, and why, in the report and in `job.device`. auto takes the one that
/// is expected to be the fastest, of those that work; the first of these if the shape is not known. Throws
/// Error(device) with the reason if the named backend, or every backend, cannot be used.
std::unique_ptr<Backend> choose_backend(Job& job, const RunShape& shape = {});

/// The threads of a processor that computes this run.
std::int64_t planned_threads(const CommonOptions& common);
/// How many devices --devices names, all if it is not given; for a backend without GPUs: threads.
int most_devices(const Job& job);
/// The chosen backend with the first `count` of these.
std::unique_ptr<Backend> open_devices(const Job& job, int count);

}  // namespace kith::app
