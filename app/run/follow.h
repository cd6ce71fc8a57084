// --follow: rows of standard input are answered as they come, by points that are read and held once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/run/job.h"
#include "app/run/preparation.h"
#include "core/neighbors/neighbors.h"
#include "core/points/points.h"
#include "data/format/point_source.h"

namespace kith::app {

/// What answers the lines, and how lines become rows.
struct FollowRequest {
  const Points& points;  // to search: the base, or centroids
  NeighborOptions search;
  data::ReadOptions read;          // of a row, as input_options() has them
  std::string of;                  // the file with the columns that a line must have: "base.csv"
  std::int64_t columns = 0;        // values of a line, before the preparation
  std::vector<std::string> names;  // of the columns, if `of` is a table; else empty
  const Preparation* preparation = nullptr;
  /// Appends the answer to row i of the lists, without a line end; i is -1 for a row that is dropped.
  std::function<void(const NeighborLists&, std::int64_t i, std::string& line)> answer;
};

/// --follow. rows, the value of `option`, has to be standard input. excludes: options of the command.
void add_follow_option(OptionSet& set, bool& follow, const char* option, const std::string& rows,
                       std::vector<const char*> excludes);

/// Host bytes for lines and their rows.
std::int64_t follow_bytes(std::int64_t neighbors, std::int64_t columns, const CommonOptions& common);

/// Answers the lines of standard input until it ends. Throws Error(data) if a first line names other columns.
void follow(FollowRequest request, Job& job);

}  // namespace kith::app
