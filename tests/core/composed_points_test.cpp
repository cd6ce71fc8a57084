// Points made of points, in one process and in several, give the bits of points in one place.
#include "core/points/composed_points.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/kmeans/kmeans.h"
#include "core/neighbors/radius.h"
#include "core/points/streamed_points.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/memory_reader.h"
#include "tests/support/points_everywhere.h"
#include "tests/support/thread_processes.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr std::int64_t kRows = 301, kBlock = 37;

PointsView rows_from(const PointsView& values, const Shard& share) {
  return std::visit([&](const auto& all) -> PointsView { return all.middle(share.first, share.count); }, values);
}

/// How the rows of a process are held.
struct Layout {
  int processes = 1, parts = 1;
  bool streamed = false;  // a third of the rows of each part stays in memory
};

/// The rows of one process of a layout. Each part has a backend of its own, as several devices have.
class Process {
 public:
  Process(const BackendEntry& entry, const PointsView& values, std::span<const double> weights, const Layout& layout,
          Communicator& processes) {
    const Shard here = shard_of(rows_of(values), processes.rank(), processes.size());
    ComposedPoints::Shards shards;
    for (int p = 0; p < layout.parts; ++p) {
      backends_.push_back(entry.open(options_of_part(entry, p), {}));
      Backend& backend = *backends_.back();
      Shard part = shard_of(here.count, p, layout.parts);
      part.first += here.first;
      if (part.count == 0) continue;
      const auto of_rows =
          weights.empty() ? weights
                          : weights.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count));
      const PointsView rows = rows_from(values, part);
      if (layout.streamed) {
        readers_.push_back(std::make_unique<MemoryReader>(rows, kBlock));
        shards.points.push_back(std::make_unique<StreamedPoints>(
            backend,
            StreamedRows{readers_.back()->part(0, part.count / 3), readers_.back().get(), of_rows, part.first}));
      } else {
        shards.points.push_back(backend.hold({rows, part.first, nullptr, of_rows}));
      }
    }
    points_ = std::make_unique<ComposedPoints>(std::move(shards), columns_of(values), *backends_[0], processes);
  }

  Points& points() { return *points_; }

 private:
  std::vector<std::unique_ptr<Backend>> backends_;
  std::vector<std::unique_ptr<MemoryReader>> readers_;
  std::unique_ptr<Points> points_;
};

const std::vector<Layout> kLayouts{{1, 3, false}, {2, 2, true}, {4, 1, false}, {2, 3, false}};

std::string name_of(const Layout& layout) {
  return std::to_string(layout.processes) + " processes of " + std::to_string(layout.parts) + " parts" +
         (layout.streamed ? ", streamed" : "");
}

/// Calls work(points, rank) in every process of a layout.
template <class Work>
void in_layout(const Layout& layout, const BackendEntry& entry, const PointsView& values,
               std::span<const double> weights, const Work& work) {
  run_processes(layout.processes, [&](Communicator& processes) {
    Process process(entry, values, weights, layout, processes);
    work(process.points(), processes.rank());
  });
}

/// Calls check(entry) for every backend that works here.
template <class Check>
void on_backends(const Check& check) {
  for (const BackendEntry& entry : backends()) {
    if (!entry.missing({}).empty()) continue;
    INFO(entry.name);
    check(entry);
  }
}

}  // namespace

