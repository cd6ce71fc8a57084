// Ticks at round numbers, and the grid, axes and labels of a chart.
#include "pictures/axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kith::pictures {
namespace {

std::vector<double> powers_of_ten(const Scale& scale, int requested) {
  const int first = static_cast<int>(std::ceil(std::log10(scale.low) - 1e-9));
  const int last = static_cast<int>(std::floor(std::log10(scale.high) + 1e-9));
  const int step = std::max(1, (last - first + requested - 1) / std::max(requested - 1, 1));
  std::vector<double> values;
  for (int e = first; e <= last; e += step) values.push_back(std::pow(10.0, e));
  return values;
}

/// A label that fits beside an axis: "-3.505e6".
std::string tick_label(double value) {
  if (std::abs(value) < 1e6) return display(value);
  std::string text = fmt::format("{:.4g}", value);
  const std::size_t exponent = text.find("e+");
  if (exponent != text.npos) text.erase(exponent + 1, text[exponent + 2] == '0' ? 2 : 1);
  return text;
}

}  // namespace

double Scale::operator()(double value) const {
  const double share =
      spacing == Spacing::even ? (value - low) / (high - low) : std::log(value / low) / std::log(high / low);
  return from + share * (to - from);
}

std::vector<double> ticks(const Scale& scale, int requested) {
  if (scale.spacing == Spacing::powers) {
    const std::vector<double> powers = powers_of_ten(scale, requested);
    return powers.size() > 1 ? powers : std::vector<double>{scale.low, scale.high};
  }
  const double rough = (scale.high - scale.low) / requested;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double part = rough / power;
  const double step = power * (part <= 1.0 ? 1.0 : part <= 2.0 ? 2.0 : part <= 5.0 ? 5.0 : 10.0);
  std::vector<double> values;
  for (double i = std::ceil(scale.low / step - 1e-9); i * step <= scale.high + 1e-9 * step; ++i) {
    values.push_back(i * step);
  }
  return values;
}

Scale scale_over(const std::vector<double>& values, double from, double to, Spacing spacing) {
  double low = INFINITY, high = -INFINITY;
  for (const double value : values) {
    if (!std::isfinite(value) || (spacing == Spacing::powers && !(value > 0.0))) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (!(low <= high)) low = high = 1.0;
  if (spacing == Spacing::powers) return {low / 1.3, high * 1.3, from, to, spacing};
  const double margin = high > low ? 0.04 * (high - low) : std::max(1.0, std::abs(low)) * 0.5;
  return {low - margin, high + margin, from, to, spacing};
}

void draw_frame(Canvas& canvas, const Scale& x, const Scale& y, const FrameLabels& labels) {
  for (const double value : ticks(y, labels.ticks_up)) {
    canvas.line({x.from, y(value)}, {x.to, y(value)}, "grid");
    canvas.text({x.from - 6, y(value) + 4}, tick_label(value), "small soft end");
  }
  for (const double value : ticks(x, labels.ticks_across)) {
    canvas.line({x(value), y.from}, {x(value), y.to}, "grid");
    canvas.text({x(value), y.from + 16}, tick_label(value), "small soft middle");
  }
  canvas.line({x.from, y.from}, {x.to, y.from}, "axis");
  canvas.line({x.from, y.from}, {x.from, y.to}, "axis");
  constexpr std::size_t kLetters = 50;
  canvas.text({(x.from + x.to) / 2, y.from + 34}, shortened(labels.across, kLetters), "soft middle");
  canvas.text({4, y.to - 9}, shortened(labels.up, kLetters), "soft");
}

}  // namespace kith::pictures
