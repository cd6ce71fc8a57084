// Statistics of repeated timings, and what `kith bench` makes of them: tables as aligned text, Markdown and JSON, and a
// page with bars against the limits.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "app/cli/layout.h"
#include "app/version.h"
#include "bench/suites/bench.h"
#include "pictures/pictures.h"

namespace kith::app {
namespace {

using Json = nlohmann::ordered_json;
using Cells = std::vector<std::vector<std::string>>;

const char* name_of(WorkUnit unit) {
  constexpr std::array<const char*, 5> names{"", "B/s", "FLOP/s", "op/s", "rows/s"};
  return names[static_cast<std::size_t>(unit)];
}

/// "549 TFLOP/s", "4.63 TB/s", "1.20 Mrows/s": three significant digits and the largest prefix that fits.
std::string show_rate(double rate, WorkUnit unit) {
  if (unit == WorkUnit::none || !(rate > 0.0)) return "";
  constexpr std::array<const char*, 5> prefixes{"", "k", "M", "G", "T"};
  std::size_t prefix = 0;
  for (; rate >= 999.5 && prefix + 1 < prefixes.size(); ++prefix) rate /= 1000.0;
  const char* name = name_of(unit);
  const int decimals = rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}{}", rate, decimals, prefixes[prefix], name);
}

/// Milliseconds with four significant digits.
std::string show_milliseconds(double seconds) {
  const double value = seconds * 1e3;
  const int decimals = value < 1.0 ? 4 : value < 10.0 ? 3 : value < 100.0 ? 2 : value < 1000.0 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string show_share(const std::optional<double>& share) {
  return share ? fmt::format("{:.1f} %", 100.0 * *share) : "";
}

struct Column {
  const char* head;
  std::string (*cell)(const BenchRow&);
};

/// Three significant digits: "0.0312", "4.25", "1310".
std::string show_count(double count) {
  return count < 999.5 ? fmt::format("{:.3g}", count) : fmt::format("{:.0f}", count);
}

constexpr std::size_t kKeys = 3;  // columns that say what was measured

double spread_of(const Timing& timing) { return (timing.highest - timing.lowest) / timing.median; }

constexpr std::array<Column, 12> kColumns{{
    {"what", [](const BenchRow& row) { return row.name; }},
    {"shape", [](const BenchRow& row) { return row.shape; }},
    {"data", [](const BenchRow& row) { return row.data; }},
    {"ms", [](const BenchRow& row) { return row.timing ? show_milliseconds(row.timing->median) : ""; }},
    {"over noise",
     [](const BenchRow& row) { return row.over_noise ? fmt::format("{:.2f}", *row.over_noise) : std::string(); }},
    {"spread",
     [](const BenchRow& row) {
       if (!row.timing) return std::string();
       return fmt::format("{:.0f} %", 100.0 * spread_of(*row.timing));
     }},
    {"rate", [](const BenchRow& row) { return show_rate(row.rate, row.unit); }},
    {"of the limit",
     [](const BenchRow& row) { return row.share ? show_share(row.share) + " of " + row.limit : std::string(); }},
    {"certified", [](const BenchRow& row) { return show_share(row.certified); }},
    {"candidates", [](const BenchRow& row) { return row.candidates ? show_count(*row.candidates) : std::string(); }},
    {"published", [](const BenchRow& row) { return row.published; }},
    {"note", [](const BenchRow& row) { return row.wrong.empty() ? row.note : "WRONG: " + row.wrong; }},
}};

/// How many of the columns that say what was measured are there.
std::size_t keys_of(const std::vector<std::string>& head) {
  const auto is_key = [](const std::string& name) {
    return std::any_of(kColumns.begin(), kColumns.begin() + kKeys, [&](const Column& key) { return name == key.head; });
  };
  return static_cast<std::size_t>(std::find_if_not(head.begin(), head.end(), is_key) - head.begin());
}

std::size_t column_of(const Cells& cells, const std::string& head) {
  return static_cast<std::size_t>(std::find(cells[0].begin(), cells[0].end(), head) - cells[0].begin());
}

/// Of the table if it is not split.
std::size_t width_of(const Cells& cells) {
  std::size_t width = 2 * (cells[0].size() - 1);
  for (std::size_t j = 0; j < cells[0].size(); ++j) {
    std::size_t widest = 0;
    for (const auto& row : cells) widest = std::max(widest, row[j].size());
    width += widest;
  }
  return width;
}

/// Replaces "27.6 % of NAME" by "27.6 % a". Returns the lines that say what the letters mean.
std::string mark_limits(Cells& cells) {
  const std::size_t j = column_of(cells, "of the limit");
  if (j == cells[0].size()) return "";
  const std::string of = " of ";
  std::vector<std::string> names;
  std::string legend;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    const std::size_t at = cells[i][j].find(of);
    if (at == std::string::npos) continue;
    const std::string name = cells[i][j].substr(at + of.size());
    const auto place = std::find(names.begin(), names.end(), name) - names.begin();
    const auto letter = static_cast<char>('a' + place);
    if (place == std::ssize(names)) {
      names.push_back(name);
      legend += fmt::format("{}: of {}\n", letter, name);
    }
    cells[i][j] = fmt::format("{} {}", cells[i][j].substr(0, at), letter);
  }
  cells[0][j] = "limit";
  return legend;
}

/// Shapes that several rows have stand above them, in lines of their own.
void move_shapes_above(Cells& cells) {
  const std::size_t j = column_of(cells, "shape");
  if (j == cells[0].size()) return;
  Cells out{cells[0]};
  std::size_t shapes = 0;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (i == 1 || cells[i][j] != cells[i - 1][j]) {
      out.emplace_back(cells[0].size()).front() = cells[i][j];
      ++shapes;
    }
    out.push_back(cells[i]);
  }
  if (2 * shapes > cells.size() - 1) return;
  for (auto& row : out) row.erase(row.begin() + static_cast<std::ptrdiff_t>(j));
  cells = std::move(out);
}

