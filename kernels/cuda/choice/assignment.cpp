// The cost model of assignments. Constants say what a method does besides the operations that its definition counts;
// they were measured on an H200 and are in units of its own work, so that they hold where rates differ.
#include "kernels/cuda/choice/assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/cuda/device/fp16_layout.h"
#include "kernels/cuda/runtime/device_use.h"

namespace kith::cuda {
namespace {

// Multiply-adds in fp16 in the time of sorting a score. Fitted.
constexpr double kFp16Score = 192, kGroupedScore = 136;
/// Operations of float32 for a column of a score: a difference and its square, or a multiply-add of tiles, which reach
/// half of the rate. Tiles multiply kLeastTileColumns at least.
constexpr double kFloat32Column = 2.0, kLeastTileColumns = 16;
/// Bytes that a screen in fp16 moves for a row besides its copies: norms, scores and labels. With groups, rows are
/// sorted by group, and it moves twice as many. Measured.
constexpr double kRowBytes = 128;
/// The local screen takes twice the time of other work of its kind: it reads each row to round it, and writes it; and
/// its products, of tiles half as wide, reach half of the rate of the others.
constexpr double kLocalTimes = 2.0;

/// Clusters up to which the narrow screen decides more than kMostFloat32Columns, and from which on there are groups:
/// those of a tile of products. Measured.
constexpr std::int64_t kTileClusters = kFp16TileRows;
constexpr double kMuchLonger = 4.0;  // than half of the rows; measured
constexpr double kNearSteps = 10;    // of an assignment near labels, or its estimate: eight launches and two waits
constexpr double kListSteps = 4;     // of lists for ambiguous rows, which wait twice
constexpr std::int64_t kShare = 8;   // few rows are fewer than one in so many
constexpr int kPause = 8;            // assignments for which what did not pay is left out; estimates, twice as long
constexpr int kLongest = 2 * kPause;

double number(std::int64_t count) { return static_cast<double>(count); }

/// The work of a screen of `rows` rows. Passes are queued behind each other, so their steps take no time.
Cost screen_cost(const AssignmentShape& shape, AssignmentMethod method, double rows) {
  const double d = number(shape.columns), scores = rows * number(shape.clusters),
               copies = number(fp16_row_bytes(shape.columns)), values = d * number(shape.value_bytes);
  Cost cost;
  switch (method) {
    case AssignmentMethod::narrow:
      cost.float32 = scores * kFloat32Column * d;
      cost.copied = rows * values;
      break;
    case AssignmentMethod::fp16:
      cost.fp16 = scores * (d + kFp16Score);
      cost.copied = rows * (copies + kRowBytes);
      break;
    case AssignmentMethod::fp16_groups:
      cost.fp16 = scores * (d + kGroupedScore);
      cost.copied = rows * 2 * (copies + kRowBytes);
      break;
    case AssignmentMethod::float32:
      cost.float32 = scores * kFloat32Column * std::max(d, kLeastTileColumns);
      cost.copied = rows * values;
      break;
    case AssignmentMethod::near_labels:
      break;
  }
  return cost;
}

bool is_screen_in_fp16(AssignmentMethod method) {
  return method == AssignmentMethod::fp16 || method == AssignmentMethod::fp16_groups;
}

/// The method that takes the least time of those that are not excluded. One never is: float32 without copies in fp16,
/// and with them one of the screens in fp16.
AssignmentMethod fastest(const std::vector<Option>& options) {
  const auto time = [](const Option& option) {
    return option.excluded.empty() ? option.seconds : std::numeric_limits<double>::infinity();
  };
  const auto is_faster = [&](const Option& one, const Option& other) { return time(one) < time(other); };
  return static_cast<AssignmentMethod>(std::min_element(options.begin(), options.end(), is_faster) - options.begin());
}
Option& option_of(std::vector<Option>& options, AssignmentMethod method) {
  return options[static_cast<std::size_t>(method)];
}

}  // namespace

const char* name_of(AssignmentMethod method) {
  constexpr const char* kNames[] = {"narrow float32", "near labels", "fp16", "fp16 in groups", "float32"};
  return kNames[static_cast<std::size_t>(method)];
}

std::int64_t most_local_lists(std::int64_t length, std::int64_t columns) {
  return kWorkingMemory / ((length + kLocalColumns) * fp16_row_bytes(columns));
}

double Candidates::beyond(std::int64_t most) const {
  const auto first = std::upper_bound(counts.begin(), counts.end(), most);
  return std::accumulate(first, counts.end(), 0.0) / static_cast<double>(std::max<std::size_t>(counts.size(), 1));
}

AssignmentChoice::AssignmentChoice(const AssignmentShape& shape, const Machine& machine, const ForcedPaths& forced,
                                   AssignmentObservations& observed, Decisions& decisions)
    : shape_(shape),
      machine_(machine),
      forced_(forced),
      observed_(observed),
      decisions_(decisions),
      columns_(number(shape.columns)) {}

/// A screen of all rows, with its time or the reason why it cannot be taken.
Option AssignmentChoice::screen_option(AssignmentMethod method) const {
  Option option{name_of(method), seconds(screen_cost(shape_, method, number(shape_.rows)), machine_)};
  if (method == AssignmentMethod::narrow) {
    if (shape_.columns > kMostNarrowColumns) {
      option.excluded = fmt::format("more than {} columns", kMostNarrowColumns);
    } else if (shape_.columns > kMostFloat32Columns && shape_.clusters > kTileClusters) {
      option.excluded = fmt::format("more than {} clusters", kTileClusters);
    }
  } else if (method == AssignmentMethod::float32) {
    if (shape_.has_fp16) option.excluded = "there are copies in fp16";
  } else if (!shape_.has_fp16) {
    option.excluded = "no copies in fp16";
  } else if (method == AssignmentMethod::fp16_groups) {
    if (shape_.clusters < kTileClusters) option.excluded = fmt::format("fewer than {} clusters", kTileClusters);
  } else if (shape_.longest > kMuchLonger * shape_.usual_length && shape_.clusters >= kTileClusters) {
    // Quantized scores are on a grid for rows of all lengths, which would leave many usual rows ambiguous.
    option.excluded = "rows much longer than half of them";
  }
  return option;
}

/// screen: the best one, which takes so many seconds.
Option AssignmentChoice::near_option(AssignmentMethod screen, double screen_seconds,
                                     const std::function<CandidateSample()>& sample) {
  AssignmentObservations& observed = observed_;
  Option option{name_of(AssignmentMethod::near_labels)};
  const auto excluded = [&](const char* reason, bool forgets) {
    option.excluded = reason;
    if (forgets) observed.near_labels = false;
    return option;
  };
  if (screen == AssignmentMethod::narrow) return excluded("few columns", true);
  if (shape_.sends_rows) return excluded("the rows are not on the device", true);
  if (observed.labelled_clusters != shape_.clusters) return excluded("no labels of as many clusters", true);
  if (forced_.local_screen) {
    observed.near_lists = {std::max<std::int64_t>(shape_.clusters / 2, 1), shape_.clusters % 2 == 0};
    return option;
  }
  if (observed.screen_seconds == 0.0) return excluded("no screen of all rows before", true);
  Cost estimate;
  estimate.definitions = 2 * kScattered * number(kSampledRows) * number(shape_.clusters) * columns_;
  estimate.steps = kNearSteps;
  if (screen_seconds < seconds(estimate, machine_)) return excluded("an estimate takes longer than a screen", true);
  if (observed.estimate.skips()) {
    if (!observed.near_labels) return excluded("it did not pay lately", false);
  } else {
    const CandidateSample candidates = sample();
    const NearChoice near = near_choice(shape_.rows, candidates, observed.screen_seconds);
    observed.near_labels = near.seconds < observed.screen_seconds;
    observed.near_seconds = near.seconds;
    observed.near_candidates = candidates.own.mean;
    observed.near_lists = near.lists;
    if (observed.near_labels) {
      observed.estimate.wait(kPause);
    } else {
      observed.estimate.delay(kLongest);
    }
  }
  option.seconds = observed.near_seconds * number(shape_.rows);
  return option;
}

/// All methods in the order of their numbers; `near_labels` is excluded.
std::vector<Option> AssignmentChoice::options(const char* why_not_near) const {
  std::vector<Option> options;
  for (const AssignmentMethod method : {AssignmentMethod::narrow, AssignmentMethod::near_labels, AssignmentMethod::fp16,
                                        AssignmentMethod::fp16_groups, AssignmentMethod::float32}) {
    options.push_back(method == AssignmentMethod::near_labels
                          ? Option{.method = name_of(method), .excluded = why_not_near}
                          : screen_option(method));
  }
  return options;
}

AssignmentMethod AssignmentChoice::choose(const std::function<CandidateSample()>& sample) {
  std::vector<Option> all = options("not a screen");
  const AssignmentMethod screen = fastest(all);
  Option& best = option_of(all, screen);
  // What the last screen took for the same rows includes their ambiguous ones.
  const bool is_observed = observed_.labelled_clusters == shape_.clusters && observed_.screen_seconds > 0.0;
  const Option near = near_option(screen, best.seconds, sample);
  if (is_observed && screen != AssignmentMethod::narrow) {
    best.seconds = observed_.screen_seconds * number(shape_.rows);
    for (Option& option : all) {
      if (&option != &best && option.excluded.empty()) option.excluded = "another screen takes less time";
    }
  }
  option_of(all, AssignmentMethod::near_labels) = near;
  if (near.excluded.empty() && forced_.local_screen) {
    method_ = AssignmentMethod::near_labels;
    decisions_.add({"assignment", name_of(method_), "forced", std::move(all)});
    return method_;
  }
  return take(std::move(all));
}

AssignmentMethod AssignmentChoice::choose_screen() {
  observed_.near_labels = false;
  return take(options("no memory for its lists"));
}

/// Takes the method of the least time.
AssignmentMethod AssignmentChoice::take(std::vector<Option> options) {
  method_ = fastest(options);
  decisions_.add({"assignment", name_of(method_),
                  method_ == AssignmentMethod::near_labels
                      ? fmt::format("{:.3g} of {} centroids are near the label of a row", observed_.near_candidates,
                                    shape_.clusters)
                      : fmt::format("{} rows of {} columns, {} clusters", shape_.rows, shape_.columns, shape_.clusters),
                  std::move(options)});
  return method_;
}

/// The time per row of deciding all rows near their labels with so many distances each. Lists and steps are for all.
double AssignmentChoice::near_seconds(double distances) const {
  // Distances between centroids share their operands, and sorting them takes as long.
  const double k = number(shape_.clusters), lists = kScattered / 2 * k * k * columns_;
  Cost each, all;
  each.copied = columns_ * number(shape_.value_bytes);
  each.definitions = kScattered * distances * columns_;
  all.definitions = lists;
  all.steps = kNearSteps;
  return seconds(each, machine_) + seconds(all, machine_) / number(std::max<std::int64_t>(shape_.rows, 1));
}

/// The cheaper of the local screen and the definition for `count` rows with such candidates; the screen only if it
/// takes less than `other` seconds per row.
NearChoice AssignmentChoice::near_choice(std::int64_t count, const CandidateSample& candidates, double other) const {
  const double measured = near_seconds(candidates.own.mean), rows = number(count);
  if (!shape_.has_local_screen) return {measured, {}};
  NearChoice best{std::numeric_limits<double>::infinity(), {}};
  for (const bool merged : {false, true}) {
    const Candidates& sample = merged ? candidates.merged : candidates.own;
    const double filled = rows / (rows + sample.guesses * number(kLocalRows) / 2);  // of the tiles
    for (const std::int64_t held : {sample.usual, sample.most()}) {
      const std::int64_t length = std::min(held + held / 8 + 8, shape_.clusters - 1);  // a few more cost little
      if (sample.guesses > number(most_local_lists(length, shape_.columns))) continue;
      const double columns = number(length + kLocalColumns);
      const double beyond = length < shape_.clusters - 1 ? sample.beyond(length) : 0.0;
      Cost of_row, of_lists;
      of_row.copied = kLocalTimes * columns_ * number(shape_.value_bytes);
      of_row.fp16 = kLocalTimes * columns * (columns_ + kFp16Score);
      of_lists.gathered = sample.guesses * columns * columns_ * sizeof(double);
      const double screened =
          near_seconds(beyond) + seconds(of_row, machine_) / filled + seconds(of_lists, machine_) / rows;
      if (screened < best.seconds) best = {screened, {length, merged}};
    }
  }
  const bool forced = forced_.local_screen && best.lists.screened > 0;
  return forced || best.seconds < std::min(measured, other) ? best : NearChoice{measured, {}};
}

/// The work per row of deciding ambiguous rows without lists.
Cost AssignmentChoice::next_tier(const Ambiguous& rows) const {
  Cost cost = screen_cost(shape_, is_screen_in_fp16(method_) ? method_ : AssignmentMethod::float32, 1.0);
  cost.definitions = kPair * rows.within_margin * columns_;
  return cost;
}

bool AssignmentChoice::takes_lists(const Ambiguous& rows) {
  if (rows.count == 0) return false;
  if (rows.count < rows.sent_rows / kShare) return false;  // refine() sends these rows alone
  if (forced_.local_screen) return true;
  if (observed_.lists.skips()) return false;
  const double k = number(shape_.clusters);
  Cost pairs, lists;
  pairs.definitions = kPair * number(rows.count) * rows.within_margin * columns_;
  lists.definitions = kScattered / 2 * k * k * columns_;
  lists.steps = kListSteps;
  return seconds(pairs, machine_) > seconds(lists, machine_);
}

NearChoice AssignmentChoice::choose_near(const Ambiguous& rows, const CandidateSample& candidates) {
  const NearChoice choice = near_choice(rows.count, candidates, seconds(next_tier(rows), machine_));
  decisions_.add({"ambiguous rows", choice.lists.screened > 0 ? "local screen" : "lists of centroids",
                  fmt::format("{:.3g} centroids near the guess of a row, {:.3g} within its margin", candidates.own.mean,
                              rows.within_margin)});
  return choice;
}

std::int64_t AssignmentChoice::most_walked(const Ambiguous& rows) const {
  constexpr double kLeast = kLocalColumns;  // a tile of the local screen
  Cost distance;
  distance.definitions = kScattered * columns_;
  const double most = kLeast + seconds(next_tier(rows), machine_) / seconds(distance, machine_);
  return static_cast<std::int64_t>(std::min(most, number(shape_.clusters) + kLeast));
}

bool AssignmentChoice::takes_float32(const Ambiguous& rows) {
  constexpr std::int64_t kIdle = 64;  // one row in so many that were screened would leave most of the device idle
  Cost float32 = screen_cost(shape_, AssignmentMethod::float32, 1.0);
  float32.definitions = kPair * kExpectedWithinMargin * columns_;
  const bool takes =
      rows.count > rows.of_rows / kIdle && seconds(float32, machine_) < seconds(next_tier(rows), machine_);
  decisions_.add({"ambiguous rows", takes ? "float32" : "fp16 scores",
                  fmt::format("{:.3g} centroids within the margin of a row", rows.within_margin)});
  return takes;
}

void AssignmentChoice::add_float32(std::int64_t rows) {
  other_.float32 += screen_cost(shape_, AssignmentMethod::float32, number(rows)).float32;
}

void AssignmentChoice::note_screen(std::int64_t ambiguous, bool overflowed, bool made_lists) {
  constexpr std::int64_t kTypical = 32;  // at most one row in this many is ambiguous where a screen is effective
  constexpr double kDear = 0.25;         // the share of a pass that other work may cost there
  const double rows = number(std::max<std::int64_t>(shape_.rows, 1));
  const double screen =
      is_screen_in_fp16(method_) ? seconds(screen_cost(shape_, method_, rows), machine_) : 0.0;  // float32 is in other_
  const double other = seconds(other_, machine_) + local_seconds_;
  observed_.left_many = overflowed || ambiguous > shape_.rows / kTypical || other > kDear * screen;
  observed_.screen_seconds = (screen + other) / rows;
  if (made_lists) observed_.screen_seconds += near_seconds(0.0);
}

void AssignmentChoice::note_near(double distances) {
  // The rows of the estimate may not be typical, and memory may be short for local screens.
  if (near_seconds(distances / number(std::max<std::int64_t>(shape_.rows, 1))) > observed_.screen_seconds) {
    observed_.near_labels = false;
    observed_.estimate.delay(kLongest);
  } else {
    observed_.estimate.reward();
  }
}

void AssignmentChoice::note_lists(std::int64_t count, std::int64_t rest) {
  if (rest > count - count / kShare) {
    observed_.lists.delay(kLongest);
  } else {
    observed_.lists.reward();
  }
}

}  // namespace kith::cuda
