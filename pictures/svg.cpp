// Writes shapes as SVG elements, and complete SVG documents; places ticks at round numbers.
//
// The cluster colours come from M. Okabe, K. Ito: Color Universal Design (2008) and are distinguishable with any colour
// blindness. They are made darker or lighter until their contrast with the background is 3 to 1; grey replaces black.
// The colours of the heat map range from blue to orange.
#include "pictures/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kith::pictures {

const std::string& style() {
  static const std::string text = R"(.kith text{font:14px system-ui,sans-serif;fill:#1c1f23}
.kith .small{font-size:12px}
.kith .soft{fill:#565c64}
.kith .end{text-anchor:end}
.kith .middle{text-anchor:middle}
.kith .halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round;font-weight:700}
.kith .paper{fill:#fff}
.kith .grid{stroke:#dfe3e8;stroke-width:1;fill:none}
.kith .axis{stroke:#8b929b;stroke-width:1;fill:none}
.kith .outline{stroke:#8b929b;stroke-width:1}
.kith .mark{stroke:#1c1f23;stroke-width:1.5;fill:none;stroke-dasharray:4 3}
.kith .curve{fill:none;stroke-width:2;stroke-linejoin:round}
.kith .dots{fill:none;stroke-width:3.6;stroke-linecap:round}
.kith .best{fill:none;stroke-width:11;stroke-linecap:round}
.kith .strong{font-weight:700}
.kith .cells{shape-rendering:crispEdges}
.kith .pixels{image-rendering:pixelated}
.kith .o0{fill-opacity:.28}
.kith .o1{fill-opacity:.46}
.kith .o2{fill-opacity:.64}
.kith .o3{fill-opacity:.82}
.c0{fill:#0072b2}.c1{fill:#c68000}.c2{fill:#008a65}.c3{fill:#b9568f}
.c4{fill:#2e93d0}.c5{fill:#d55e00}.c6{fill:#978c00}.c7{fill:#6e6e6e}
.s0{stroke:#0072b2}.s1{stroke:#c68000}.s2{stroke:#008a65}.s3{stroke:#b9568f}
.s4{stroke:#2e93d0}.s5{stroke:#d55e00}.s6{stroke:#978c00}.s7{stroke:#6e6e6e}
.others{fill:#c3c8ce}.lines{stroke:#c3c8ce}
.h0{fill:#0b4f8a}.h1{fill:#2f7dbd}.h2{fill:#79b0dc}.h3{fill:#c0dbef}.h4{fill:#f0f1f2}
.h5{fill:#f8d5a8}.h6{fill:#eba54e}.h7{fill:#c96f10}.h8{fill:#8a4500}
@media (prefers-color-scheme:dark){
.kith text{fill:#e8eaed}
.kith .soft{fill:#adb4bc}
.kith .halo{stroke:#15181c}
.kith .paper{fill:#15181c}
.kith .grid{stroke:#2f353c}
.kith .axis{stroke:#767e88}
.kith .outline{stroke:#767e88}
.kith .mark{stroke:#e8eaed}
.c0{fill:#3f8fd2}.c1{fill:#e69f00}.c2{fill:#22b58a}.c3{fill:#dc8fbb}
.c4{fill:#93d3f8}.c5{fill:#f0803c}.c6{fill:#f0e442}.c7{fill:#a5a5a5}
.s0{stroke:#3f8fd2}.s1{stroke:#e69f00}.s2{stroke:#22b58a}.s3{stroke:#dc8fbb}
.s4{stroke:#93d3f8}.s5{stroke:#f0803c}.s6{stroke:#f0e442}.s7{stroke:#a5a5a5}
.others{fill:#4a515a}.lines{stroke:#4a515a}
.h0{fill:#9fd3ff}.h1{fill:#5aa6e6}.h2{fill:#3377b0}.h3{fill:#294d6c}.h4{fill:#2a2f36}
.h5{fill:#61451f}.h6{fill:#a86a17}.h7{fill:#e59a35}.h8{fill:#ffcf87}
}
)";
  return text;
}

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
      width, height, picture.name, more, escaped(picture.title),
      escaped(picture.above.empty() ? picture.caption : picture.above + " " + picture.caption));
}

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
  if (begins.size() <= letters) return text;
  return letters == 0 ? "" : text.substr(0, begins[letters - 1]) + "\xe2\x80\xa6";
}

namespace {

/// Of one letter: DejaVu Sans is wider than most fonts of a system, and its digits are 0.636 of the size.
double letter_width(Letters letters) { return 0.62 * (letters == Letters::small ? 12.0 : 14.0); }

}  // namespace

double text_width(const std::string& text, Letters letters) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); i += std::max<std::size_t>(character_length(text, i), 1)) ++count;
  return letter_width(letters) * static_cast<double>(count);
}

std::string fitted(const std::string& text, double width, Letters letters) {
  return shortened(text, static_cast<std::size_t>(std::max(width, 0.0) / letter_width(letters)));
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

void Canvas::vertical_text(Point at, const std::string& text) {
  shapes_ += fmt::format("<text transform=\"translate({} {}) rotate(-90)\">{}</text>\n", coordinate(at.x),
                         coordinate(at.y), escaped(text));
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

std::string image_address(const data::PngPicture& image) {
  const std::string png = data::encode_png(image);
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out = "data:image/png;base64,";
  for (std::size_t i = 0; i < png.size(); i += 3) {
    std::uint32_t bits = 0;
    const std::size_t here = std::min<std::size_t>(3, png.size() - i);
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < here ? static_cast<unsigned char>(png[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) out += j <= here ? kDigits[bits >> (18 - 6 * j) & 63U] : '=';
  }
  return out;
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

std::string colour_of(std::int64_t cluster) { return cluster < 0 ? "others" : fmt::format("c{}", cluster % kColours); }
std::string stroke_of(std::int64_t cluster) { return cluster < 0 ? "lines" : fmt::format("s{}", cluster % kColours); }

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
  double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double part = rough / power;
  int digit = part <= 1.0 ? 1 : part <= 2.0 ? 2 : part <= 5.0 ? 5 : 10;
  const std::size_t least = static_cast<std::size_t>(std::clamp(requested, 0, 3));
  for (;;) {
    const double step = power * digit;
    std::vector<double> values;
    for (double i = std::ceil(scale.low / step - 1e-9); i * step <= scale.high + 1e-9 * step; ++i) {
      values.push_back(i * step);
    }
    if (values.size() >= least) return values;
    if (digit == 1) power /= 10.0;
    digit = digit == 10 || digit == 1 ? 5 : digit == 5 ? 2 : 1;
  }
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

double left_of(const Scale& y, int ticks_up) {
  double widest = 0.0;
  for (const double value : ticks(y, ticks_up))
    widest = std::max(widest, text_width(tick_label(value), Letters::small));
  return 10.0 + widest;
}

void draw_frame(Canvas& canvas, const Scale& x, const Scale& y, const FrameLabels& labels) {
  for (const double value : ticks(y, labels.ticks_up)) {
    canvas.line({x.from, y(value)}, {x.to, y(value)}, "grid");
    canvas.text({x.from - 6, y(value) + 4}, tick_label(value), "small soft end");
  }
  std::vector<double> across = labels.at.empty() ? ticks(x, labels.ticks_across) : labels.at;
  const auto half = [](double value) { return text_width(tick_label(value), Letters::small) / 2.0; };
  // Every second or third value is labelled if they would touch otherwise.
  std::size_t every = 1;
  for (bool touch = true; touch; every += touch ? 1 : 0) {
    touch = false;
    for (std::size_t i = every; i < across.size() && !touch; i += every) {
      touch = x(across[i]) - x(across[i - every]) < half(across[i]) + half(across[i - every]) + 4.0;
    }
  }
  for (std::size_t i = 0; i < across.size(); i += every) {
    const double at = x(across[i]);
    canvas.line({at, y.from}, {at, y.to}, "grid");
    canvas.text({std::clamp(at, half(across[i]), canvas.width() - half(across[i])), y.from + 16}, tick_label(across[i]),
                "small soft middle");
  }
  canvas.line({x.from, y.from}, {x.to, y.from}, "axis");
  canvas.line({x.from, y.from}, {x.from, y.to}, "axis");
  const std::string name = fitted(labels.across, canvas.width() - 8);
  const double middle = (x.from + x.to) / 2, reach = text_width(name) / 2;
  canvas.text({std::clamp(middle, reach, canvas.width() - reach), y.from + 34}, name, "soft middle");
  canvas.text({4, y.to - 9}, fitted(labels.up, canvas.width() - 8), "soft");
}

}  // namespace kith::pictures
