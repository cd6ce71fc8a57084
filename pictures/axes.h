// Linear and logarithmic scales, their ticks, and the frame of a chart.
#pragma once

#include <string>
#include <vector>

#include "pictures/svg.h"

namespace kith::pictures {

enum class Spacing { even, powers };  // even: linear; powers: logarithmic

struct Scale {
  double low = 0.0, high = 1.0;  // values
  double from = 0.0, to = 1.0;   // their coordinates
  Spacing spacing = Spacing::even;
  double operator()(double value) const;
};

/// About `requested` round numbers in [low, high]: multiples of 1, 2 or 5 times a power of ten, or powers of ten.
std::vector<double> ticks(const Scale& scale, int requested);

/// A scale over all finite values with a margin. Spacing::powers ignores values that are not positive.
Scale scale_over(const std::vector<double>& values, double from, double to, Spacing spacing = Spacing::even);

struct FrameLabels {
  std::string across, up;
  int ticks_across = 6, ticks_up = 5;
};
/// Draws grid, ticks and labels of both axes. x.from is the left end, y.from the lower one; the label of the y axis
/// stands above it.
void draw_frame(Canvas& canvas, const Scale& x, const Scale& y, const FrameLabels& labels);

}  // namespace kith::pictures
