// The narrow screen: blocks of a few hundred rows are packed, screened and labelled in the first-level cache.
//
// Cost: n k (d + 4) vector operations on 16 rows at a time (AVX-512); reading n d values and writing n labels cost as
// much as two or three columns. The refinement pass takes ambiguous rows one by one, with one centroid per lane, and
// compares the candidates by the definition.
#include "kernels/cpu/assign/narrow_screen.h"

#include <bit>
#include <limits>
#include <memory>
#include <numeric>
#include <span>

#include "core/numbers/screen.h"
#include "kernels/cpu/choice/assignment.h"

namespace kith::cpu {
namespace {

constexpr std::int64_t kPanelValues = 4096;  // floats in the panels of a block, which stay in the first-level cache
constexpr std::int64_t kMaxBlockRows = 512;

std::int64_t rounded_up(std::int64_t n, std::int64_t multiple) { return ceil_div(n, multiple) * multiple; }

/// Rounding errors of the screening pass: d products and as many additions to the half squared norm, of magnitude at
/// most |h| + |x^||c^|.
ScreenArithmetic narrow_arithmetic(const NarrowKernels& kernels, std::int64_t d) {
  constexpr double kOutward = 1.001, kRounding = 0x1p-24;
  const double additions = static_cast<double>(d + 1) * kRounding * kOutward;
  return {.rounding = kRounding,
          .accumulation = kernels.roundings_per_product * additions,
          .half_sq_norm = additions,
          .marking = kMarking};
}

/// Which rows (k, d) equal an earlier one.
std::vector<bool> repeated_rows(MatrixView<const double> rows) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.rows));
  std::iota(order.begin(), order.end(), 0);
  const auto compare = [&](std::int64_t a, std::int64_t b) {
    const std::span<const double> x = rows.row(a), y = rows.row(b);
    const auto [at, other] = std::mismatch(x.begin(), x.end(), y.begin());
    return at == x.end() ? 0 : *at < *other ? -1 : 1;
  };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    const int order_of_values = compare(a, b);
    return order_of_values != 0 ? order_of_values < 0 : a < b;
  });
  std::vector<bool> repeated(order.size());
  for (std::size_t i = 1; i < order.size(); ++i) repeated[order[i]] = compare(order[i - 1], order[i]) == 0;
  return repeated;
}

}  // namespace

template <class T>
NarrowScreen<T>::NarrowScreen(const HeldRows<T>& held) : held_(held), kernels_(held.set.narrow) {
  const std::int64_t lanes = kernels_.lanes, d = held.columns();
  block_ = std::clamp(kPanelValues / d / lanes * lanes, lanes, kMaxBlockRows / lanes * lanes);
  centers_.reserve(static_cast<std::size_t>(lanes * d));
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    centers_.insert(centers_.end(), held.plan.screen.center.begin(), held.plan.screen.center.end());
  }
}