TEST_CASE("k-means of composed points has the bits of points in one place", "[composed]") {
  on_backends([](const BackendEntry& entry) {
    const auto backend = entry.open({.threads = 2}, {});
    for (const Kind& kind : kinds()) {
      const Matrix<double> values = kind.make(kRows, 5, 3);
      const PointsMatrix stored = stored_as(values.view(), storages(kind).back());
      // Each start, and each kind of weights: none, integral and fractional ones.
      for (const auto& [init, unit] : {std::pair{Init::kmeans_plus_plus, 0.3}, std::pair{Init::kmeans_parallel, 1.0},
                                       std::pair{Init::farthest, 0.0}, std::pair{Init::random, 0.0}}) {
        std::vector<double> row_weights;
        for (std::int64_t i = 0; unit > 0 && i < kRows; ++i)
          row_weights.push_back(unit * static_cast<double>(1 + i % 7));
        const Weights weights = unit > 0 ? checked_weights(row_weights, "weights") : equal_weights(kRows);
        const KMeansOptions options{.clusters = 12,
                                    .init = init,
                                    .runs = 2,
                                    .max_iterations = 20,
                                    .tolerance = 0.0,
                                    .keep_distances = true,
                                    .keep_medoids = true};
        const KMeansResult expected = run(*backend->hold({view_of(stored), 0, nullptr, row_weights}), weights, options);
        for (const Layout& layout : kLayouts) {
          std::vector<KMeansResult> actual(static_cast<std::size_t>(layout.processes));
          in_layout(layout, entry, view_of(stored), row_weights, [&](Points& points, int rank) {
            actual[static_cast<std::size_t>(rank)] = run(points, weights, options);
          });
          INFO(kind.name << ", init " << static_cast<int>(init) << ", unit " << unit << ", " << name_of(layout));
          for (const KMeansResult& one : actual) {
            check_same(expected, one);
            CHECK(one.nearest_row == expected.nearest_row);
            CHECK(std::equal(one.distances.begin(), one.distances.end(), expected.distances.begin()));
          }
        }
      }
    }
  });
}

TEST_CASE("empty clusters of composed points, and processes without rows", "[composed]") {
  on_backends([](const BackendEntry& entry) {
    const Matrix<double> values = kinds().front().make(4, 3, 3);
    Matrix<double> given(3, 3);  // two centroids are far from all rows
    for (std::int64_t c = 0; c < 3; ++c) {
      for (std::int64_t j = 0; j < 3; ++j) given(c, j) = c < 1 ? values(c, j) : 1e3 + static_cast<double>(c);
    }
    for (const EmptyRule rule : {EmptyRule::relocate, EmptyRule::keep, EmptyRule::drop}) {
      KMeansOptions options{
          .clusters = 3, .init = Init::given, .max_iterations = 20, .tolerance = 0.0, .keep_distances = true};
      options.given = std::as_const(given).view();
      options.empty = rule;
      const auto backend = entry.open({.threads = 2}, {});
      const KMeansResult expected = run(*backend->hold({values.view(), 0}), options);
      for (const Layout& layout : {Layout{6, 1, false}, Layout{2, 2, false}}) {
        std::vector<KMeansResult> actual(static_cast<std::size_t>(layout.processes));
        in_layout(layout, entry, values.view(), {},
                  [&](Points& points, int rank) { actual[static_cast<std::size_t>(rank)] = run(points, options); });
        INFO(static_cast<int>(rule) << ", " << name_of(layout));
        for (const KMeansResult& one : actual) check_same(expected, one);
      }
    }
  });
}

TEST_CASE("searches of composed points merge the lists of their parts", "[composed]") {
  on_backends([](const BackendEntry& entry) {
    const auto backend = entry.open({.threads = 2}, {});
    for (const Kind& kind : kinds()) {
      const Matrix<double> values = kind.make(kRows, 4, 3);
      const auto whole = backend->hold({values.view(), 0});
      whole->prepare(make_plan(*whole));
      const Queries queries{.values = values.view().middle(90, 40), .excluded_row = 90};
      NeighborLists expected(40, 7);
      whole->search(queries, expected);
      const double limit = expected.distance(0, 6);
      RadiusLists within(40, limit, 1 << 20);
      whole->search_radius(queries, within);
      for (auto& list : within.rows) std::sort(list.begin(), list.end());
      Matrix<double> all(40, kRows);
      whole->all_distances(queries, all.view());
      for (const Layout& layout : kLayouts) {
        struct Found {
          NeighborLists lists;
          std::vector<RadiusLists> within;  // with capacity, and with too little
          Matrix<double> all;
        };
        std::vector<Found> actual(static_cast<std::size_t>(layout.processes));
        in_layout(layout, entry, values.view(), {}, [&](Points& points, int rank) {
          Found& found = actual[static_cast<std::size_t>(rank)];
          points.prepare(make_plan(points));
          found.lists = NeighborLists(40, 7);
          points.search(queries, found.lists);
          for (const std::int64_t capacity : {std::int64_t{1} << 20, within.total() - 1}) {
            found.within.emplace_back(40, limit, capacity);
            points.search_radius(queries, found.within.back());
          }
          found.all = Matrix<double>(40, kRows);
          points.all_distances(queries, found.all.view());
        });
        INFO(kind.name << ", " << name_of(layout));
        for (Found& found : actual) {
          check_same(expected, found.lists);
          CHECK(found.within[0].counts == within.counts);
          CHECK(found.within[1].counts == within.counts);
          for (std::size_t q = 0; q < 40; ++q) {
            auto& list = found.within[0].rows[q];
            std::sort(list.begin(), list.end());
            CHECK(std::equal(list.begin(), list.end(), within.rows[q].begin(), within.rows[q].end(),
                             [](const auto& a, const auto& b) { return a.row == b.row && a.distance == b.distance; }));
          }
          CHECK(std::memcmp(all.data(), found.all.data(), static_cast<std::size_t>(all.size()) * sizeof(double)) == 0);
        }
      }
    }
  });
}

