// Curves of the objective and of the squared centroid shift over the iterations.
#include <fmt/format.h>

#include <cmath>

#include "pictures/axes.h"
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

void draw_curve(Canvas& canvas, const std::vector<double>& values, const Scale& x, const Scale& y,
                const std::string& colour) {
  std::string line, dots;
  bool broken = true;  // before the first value, and after values that a logarithmic axis cannot show
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || (y.spacing == Spacing::powers && !(values[i] > 0.0))) {
      broken = true;
      continue;
    }
    const std::string at = fmt::format("{} {}", coordinate(x(static_cast<double>(i + 1))), coordinate(y(values[i])));
    line += (broken ? "M" : "L") + at;
    dots += fmt::format("M{}h0", at);
    broken = false;
  }
  canvas.path(line, "curve s" + colour);
  if (values.size() <= 60) canvas.path(dots, "dots s" + colour);
}

}  // namespace

Picture iterations(const RunHistory& history) {
  Canvas canvas(480, 420);
  const double last = std::max(static_cast<double>(history.inertia.size()), 2.0);
  const Scale x{1, last, 76, 466};
  const int ticks_across = static_cast<int>(std::min(last - 1, 6.0));
  const Scale above = scale_over(history.inertia, 164, 26);
  draw_frame(canvas, x, above, {"", "inertia", ticks_across, 4});
  draw_curve(canvas, history.inertia, x, above, "0");
  const Scale below = scale_over(history.shift, 376, 226, Spacing::powers);
  draw_frame(canvas, x, below, {"iteration", "squared shift", ticks_across, 5});
  draw_curve(canvas, history.shift, x, below, "5");
  if (history.threshold > below.low && history.threshold < below.high) {
    canvas.line({x.from, below(history.threshold)}, {x.to, below(history.threshold)}, "mark");
    canvas.text({x.from + 6, below(history.threshold) - 5}, "tolerance", "small soft");
  }
  return {"iterations", "Inertia and shift of each iteration", caption_of(history), canvas};
}

}  // namespace kith::pictures
