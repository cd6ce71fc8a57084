// What a backend chooses for each kind of data and shape. No result shows it, so a table does.
#include <algorithm>
#include <string>
#include <vector>

#include "core/points/data_plan.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"

using namespace kith;
using namespace kith::test;

namespace {

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
