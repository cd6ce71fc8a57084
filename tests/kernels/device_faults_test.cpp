// A GPU whose memory runs out at any allocation, that refuses any launch, or that disappears at any call: the run gives
// the right answer or exit code 4 or 6, and a GPU that was only short of memory computes on.
#include <cstring>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/neighbors/neighbors.h"
#include "core/neighbors/radius.h"
#include "core/points/composed_points.h"
#include "kernels/cuda/runtime/injected_fault.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/memory_reader.h"

using namespace kith;
using namespace kith::test;
using cuda::InjectedFault;

namespace {

constexpr std::int64_t kPlaces = 40;  // that are tried of each kind, spread over a run

template <class T>
void append(std::string& bytes, const T* values, std::int64_t count) {
  bytes.append(reinterpret_cast<const char*>(values), static_cast<std::size_t>(count) * sizeof(T));
}

/// A run on a backend, from uploading its rows on. Returns the bytes of its answer.
struct Job {
  const char* name;
  ForcedPaths forced;
  std::string (*run)(Backend&);
};

std::string cluster(Backend& backend, std::int64_t n, std::int64_t d, std::int64_t k) {
  const Matrix<double> values = kinds()[1].make(n, d, 7);
  const KMeansResult result =
      on(backend, values, ValueClass::f32, {.clusters = k, .max_iterations = 6, .tolerance = 0, .keep_medoids = true});
  std::string bytes;
  append(bytes, result.labels.data(), std::ssize(result.labels));
  append(bytes, result.centroids.data(), result.centroids.size());
  append(bytes, &result.inertia, 1);
  append(bytes, result.nearest_row.data(), std::ssize(result.nearest_row));
  return bytes;
}

/// Rows in memory, held and prepared.
struct Held {
  Held(Backend& backend, std::int64_t n, std::int64_t d)
      : values(as_class(kinds()[1].make(n, d, 5).view(), ValueClass::f32)), points(backend.hold({view_of(values), 0})) {
    points->prepare(make_plan(*points));
  }
  PointsMatrix values;
  std::unique_ptr<Points> points;
};

std::string neighbors(Backend& backend, std::int64_t n, std::int64_t d) {
  const Held held(backend, n, d);
  std::string bytes;
  Observer silent;
  const auto keep = [&bytes](std::int64_t, const NeighborLists& lists) {
    append(bytes, lists.index.data(), lists.index.size());
    append(bytes, lists.distance.data(), lists.distance.size());
  };
  nearest_neighbors(*held.points, view_of(held.values), {.neighbors = 5, .base_is_queries = true}, keep, silent);
  return bytes;
}

std::string within_radius(Backend& backend) {
  const Held held(backend, 700, 40);
  std::string bytes;
  Observer silent;
  const auto keep = [&bytes](std::int64_t, std::span<const std::vector<Neighbor>> lists) {
    for (const std::vector<Neighbor>& list : lists) {
      for (const Neighbor& one : list) append(bytes, &one.row, 1);
      bytes += '\n';
    }
    return true;
  };
  radius_neighbors(*held.points, view_of(held.values), {.limit = 60.0, .base_is_queries = true}, keep, silent);
  return bytes;
}

/// Neighbours among rows that are read while they are searched.
std::string neighbors_in_file(Backend& backend) {
  const Matrix<double> values = kinds().front().make(1500, 40, 3);
  MemoryReader reader(values.view(), 1);
  const auto points = backend.hold({reader.shape(), 0, nullptr, {}, &reader, true});
  std::string bytes;
  for (int turn = 0; turn < 2; ++turn) {
    NeighborLists lists(100, 5);
    points->search({.values = values.view().middle(300, 100)}, lists);
    append(bytes, lists.index.data(), lists.index.size());
    append(bytes, lists.distance.data(), lists.distance.size());
  }
  return bytes;
}

const std::vector<Job>& jobs() {
  static const std::vector<Job> table{
      {"few clusters", {}, [](Backend& b) { return cluster(b, 900, 6, 12); }},
      {"many clusters", {}, [](Backend& b) { return cluster(b, 3000, 70, 400); }},
      {"one step of products", {}, [](Backend& b) { return cluster(b, 2500, 20, 60); }},
      {"local screens", {.local_screen = true}, [](Backend& b) { return cluster(b, 2500, 20, 60); }},
      {"search", {}, [](Backend& b) { return neighbors(b, 1500, 40); }},
      {"self-join", {.self_join = true}, [](Backend& b) { return neighbors(b, 900, 260); }},
      {"trees", {.trees = true}, [](Backend& b) { return neighbors(b, 1500, 12); }},
      {"cells", {.cells = true}, [](Backend& b) { return neighbors(b, 1500, 40); }},
      {"radius", {}, within_radius},
      {"search of a file", {.fp16_by_block = true}, neighbors_in_file},
      {"search of a file that stays", {.kept_parts = true}, neighbors_in_file},
  };
  return table;
}

/// A GPU, or several parts of one; null if there is none.
using Open = std::unique_ptr<Backend> (*)(const ForcedPaths&);

std::unique_ptr<Backend> one_device(const ForcedPaths& forced) {
  const std::int64_t part = forced.fp16_by_block || forced.kept_parts ? 512 : 0;
  for (Tested& tested : tested_backends({.block_rows = part}, forced)) {
    if (tested.name == "cuda") return std::move(tested.backend);
  }
  return nullptr;
}

std::unique_ptr<Backend> two_parts(const ForcedPaths& forced) {
  std::vector<std::unique_ptr<Backend>> parts;
  for (int p = 0; p < 2; ++p) parts.push_back(one_device(forced));
  if (!parts.front()) return nullptr;
  return std::make_unique<ComposedBackend>(std::move(parts), 1);
}

/// Ends the injection, however a test ends.
struct Injection {
  explicit Injection(const InjectedFault& fault) { cuda::inject(fault); }
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;
  ~Injection() { cuda::inject({}); }
};

/// The answer, or an empty text if the device has failed.
std::string try_job(const Job& job, Backend& backend, const InjectedFault& fault) {
  const Injection injection(fault);
  try {
    return job.run(backend);
  } catch (const Error& error) {
    INFO(error.what());
    CHECK((error.code() == ExitCode::device || error.code() == ExitCode::memory));
    return "";
  }
}

void check_memory(const Job& job, Open open, const std::string& expected, std::int64_t count) {
  for (const auto kind : {InjectedFault::one_allocation, InjectedFault::all_allocations}) {
    for (std::int64_t place = 0; place < std::min(kPlaces, count); ++place) {
      const std::int64_t first = 1 + place * count / std::min(kPlaces, count);
      INFO(job.name << ": allocation " << first << " of " << count << ", kind " << kind);
      const auto backend = open(job.forced);
      const std::string answer = try_job(job, *backend, {kind, first});
      CHECK((answer.empty() || answer == expected));
      CHECK(job.run(*backend) == expected);
    }
  }
}

void check_calls(const Job& job, Open open, const std::string& expected, std::int64_t count) {
  for (const auto kind : {InjectedFault::one_call, InjectedFault::all_calls}) {
    for (std::int64_t place = 0; place < std::min(kPlaces, count); ++place) {
      const std::int64_t first = 1 + place * count / std::min(kPlaces, count);
      INFO(job.name << ": call " << first << " of " << count << ", kind " << kind);
      const auto backend = open(job.forced);
      const std::string answer = try_job(job, *backend, {kind, first});
      // Calls of threads that share their work differ from run to run, so that the last ones may not come.
      CHECK((answer.empty() || (answer == expected && first > count / 2)));
    }
  }
}

void check_all(Open open) {
  if (!open({})) return;
  for (const Job& job : jobs()) {
    std::string expected;
    std::int64_t allocations = 0, calls = 0;
    {
      const auto backend = open(job.forced);
      const Injection counting({InjectedFault::count_only});
      expected = job.run(*backend);
      allocations = cuda::counted_allocations();
      calls = cuda::counted_calls();
    }
    REQUIRE(!expected.empty());
    REQUIRE(allocations > 0);
    REQUIRE(calls > 0);
    check_memory(job, open, expected, allocations);
    check_calls(job, open, expected, calls);
  }
}

}  // namespace

TEST_CASE("60, 61, 64: a GPU that fails at any allocation or call gives no wrong answer") { check_all(one_device); }

TEST_CASE("60, 61, 64: one of two parts of a GPU fails, and the other does not wait for it for ever") {
  check_all(two_parts);
}