Json json_of(const BenchReport& report) {
  Json object{{"command", "bench"},        {"version", KITH_VERSION}, {"suite", report.suite},
              {"backend", report.backend}, {"device", report.device}, {"threads", report.threads}};
  object["rows"] = Json::array();
  for (const BenchRow& row : report.rows) {
    Json line{{"name", row.name}};
    if (!row.shape.empty()) line["shape"] = row.shape;
    if (!row.data.empty()) line["data"] = row.data;
    if (row.timing) {
      line["seconds"] = {{"median", row.timing->median},
                         {"lowest", row.timing->lowest},
                         {"highest", row.timing->highest},
                         {"count", row.timing->count}};
    }
    if (row.unit != WorkUnit::none) {
      line["rate"] = row.rate;
      line["unit"] = name_of(row.unit);
    }
    if (row.share) {
      line["share"] = *row.share;
      line["limit"] = row.limit;
    }
    if (row.over_noise) line["over_noise"] = *row.over_noise;
    if (row.certified) line["certified"] = *row.certified;
    if (row.candidates) line["candidates"] = *row.candidates;
    if (!row.published.empty()) line["published"] = row.published;
    if (!row.note.empty()) line["note"] = row.note;
    if (!row.wrong.empty()) line["wrong"] = row.wrong;
    object["rows"].push_back(std::move(line));
  }
  return object;
}

/// The measurements of one picture: of a shape, if a suite has several measurements of it.
struct Panel {
  std::string title;
  std::vector<pictures::LimitBar> bars{};
};

/// limits: the names so far, to which those of this suite are added.
std::vector<Panel> panels_of(const TitledReport& titled, std::vector<std::string>& limits) {
  const BenchReport& report = titled.report;
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : report.rows) {
    if (row.share && row.wrong.empty()) rows.push_back(&row);
  }
  std::vector<std::string> shapes, names;
  for (const BenchRow* row : rows) {
    if (std::find(shapes.begin(), shapes.end(), row->shape) == shapes.end()) shapes.push_back(row->shape);
    if (std::find(names.begin(), names.end(), row->name) == names.end()) names.push_back(row->name);
  }
  const bool by_shape = shapes.size() > 1 && shapes.size() < rows.size();
  std::vector<Panel> panels;
  for (const BenchRow* row : rows) {
    std::string title = fmt::format("{}: {}", report.suite, by_shape ? row->shape : titled.title);
    const auto same = [&](const Panel& panel) { return panel.title == title; };
    auto panel = std::find_if(panels.begin(), panels.end(), same);
    if (panel == panels.end()) panel = panels.insert(panels.end(), {std::move(title)});
    std::string label = row->name;
    if (!by_shape && shapes.size() > 1) label = names.size() > 1 ? label + ", " + row->shape : row->shape;
    if (!row->data.empty() && row->data != "noise") label += ", " + row->data;
    const auto limit = std::find(limits.begin(), limits.end(), row->limit) - limits.begin();
    if (limit == std::ssize(limits)) limits.push_back(row->limit);
    panel->bars.push_back({std::move(label), *row->share, static_cast<std::size_t>(limit)});
  }
  return panels;
}

pictures::Table table_of(const TitledReport& titled) {
  auto cells = cells_of(titled.report);
  pictures::Table table{fmt::format("{}: {}", titled.report.suite, titled.title), std::move(cells.front()), {}};
  table.rows.assign(std::make_move_iterator(cells.begin() + 1), std::make_move_iterator(cells.end()));
  table.texts = keys_of(table.head);
  return table;
}

}  // namespace

Timing timing_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  const std::size_t middle = seconds.size() / 2;
  const double median = seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2.0;
  return {median, seconds.front(), seconds.back(), static_cast<std::int64_t>(seconds.size())};
}

