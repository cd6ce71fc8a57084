// Conversions between sRGB, linear light and CIELAB.
#include "core/numbers/color.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kith {
namespace {

constexpr double kMatrix[3][3] = {{0.4124564, 0.3575761, 0.1804375},  // X, Y, Z of red, green, blue
                                  {0.2126729, 0.7151522, 0.0721750},
                                  {0.0193339, 0.1191920, 0.9503041}};
constexpr double kEpsilon = 216.0 / 24389.0, kKappa = 24389.0 / 27.0;  // CIE: where the cube root ends, and its slope

double white(int row) { return kMatrix[row][0] + kMatrix[row][1] + kMatrix[row][2]; }

double power(double x, int n) {
  double out = x;
  for (int i = 1; i < n; ++i) out *= x;
  return out;
}

/// The n-th root of a positive normal number, by Newton's iteration from a start that is right to about 5 %.
double root(double x, int n) {
  constexpr std::uint64_t kOne = 0x3ff0000000000000U;  // the bits of 1.0
  const auto bits = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(x) - kOne);
  double y = std::bit_cast<double>(kOne + static_cast<std::uint64_t>(bits / n));
  for (int i = 0; i < 5; ++i) y += (x / power(y, n - 1) - y) / n;
  return y;
}

double to_linear(double v) {
  if (v <= 0.04045) return v / 12.92;
  const double x = (v + 0.055) / 1.055;
  return x * x * power(root(x, 5), 2);  // x^2.4
}

double from_linear(double v) {
  if (v <= 0.0031308) return 12.92 * v;
  return 1.055 * power(root(std::sqrt(std::sqrt(v)), 3), 5) - 0.055;  // v^(5/12)
}

double compressed(double t) { return t > kEpsilon ? root(t, 3) : (kKappa * t + 16.0) / 116.0; }
double expanded(double f) {
  const double cube = f * f * f;
  return cube > kEpsilon ? cube : (116.0 * f - 16.0) / kKappa;
}

/// Solves kMatrix x = y by Cramer's rule.
Color solve(const Color& y) {
  const auto& m = kMatrix;
  const auto determinant = [](const double(&a)[3][3]) {
    return a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) - a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
           a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
  };
  Color x;
  for (int column = 0; column < 3; ++column) {
    double replaced[3][3];
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) replaced[i][j] = j == column ? y[i] : m[i][j];
    }
    x[column] = determinant(replaced) / determinant(m);
  }
  return x;
}

}  // namespace

ColorConverter::ColorConverter(ColorSpace space) : space_(space) {
  if (space == ColorSpace::srgb) return;
  linear_.resize(65536);
  for (std::size_t v = 0; v < linear_.size(); ++v) linear_[v] = to_linear(static_cast<double>(v) / 65535.0);
}

Color ColorConverter::operator()(const Pixel& pixel) const {
  if (space_ == ColorSpace::srgb) return {pixel.red / 65535.0, pixel.green / 65535.0, pixel.blue / 65535.0};
  const Color light{linear_[pixel.red], linear_[pixel.green], linear_[pixel.blue]};
  if (space_ == ColorSpace::linear) return light;
  Color f;
  for (int i = 0; i < 3; ++i) {
    f[i] = compressed((kMatrix[i][0] * light[0] + kMatrix[i][1] * light[1] + kMatrix[i][2] * light[2]) / white(i));
  }
  return {116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])};
}

Pixel to_pixel(const Color& color, ColorSpace space) {
  Color light = color;
  if (space == ColorSpace::lab) {
    const double y = (color[0] + 16.0) / 116.0;
    light = solve(
        {expanded(y + color[1] / 500.0) * white(0), expanded(y) * white(1), expanded(y - color[2] / 200.0) * white(2)});
  }
  const auto channel = [space](double v) {
    const double value = std::clamp(space == ColorSpace::srgb ? v : from_linear(std::clamp(v, 0.0, 1.0)), 0.0, 1.0);
    return static_cast<std::uint16_t>(std::rint(255.0 * value) * 257.0);
  };
  return {channel(light[0]), channel(light[1]), channel(light[2]), 65535};
}

}  // namespace kith
