// The cost model of assignments: scores, distances by the definition and packed rows, at the prices of this processor.
#include "kernels/cpu/choice/assignment.h"

#include <atomic>
#include <utility>

#include "kernels/cpu/choice/machine.h"

namespace kith::cpu {
namespace {

constexpr double kGain = 0.8;                           // another screen must be expected to cost at most this share
constexpr std::int64_t kSampleRows = 1024;              // of an assignment by a screen
constexpr int kMostBounds = 8, kMostNarrowBounds = 32;  // assignments without bounds
constexpr int kMostScreens = 64;                        // assignments without a screen that did not pay
constexpr int kMostEstimates = 16;                      // assignments between estimates of the local screen

template <class T>
Prices prices_of(const HeldRows<T>& held, const ScreenKernels& screen) {
  return {held.set, screen, held.threads.count(), held.columns()};
}
template <class T>
Prices prices_of(const HeldRows<T>& held, std::int64_t clusters) {
  return prices_of(held, held.set.screen_for(held.columns(), clusters));
}

/// Whether the narrow screen keeps packed rows from one iteration to the next.
template <class T>
bool is_small(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kMaxColumns = 256, kMaxWork = 16'000'000;  // multiply-adds, about 1 ms
  return held.columns() <= kMaxColumns && clusters * held.columns() <= kMaxWork / held.rows();
}

/// Whether rows are so few that packing the centroids for a screen would take longer than all distances: kPacked is
/// measured with rows 1 to 16 and 100 to 1024 centroids of 32 to 768 columns.
template <class T>
bool are_few(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr double kPacked = 2.5;  // times packing: columns are sorted, too
  const Prices price = prices_of(held, clusters);
  return held.rows() < kMaxLanes && static_cast<double>(held.rows()) * price.definition < kPacked * price.packing;
}

/// The narrow screen is the fastest for few columns, and for small problems with few clusters, if it certifies most
/// rows: its margin is that of the longest centroid, which is a far outlier in some data.
template <class T>
bool narrow_is_best(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kFewColumns = 16, kFewClusters = 16;
  if (clusters <= kFewClusters && is_small(held, clusters)) return true;
  return held.columns() <= kFewColumns && held.observed.screens.narrow.left() == 0;
}

/// Whether the next assignment should use bounds even if the narrow screen, which keeps none, is faster for all rows.
template <class T>
bool bounds_pay(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kLeastWork = 1024;  // multiply-adds of a row
  if (clusters == 1 || !bounds_are_due(held.observed)) return false;
  return held.forced.bounds || (clusters * held.columns() >= kLeastWork && !is_small(held, clusters));
}

/// Whether an assignment is large enough to choose: small ones are over before a choice pays.
template <class T>
bool is_large(const HeldRows<T>& held, std::int64_t clusters) {
  constexpr std::int64_t kLeastClusters = 32, kLeastWork = std::int64_t{1} << 26;  // multiply-adds
  if (held.forced.local_screen) return clusters > 1;
  return clusters >= kLeastClusters && held.rows() * held.columns() >= kLeastWork / clusters;
}

/// Whether every row has one of the clusters as label. k-means|| weighs more candidates each time.
template <class T>
bool labels_are_known(const HeldRows<T>& held, std::int64_t clusters) {
  return held.labelled_clusters > 0 && held.labelled_clusters <= clusters;
}

/// The seconds of a row in an assignment by a screen, from the work that it did.
double row_seconds(const Prices& price, const Assignment& result) {
  const auto rows = static_cast<double>(std::max<std::int64_t>(result.screened, 1));
  return price.packing + (static_cast<double>(result.products) * price.product +
                          static_cast<double>(result.candidates) * price.candidate) /
                             rows;
}

/// The expected seconds of a row in a local screen of all rows, estimated with a sample of rows whose labels are their
/// nearest centroids or near those.
template <class T>
double local_row_seconds(const HeldRows<T>& held, MatrixView<const double> centroids) {
  constexpr std::int64_t kSample = 64;
  const std::int64_t clusters = centroids.rows, sample = std::min(kSample, held.rows());
  std::atomic<std::int64_t> near{0};
  held.threads.run(sample, [&](std::int64_t task, int) {
    const std::int64_t row = task * (held.rows() / sample);
    const std::int32_t label = held.label[row];
    if (label < 0 || label >= clusters) {
      near += clusters;
      return;
    }
    const double* own = centroids.row(label).data();
    constexpr double kPanel = 1.5;  // squared: a panel multiplies what its farthest row needs
    const double reach = 4 * kPanel * held.set.template rows<T>().distance(held.row(row), own, held.columns());
    std::int64_t count = 0;
    for (std::int64_t c = 0; c < clusters; ++c) {
      count += held.set.template rows<double>().distance(own, centroids.row(c).data(), held.columns()) <= reach ? 1 : 0;
    }
    near += count;
  });
  // Tiles are multiplied whole; a centroid is sorted and packed for the rows of another; a certain label costs a
  // little.
  constexpr double kColumn = 2.5, kCertain = 10;  // times packing; products
  const Prices price = prices_of(held, clusters);
  const double columns = static_cast<double>(near) / static_cast<double>(sample) + kTileColumns / 2.0;
  const double rows_of_centroid = std::max(static_cast<double>(held.rows()) / static_cast<double>(clusters), 1.0);
  return price.packing + (columns + kCertain) * price.product +
         (kColumn * price.packing * columns + price.float32_distance * static_cast<double>(clusters)) /
             rows_of_centroid;
}

/// Leaves a step out for a while if its costs exceed what it saved. For an assignment without it: counts that.
void note(Backoff& step, double cost, double saved) {
  if (step.skips()) return;
  cost > saved ? step.delay(kMostScreens) : step.reward();
}

/// A decision in the making.
template <class T>
class AssignmentDecision {
 public:
  AssignmentDecision(HeldRows<T>& held, std::int64_t clusters)
      : held_(held), rows_(static_cast<double>(held.rows())), price_(prices_of(held, clusters)) {
    decision_.subject = "assignment";
    const double k = static_cast<double>(clusters);
    seconds_of_screen_ = held.observed.screens.row_seconds > 0.0 ? held.observed.screens.row_seconds
                                                                 : price_.packing + k * price_.product;
    pairs_ = rows_ * k;
  }

