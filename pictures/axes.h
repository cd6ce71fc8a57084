// Scales from numbers to places, their ticks, and a frame with two of them.
#pragma once

#include <string>
#include <vector>

#include "pictures/svg.h"

namespace kith::pictures {

enum class Spacing { even, powers };  // powers: equal factors are equally far apart

struct Scale {
  double low = 0.0, high = 1.0;  // numbers
  double from = 0.0, to = 1.0;   // where they are
  Spacing spacing = Spacing::even;
  double operator()(double value) const;
};

/// Round numbers in [low, high], about `wanted` of them: multiples of 1, 2 or 5 times a power of ten, or powers of ten.
std::vector<double> ticks(const Scale& scale, int wanted);

/// A scale over all of the values, a little wider. Values that are not positive do not count for powers.
Scale scale_over(const std::vector<double>& values, double from, double to, Spacing spacing = Spacing::even);

struct FrameLabels {
  std::string across, up;
  int ticks_across = 6, ticks_up = 5;
};
/// Grid, ticks and names of both axes; x.from is left, y.from is below. The name of the upward one stands above it.
void draw_frame(Canvas& canvas, const Scale& x, const Scale& y, const FrameLabels& labels);

}  // namespace kith::pictures
