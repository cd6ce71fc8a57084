// The page of kith bench.
#include "bench/suites/page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "app/version.h"

namespace kith::app {
namespace {

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