template <class T>
void NarrowScreen<T>::set_centroids(MatrixView<const double> centroids) {
  const std::int64_t k = centroids.rows, d = centroids.columns;
  constexpr float kAbsent = 3e38F;  // score of a missing column
  const ScreenedRows screened = screen_rows(centroids, held_.plan.screen);
  const bool takes_differences =
      held_.observed.screens.narrow_products.left() > 0 && screened.largest_norm < kNarrowLongest;
  const ScreenMargin margin =
      takes_differences ? difference_margin(d, kernels_.roundings_per_product, kMarking)
                        : screen_margin(screened, d, held_.plan.screen.exponent, narrow_arithmetic(kernels_, d));
  const std::vector<bool> repeated = repeated_rows(centroids);
  centroids_ = centroids;
  packed_ = has_centroids_ && !panels_.empty();
  has_centroids_ = true;
  const std::int64_t padded = rounded_up(k, kernels_.floats);
  column_panels_.resize(static_cast<std::size_t>(rounded_up(k, kNarrowPanelColumns) * (2 + d)));
  by_column_.resize(static_cast<std::size_t>(padded * (1 + d)));
  columns_ = {.scores = takes_differences ? NarrowScores::differences : NarrowScores::products,
              .column_panels = column_panels_.data(),
              .by_column = by_column_.data(),
              .count = k,
              .padded = padded,
              .d = d,
              .constant = margin.constant,
              .linear = margin.linear,
              .quadratic = margin.quadratic};
  for (std::int64_t c = 0; c < columns_.padded; ++c) {
    const bool exists = c < k && !repeated[c];  // ties go to the first of equal centroids
    const float* values = exists ? screened.values.row(c).data() : nullptr;
    by_column_[c] = !exists ? kAbsent : takes_differences ? 0.0F : screened.half_sq_norm[c];
    for (std::int64_t j = 0; j < d; ++j) by_column_[(1 + j) * columns_.padded + c] = exists ? values[j] : 0.0F;
    if (c >= rounded_up(k, kNarrowPanelColumns)) continue;
    float* panel =
        column_panels_.data() + c / kNarrowPanelColumns * kNarrowPanelColumns * (2 + d) + c % kNarrowPanelColumns;
    panel[0] = by_column_[c];
    panel[kNarrowPanelColumns] = std::bit_cast<float>(static_cast<std::int32_t>(c % kMarks));
    for (std::int64_t j = 0; j < d; ++j) panel[(2 + j) * kNarrowPanelColumns] = exists ? values[j] : 0.0F;
  }
}

template <class T>
NarrowScreen<T>::Workspace::Workspace(const NarrowScreen& screen)
    : flat_(1, screen.kernels_.lanes * screen.columns_.d + kMaxLanes),  // transposes read whole vectors
      panels_(screen.block_, screen.columns_.d),
      label_(static_cast<std::size_t>(screen.block_)),
      candidate_(static_cast<std::size_t>(screen.columns_.padded)),
      ambiguous_(static_cast<std::size_t>(screen.block_)) {
  std::fill_n(flat_.data(), flat_.size(), 0.0F);
}

template <class T>
const std::int32_t* NarrowScreen<T>::label(std::int64_t first, std::int64_t count, Workspace& workspace,
                                           NarrowTotals& totals) const {
  float* const panels = panels_.empty() ? workspace.panels_.data() : panels_.data() + first * columns_.d;
  if (!packed_) {
    kernels_.rows<T>().pack(held_.row(first), count, columns_.d, held_.scale(), centers_.data(), workspace.flat_.data(),
                            panels);
  }
  const std::int64_t ambiguous =
      kernels_.screen(panels, count, columns_, workspace.label_.data(), workspace.ambiguous_.data());
  for (std::int64_t i = 0; i < ambiguous; ++i) {
    const NarrowAmbiguousRow& row = workspace.ambiguous_[i];
    workspace.label_[row.position] = refine(first + row.position, row, panels, workspace, totals);
  }
  totals.ambiguous += ambiguous;
  return workspace.label_.data();
}

template <class T>
std::int32_t NarrowScreen<T>::refine(std::int64_t row, const NarrowAmbiguousRow& ambiguous, const float* panels,
                                     Workspace& workspace, NarrowTotals& totals) const {
  const std::int64_t count = kernels_.candidates(panels, columns_, ambiguous, workspace.candidate_.data());
  const auto distance = held_.set.template rows<T>().distance;
  double nearest = std::numeric_limits<double>::infinity();
  std::int32_t label = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t c = workspace.candidate_[i];
    const double to_c = distance(held_.row(row), centroids_.row(c).data(), columns_.d);
    if (to_c < nearest) {  // candidates ascend, so ties keep the lowest
      nearest = to_c;
      label = c;
    }
  }
  totals.candidates += count;
  return label;
}

template <class T>
void NarrowScreen<T>::keep_panels() {
  panels_.resize(static_cast<std::size_t>(rounded_up(held_.rows(), kernels_.lanes) * held_.columns()));
  has_centroids_ = false;
}

