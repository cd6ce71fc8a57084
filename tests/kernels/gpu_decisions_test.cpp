// Which methods a GPU chooses for assignments, for each kind of data and shape. Choices are made on the host from the
// rates of the device, so that this needs none.
#include <string>
#include <vector>

#include "kernels/backends.h"
#include "kernels/cuda/choice/assignment.h"
#include "tests/support/catch.h"

using namespace kith;
using kith::cuda::AssignmentChoice;
using kith::cuda::AssignmentMethod;
using kith::cuda::AssignmentObservations;
using kith::cuda::AssignmentShape;
using kith::cuda::CandidateSample;

namespace {

/// The rates of an H200.
Machine h200() { return kith::cuda::machine({}); }

AssignmentShape shape_of(std::int64_t rows, std::int64_t columns, std::int64_t clusters) {
  return {.rows = rows,
          .columns = columns,
          .clusters = clusters,
          .has_fp16 = columns > 4,
          .has_local_screen = columns > 4,
          .longest = 2.0,
          .usual_length = 1.0};
}

/// Rows that all have as many candidates, of 100 guesses.
CandidateSample sample_of(std::int32_t candidates) {
  CandidateSample sample;
  sample.own = {static_cast<double>(candidates), candidates, 100.0, std::vector<std::int32_t>(128, candidates)};
  sample.merged = sample.own;
  return sample;
}

/// The method of an assignment. candidates: of a row near its label; 0: nothing may measure them.
std::string method_of(const AssignmentShape& shape, AssignmentObservations& observed, std::int32_t candidates,
                      Decisions& decisions, const ForcedPaths& forced = {}) {
  const Machine machine = h200();
  AssignmentChoice choice(shape, machine, forced, observed, decisions);
  return name_of(choice.choose([&] {
    REQUIRE(candidates > 0);
    return sample_of(candidates);
  }));
}
std::string first_method_of(const AssignmentShape& shape) {
  AssignmentObservations observed;
  Decisions decisions;
  return method_of(shape, observed, 0, decisions);
}

}  // namespace

TEST_CASE("a GPU's screen is chosen by the shape of the data", "[decisions]") {
  CHECK(first_method_of(shape_of(1'000'000, 3, 4096)) == "narrow float32");
  CHECK(first_method_of(shape_of(1'000'000, 8, 100)) == "narrow float32");
  CHECK(first_method_of(shape_of(1'000'000, 8, 200)) == "fp16");
  CHECK(first_method_of(shape_of(1'000'000, 128, 256)) == "fp16");
  CHECK(first_method_of(shape_of(1'000'000, 128, 1024)) == "fp16 in groups");
  CHECK(first_method_of(shape_of(1000, 64, 10)) == "fp16");
  AssignmentShape shape = shape_of(1'000'000, 128, 256);
  shape.longest = 10.0;  // quantized scores are too coarse for the other rows
  CHECK(first_method_of(shape) == "fp16 in groups");
  shape.has_fp16 = false;
  CHECK(first_method_of(shape) == "float32");
}

TEST_CASE("a GPU decides rows near their labels where few centroids are near", "[decisions]") {
  const AssignmentShape shape = shape_of(10'000'000, 128, 1024);
  Decisions decisions;
  AssignmentObservations observed;
  observed.labelled_clusters = 1024;
  observed.screen_seconds = 1e-9;
  CHECK(method_of(shape, observed, 3, decisions) == "near labels");
  CHECK(method_of(shape, observed, 0, decisions) == "near labels");  // without another sample
  observed = {};
  observed.labelled_clusters = 1024;
  observed.screen_seconds = 1e-9;
  CHECK(method_of(shape, observed, 1000, decisions) == "fp16 in groups");
  CHECK(method_of(shape, observed, 0, decisions) == "fp16 in groups");  // the next sample is put off
  observed.labelled_clusters = 1000;                                    // labels of other clusters are no guesses
  CHECK(method_of(shape, observed, 0, decisions) == "fp16 in groups");
  AssignmentShape sent = shape;
  sent.sends_rows = true;
  observed.labelled_clusters = 1024;
  CHECK(method_of(sent, observed, 0, decisions) == "fp16 in groups");
  CHECK(method_of(shape_of(100, 128, 1024), observed, 0, decisions, {.local_screen = true}) == "near labels");

  const std::vector<Decision> all = decisions.all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].subject == "assignment");
  CHECK(all[0].method == "near labels");
  CHECK(all[0].times == 3);
  CHECK(all[1].considered.size() == 5);
  CHECK(all[1].considered[1].excluded == "the rows are not on the device");
}

TEST_CASE("a GPU's ambiguous rows go to the tier that takes the least time", "[decisions]") {
  const Machine machine = h200();
  const ForcedPaths free;
  Decisions decisions;
  AssignmentObservations observed;
  AssignmentChoice choice(shape_of(1'000'000, 128, 1024), machine, free, observed, decisions);
  (void)choice.choose([] { return sample_of(1000); });
  CHECK_FALSE(choice.takes_lists({0, 10.0, 1'000'000, 0}));
  CHECK_FALSE(choice.takes_lists({100, 10.0, 1'000'000, 0}));
  CHECK(choice.takes_lists({100'000, 100.0, 1'000'000, 0}));
  CHECK_FALSE(choice.takes_lists({100'000, 100.0, 1'000'000, 1'000'000}));  // would send the whole block
  CHECK_FALSE(choice.takes_float32({100'000, 10.0, 1'000'000, 0}));
  CHECK(choice.takes_float32({100'000, 900.0, 1'000'000, 0}));
  CHECK_FALSE(choice.takes_float32({100, 900.0, 1'000'000, 0}));  // too few for tiles
  CHECK(choice.choose_near({100'000, 900.0, 1'000'000, 0}, sample_of(60)).lists.screened > 0);
  CHECK(choice.choose_near({100'000, 900.0, 1'000'000, 0}, sample_of(2)).lists.screened == 0);
  CHECK(choice.queues_blocks());
  choice.note_screen(0, true, false);
  CHECK_FALSE(choice.queues_blocks());
}
