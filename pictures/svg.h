// Scalable vector graphics as text: shapes on a canvas, and a picture with the words that stand for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kith::pictures {

/// `text` for XML: markup written out, characters that XML does not allow and bytes that are not UTF-8 replaced.
std::string escaped(std::string_view text);
/// At most `letters` of it, the last one an ellipsis where it is longer.
std::string shortened(const std::string& text, std::size_t letters);
/// A coordinate: one decimal at most.
std::string place(double value);
/// A number to be read: four digits, or all of those before the point.
std::string shown(double value);

struct Spot {
  double x = 0.0, y = 0.0;
};
struct Box {
  double x = 0.0, y = 0.0, width = 0.0, height = 0.0;
};

/// Shapes in the order of drawing. Classes are those of style(); lengths are those of the view box.
class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}
  double width() const { return width_; }
  double height() const { return height_; }
  void height(double height) { height_ = height; }

  void box(const Box& box, std::string_view classes);
  void line(Spot from, Spot to, std::string_view classes);
  void path(const std::string& data, std::string_view classes);
  void text(Spot at, const std::string& text, std::string_view classes = "");
  /// Turned by a quarter, reading upwards.
  void upright_text(Spot at, const std::string& text, std::string_view classes = "");
  void image(const Box& box, const std::string& address);
  const std::string& shapes() const { return shapes_; }

 private:
  double width_, height_;
  std::string shapes_;
};

/// "M0 0L1 2L..." through the spots.
std::string line_through(const std::vector<Spot>& spots);

struct Picture {
  std::string name;     // of its file, and its identifier on a page: "sizes"
  std::string title;    // "Sizes of the clusters"
  std::string caption;  // what one sees, in words and numbers
  Canvas canvas;
};

/// For a page that has style(): an element with title and description for screen readers.
std::string inline_svg(const Picture& picture);
/// A file of its own.
std::string svg_file(const Picture& picture);

/// What the classes look like on light and on dark paper.
const std::string& style();

/// Class of a cluster's colour; they repeat after kColours clusters.
inline constexpr int kColours = 8;
std::string colour_of(std::int64_t cluster);

}  // namespace kith::pictures
