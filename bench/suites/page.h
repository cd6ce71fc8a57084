// The page of `kith bench -o`: bars of the measured rates against the limits of the machine, and the tables.
#pragma once

#include <utility>
#include <vector>

#include "bench/suites/table.h"
#include "pictures/pictures.h"

namespace kith::app {

/// A report with the summary of its suite.
struct TitledReport {
  std::string title;
  BenchReport report;
};

/// Names the machine, the commit and the day. reports: of one run, at least one.
pictures::Page bench_page(const std::vector<TitledReport>& reports, const std::string& command);

}  // namespace kith::app
