// Rows of bits by every backend: lists, radius searches and distances are those of the definition in loops, for rows of
// 1 to 4096 bits, few and many queries, ties, equal rows, rows without a bit and rows of nothing else.
#include <algorithm>
#include <cstring>
#include <limits>

#include "core/neighbors/merge_lists.h"
#include "core/numbers/distance.h"
#include "kernels/cpu/choice/search.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

constexpr Measure kMeasures[] = {Measure::hamming, Measure::jaccard};

/// Rows of `bytes` bytes: of few and of many bits, some repeated, some of zeros and some of ones.
Matrix<double> packed_rows(std::int64_t n, std::int64_t bytes, std::uint64_t seed) {
  Matrix<double> rows(n, bytes);
  std::uint64_t state = seed * 2654435761U + 1;
  const auto draw = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>(state >> 56U);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < bytes; ++j) {
      int value = i % 3 == 0 ? draw() & draw() & draw() : draw();
      if (i % 11 == 4) value = 0;
      if (i % 11 == 7) value = 255;
      rows(i, j) = i % 5 == 2 ? rows(i - 1, j) : value;
    }
  }
  return rows;
}

/// D of every query (rows) and row (columns) by the definition.
Matrix<double> distances_of(MatrixView<const double> queries, MatrixView<const double> base, Measure measure) {
  Matrix<double> distances(queries.rows, base.rows);
  for (std::int64_t q = 0; q < queries.rows; ++q) {
    for (std::int64_t i = 0; i < base.rows; ++i) {
      distances(q, i) = reference_distance(measure, queries.row(q).data(), base.row(i).data(), base.columns);
    }
  }
  return distances;
}

/// For each query all rows, from number first on, in the order of lists.
std::vector<std::vector<Neighbor>> ordered(const Matrix<double>& distances, std::int64_t first) {
  std::vector<std::vector<Neighbor>> all;
  for (std::int64_t q = 0; q < distances.rows(); ++q) {
    std::vector<Neighbor> rows;
    for (const double distance : distances.row(q)) rows.push_back({distance, first + std::ssize(rows)});
    std::sort(rows.begin(), rows.end());
    all.push_back(std::move(rows));
  }
  return all;
}

