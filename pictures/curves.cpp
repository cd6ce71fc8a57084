// Curves over the iterations and over the number of clusters, and bars of measured rates.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

std::string caption_of(const RunHistory& history) {
  const std::size_t last = history.inertia.size() - 1;
  const std::string end = history.stopped_by == "labels"      ? "then no label changed"
                          : history.stopped_by == "tolerance" ? "then the shift was within the tolerance"
                                                              : "then the iteration limit was reached";
  return fmt::format(
      "In {} {} the inertia went from {} to {}, and the sum of squared shifts of the centroids from {} to {}; {}.",
      last + 1, last == 0 ? "iteration" : "iterations", display(history.inertia.front()),
      display(history.inertia[last]), display(history.shift.front()), display(history.shift[last]), end);
}

/// A line through the values at x and y, broken where an axis cannot show one, and a dot for each of at most 60.
void draw_curve(Canvas& canvas, const std::vector<double>& at, const std::vector<double>& values, const Scale& x,
                const Scale& y, std::size_t colour) {
  std::string line, dots;
  bool is_broken = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_shown = std::isfinite(values[i]) && (y.spacing == Spacing::even || values[i] > 0.0);
    if (is_shown) {
      const std::string point = fmt::format("{} {}", coordinate(x(at[i])), coordinate(y(values[i])));
      line += (is_broken ? "M" : "L") + point;
      dots += fmt::format("M{}h0", point);
    }
    is_broken = !is_shown;
  }
  canvas.path(line, fmt::format("curve s{}", colour));
  if (values.size() <= 60) canvas.path(dots, fmt::format("dots s{}", colour));
}

/// "inertia is 40.1 at k = 2, 4.5 at k = 20, largest at k = 2 and smallest at k = 20"
std::string description_of(const std::vector<double>& k, const SweepCurve& curve) {
  std::size_t first = k.size(), last = 0, largest = 0, smallest = 0;
  for (std::size_t i = 0; i < k.size(); ++i) {
    if (!std::isfinite(curve.values[i])) continue;
    if (first == k.size()) first = largest = smallest = i;
    last = i;
    if (curve.values[i] > curve.values[largest]) largest = i;
    if (curve.values[i] < curve.values[smallest]) smallest = i;
  }
  if (first == k.size()) return fmt::format("{} has no value", curve.name);
  return fmt::format("{} is {} at k = {}, {} at k = {}, largest at k = {} and smallest at k = {}", curve.name,
                     display(curve.values[first]), display(k[first]), display(curve.values[last]), display(k[last]),
                     display(k[largest]), display(k[smallest]));
}

}  // namespace

Picture iterations(const RunHistory& history) {
  Canvas canvas(480, 420);
  std::vector<double> numbers(history.inertia.size());
  std::iota(numbers.begin(), numbers.end(), 1.0);
  const double last = std::max(static_cast<double>(history.inertia.size()), 2.0);
  const Scale x{1, last, 76, 466};
  const int ticks_across = static_cast<int>(std::min(last - 1, 6.0));
  const Scale above = scale_over(history.inertia, 164, 26);
  draw_frame(canvas, x, above, {"", "inertia", ticks_across, 4});
  draw_curve(canvas, numbers, history.inertia, x, above, 0);
  const Scale below = scale_over(history.shift, 376, 226, Spacing::powers);
  draw_frame(canvas, x, below, {"iteration", "squared shift", ticks_across, 5});
  draw_curve(canvas, numbers, history.shift, x, below, 5);
  if (history.threshold > below.low && history.threshold < below.high) {
    canvas.line({x.from, below(history.threshold)}, {x.to, below(history.threshold)}, "mark");
    canvas.text({x.from + 6, below(history.threshold) - 5}, "tolerance", "small soft");
  }
  return {"iterations", "Inertia and shift of each iteration", caption_of(history), canvas};
}

Picture sweep(const std::vector<double>& k, const std::vector<SweepCurve>& curves, std::optional<double> suggested) {
  constexpr double kChart = 160.0;
  Canvas canvas(480, kChart * static_cast<double>(curves.size()) + 14);
  std::string caption;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const double top = 26 + kChart * static_cast<double>(i), bottom = top + kChart - 56;
    const Scale x = scale_over(k, 76, 466), y = scale_over(curves[i].values, bottom, top);
    draw_frame(canvas, x, y, {i + 1 == curves.size() ? "number of clusters" : "", curves[i].name, 6, 3});
    if (suggested) canvas.line({x(*suggested), bottom}, {x(*suggested), top}, "mark");
    draw_curve(canvas, k, curves[i].values, x, y, i % kColours);
    caption += fmt::format("{}{}", i == 0 ? "" : "; ", description_of(k, curves[i]));
  }
  if (suggested) caption += fmt::format(". Dashed: the suggestion, k = {}", display(*suggested));
  return {"sweep", "Scores by the number of clusters", caption + ".", canvas};
}

Picture limit_bars(const std::string& name, const std::string& title, const std::vector<LimitBar>& bars) {
  constexpr double kBar = 18.0;  // height of a bar with its spacing
  constexpr double kLeft = 232.0, kFull = 200.0;
  constexpr double kMostShown = 1.1;  // longer bars are cut
  const auto shown = [](double share) { return fmt::format("{:.1f} %", 100.0 * share); };
  Canvas canvas(600, 10);
  double y = 8;
  std::vector<std::string> limits;  // a colour for each
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const LimitBar& bar = bars[i];
    if (i == 0 || bar.group != bars[i - 1].group) {
      canvas.text({4, y + 14}, shortened(bar.group, 70));
      y += kBar + 4;
    }
    const auto limit = std::find(limits.begin(), limits.end(), bar.limit) - limits.begin();
    if (limit == std::ssize(limits)) limits.push_back(bar.limit);
    const double length = kFull * std::clamp(bar.share, 0.0, kMostShown);
    canvas.text({kLeft - 6, y + 13}, shortened(bar.label, 36), "small end");
    canvas.box({kLeft, y + 2, length, kBar - 4}, colour_of(limit));
    canvas.line({kLeft + kFull, y}, {kLeft + kFull, y + kBar}, "mark");
    const double at = kLeft + length + 6, behind_line = kLeft + kFull + 6;
    const bool meets_line = at < behind_line && at + 150 > behind_line && length > kFull / 4;
    canvas.text({meets_line ? behind_line : at, y + 13},
                shortened(fmt::format("{} of {}", shown(bar.share), bar.limit), meets_line ? 25 : 40), "small soft");
    y += kBar;
  }
  canvas.height(y + 8);
  const auto best = std::max_element(bars.begin(), bars.end(),
                                     [](const LimitBar& a, const LimitBar& b) { return a.share < b.share; });
  std::string caption = "Shares of the limits of this machine, measured in the same run. Dashed: the limit.";
  if (best != bars.end()) {
    caption += fmt::format(" The largest share is {} of {}: {}, {}.", shown(best->share), best->limit, best->label,
                           best->group);
  }
  return {name, title, caption, canvas};
}

}  // namespace kith::pictures
