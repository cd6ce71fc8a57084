// Rows of a file that a device reads while it searches them have the lists of rows in memory, for parts of any size.
#include <algorithm>

#include "core/points/composed_points.h"
#include "tests/support/memory_reader.h"
#include "tests/support/points_everywhere.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr std::int64_t kQueries = 70, kNeighbors = 20;

/// The backends that read files themselves.
std::vector<Tested> reading_backends(const BackendOptions& options, const ForcedPaths& forced) {
  std::vector<Tested> all = tested_backends(options, forced);
  std::erase_if(all, [](const Tested& one) { return !one.backend->device().has_own_memory; });
  return all;
}

/// Rows, queries near them, and what a search must find.
struct Problem {
  Problem(const Kind& kind, Shape shape, Stored as)
      : values(kind.make(shape.n, shape.d, 11)),
        queries(centroids_near(values.view(), kQueries)),
        stored(stored_as(values.view(), as)),
        lists(kQueries, kNeighbors) {
    const auto points = reference_points(values.view());
    points->prepare(make_plan(*points));
    points->search({queries.view()}, lists);
    limit = lists.distance(0, kNeighbors - 1);
    counts = RadiusLists(kQueries, limit, 1 << 20);
    points->search_radius({queries.view()}, counts);
  }

  std::unique_ptr<Points> hold(Backend& backend, MemoryReader& reader) const {
    return backend.hold({reader.shape(), 0, nullptr, {}, &reader, true});
  }
  void check(const Points& points) const {
    NeighborLists found(kQueries, kNeighbors);
    points.search({queries.view()}, found);
    check_same(lists, found);
    RadiusLists within(kQueries, limit, 1 << 20);
    points.search_radius({queries.view()}, within);
    CHECK(within.counts == counts.counts);
  }

  Matrix<double> values, queries;
  PointsMatrix stored;
  NeighborLists lists;
  double limit = 0.0;
  RadiusLists counts{0, 0.0, 0};
};

}  // namespace

TEST_CASE("rows that are read while they are searched have the lists of rows in memory", "[search]") {
  for (const bool kept : {false, true}) {
    for (const std::int64_t block : {256, 300, 1024, 5000}) {
      const auto backends = reading_backends({.block_rows = block}, {.fp16_by_block = !kept, .kept_parts = kept});
      if (backends.empty()) return;
      for (const std::size_t kind : {std::size_t{0}, std::size_t{2}, std::size_t{5}}) {
        for (const Shape s : {Shape{2600, 33, 0}, Shape{1021, 129, 0}, Shape{3000, 5, 0}, Shape{90, 8, 0}}) {
          INFO(kinds()[kind].name << ", n " << s.n << ", d " << s.d << ", parts of " << block << ", kept " << kept);
          const Problem problem(kinds()[kind], s, Stored::float64);
          for (const Tested& tested : backends) {
            MemoryReader reader(view_of(problem.stored), block);
            const auto points = problem.hold(*tested.backend, reader);
            CHECK(reader.reads == 0);
            problem.check(*points);
            const std::int64_t reads = reader.reads;
            problem.check(*points);
            CHECK((reader.reads == reads) == (kept || block >= s.n));
          }
        }
      }
    }
  }
}

TEST_CASE("rows that are read while they are searched fit in little device memory", "[search]") {
  const Problem problem(kinds()[0], {9000, 128, 0}, Stored::float32);  // 4.6 MB
  for (const std::int64_t bytes : {3 << 20, 6 << 20, 9 << 20, 12 << 20, 20 << 20}) {
    INFO(bytes << " bytes");
    for (const Tested& tested : reading_backends({.device_memory = bytes}, {})) {
      MemoryReader reader(view_of(problem.stored), 1);
      const auto points = problem.hold(*tested.backend, reader);
      problem.check(*points);
      problem.check(*points);
      CHECK(tested.backend->device_bytes() <= bytes);
    }
  }
}

TEST_CASE("bytes that are read while they are searched have the lists of rows in memory", "[search]") {
  for (const Kind& kind : kinds()) {
    if (!kind.bytes) continue;
    const Problem problem(kind, {2600, 40, 0}, Stored::bytes);
    for (const Tested& tested : reading_backends({.block_rows = 512}, {.kept_parts = true})) {
      INFO(kind.name);
      MemoryReader reader(view_of(problem.stored), 1);
      const auto points = problem.hold(*tested.backend, reader);
      problem.check(*points);
      problem.check(*points);
    }
  }
}

TEST_CASE("several devices read their rows while they search them", "[search]") {
  const Problem problem(kinds()[0], {2611, 33, 0}, Stored::float32);
  for (const bool kept : {false, true}) {
    std::vector<std::unique_ptr<Backend>> parts;
    for (int p = 0; p < 3; ++p) {
      for (Tested& tested : reading_backends({.block_rows = 256}, {.fp16_by_block = !kept, .kept_parts = kept})) {
        parts.push_back(std::move(tested.backend));
      }
    }
    if (parts.empty()) return;
    ComposedBackend backend(std::move(parts), 1);
    MemoryReader reader(view_of(problem.stored), 1);
    const auto points = problem.hold(backend, reader);
    problem.check(*points);
    problem.check(*points);
  }
}

TEST_CASE("a file that fails while it is searched ends the search, and the next one begins anew", "[search]") {
  const Problem problem(kinds()[0], {2600, 33, 0}, Stored::float32);
  for (const bool kept : {false, true}) {
    for (const Tested& tested : reading_backends({.block_rows = 256}, {.fp16_by_block = !kept, .kept_parts = kept})) {
      for (const std::int64_t reads : {0, 1, 2, 9}) {
        INFO(reads << " reads, kept " << kept);
        MemoryReader reader(view_of(problem.stored), 1);
        reader.most_reads = reads;
        const auto points = problem.hold(*tested.backend, reader);
        NeighborLists found(kQueries, kNeighbors);
        CHECK_THROWS_AS(points->search({problem.queries.view()}, found), Error);
        reader.most_reads = 1'000'000;
        problem.check(*points);
      }
    }
  }
}

TEST_CASE("distances that leave the range of float64 are refused in whichever part they are", "[search]") {
  Matrix<double> values(1024, 8);
  for (std::int64_t i = 0; i < values.rows(); ++i) {
    for (std::int64_t j = 0; j < values.columns(); ++j) values(i, j) = i < 512 ? 1e154 : -1e154;
  }
  const Matrix<double> queries(3, 8);
  for (const Tested& tested : reading_backends({.block_rows = 256}, {.fp16_by_block = true})) {
    MemoryReader reader(values.view(), 1);
    const auto points = tested.backend->hold({reader.shape(), 0, nullptr, {}, &reader, true});
    NeighborLists found(3, 2);
    CHECK_THROWS_AS(points->search({queries.view()}, found), Error);
  }
}