/// Whether searches find what they should of all rows in their order: the k nearest, and those from first_row on that
/// are within the limit.
void check_searches(const Points& points, const Queries& asked, const std::vector<std::vector<Neighbor>>& expected,
                    std::int64_t k, double limit, std::int64_t first_row) {
  const std::int64_t count = asked.values.rows;
  NeighborLists lists(count, k);
  points.search(asked, lists);
  RadiusLists within(count, limit, 1 << 20);
  within.first_row = first_row;
  points.search_radius(asked, within);
  const auto are_equal = [](const Neighbor& a, const Neighbor& b) {
    return a.row == b.row && a.distance == b.distance;
  };
  std::int64_t wrong = 0;
  for (std::size_t q = 0; q < expected.size(); ++q) {
    const std::vector<Neighbor>& all = expected[q];
    for (std::int64_t i = 0; i < k; ++i) {
      const Neighbor missing{std::numeric_limits<double>::infinity(), -1};
      const auto row = static_cast<std::int64_t>(q);
      const Neighbor found{lists.distance(row, i), lists.index(row, i)};
      wrong += are_equal(found, i < std::ssize(all) ? all[static_cast<std::size_t>(i)] : missing) ? 0 : 1;
    }
    std::vector<Neighbor> near;
    std::copy_if(all.begin(), all.end(), std::back_inserter(near),
                 [&](const Neighbor& row) { return row.row >= first_row && row.distance <= limit; });
    std::sort(within.rows[q].begin(), within.rows[q].end());
    wrong += within.counts[q] == std::ssize(near) ? 0 : 1;
    wrong += std::equal(within.rows[q].begin(), within.rows[q].end(), near.begin(), near.end(), are_equal) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("lists, radius searches and distances of bits equal the definition") {
  for (const std::int64_t block_rows : {0, 37}) {
    const std::vector<Tested> tested = every_backend({.threads = 2, .block_rows = block_rows});
    for (const std::int64_t bytes : {1, 2, 3, 4, 5, 8, 15, 31, 33, 64, 65, 125, 130, 512}) {
      for (const std::int64_t count : {1, 3, 34}) {
        const Matrix<double> base = packed_rows(70, bytes, 1), queries = packed_rows(count, bytes, 2);
        const PointsMatrix stored = stored_as(base.view(), Stored::bytes);
        for (const Measure measure : kMeasures) {
          const Matrix<double> expected = distances_of(queries.view(), base.view(), measure);
          const auto rows = ordered(expected, 100);
          for (const Tested& one : tested) {
            const auto points = one.backend->hold({view_of(stored), 100});
            INFO(one.name << ", " << bytes << " bytes, " << count << " queries, measure " << static_cast<int>(measure));
            const Queries asked{.values = queries.view(), .measure = measure};
            Matrix<double> found(count, base.rows());
            points->all_distances(asked, found.view());
            CHECK(std::equal(expected.data(), expected.data() + expected.size(), found.data()));
            const double limit = measure == Measure::hamming ? static_cast<double>(3 * bytes) + 0.5 : 0.625;
            check_searches(*points, asked, rows, count == 3 ? 75 : 9, limit, 105);
          }
        }
      }
    }
  }
}

TEST_CASE("many rows and queries of bits, in whole tiles and blocks and others, give the lists of the definition") {
  struct {
    std::int64_t rows, bytes, count, k;
  } const cases[] = {{2900, 1, 20, 3},     {2900, 16, 150, 9}, {2900, 63, 20, 1}, {2900, 128, 150, 9},
                     {2900, 129, 20, 600}, {2900, 272, 20, 9}, {67000, 8, 20, 9}};
  for (const auto& [n, bytes, count, k] : cases) {
    const Matrix<double> base = packed_rows(n, bytes, 6), queries = packed_rows(count, bytes, 7);
    const PointsMatrix stored = stored_as(base.view(), Stored::bytes);
    for (const Measure measure : kMeasures) {
      Matrix<double> distances(count, n);
      for (std::int64_t q = 0; q < count; ++q) {
        for (std::int64_t i = 0; i < n; ++i)
          distances(q, i) = distance_by(measure, base.row(i).data(), queries.row(q).data(), bytes);
      }
      const auto rows = ordered(distances, 7);
      for (const std::int64_t block_rows : {0, 1024, 999}) {
        for (const Tested& one : every_backend({.threads = 2, .block_rows = block_rows})) {
          INFO(one.name << ", " << n << " rows, " << bytes << " bytes, " << count << " queries, measure "
                        << static_cast<int>(measure) << ", blocks of " << block_rows);
          const auto points = one.backend->hold({view_of(stored), 7});
          const Queries asked{.values = queries.view(), .measure = measure};
          const double limit = measure == Measure::hamming ? 2.0 * static_cast<double>(bytes) : 0.5;
          check_searches(*points, asked, rows, k, limit, 12);
        }
      }
    }
  }
}

TEST_CASE("blocks of rows in any order give the lists of all rows, and a row is left out of its own list") {
  const Matrix<double> base = packed_rows(200, 16, 3);
  for (const Tested& one : every_backend({.threads = 2})) {
    for (const Measure measure : kMeasures) {
      const PointsMatrix stored = stored_as(base.view(), Stored::bytes);
      const PointsView all = view_of(stored);
      const auto block = [&](std::int64_t first, std::int64_t count) {
        return one.backend->hold(
            {std::visit([&](const auto& view) -> PointsView { return view.middle(first, count); }, all), first});
      };
      const Queries asked{.values = base.view(), .excluded_row = 0, .measure = measure};
      NeighborLists whole(200, 7), parts(200, 7);
      block(0, 200)->search(asked, whole);
      block(120, 80)->search(asked, parts);
      block(0, 120)->search(asked, parts);
      INFO(one.name << ", measure " << static_cast<int>(measure));
      CHECK(std::equal(whole.index.data(), whole.index.data() + whole.index.size(), parts.index.data()));
      CHECK(std::equal(whole.distance.data(), whole.distance.data() + whole.distance.size(), parts.distance.data()));
      for (std::int64_t i = 0; i < 200; ++i) {
        const std::span<const std::int64_t> own = whole.index.row(i);
        CHECK(std::find(own.begin(), own.end(), i) == own.end());
      }
    }
  }
}

TEST_CASE("different fractions of bits are different numbers in their order") {
  // Neighbours in a Farey sequence, which are as near as fractions of these denominators can be.
  const std::int64_t most = kMostBits;
  const double below = bit_distance(Measure::jaccard, most - 2, most - 1);
  const double above = bit_distance(Measure::jaccard, most - 1, most);
  CHECK(below < above);
  CHECK(above < 1.0);
  CHECK(bit_distance(Measure::jaccard, 0, 0) == 0.0);
  CHECK(bit_distance(Measure::jaccard, 1, 3) == 1.0 / 3.0);
}

TEST_CASE("a GPU says that it multiplies rows of bits with all queries") {
  for (const Tested& one : every_backend()) {
    if (!one.backend->device().has_own_memory) continue;
    const Matrix<double> base = packed_rows(300, 16, 8);
    const PointsMatrix stored = stored_as(base.view(), Stored::bytes);
    const auto points = one.backend->hold({view_of(stored), 0});
    NeighborLists lists(300, 2);
    points->search({.values = base.view(), .measure = Measure::jaccard}, lists);
    const std::vector<Decision> decisions = one.backend->decisions();
    INFO(one.name);
    REQUIRE(decisions.size() == 1);
    CHECK(decisions.front().subject == "search");
    CHECK(decisions.front().method == "products");
    CHECK(decisions.front().reason == "rows of bits");
    CHECK(decisions.front().considered.front().seconds > 0.0);
  }
}

TEST_CASE("many queries use tiles where the processor has them, and few do not") {
  for (const Tested& one : every_backend({.threads = 1})) {
    if (one.backend->device().has_own_memory) continue;
    const Matrix<double> base = packed_rows(64, 128, 4), queries = packed_rows(256, 128, 5);
    const PointsMatrix stored = stored_as(base.view(), Stored::bytes);
    const auto points = one.backend->hold({view_of(stored), 0});
    for (const std::int64_t count : {1, 256}) {
      NeighborLists lists(count, 1);
      points->search({.values = queries.view().middle(0, count), .measure = Measure::hamming}, lists);
    }
    const bool has_tiles = one.name.find("amx") != one.name.npos;
    std::vector<std::string> methods;
    for (const Decision& decision : one.backend->decisions()) methods.push_back(decision.method);
    INFO(one.name);
    REQUIRE(!methods.empty());
    CHECK(methods.front() != "tiles");
    CHECK((std::count(methods.begin(), methods.end(), "tiles") == 1) == has_tiles);
  }
}