  void exclude(const char* method, const char* reason) { decision_.considered.push_back({method, 0.0, 0, reason}); }
  void estimate_local_screen(double row_seconds) {
    decision_.considered.push_back({"local screen", rows_ * row_seconds, 0, ""});
  }
  AssignmentMethod take(AssignmentMethod method, const char* reason) {
    if (held_.decisions == nullptr) return method;
    constexpr const char* kNames[] = {"definition", "narrow screen", "screen", "local screen"};
    decision_.method = kNames[static_cast<int>(method)];
    decision_.reason = reason;
    if (method == AssignmentMethod::screen) {
      decision_.considered.push_back({"screen", rows_ * seconds_of_screen_, 0, ""});
    } else if (method != AssignmentMethod::local_screen) {
      decision_.considered.push_back(
          {decision_.method, method == AssignmentMethod::definition ? pairs_ * price_.definition : 0.0, 0, ""});
    }
    held_.decisions->add(std::move(decision_));
    return method;
  }

 private:
  HeldRows<T>& held_;
  double rows_, pairs_ = 0.0, seconds_of_screen_ = 0.0;
  Prices price_;
  Decision decision_;
};

}  // namespace

template <class T>
AssignmentMethod choose_assignment(HeldRows<T>& held, MatrixView<const double> centroids) {
  const std::int64_t clusters = centroids.rows;
  ScreenObservations& observed = held.observed.screens;
  AssignmentDecision<T> decision(held, clusters);
  if (held.are_few_and_long(clusters)) {
    return decision.take(AssignmentMethod::definition, "few long rows do not fill the panels of a screen");
  }
  if (are_few(held, clusters)) {
    return decision.take(AssignmentMethod::definition, "the rows are too few to repay packed centroids");
  }
  decision.exclude("definition", "the rows fill the panels of a screen");
  if (narrow_is_best(held, clusters)) {
    if (!bounds_pay(held, clusters)) {
      return decision.take(AssignmentMethod::narrow_screen, "few columns, or a small problem with few clusters");
    }
    decision.exclude("narrow screen", "bounds let most rows keep their labels");
  } else {
    decision.exclude("narrow screen", observed.narrow.left() > 0 ? "it left too many rows to the definition lately"
                                                                 : "more than 16 columns");
  }
  const auto screen = [&](const char* excluded) {
    decision.exclude("local screen", excluded);
    const bool is_finer =
        &assignment_screen(held, clusters, AssignmentMethod::screen) != &held.set.screen_for(held.columns(), clusters);
    return decision.take(AssignmentMethod::screen, is_finer ? "the faster screen left too many rows ambiguous lately"
                                                            : "no other method is expected to be faster");
  };
  if (!is_large(held, clusters)) return screen("few clusters, or a small problem");
  if (!labels_are_known(held, clusters)) return screen("the rows have no labels yet");
  if (held.forced.local_screen || observed.local_is_best) {
    return decision.take(AssignmentMethod::local_screen, "rows are near their centroids");
  }
  if (observed.local_estimates.skips()) return screen("it was not expected to be faster lately");
  observed.local_estimates.delay(kMostEstimates);
  const double local = local_row_seconds(held, centroids);
  decision.estimate_local_screen(local);
  observed.local_is_best = local < kGain * observed.row_seconds;
  return observed.local_is_best ? decision.take(AssignmentMethod::local_screen, "rows are near their centroids")
                                : decision.take(AssignmentMethod::screen, "rows are as near to many centroids");
}

template <class T>
const ScreenKernels& assignment_screen(const HeldRows<T>& held, std::int64_t clusters, AssignmentMethod method) {
  const ScreenKernels& fastest = held.set.screen_for(held.columns(), clusters);
  const bool is_too_coarse = method == AssignmentMethod::screen && held.observed.screens.low_precision.left() > 0;
  return is_too_coarse && &fastest != &held.set.float32 ? held.set.finer_screen() : fastest;
}

template <class T>
bool iterates_by_blocks(HeldRows<T>& held, std::int64_t clusters, bool is_first) {
  const bool is_best = (narrow_is_best(held, clusters) || is_small(held, clusters)) && !bounds_pay(held, clusters);
  if (is_best && is_first) {
    AssignmentDecision<T>(held, clusters)
        .take(AssignmentMethod::narrow_screen, "few columns or a small problem: whole iterations, block by block");
  }
  return is_best;
}

template <class T>
std::int64_t sample_stride(const HeldRows<T>& held, std::int64_t clusters) {
  const bool takes_sample = is_large(held, clusters) && !held.forced.local_screen && held.rows() >= 8 * kSampleRows &&
                            !labels_are_known(held, clusters);
  return takes_sample ? held.rows() / kSampleRows : 0;
}

template <class T>
bool guesses_pay(const HeldRows<T>& held, MatrixView<const double> centroids, const Assignment& sample) {
  const Prices price = prices_of(held, centroids.rows);
  const double without = row_seconds(price, sample),
               guessing = price.packing + static_cast<double>(centroids.rows) * price.product;
  return guessing < kGain * without && guessing + local_row_seconds(held, centroids) < kGain * without;
}

template <class T>
void note_screen(HeldRows<T>& held, std::int64_t clusters, const Assignment& result, bool guesses) {
  constexpr double kFinerTimes = 2;  // the finer screen takes at least so many times as long
  ScreenObservations& observed = held.observed.screens;
  const Prices price = prices_of(held, clusters);
  const double k = static_cast<double>(clusters);
  observed.row_seconds = guesses ? 2 * (price.packing + k * price.product) : row_seconds(price, result);
  if (guesses) {
    observed.local_estimates.wait(0);
    return;
  }
  if (&held.set.screen_for(held.columns(), clusters) == &held.set.float32) return;
  // An ambiguous row is screened again.
  note(observed.low_precision,
       static_cast<double>(result.ambiguous) * k * price.product +
           static_cast<double>(result.candidates) * price.candidate,
       (kFinerTimes - 1) * static_cast<double>(result.screened) * k * price.product);
}

template <class T>
void note_local_screen(HeldRows<T>& held, const Assignment& result) {
  ScreenObservations& observed = held.observed.screens;
  const double cost = row_seconds(prices_of(held, std::ssize(result.counts)), result);
  if (cost > observed.row_seconds) observed.local_is_best = false;
}

template <class T>
void note_narrow_scores(HeldRows<T>& held, const IterationRecord& record, std::int64_t clusters) {
  // In float32 operations, of which a product takes d + 4 and a difference d more: refining a row, which compares it
  // with all centroids once more, without the speed of blocks.
  constexpr double kRefined = 2000, kAgain = 1.5, kBesides = 4;
  const double k = static_cast<double>(clusters), d = static_cast<double>(held.columns());
  const Prices price = prices_of(held, held.set.float32);
  const double refining = seconds(Cost{{.float32 = kRefined + kAgain * k * (d + kBesides)}}, price.machine);
  const double differences = seconds(Cost{{.float32 = k * d}}, price.machine);
  note(held.observed.screens.narrow_products,
       static_cast<double>(record.ambiguous) * refining + static_cast<double>(record.candidates) * price.definition,
       static_cast<double>(record.screened) * differences);
  held.observed.screens.tried_narrow = true;
}

template <class T>
void note_narrow_screen(HeldRows<T>& held, const IterationRecord& record, std::int64_t clusters) {
  constexpr double kBesides = 4, kColumns = 16;  // the fewer columns, the slower are all other screens beside it
  const bool took_products = held.observed.screens.narrow_products.left() == 0;
  note_narrow_scores(held, record, clusters);
  if (took_products && held.observed.screens.narrow_products.left() > 0) return;  // differences come next
  const double d = static_cast<double>(held.columns());
  const Prices price = prices_of(held, held.set.float32);
  const double row = seconds(Cost{{.float32 = static_cast<double>(clusters) * (d + kBesides)}}, price.machine);
  note(held.observed.screens.narrow,
       static_cast<double>(record.ambiguous) * row + static_cast<double>(record.candidates) * price.definition,
       static_cast<double>(record.screened) * row * kColumns / d);
}

template <class T>
void note_bounds(HeldRows<T>& held, std::int64_t clusters, std::int64_t certified) {
  const bool is_narrow = narrow_is_best(held, clusters);  // then bounds replace a faster screen
  if (certified >= held.rows() / (is_narrow ? 2 : 16)) {
    held.observed.bounds.reward();
  } else {
    held.observed.bounds.delay(is_narrow ? kMostNarrowBounds : kMostBounds);
  }
}

template <class T>
std::int64_t distances_for(const HeldRows<T>& held, const ScreenKernels& screen, std::int64_t scores) {
  const Prices price = prices_of(held, screen);
  return static_cast<std::int64_t>(static_cast<double>(scores) * price.product / price.candidate);
}

#define KITH_INSTANTIATE(T)                                                                            \
  template AssignmentMethod choose_assignment(HeldRows<T>&, MatrixView<const double>);                 \
  template const ScreenKernels& assignment_screen(const HeldRows<T>&, std::int64_t, AssignmentMethod); \
  template bool iterates_by_blocks(HeldRows<T>&, std::int64_t, bool);                                  \
  template std::int64_t sample_stride(const HeldRows<T>&, std::int64_t);                               \
  template bool guesses_pay(const HeldRows<T>&, MatrixView<const double>, const Assignment&);          \
  template void note_screen(HeldRows<T>&, std::int64_t, const Assignment&, bool);                      \
  template void note_local_screen(HeldRows<T>&, const Assignment&);                                    \
  template void note_narrow_scores(HeldRows<T>&, const IterationRecord&, std::int64_t);                \
  template void note_narrow_screen(HeldRows<T>&, const IterationRecord&, std::int64_t);                \
  template void note_bounds(HeldRows<T>&, std::int64_t, std::int64_t);                                 \
  template std::int64_t distances_for(const HeldRows<T>&, const ScreenKernels&, std::int64_t);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
