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
       return fmt::format("{:.0f} %", 100.0 * (row.timing->highest - row.timing->lowest) / row.timing->median);
     }},
    {"rate", [](const BenchRow& row) { return show_rate(row.rate, row.unit); }},
    {"of the limit",
     [](const BenchRow& row) { return row.share ? show_share(row.share) + " of " + row.limit : std::string(); }},
    {"certified", [](const BenchRow& row) { return show_share(row.certified); }},
    {"candidates", [](const BenchRow& row) { return row.candidates ? show_count(*row.candidates) : std::string(); }},
    {"published", [](const BenchRow& row) { return row.published; }},
    {"note", [](const BenchRow& row) { return row.wrong.empty() ? row.note : "WRONG: " + row.wrong; }},
}};

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

std::vector<pictures::LimitBar> bars_of(const BenchReport& report) {
  std::vector<pictures::LimitBar> bars;
  for (const BenchRow& row : report.rows) {
    if (!row.share || !row.wrong.empty()) continue;
    const std::string kind = row.data.empty() || row.data == "noise" ? "" : ", " + row.data;
    bars.push_back({row.shape.empty() ? report.suite : row.shape, row.name + kind, *row.share, row.limit});
  }
  return bars;
}

pictures::Table table_of(const TitledReport& titled) {
  auto cells = cells_of(titled.report);
  pictures::Table table{fmt::format("{}: {}", titled.report.suite, titled.title), std::move(cells.front()), {}, ""};
  table.rows.assign(std::make_move_iterator(cells.begin() + 1), std::make_move_iterator(cells.end()));
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

std::string aligned_table(const Cells& cells, std::size_t width) {
  TextTable table{std::vector<Align>(cells[0].size(), Align::left), cells, 1};
  while (table.keys < std::min(kKeys, cells[0].size()) && cells[0][table.keys] == kColumns[table.keys].head)
    ++table.keys;
  for (std::size_t j = table.keys; j < cells[0].size(); ++j) {
    for (const char* head : {"of the limit", "published", "note"}) {
      if (cells[0][j] == head) table.columns[j] = Align::wrapped;
    }
  }
  return lay_out(table, width);
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
  pictures::Page page{fmt::format("{}: speed and limits", first.device),
                      {{"Command", command},
                       {"Machine", fmt::format("{} (backend {})", first.device, first.backend)},
                       {"Made by", fmt::format("kith {}, commit {}", KITH_VERSION, commit())},
                       {"Day", fmt::format("{:%Y-%m-%d} (UTC)", fmt::gmtime(std::time(nullptr)))}},
                      {},
                      {},
                      {}};
  for (const TitledReport& titled : reports) {
    for (const BenchRow& row : titled.report.rows) {
      if (!row.wrong.empty()) page.notes.push_back(fmt::format("WRONG: {}: {}", row.name, row.wrong));
    }
    const auto bars = bars_of(titled.report);
    if (!bars.empty()) {
      page.pictures.push_back(pictures::limit_bars(fmt::format("bars-{}", titled.report.suite),
                                                   fmt::format("{}: {}", titled.report.suite, titled.title), bars));
    }
    page.tables.push_back(table_of(titled));
  }
  return page;
}

}  // namespace kith::app