TEST_CASE("a backend of several devices gives the bits of one", "[composed]") {
  on_backends([](const BackendEntry& entry) {
    const auto one = entry.open({.threads = 2}, {});
    std::vector<std::unique_ptr<Backend>> devices;
    for (int d = 0; d < 3; ++d) devices.push_back(entry.open({.threads = 1}, {}));
    ComposedBackend several(std::move(devices), 16);
    CHECK(several.device().name == "3 x " + one->device().name);
    for (const Kind& kind : kinds()) {
      const Matrix<double> values = kind.make(kRows, 5, 3);
      std::vector<double> row_weights;
      for (std::int64_t i = 0; i < kRows; ++i) row_weights.push_back(static_cast<double>(1 + i % 3));
      const Weights weights = checked_weights(row_weights, "weights");
      const KMeansOptions options{
          .clusters = 12, .max_iterations = 20, .tolerance = 0.0, .keep_distances = true, .keep_medoids = true};
      const KMeansResult expected = run(*one->hold({values.view(), 0, nullptr, row_weights}), weights, options);
      INFO(kind.name);
      check_same(expected, run(*several.hold({values.view(), 0, nullptr, row_weights}), weights, options));
      // Blocks that are read, and divided among the devices.
      MemoryReader reader(values.view(), kBlock);
      StreamedPoints streamed(several, {reader.part(0, 100), &reader, row_weights});
      check_same(expected, run(streamed, weights, options));
      if (!several.device().has_own_memory) continue;
      MemoryReader direct(values.view(), kBlock);
      check_same(expected, run(*several.hold({direct.shape(), 0, nullptr, row_weights, &direct}), weights, options));
    }
  });
}

TEST_CASE("sums of mostly zeros are exchanged without the zeros", "[composed]") {
  constexpr std::int64_t kCount = 100'003;  // no multiple of a block
  constexpr int kProcesses = 3;
  for (const std::int64_t step : {std::int64_t{1}, std::int64_t{5000}, 2 * kCount}) {
    std::vector<std::vector<std::int64_t>> sums(kProcesses);
    std::vector<std::int64_t> bytes(kProcesses);
    run_processes(kProcesses, [&](Communicator& processes) {
      const auto rank = static_cast<std::size_t>(processes.rank());
      std::vector<std::int64_t> values(kCount, 0);
      for (std::int64_t i = processes.rank(); i < kCount; i += step) values[static_cast<std::size_t>(i)] = i - 500;
      values.back() = processes.rank();
      add_sparse(processes, values);
      sums[rank] = values;
      bytes[rank] = processes.exchanged().bytes;
    });
    std::vector<std::int64_t> expected(kCount, 0);
    for (int r = 0; r < kProcesses; ++r) {
      for (std::int64_t i = r; i < kCount - 1; i += step) expected[static_cast<std::size_t>(i)] += i - 500;
    }
    expected.back() = 0 + 1 + 2;
    INFO("every " << step << "th number");
    for (const auto& sum : sums) CHECK(sum == expected);
    CHECK((bytes[0] < kCount) == (step > 1));
  }
}
