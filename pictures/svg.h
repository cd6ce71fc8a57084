// SVG as text: shapes on a canvas, the scales and the frame of a chart, and a picture with title and caption.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/picture/picture.h"

namespace kith::pictures {

/// Escapes `text` for XML; replaces bytes that are not UTF-8 and characters that XML does not allow.
std::string escaped(std::string_view text);
/// The text cut to at most `letters` characters, the last of which is then an ellipsis.
std::string shortened(const std::string& text, std::size_t letters);
enum class Letters { usual, small };  // of the classes "" and "small" of style()
/// About how wide the text is drawn: fonts differ, and this is one of the wider ones.
double text_width(const std::string& text, Letters letters = Letters::usual);
/// The text cut until it is at most so wide.
std::string fitted(const std::string& text, double width, Letters letters = Letters::usual);
/// A coordinate with at most one decimal.
std::string coordinate(double value);
/// A number for display: four significant digits, or all digits before the decimal point.
std::string display(double value);

struct Point {
  double x = 0.0, y = 0.0;
};
struct Box {
  double x = 0.0, y = 0.0, width = 0.0, height = 0.0;
};

/// Shapes in drawing order. Classes refer to style(); coordinates to the view box.
class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}
  double width() const { return width_; }
  double height() const { return height_; }
  void height(double height) { height_ = height; }

  void box(const Box& box, std::string_view classes);
  void line(Point from, Point to, std::string_view classes);
  void path(const std::string& data, std::string_view classes);
  void text(Point at, const std::string& text, std::string_view classes = "");
  /// Text that reads upwards.
  void vertical_text(Point at, const std::string& text);
  /// A box of this colour, "#1a2b3c", with an outline.
  void swatch(const Box& box, const std::string& color);
  /// address: a data URL. Magnified pixels stay squares, unless `smooth`.
  void image(const Box& box, const std::string& address, bool smooth = false);
  const std::string& shapes() const { return shapes_; }

 private:
  double width_, height_;
  std::string shapes_;
};

/// The image as PNG in a data URL, for a page that is one file.
std::string image_address(const data::PngPicture& image);

/// The path "M0 0L1 2L..." through the points.
std::string line_through(const std::vector<Point>& points);

/// The width of a chart. On a page three stand side by side, or one on the screen of a telephone, and letters have
/// about their usual size on both.
inline constexpr double kChartWidth = 400.0, kChartRight = 388.0;

struct Picture {
  std::string name;     // file name, and identifier on a page: "sizes"
  std::string title;    // "Sizes of the clusters"
  std::string caption;  // description in words and numbers
  Canvas canvas;
  std::string above{};      // what of the result is shown and why, if that is not all of it
  bool begins_row = false;  // on a page: stands at the left end of a row of pictures
};

/// An SVG element for a page that includes style(), with title and description for screen readers.
std::string inline_svg(const Picture& picture);
/// A standalone SVG file.
std::string svg_file(const Picture& picture);

/// The style sheet, for light and dark backgrounds.
const std::string& style();

/// The class of the colour of a cluster; colours repeat after kColours clusters. Below 0: of rows of no cluster, or of
/// the clusters that are not shown one by one.
inline constexpr int kColours = 8;
inline constexpr std::int64_t kOthers = -1;
std::string colour_of(std::int64_t cluster);
/// The same for strokes.
std::string stroke_of(std::int64_t cluster);

enum class Spacing { even, powers };  // even: linear; powers: logarithmic

struct Scale {
  double low = 0.0, high = 1.0;  // values
  double from = 0.0, to = 1.0;   // their coordinates
  Spacing spacing = Spacing::even;
  double operator()(double value) const;
};

/// About `requested` round numbers in [low, high]: multiples of 1, 2 or 5 times a power of ten, or powers of ten. At
/// least three if three are requested, of even spacing.
std::vector<double> ticks(const Scale& scale, int requested);

/// A scale over all finite values with a margin. Spacing::powers ignores values that are not positive.
Scale scale_over(const std::vector<double>& values, double from, double to, Spacing spacing = Spacing::even);

struct FrameLabels {
  std::string across, up;
  int ticks_across = 6, ticks_up = 5;
  std::vector<double> at = {};  // values of the x axis to label, as many as do not touch; empty: round numbers
};
/// Draws grid, ticks and labels of both axes. x.from is the left end, y.from the lower one; the label of the y axis
/// stands above it.
void draw_frame(Canvas& canvas, const Scale& x, const Scale& y, const FrameLabels& labels);
/// Where the x axis begins if the labels of the y axis, of so many ticks, stand left of it.
double left_of(const Scale& y, int ticks_up);

}  // namespace kith::pictures