bool BenchReport::wrong() const {
  return std::any_of(rows.begin(), rows.end(), [](const BenchRow& row) { return !row.wrong.empty(); });
}

void compare_with_noise(std::vector<BenchRow>& rows) {
  for (BenchRow& row : rows) {
    if (!row.timing || row.data.empty() || row.data == "noise") continue;
    for (const BenchRow& noise : rows) {
      const bool is_same = noise.data == "noise" && noise.name == row.name && noise.shape == row.shape;
      if (is_same && noise.timing) row.over_noise = row.timing->median / noise.timing->median;
    }
  }
}

Cells cells_of(const BenchReport& report) {
  Cells cells(report.rows.size() + 1);
  for (const Column& column : kColumns) {
    const auto is_empty = [&](const BenchRow& row) { return column.cell(row).empty(); };
    if (std::all_of(report.rows.begin(), report.rows.end(), is_empty)) continue;
    cells[0].emplace_back(column.head);
    for (std::size_t i = 0; i < report.rows.size(); ++i) cells[i + 1].push_back(column.cell(report.rows[i]));
  }
  return cells;
}

std::string busy_warning(const std::vector<TitledReport>& reports) {
  constexpr double kMuch = 0.5;
  std::size_t measured = 0, varying = 0;
  double most = 0.0;
  std::string where;
  for (const TitledReport& titled : reports) {
    for (const BenchRow& row : titled.report.rows) {
      if (!row.timing || row.timing->count < 2) continue;
      ++measured;
      const double spread = spread_of(*row.timing);
      if (spread > kMuch) ++varying;
      if (spread <= most) continue;
      most = spread;
      where = row.name + (row.shape.empty() ? "" : ", " + row.shape);
    }
  }
  if (varying == 0) return "";
  return fmt::format(
      "the machine was busy: the times of {} of {} measurements differ by more than {:.0f} % of their median, those of "
      "{} by {:.0f} %; measure again when nothing else runs",
      varying, measured, 100.0 * kMuch, where, 100.0 * most);
}

std::string aligned_table(const Cells& given, std::size_t width) {
  Cells cells = given;
  std::string legend;
  if (width_of(cells) > width) {
    legend = mark_limits(cells);
    move_shapes_above(cells);
  }
  TextTable table{std::vector<Align>(cells[0].size(), Align::left), cells, keys_of(cells[0])};
  for (std::size_t j = table.keys; j < cells[0].size(); ++j) {
    for (const char* head : {"of the limit", "published", "note"}) {
      if (cells[0][j] == head) table.columns[j] = Align::wrapped;
    }
  }
  return lay_out(table, width) + legend;
}

std::string markdown_table(const Cells& cells) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    out += fmt::format("| {} |\n", fmt::join(cells[i], " | "));
    if (i > 0) continue;
    for (std::size_t j = 0; j < cells[0].size(); ++j) out += "|---";
    out += "|\n";
  }
  return out;
}

std::string to_json(const BenchReport& report) { return json_of(report).dump(2) + "\n"; }

std::string to_json(const std::vector<BenchReport>& reports) {
  Json object{{"command", "bench"}, {"version", KITH_VERSION}, {"suite", "all"}};
  object["suites"] = Json::array();
  for (const BenchReport& report : reports) object["suites"].push_back(json_of(report));
  return object.dump(2) + "\n";
}

pictures::Page bench_page(const std::vector<TitledReport>& reports, const std::string& command) {
  const BenchReport& first = reports.front().report;
  pictures::Page page{.title = fmt::format("{}: speed and limits", first.device),
                      .facts = {{"Command", command},
                                {"Machine", fmt::format("{} (backend {})", first.device, first.backend)},
                                {"Made by", fmt::format("kith {}, commit {}", KITH_VERSION, commit())},
                                {"Day", fmt::format("{:%Y-%m-%d} (UTC)", fmt::gmtime(std::time(nullptr)))}}};
  if (const std::string busy = busy_warning(reports); !busy.empty())
    page.notes.push_back(fmt::format("Warning: {}.", busy));
  std::vector<std::pair<std::string, std::vector<Panel>>> panels;  // by suite
  std::vector<std::string> limits;
  for (const TitledReport& titled : reports) {
    for (const BenchRow& row : titled.report.rows) {
      if (!row.wrong.empty()) page.notes.push_back(fmt::format("WRONG: {}: {}", row.name, row.wrong));
    }
    panels.emplace_back(titled.report.suite, panels_of(titled, limits));
    page.tables.push_back(table_of(titled));
  }
  for (const auto& [suite, all] : panels) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      page.pictures.push_back(
          pictures::limit_bars(fmt::format("bars-{}-{}", suite, i + 1), all[i].title, all[i].bars, limits));
      page.pictures.back().begins_row = i == 0 && all.size() > 1;
    }
  }
  return page;
}

}  // namespace kith::app