template <class T>
std::int64_t NarrowScreen<T>::rows_per_task() const {
  const std::int64_t d = columns_.d, packing = packed_ ? 0 : 8 * d;
  return rounded_up(held_.rows_per_task(columns_.count * (d + 4) + packing), block_);
}

template <class T>
void choose_centroids(HeldRows<T>& held, NarrowScreen<T>& screen, MatrixView<const double> centroids) {
  constexpr std::int64_t kSampled = 4, kLeastRows = 16;  // blocks; rows for each of the sample
  screen.set_centroids(centroids);
  const std::int64_t block = screen.block(), sampled = kSampled * block;
  if (held.observed.screens.tried_narrow || held.rows() < kLeastRows * sampled) return;
  typename NarrowScreen<T>::Workspace workspace(screen);
  NarrowTotals totals;
  const std::int64_t step = held.rows() / kSampled / block * block;
  for (std::int64_t i = 0; i < kSampled; ++i) screen.label(i * step, block, workspace, totals);
  note_narrow_scores(held, {.screened = sampled, .ambiguous = totals.ambiguous, .candidates = totals.candidates},
                     centroids.rows);
  if (held.observed.screens.narrow_products.left() > 0) screen.set_again(centroids);
}

template <class T>
void assign_narrow(HeldRows<T>& held, const AssignRequest& request, Assignment& assignment) {
  const std::int64_t k = request.centroids.rows;
  held.skip_bounds();
  NarrowScreen<T> screen(held);
  choose_centroids(held, screen, request.centroids);
  // Consecutive rows often have the same label; several counters avoid dependent additions.
  const std::int64_t ways = k <= 1024 ? 4 : 1;
  struct Worker {
    Worker(const NarrowScreen<T>& screen, std::int64_t counters)
        : workspace(screen), counts(static_cast<std::size_t>(counters)) {}
    typename NarrowScreen<T>::Workspace workspace;
    std::vector<std::int64_t> counts;  // (ways, k)
    NarrowTotals totals;
    std::int64_t changed = 0;
  };
  std::vector<std::unique_ptr<Worker>> workers(held.threads.count());
  held.for_ranges(screen.rows_per_task(), [&](std::int64_t first, std::int64_t last, std::int64_t, int thread) {
    if (!workers[thread]) workers[thread] = std::make_unique<Worker>(screen, ways * k);
    Worker& own = *workers[thread];
    for (std::int64_t i = first; i < last; i += screen.block()) {
      const std::int64_t count = std::min(screen.block(), last - i);
      const std::int32_t* label = screen.label(i, count, own.workspace, own.totals);
      own.changed += held.set.narrow.store_labels(label, count, held.kept_labels(i), own.counts.data(), k, ways);
    }
  });
  assignment.screened += held.rows();
  IterationRecord record{.screened = held.rows()};
  for (const auto& worker : workers) {
    if (!worker) continue;
    for (std::size_t c = 0; c < worker->counts.size(); ++c) assignment.counts[c % k] += worker->counts[c];
    record.changed += worker->changed;
    record.ambiguous += worker->totals.ambiguous;
    record.candidates += worker->totals.candidates;
  }
  assignment.changed += record.changed;
  assignment.ambiguous += record.ambiguous;
  assignment.candidates += record.candidates;
  note_labels(held, record.changed);
  note_narrow_screen(held, record, k);
}

#define KITH_INSTANTIATE(T)                                                                 \
  template class NarrowScreen<T>;                                                           \
  template void choose_centroids(HeldRows<T>&, NarrowScreen<T>&, MatrixView<const double>); \
  template void assign_narrow(HeldRows<T>&, const AssignRequest&, Assignment&);
KITH_FOR_POINT_TYPES(KITH_INSTANTIATE)
#undef KITH_INSTANTIATE

}  // namespace kith::cpu
