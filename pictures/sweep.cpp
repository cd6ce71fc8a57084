// Charts of scores against the number of clusters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pictures/axes.h"
#include "pictures/pictures.h"

namespace kith::pictures {
namespace {

constexpr double kChart = 160.0;

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

Picture sweep(const std::vector<double>& k, const std::vector<SweepCurve>& curves, std::optional<double> suggested) {
  Canvas canvas(480, kChart * static_cast<double>(curves.size()) + 14);
  std::string caption;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const double top = 26 + kChart * static_cast<double>(i), bottom = top + kChart - 56;
    const Scale x = scale_over(k, 76, 466), y = scale_over(curves[i].values, bottom, top);
    draw_frame(canvas, x, y, {i + 1 == curves.size() ? "number of clusters" : "", curves[i].name, 6, 3});
    if (suggested) canvas.line({x(*suggested), bottom}, {x(*suggested), top}, "mark");
    std::vector<Point> points;
    std::string dots;
    for (std::size_t j = 0; j < k.size(); ++j) {
      if (!std::isfinite(curves[i].values[j])) continue;
      points.push_back({x(k[j]), y(curves[i].values[j])});
      dots += fmt::format("M{} {}h0", coordinate(points.back().x), coordinate(points.back().y));
    }
    canvas.path(line_through(points), fmt::format("curve s{}", i % kColours));
    canvas.path(dots, fmt::format("dots s{}", i % kColours));
    caption += fmt::format("{}{}", i == 0 ? "" : "; ", description_of(k, curves[i]));
  }
  if (suggested) caption += fmt::format(". Dashed: the suggestion, k = {}", display(*suggested));
  return {"sweep", "Scores by the number of clusters", caption + ".", canvas};
}

}  // namespace kith::pictures
