// Faults of memory or of a device during a run: the checks of k-means detect values that changed after they were read.
#include "core/kmeans/update.h"
#include "tests/support/cases.h"
#include "tests/support/catch.h"
#include "tests/support/kmeans_runs.h"
#include "tests/support/reference.h"

using namespace kith;
using namespace kith::test;

namespace {

/// Exchanges the values of rows after the second iteration, in the memory that the backend borrows.
struct Fault : Warnings {
  explicit Fault(Matrix<float>& damaged) : values(damaged) {}
  void iteration(const IterationRecord&) override {
    if (++iterations != 2) return;
    for (std::int64_t i = 0; i < values.rows() / 2; ++i) {
      std::swap_ranges(values.row(i).begin(), values.row(i).end(), values.row(values.rows() - 1 - i).begin());
    }
  }
  Matrix<float>& values;
  int iterations = 0;
};

std::string message_of(const std::function<void()>& run, Cause expected) {
  try {
    run();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::internal);
    CHECK(error.cause() == expected);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("38, 104: rows that change during a run make the objective rise, which ends it", "[faults]") {
  PointsMatrix stored = as_class(kinds()[0].make(4000, 20, 3).view(), ValueClass::f32);
  auto& values = std::get<Matrix<float>>(stored);
  for (const Tested& tested : tested_backends()) {
    if (tested.name.rfind("cpu", 0) != 0) continue;  // a GPU has a copy of the rows
    INFO(tested.name);
    const auto points = tested.backend->hold({view_of(stored), 0});
    Fault fault(values);
    const auto damaged_run = [&] { run(*points, {.clusters = 40, .init = Init::first, .tolerance = 0}, fault); };
    CHECK(message_of(damaged_run, Cause::faulty_hardware).find("the objective rose from") == 0);
  }
}

TEST_CASE("104: counts that do not add up to the number of rows end a run", "[faults]") {
  const Matrix<double> values = kinds()[0].make(10, 2, 3);
  const auto points = reference_points(values.view());
  DataPlan plan = make_plan(*points);
  points->prepare(plan);
  plan.rows = 11;
  CHECK(message_of([&] { assign(*points, plan, values.view().middle(0, 2)); }, Cause::faulty_hardware) ==
        "the assignment counted 10 of 11 rows: the device or the memory is faulty");
}
