// Writes shapes as SVG elements, and complete SVG documents.
#include "pictures/svg.h"

#include <fmt/format.h>

#include <cmath>

namespace kith::pictures {
namespace {

/// The length in bytes of the UTF-8 character that begins at `at`; 0 if the bytes are invalid.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80                     ? 1
                             : first >= 0xc2 && first < 0xe0  ? 2
                             : first >= 0xe0 && first < 0xf0  ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 0;
  }
  const auto second = length > 1 ? static_cast<unsigned char>(text[at + 1]) : 0U;
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool no_character = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90) ||
                            (first == 0xef && second == 0xbf && static_cast<unsigned char>(text[at + 2]) >= 0xbe);
  return overlong || no_character ? 0 : length;
}

std::string with_class(std::string_view classes) {
  return classes.empty() ? "" : fmt::format(" class=\"{}\"", classes);
}

std::string opening(const Picture& picture, const std::string& more) {
  const std::string width = coordinate(picture.canvas.width()), height = coordinate(picture.canvas.height());
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"kith\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-labelledby=\"{2}-title {2}-text\"{3}>\n<title id=\"{2}-title\">{4}</title>\n<desc "
      "id=\"{2}-text\">{5}</desc>\n",
      width, height, picture.name, more, escaped(picture.title), escaped(picture.caption));
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    const auto c = static_cast<unsigned char>(text[i]);
    if (length == 0 || (c < 0x20 && c != '\n') || c == 0x7f) {
      out += "\xef\xbf\xbd";  // the replacement character
      ++i;
      continue;
    }
    const std::string_view letter = text.substr(i, length);
    out += letter == "&"    ? "&amp;"
           : letter == "<"  ? "&lt;"
           : letter == ">"  ? "&gt;"
           : letter == "\"" ? "&quot;"
           : letter == "'"  ? "&#39;"
                            : letter;
    i += length;
  }
  return out;
}

std::string shortened(const std::string& text, std::size_t letters) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < text.size(); i += std::max<std::size_t>(character_length(text, i), 1))
    begins.push_back(i);
  return begins.size() <= letters ? text : text.substr(0, begins[letters - 1]) + "\xe2\x80\xa6";
}

std::string coordinate(double value) {
  const double rounded = std::round(value * 10.0) / 10.0 + 0.0;  // -0 is 0
  return fmt::format("{}", rounded);
}

std::string display(double value) {
  const bool is_whole = value == std::rint(value) && std::abs(value) < 1e15;
  const bool is_long = std::abs(value) >= 1000 && std::abs(value) < 1e9;
  return is_whole || is_long ? fmt::format("{:.0f}", value + 0.0) : fmt::format("{:.4g}", value);
}

void Canvas::box(const Box& box, std::string_view classes) {
  shapes_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>\n", coordinate(box.x),
                         coordinate(box.y), coordinate(box.width), coordinate(box.height), with_class(classes));
}

void Canvas::line(Point from, Point to, std::string_view classes) {
  path(fmt::format("M{} {}L{} {}", coordinate(from.x), coordinate(from.y), coordinate(to.x), coordinate(to.y)),
       classes);
}

void Canvas::path(const std::string& data, std::string_view classes) {
  shapes_ += fmt::format("<path d=\"{}\"{}/>\n", data, with_class(classes));
}

void Canvas::text(Point at, const std::string& text, std::string_view classes) {
  if (text.empty()) return;
  shapes_ += fmt::format("<text x=\"{}\" y=\"{}\"{}>{}</text>\n", coordinate(at.x), coordinate(at.y),
                         with_class(classes), escaped(text));
}

void Canvas::vertical_text(Point at, const std::string& text, std::string_view classes) {
  shapes_ += fmt::format("<text transform=\"translate({} {}) rotate(-90)\"{}>{}</text>\n", coordinate(at.x),
                         coordinate(at.y), with_class(classes), escaped(text));
}

void Canvas::swatch(const Box& box, const std::string& color) {
  shapes_ +=
      fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" class=\"outline\"/>\n",
                  coordinate(box.x), coordinate(box.y), coordinate(box.width), coordinate(box.height), escaped(color));
}

void Canvas::image(const Box& box, const std::string& address, bool smooth) {
  shapes_ +=
      fmt::format("<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\"{} href=\"{}\"/>\n",
                  coordinate(box.x), coordinate(box.y), coordinate(box.width), coordinate(box.height),
                  smooth ? "" : " class=\"pixels\"", address);
}

std::string line_through(const std::vector<Point>& points) {
  std::string data;
  for (const Point& point : points)
    data += fmt::format("{}{} {}", data.empty() ? "M" : "L", coordinate(point.x), coordinate(point.y));
  return data;
}

std::string inline_svg(const Picture& picture) { return opening(picture, "") + picture.canvas.shapes() + "</svg>\n"; }

std::string svg_file(const Picture& picture) {
  const std::string width = coordinate(picture.canvas.width()), height = coordinate(picture.canvas.height());
  return opening(picture, fmt::format(" width=\"{}\" height=\"{}\"", width, height)) + "<style>\n" + style() +
         "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" + picture.canvas.shapes() + "</svg>\n";
}

std::string colour_of(std::int64_t cluster) { return fmt::format("c{}", cluster % kColours); }

}  // namespace kith::pictures
