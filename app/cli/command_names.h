// The names of the commands, which configuration files use for their sections.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace kith::app {

/// In the order of the help.
inline constexpr std::array<std::string_view, 18> kCommandNames{
    "cluster", "sweep", "dbscan",  "assign",   "knn",  "distances", "evaluate", "report",     "image",
    "info",    "table", "devices", "generate", "plan", "resume",    "man",      "completion", "bench"};

inline std::vector<std::string> command_names() { return {kCommandNames.begin(), kCommandNames.end()}; }

}  // namespace kith::app
