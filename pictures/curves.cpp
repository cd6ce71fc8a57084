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
      "In {} iterations the inertia, the sum of the squared distances of all rows to their centroids, went from {} to "
      "{}, and the sum of squared shifts of the centroids from {} to {}; {}.",
      last + 1, display(history.inertia.front()), display(history.inertia[last]), display(history.shift.front()),
      display(history.shift[last]), end);
}

/// A line through the values at x and y, broken where an axis cannot show one, and a dot for each of at most 60.
void draw_curve(Canvas& canvas, const std::vector<double>& at, const std::vector<double>& values, const Scale& x,
                const Scale& y, int colour) {
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
  canvas.path(line, "curve " + stroke_of(colour));
  if (values.size() <= 60) canvas.path(dots, "dots " + stroke_of(colour));
}

/// An axis on which a curve and a label above its best point fit.
Scale wide_scale(const std::vector<double>& values, double bottom, double top) {
  Scale scale = scale_over(values, bottom, top);
  const double margin = 0.2 * (scale.high - scale.low);
  return {scale.low - margin, scale.high + margin, bottom, top, Spacing::even};
}

}  // namespace

std::optional<Picture> iterations(const RunHistory& history) {
  constexpr std::size_t kFew = 5;
  if (history.inertia.size() < kFew) return std::nullopt;
  Canvas canvas(kChartWidth, 350);
  std::vector<double> numbers(history.inertia.size());
  std::iota(numbers.begin(), numbers.end(), 1.0);
  const double last = static_cast<double>(history.inertia.size());
  const Scale above = scale_over(history.inertia, 136, 26);
  const Scale below = scale_over(history.shift, 306, 196, Spacing::powers);
  const Scale x{1, last, std::max(left_of(above, 4), left_of(below, 4)), kChartRight};
  const int ticks_across = static_cast<int>(std::min(last - 1, 6.0));
  draw_frame(canvas, x, above, {"", "inertia", ticks_across, 4});
  draw_curve(canvas, numbers, history.inertia, x, above, 0);
  draw_frame(canvas, x, below, {"iteration", "squared shift of the centroids", ticks_across, 4});
  draw_curve(canvas, numbers, history.shift, x, below, 5);
  if (history.threshold > below.low && history.threshold < below.high) {
    canvas.line({x.from, below(history.threshold)}, {x.to, below(history.threshold)}, "mark");
    canvas.text({x.from + 6, below(history.threshold) - 5}, "tolerance", "small soft");
  }
  return Picture{"iterations", "Inertia and shift of each iteration", caption_of(history), canvas};
}

Picture sweep(const std::vector<double>& k, const SweepCurve& curve, std::optional<double> suggested, int number) {
  constexpr double kTop = 30.0, kBottom = 200.0;
  constexpr int kTicksUp = 4;
  Canvas canvas(kChartWidth, kBottom + 44);
  const Scale y = wide_scale(curve.values, kBottom, kTop);
  const Scale x = scale_over(k, left_of(y, kTicksUp), kChartRight);
  draw_frame(canvas, x, y, {"number of clusters, k", curve.better, 6, kTicksUp, k});
  if (suggested) canvas.line({x(*suggested), kBottom}, {x(*suggested), kTop}, "mark");
  draw_curve(canvas, k, curve.values, x, y, number % kColours);
  std::string title = curve.title, caption = curve.meaning;
  if (curve.best) {
    const double at = k[*curve.best], value = curve.values[*curve.best];
    const std::string label = fmt::format("k = {}", display(at));
    const double half = text_width(label) / 2.0;
    canvas.path(fmt::format("M{} {}h0", coordinate(x(at)), coordinate(y(value))),
                "best " + stroke_of(number % kColours));
    // A curve that is best where it is low, or that bends, leaves space below.
    canvas.text({std::clamp(x(at), x.from + half + 2, kChartRight - half), y(value) + (curve.is_low ? 22 : -10)}, label,
                "middle halo");
    title += fmt::format(": k = {}", display(at));
    caption += fmt::format(" The large dot marks its choice, k = {}: {}.", display(at), display(value));
  } else {
    title += ": no choice";
    caption += " It prefers none of these numbers of clusters.";
  }
  if (suggested) caption += fmt::format(" Dashed: the suggestion, k = {}.", display(*suggested));
  title[0] = static_cast<char>(title[0] >= 'a' && title[0] <= 'z' ? title[0] - 'a' + 'A' : title[0]);
  return {"sweep-" + curve.name, title, caption, canvas};
}

Picture limit_bars(const std::string& name, const std::string& title, const std::vector<LimitBar>& bars,
                   const std::vector<std::string>& limits) {
  constexpr double kBar = 20.0, kLegendLine = 17.0;         // heights with their spacing
  constexpr double kMostLabel = 190.0, kShareWidth = 56.0;  // of the texts at the left and at the right
  constexpr double kMostShown = 1.08;                       // longer bars are cut
  const auto shown = [](double share) { return fmt::format("{:.1f} %", 100.0 * share); };
  double widest = 0.0;
  for (const LimitBar& bar : bars) widest = std::max(widest, text_width(bar.label, Letters::small));
  const bool is_above = widest > kMostLabel;  // long labels stand above their bars
  const double left = is_above ? 4.0 : widest + 10.0, right = kChartWidth - kShareWidth - 4.0;
  const double full = (right - left) / kMostShown;  // length of a bar that reaches its limit
  Canvas canvas(kChartWidth, 10);
  canvas.text({left + full, 14}, "limit", "small soft middle");
  double y = 20.0;
  std::vector<std::size_t> used;
  for (const LimitBar& bar : bars) {
    const double label = is_above ? y + 14 : y + 14.5;
    const std::string text = fitted(bar.label, is_above ? kChartWidth - 8 : kMostLabel, Letters::small);
    is_above ? canvas.text({left, label}, text, "small") : canvas.text({left - 6, label}, text, "small end");
    if (is_above) y += kBar - 2;
    canvas.box({left, y + 3, std::max(full * std::clamp(bar.share, 0.0, kMostShown), 1.0), kBar - 6},
               colour_of(static_cast<std::int64_t>(bar.limit)));
    canvas.line({left + full, y}, {left + full, y + kBar}, "mark");
    canvas.text({kChartWidth - 4, y + 14.5}, shown(bar.share), "small end");
    if (std::find(used.begin(), used.end(), bar.limit) == used.end()) used.push_back(bar.limit);
    y += kBar;
  }
  y += 8.0;
  std::sort(used.begin(), used.end());
  for (const std::size_t limit : used) {
    canvas.box({4, y + 2, 11, 11}, colour_of(static_cast<std::int64_t>(limit)));
    canvas.text({22, y + 12}, fitted("share of " + limits[limit], kChartWidth - 26, Letters::small), "small soft");
    y += kLegendLine;
  }
  canvas.height(y + 4);
  std::string caption = "Shares of what this machine can do at most, as measured in the same run.";
  const auto best = std::max_element(bars.begin(), bars.end(),
                                     [](const LimitBar& a, const LimitBar& b) { return a.share < b.share; });
  if (best != bars.end()) {
    caption +=
        fmt::format(" The largest is that of {}, {} of {}.", best->label, shown(best->share), limits[best->limit]);
  }
  return {name, title, caption, canvas};
}

}  // namespace kith::pictures
