// The method that a backend takes for each kind of data and shape, and what the costs of a machine choose. A row of a
// table is data, a shape, and the method; a choice that changes shows here first.
#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "core/points/data_plan.h"
#include "kernels/backends.h"
#include "kernels/cuda/choice/search.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"

using namespace kith;
using namespace kith::test;

namespace {

// ------------------------------------------------------------------------------------------------ costs of a machine

/// The rates of an H200.
Machine large_gpu() { return cuda::machine({}); }

/// About a gaming GPU: a fifth of the products and of the memory, and few operations of float64.
Machine gaming_gpu() {
  Machine machine = large_gpu();
  for (double* rate : {&machine.copied, &machine.gathered, &machine.fp16}) *rate /= 5;
  machine.definitions = 0.2e12;
  return machine;
}

constexpr std::int64_t kMillion = 1'000'000;

struct MethodCase {
  const char* name;
  cuda::SearchSize size;
  double share;      // of the rows that a query compares in a tree
  double ambiguous;  // share of the queries
  std::optional<cuda::CellsShape> cells;
  const char* on_large;
  const char* on_gaming;
};

const MethodCase kMethods[] = {
    {"three columns", {kMillion, 3, 10'000, 10, false, true}, 3e-4, 0.0, {}, "tree", "tree"},
    {"noise of 8 columns", {kMillion, 8, 10'000, 10, false, true}, 0.05, 0.0, {}, "products", "products"},
    {"noise of 128 columns", {kMillion, 128, 10'000, 10, false, true}, 0.9, 0.0, {}, "products", "products"},
    {"clusters of 128 columns", {kMillion, 128, 10'000, 10, false, true}, 0.002, 0.0, {}, "tree", "tree"},
    {"a dense blob", {kMillion, 128, 10'000, 10, false, true}, 0.5, 1.0, {{2, 1.0}}, "cells", "cells"},
    {"cells that a query can leave out",
     {kMillion, 128, 1'000'000, 10, false, true},
     0.3,
     0.0,
     {{100, 0.02}},
     "cells",
     "cells"},
    {"few queries in many cells",
     {kMillion, 128, 100, 10, false, true},
     0.3,
     0.0,
     {{256, 0.02}},
     "products",
     "products"},
    {"no fp16", {kMillion, 16, 10'000, 10, false, false}, 0.05, 0.0, {}, "tree", "products"},
};

// ------------------------------------------------------------------------------------------------------- of backends

/// Rows as users have them.
struct Data {
  const char* name;
  std::int64_t clusters;  // 0: none
  double spread;          // of a cluster
};

constexpr Data kNoise{"noise", 0, 1.0}, kBlobs{"300 blobs of spread 0.1", 300, 0.1};

Matrix<double> make(const Data& data, std::int64_t n, std::int64_t d) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  Matrix<double> centers(std::max<std::int64_t>(data.clusters, 1), d), values(n, d);
  for (std::int64_t i = 0; i < centers.size(); ++i) centers.data()[i] = data.clusters > 0 ? normal(random) : 0.0F;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d; ++j)
      values(i, j) = static_cast<float>(centers(i % centers.rows(), j) + data.spread * normal(random));
  }
  return values;
}

/// A search of `queries` of the rows for 10 neighbours, or a join of all rows where queries is 0.
struct SearchCase {
  const char* backend;
  const Data& data;
  std::int64_t rows, columns, queries;
  const char* method;
};

const SearchCase kSearches[] = {
    {"cuda", kNoise, 2'000, 40, 10, "products"},  // too little work for a sample
    {"cuda", kNoise, 200'000, 3, 20'000, "tree"},  {"cuda", kNoise, 200'000, 64, 20'000, "products"},
    {"cuda", kBlobs, 200'000, 64, 20'000, "tree"}, {"cuda", kNoise, 100'000, 64, 0, "products"},
};

// ------------------------------------------------------------------------------------------------- of the processor

Matrix<double> noise(std::int64_t n, std::int64_t d) {
  Matrix<double> values(n, d);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d; ++j) values(i, j) = static_cast<float>(centered_sum(5, i, j));
  }
  return values;
}
/// Rows around 100 centres, at a hundredth of the distance between those.
Matrix<double> blobs(std::int64_t n, std::int64_t d) {
  Matrix<double> values(n, d);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d; ++j) {
      values(i, j) = static_cast<float>(centered_sum(5, i * 7919 % 100, j) + 0.01 * centered_sum(6, i, j));
    }
  }
  return values;
}
/// Rows with few different values, so that many are equal.
Matrix<double> few_values(std::int64_t n, std::int64_t d) {
  Matrix<double> values(n, d);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < d; ++j) values(i, j) = static_cast<double>(i * 31 % (j == 0 ? 7 : 3));
  }
  return values;
}

enum class Operation { search, join, radius, first_assignment, second_assignment };

struct Expected {
  const char* backend;
  Operation operation;
  Matrix<double> (*rows)(std::int64_t n, std::int64_t d);
  Shape shape;           // rows, columns, and neighbours or clusters
  std::int64_t queries;  // of a search
  Measure measure;
  const char* method;
};

constexpr Measure kEuclidean = Measure::squared_euclidean, kManhattan = Measure::manhattan;

constexpr Expected kExpected[] = {
    {"cpu", Operation::join, noise, {60'000, 3, 10}, 0, kEuclidean, "tree"},
    {"cpu", Operation::search, noise, {20'000, 3, 10}, 20'000, kEuclidean, "tree"},
    {"cpu", Operation::search, noise, {20'000, 64, 10}, 500, kEuclidean, "products"},
    {"cpu", Operation::search, noise, {2'000, 64, 10}, 2, kEuclidean, "definition"},
    {"cpu", Operation::search, noise, {2'000, 64, 10}, 50, kManhattan, "definition"},
    {"cpu", Operation::search, noise, {20, 10'000, 5}, 20, kEuclidean, "definition"},
    {"cpu", Operation::search, blobs, {30'000, 64, 10}, 2'000, kEuclidean, "cells"},
    {"cpu", Operation::search, few_values, {20'000, 40, 10}, 2'000, kEuclidean, "first copies"},
    {"cpu", Operation::join, noise, {4'000, 512, 5}, 0, kEuclidean, "symmetric join"},
    {"cpu", Operation::radius, noise, {20'000, 64, 0}, 500, kEuclidean, "products"},
    {"cpu", Operation::first_assignment, noise, {20'000, 4, 50}, 0, kEuclidean, "narrow screen"},
    {"cpu", Operation::first_assignment, noise, {20'000, 64, 256}, 0, kEuclidean, "screen"},
    {"cpu", Operation::second_assignment, noise, {20'000, 64, 256}, 0, kEuclidean, "screen"},
    {"cpu", Operation::second_assignment, blobs, {30'000, 64, 1'000}, 0, kEuclidean, "local screen"},
    {"cpu", Operation::first_assignment, noise, {20, 10'000, 5}, 0, kEuclidean, "definition"},
    {"cpu", Operation::first_assignment, noise, {4, 64, 3}, 0, kEuclidean, "definition"},
};

/// The decisions of an operation on a backend that has made no other.
std::vector<Decision> decide(Backend& backend, const Expected& row) {
  const Matrix<double> values = row.rows(row.shape.n, row.shape.d);
  const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
  const auto points = backend.hold({view_of(stored), 0});
  points->prepare(make_plan(*points));
  switch (row.operation) {
    case Operation::join: {
      points->self_join({.neighbors = row.shape.k, .measure = row.measure});
      break;
    }
    case Operation::search: {
      NeighborLists lists(row.queries, row.shape.k);
      points->search({.values = values.view().middle(0, row.queries), .measure = row.measure}, lists);
      break;
    }
    case Operation::radius: {
      RadiusLists lists(row.queries, 1.0, 1'000'000);
      points->search_radius({.values = values.view().middle(0, row.queries), .measure = row.measure}, lists);
      break;
    }
    default:
      for (int turn = 0; turn <= static_cast<int>(row.operation == Operation::second_assignment); ++turn) {
        Assignment assignment(row.shape.k);
        points->assign({values.view().middle(0, row.shape.k)}, assignment);
      }
  }
  return backend.decisions();
}

}  // namespace

TEST_CASE("the costs of a GPU choose the method of a search", "[decisions]") {
  for (const MethodCase& each : kMethods) {
    cuda::SearchKnowledge known;
    known.neighbors = each.size.neighbors;
    known.share = each.share;
    known.ambiguous = each.ambiguous;
    for (const bool is_large : {true, false}) {
      const cuda::SearchChoice choice =
          cuda::choose_method(is_large ? large_gpu() : gaming_gpu(), each.size, known, each.cells);
      INFO(each.name << (is_large ? ", large GPU" : ", gaming GPU"));
      for (const Option& option : choice.decision.considered) INFO(option.method << ": " << option.seconds << " s");
      CHECK(choice.decision.method == std::string(is_large ? each.on_large : each.on_gaming));
      CHECK(choice.decision.subject == "search");
      CHECK(choice.decision.considered.size() == (each.cells ? 3 : 2));
    }
  }
}

TEST_CASE("a query that visits many leaves of a tree is not waited for", "[decisions]") {
  constexpr std::int64_t kLeaves = kMillion / 32;
  const auto most = [&](std::int64_t queries, bool too_dense) {
    cuda::SearchKnowledge known;
    known.share = 0.06;
    known.too_dense = too_dense;
    return cuda::most_leaves(large_gpu(), {kMillion, 128, queries, 10, false, true}, known, kLeaves);
  };
  CHECK(most(2000, false) == kLeaves / 16);
  CHECK(most(kMillion, false) == kLeaves / 16);
  CHECK(most(2000, true) == kLeaves / 16);  // products of those that fall back take less than their tail
  CHECK(most(20'000, true) > kLeaves / 8);
  CHECK(most(kMillion, true) == kLeaves / 2);
}

TEST_CASE("the symmetric join is chosen for many columns and rows", "[decisions]") {
  const auto method = [](std::int64_t rows, std::int64_t columns) {
    return cuda::choose_join(large_gpu(), {rows, columns, rows, 10, false, true}).decision.method;
  };
  CHECK(method(kMillion, 64) == "products");
  CHECK(method(kMillion, 128) == "products");
  CHECK(method(kMillion, 256) == "symmetric join");
  CHECK(method(kMillion, 960) == "symmetric join");
  CHECK(method(20'000, 960) == "products");
}

TEST_CASE("a sample is not taken for little work", "[decisions]") {
  const auto is_worth = [](double requested) {
    cuda::SearchKnowledge known;
    known.requested_seconds = requested;
    return cuda::is_sample_worth(large_gpu(), {kMillion, 16, 1000, 10, false, true}, known);
  };
  CHECK(!is_worth(1e-5));
  CHECK(is_worth(1.0));
}

TEST_CASE("backends take the expected method of a search", "[decisions]") {
  for (const SearchCase& each : kSearches) {
    std::vector<Tested> backends = tested_backends();
    const auto found = std::find_if(backends.begin(), backends.end(),
                                    [&](const Tested& tested) { return tested.name == each.backend; });
    if (found == backends.end()) {
      std::cerr << "skipped: the backend " << each.backend << " is absent\n";
      continue;
    }
    INFO(each.backend << ", " << each.data.name << ", " << each.rows << " x " << each.columns << ", " << each.queries
                      << " queries");
    const Matrix<double> values = make(each.data, each.rows, each.columns);
    const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
    const auto points = found->backend->hold({view_of(stored), 0});
    points->prepare(make_plan(*points));
    if (each.queries > 0) {
      NeighborLists lists(each.queries, 10);
      points->search({values.view().middle(0, each.queries), 0}, lists);
    } else {
      (void)points->self_join({.neighbors = 10});
    }
    std::string taken;
    for (const Decision& decision : found->backend->decisions()) {
      if (decision.subject == "search") taken = decision.method;
    }
    CHECK(taken == each.method);
  }
}

TEST_CASE("each kind of data and shape takes the expected method", "[decisions]") {
  for (const Expected& row : kExpected) {
    for (const Tested& tested : tested_backends({.threads = 2})) {
      if (tested.name != row.backend) continue;
      const std::vector<Decision> decisions = decide(*tested.backend, row);
      std::string taken;
      for (const Decision& each : decisions) {
        taken += each.method + " (" + each.reason + ")";
        for (const Option& option : each.considered) {
          taken += "; " + option.method + ", " + std::to_string(option.seconds) + " s, " + option.excluded;
        }
        taken += "\n";
      }
      INFO(row.backend << ", operation " << static_cast<int>(row.operation) << ", " << row.shape.n << " x "
                       << row.shape.d << ", " << row.shape.k << ", expected " << row.method << ": " << taken);
      const auto decision = std::find_if(decisions.begin(), decisions.end(),
                                         [&](const Decision& each) { return each.method == row.method; });
      CHECK(decision != decisions.end());
      if (decision == decisions.end()) continue;
      CHECK(!decision->reason.empty());
      CHECK(std::any_of(decision->considered.begin(), decision->considered.end(), [&](const Option& option) {
        return option.method == decision->method && option.excluded.empty();
      }));
    }
  }
}

TEST_CASE("few queries are searched in quantized rows once these have paid for themselves", "[decisions]") {
  for (const Tested& tested : tested_backends({.threads = 2})) {
    if (tested.name != "cpu") continue;
    constexpr std::int64_t kRows = 30'000;
    const Matrix<double> values = noise(kRows, 64), equal = few_values(kRows, 64);
    for (const Matrix<double>* each : {&values, &equal}) {
      const PointsMatrix stored = as_class(each->view(), ValueClass::f32);
      const auto points = tested.backend->hold({view_of(stored), 0});
      points->prepare(make_plan(*points));
      NeighborLists lists;
      for (int turn = 0; turn < 12; ++turn) {
        lists = NeighborLists(1, 5);
        points->search({.values = each->view().middle(turn, 1)}, lists);
      }
      CHECK(lists.index(0, 0) >= 0);
      if (each != &values) continue;
      CHECK(lists.products == kRows);
      CHECK(lists.candidates < kRows / 100);
    }
    const std::vector<Decision> decisions = tested.backend->decisions();
    const auto quantized =
        std::ranges::find_if(decisions, [](const Decision& each) { return each.method == "quantized rows"; });
    REQUIRE(quantized != decisions.end());
    CHECK(quantized->times >= 6);
    CHECK(quantized->times < 24);  // of two sets
    CHECK(std::ranges::any_of(quantized->considered, [](const Option& option) {
      return option.method == "quantized rows" && option.bytes > kRows * 64 && option.excluded.empty();
    }));
    // The time of one query without them is beside theirs, and longer.
    const auto seconds_of = [&](const char* method) {
      const auto found = std::ranges::find(quantized->considered, method, &Option::method);
      return found == quantized->considered.end() ? 0.0 : found->seconds;
    };
    CHECK(seconds_of("definition") > seconds_of("quantized rows"));
  }
}

TEST_CASE("decisions of a kind are counted", "[decisions]") {
  for (const Tested& tested : tested_backends({.threads = 2})) {
    if (tested.name != "cpu") continue;
    const Matrix<double> values = noise(3'000, 32);
    const PointsMatrix stored = as_class(values.view(), ValueClass::f32);
    const auto points = tested.backend->hold({view_of(stored), 0});
    points->prepare(make_plan(*points));
    for (int turn = 0; turn < 3; ++turn) {
      NeighborLists lists(100, 5);
      points->search({.values = values.view().middle(0, 100)}, lists);
    }
    REQUIRE(tested.backend->decisions().size() == 1);
    CHECK(tested.backend->decisions().front().times == 3);
  }
}
