// A self-contained HTML page, and the pictures on it of an image and of its colours.
#include "pictures/pictures.h"

#include <fmt/format.h>

#include <algorithm>

namespace kith::pictures {
namespace {

const char* const kStyle = R"(:root{color-scheme:light dark}
*{box-sizing:border-box}
body{margin:0;background:#fff;color:#1c1f23;font:16px/1.5 system-ui,sans-serif}
main{max-width:1240px;margin:0 auto;padding:16px}
h1{font-size:1.5rem;line-height:1.25;margin:8px 0 16px;overflow-wrap:anywhere}
h2{font-size:1.05rem;margin:0 0 8px}
dl{display:grid;grid-template-columns:minmax(6.5em,max-content) 1fr;gap:4px 16px;margin:0 0 16px}
dt{color:#565c64}
dd{margin:0;overflow-wrap:anywhere}
dd span{white-space:nowrap}
.note{border-left:4px solid #c68000;padding:2px 12px;margin:0 0 12px}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,360px),1fr));gap:16px;margin:16px 0}
figure{margin:0;padding:16px;border:1px solid #dfe3e8;border-radius:8px}
figure svg{display:block;width:100%;max-width:560px;height:auto;margin:0 auto}
figure.row{grid-column-start:1}
figure p{margin:0 0 8px;font-size:.9rem}
figcaption{margin-top:8px;font-size:.9rem;overflow-wrap:anywhere}
section{margin:16px 0}
section div{overflow-x:auto}
section p{margin:8px 0;font-size:.9rem;max-width:60em}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{white-space:nowrap;padding:3px 12px;text-align:right;border-bottom:1px solid #dfe3e8}
th{font-weight:600}
.text{text-align:left}
.best{font-weight:700}
summary{font-size:1.05rem;font-weight:700;cursor:pointer;margin-bottom:8px}
td.h0{background:#2f7dbd80}td.h1{background:#2f7dbd60}td.h2{background:#2f7dbd40}td.h3{background:#2f7dbd20}
td.h5{background:#e0871a20}td.h6{background:#e0871a40}td.h7{background:#e0871a60}td.h8{background:#e0871a80}
footer{margin-top:24px;color:#565c64;font-size:.85rem}
@media (max-width:520px){
main{padding:8px}th,td{padding:3px 6px}figure{padding:8px}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:6px}
}
@media (prefers-color-scheme:dark){
body{background:#15181c;color:#e8eaed}
dt,footer{color:#adb4bc}
figure,th,td{border-color:#2f353c}
.note{border-color:#e69f00}
}
)";

std::string cells(const Table& table, const std::vector<std::string>& row, const char* tag,
                  const std::vector<std::string>& classes) {
  std::string out = "<tr>";
  for (std::size_t j = 0; j < row.size(); ++j) {
    std::string all = j < table.texts ? "text" : "";
    if (j < classes.size() && !classes[j].empty()) all += (all.empty() ? "" : " ") + classes[j];
    out += fmt::format("<{0}{1}>{2}</{0}>", tag, all.empty() ? "" : fmt::format(" class=\"{}\"", all), escaped(row[j]));
  }
  return out + "</tr>\n";
}

std::string section_of(const Table& table) {
  const char* const title = table.is_folded ? "<details>\n<summary>{}</summary>\n" : "<h2>{}</h2>\n";
  std::string out = "<section>\n" + fmt::format(fmt::runtime(title), escaped(table.title));
  out += "<div>\n<table>\n<thead>\n" + cells(table, table.head, "th", {}) + "</thead>\n<tbody>\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    out += cells(table, table.rows[i], "td", i < table.classes.size() ? table.classes[i] : std::vector<std::string>());
  }
  out += "</tbody>\n</table>\n</div>\n";
  if (!table.note.empty()) out += fmt::format("<p>{}</p>\n", escaped(table.note));
  return out + (table.is_folded ? "</details>\n</section>\n" : "</section>\n");
}

/// Escaped text in which no line ends within an option such as --max-iterations, as it may at any hyphen of HTML.
std::string with_whole_options(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at + 1), text.size());  // each but the first begins with its space
    const std::string word = text.substr(at, end - at);
    out += word.starts_with(" --") ? " <span>" + escaped(word.substr(1)) + "</span>" : escaped(word);
    at = end;
  }
  return out;
}

}  // namespace

std::string html(const Page& page) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n<style>\n{}{}"
      "</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<dl>\n",
      escaped(page.title), kStyle, style(), escaped(page.title));
  for (const auto& [name, value] : page.facts) {
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escaped(name), with_whole_options(value));
  }
  out += "</dl>\n";
  for (const std::string& note : page.notes) out += fmt::format("<p class=\"note\">{}</p>\n", escaped(note));
  for (const Table& table : page.answers) out += section_of(table);
  if (!page.pictures.empty()) out += "<div class=\"pictures\">\n";
  for (const Picture& picture : page.pictures) {
    const std::string above = picture.above.empty() ? "" : fmt::format("<p>{}</p>\n", escaped(picture.above));
    out += fmt::format("<figure{}>\n<h2>{}</h2>\n{}{}<figcaption>{}</figcaption>\n</figure>\n",
                       picture.begins_row ? " class=\"row\"" : "", escaped(picture.title), above, inline_svg(picture),
                       escaped(picture.caption));
  }
  if (!page.pictures.empty()) out += "</div>\n";
  for (const Table& table : page.tables) out += section_of(table);
  return out + "</main>\n</body>\n</html>\n";
}

Picture image(const std::string& name, const std::string& title, const std::string& caption, const Image& image) {
  const auto width = static_cast<double>(image.width), height = static_cast<double>(image.height);
  // Images of few pixels are magnified by a whole number, so that all of their pixels have the same size.
  const double scale = image.is_small && width <= kChartWidth
                           ? static_cast<double>(static_cast<int>(kChartWidth / width))
                           : kChartWidth / width;
  const double across = width * scale, up = std::max(height * scale, 1.0);
  Canvas canvas(across, up);
  canvas.image({0.0, 0.0, across, up}, image.address, !image.is_small);
  return {name, title, caption, canvas};
}

Picture palette(const std::string& name, const std::string& title, const std::vector<Swatch>& swatches) {
  constexpr std::size_t kMaxBars = 40;
  constexpr double kBar = 20.0, kFull = 220.0;  // height of a bar with its spacing, longest bar
  const std::size_t shown = std::min(swatches.size(), kMaxBars);
  Canvas canvas(kChartWidth, 16 + kBar * static_cast<double>(shown));
  const double most = swatches.empty() ? 1.0 : std::max(swatches.front().share, 1e-9);
  for (std::size_t i = 0; i < shown; ++i) {
    const double y = 8 + kBar * static_cast<double>(i);
    const double length = std::max(kFull * std::min(swatches[i].share / most, 1.0), 4.0);
    canvas.text({34, y + 14}, std::to_string(i), "end");
    canvas.swatch({42, y + 2, length, kBar - 4}, swatches[i].color);
    canvas.text({48 + length, y + 14}, fmt::format("{} {:.1f} %", swatches[i].color, 100.0 * swatches[i].share),
                "small soft");
  }
  std::string caption = fmt::format("{} {}, by their share of the visible pixels.", swatches.size(),
                                    swatches.size() == 1 ? "colour" : "colours");
  if (!swatches.empty()) {
    caption +=
        fmt::format(" The first one is {} with {:.1f} %.", swatches.front().color, 100.0 * swatches.front().share);
  }
  if (shown < swatches.size()) caption += fmt::format(" Shown are the first {}.", shown);
  return {name, title, caption, canvas};
}

}  // namespace kith::pictures
