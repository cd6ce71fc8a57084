// Cosine centroids must not be evaluated as Euclidean means: runs that read a result use its metric.
#include "app/run/model.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "app/cli/layout.h"
#include "app/run/results.h"
#include "core/error.h"
#include "data/file_names.h"
#include "data/format/formats.h"
#include "data/format/shape.h"
#include "data/io/file_kind.h"
#include "data/io/utf8.h"
#include "data/source.h"

namespace kith::app {
namespace {

/// Whether the location names this dataset, at the root or in a group, of a result of one of these formats. A location
/// without a dataset names that at the root.
bool names(const std::string& location, const std::string& dataset, const std::vector<std::string>& formats) {
  const auto [file, named] = data::parse_location(location);
  const bool is_named = named.empty() || named == dataset || named.ends_with("/" + dataset);
  if (!is_named || !data::StoredResult::is_one(file)) return false;
  return std::find(formats.begin(), formats.end(), data::StoredResult(file).format()) != formats.end();
}

/// Empty: the location names no result, or one without a metric.
std::string metric_of_result(const std::string& location) {
  if (location.empty() || !(names_model(location) || names_labels(location))) return "";
  const data::StoredResult result(data::parse_location(location).file);
  const std::string metric = result.text("metric");
  const auto is_known = [&](Metric known) { return metric == name_of(known); };
  if (metric.empty() || is_known(Metric::euclidean) || is_known(Metric::cosine) || is_known(Metric::correlation)) {
    return metric;
  }
  throw Error(ExitCode::data,
              fmt::format("{}: expected clusters of --metric euclidean, cosine or correlation, found {}, "
                          "which this version of kith does not support; use the version that wrote it, {}",
                          location, metric, result.text("kith_version")));
}

/// What a file names.
struct FileMetric {
  std::string location;  // "glove.hdf5:/train"
  std::string distance;  // "angular"
  Metric metric = Metric::euclidean;
};

/// The names of metrics in files, in lower case.
constexpr std::pair<Metric, std::string_view> kDistances[] = {
    {Metric::cosine, " angular cosine "},
    {Metric::euclidean, " euclidean l2 "},
    {Metric::inner_product, " dot ip inner_product inner-product mips "},
    {Metric::manhattan, " manhattan l1 "},
    {Metric::chebyshev, " chebyshev "},
    {Metric::hamming, " hamming "},
    {Metric::jaccard, " jaccard "},
    {Metric::correlation, " correlation "},
    {Metric::haversine, " haversine "}};

/// Nothing: the file names no metric of vectors.
std::optional<FileMetric> metric_of_file(const std::string& location) {
  const std::string file = location.empty() ? "" : data::each_file(location).front();
  if (file.empty() || file == "-" || !data::has_hdf5_signature(file)) return std::nullopt;
  std::string distance;
  try {
    const data::RootFacts root = data::read_root(file);
    distance = root.text("distance");
    if (distance.empty() && root.text("format") == "kith-neighbors") distance = root.text("metric");
  } catch (const Error&) {  // who opens the points says what is wrong with the file
    return std::nullopt;
  }
  const std::string name = " " + lower_case(distance) + " ";
  const bool is_word = distance.find(' ') == distance.npos;
  const auto* known = std::ranges::find_if(kDistances, [&](const auto& e) { return e.second.find(name) != name.npos; });
  return !is_word || known == std::end(kDistances) ? std::nullopt
                                                   : std::optional(FileMetric{location, distance, known->first});
}

}  // namespace

bool names_model(const std::string& location) { return names(location, "centroids", {"kith-clusters", "kith-sweep"}); }

bool names_labels(const std::string& location) {
  return names(location, "labels", {"kith-clusters", "kith-sweep", "kith-assignment"});
}

void take_metric(const std::vector<Given>& given, const std::vector<std::string>& points, const OptionSet& set,
                 CommonOptions& common) {
  std::string fixed_by = set.source("--metric") == Source::none ? "" : "--metric";
  for (const auto& [option, location, what] : given) {
    const std::string metric = metric_of_result(location);
    if (metric.empty()) continue;
    if (fixed_by.empty()) {
      fixed_by = fmt::format("{} {}", option, location);
      if (metric != common.metric) Terminal::instance().say(fmt::format("metric     {}, from {}", metric, location));
      common.metric = metric;
    }
    if (metric == common.metric) continue;
    throw Error(ExitCode::usage,
                fmt::format("{} {}: expected {} of --metric {} (from {}), found those of --metric {}; {}", option,
                            location, what, common.metric, fixed_by, metric,
                            fixed_by == "--metric" ? fmt::format("leave out --metric, or give {} of that metric", what)
                                                   : "give results of the same metric"));
  }
  if (fixed_by.empty()) take_file_metric(points, set, common);
}

namespace {

/// Options that make points of a table.
constexpr TextOption kPointOptions[] = {{"--columns", &CommonOptions::columns},
                                        {"--drop-columns", &CommonOptions::drop_columns},
                                        {"--label-column", &CommonOptions::label_column},
                                        {"--weight-column", &CommonOptions::weight_column},
                                        {"--encode", &CommonOptions::encode},
                                        {"--column-weights", &CommonOptions::column_weights},
                                        {"--nan", &CommonOptions::nan}};
constexpr const char* kSkipLines = "--skip-lines";
constexpr const char* kTranspose = "--transpose";

void take(const TextOption& option, const data::TableModel& model, const OptionSet& set, CommonOptions& common) {
  const std::string value = model.option(option.name);
  if (set.source(option.name) == Source::none && !value.empty()) common.*option.target = value;
}

/// Throws unless --encode says of each column what the model says.
void check_encode(const data::TableModel& model, const std::string& given, const CommonOptions& common) {
  data::ReadOptions options;
  read_text_options(common, options);
  for (const data::EncodeRule& rule : options.encode) {
    const std::string kind = data::kind_of(rule.how);
    const auto has_kind = [&](const data::ColumnModel& column) { return kind == data::kind_of(column.how); };
    const auto column = std::ranges::find_if(
        model.columns, [&](const auto& c) { return rule.column == c.name || rule.column == std::to_string(c.number); });
    const bool is_all = rule.column.empty();
    const bool agrees = is_all ? rule.how == data::Encode::none || std::ranges::any_of(model.columns, has_kind)
                               : column != model.columns.end() && has_kind(*column);
    if (agrees) continue;
    const std::string found = is_all ? "no such column"
                              : column == model.columns.end()
                                  ? "no column " + rule.column
                                  : fmt::format("{} as {}", rule.column, data::kind_of(column->how));
    throw Error(
        ExitCode::usage,
        fmt::format("--encode {}: {} has {}; leave out --encode, since the result says how its columns are read",
                    common.encode, given, found));
  }
}

}  // namespace

std::shared_ptr<const data::TableModel> table_model(const std::string& location) {
  if (location.empty() || !(names_model(location) || names_labels(location))) return nullptr;
  const auto [file, dataset] = data::parse_location(location);
  const data::StoredResult result(file);
  const bool is_matrix = result.format() == "kith-clusters" && dataset.ends_with("centroids");
  return is_matrix ? nullptr : data::read_model(result);
}

void take_table_options(const data::TableModel& model, const std::string& given, const OptionSet& set,
                        CommonOptions& common) {
  for (const TextOption& option : kFormOptions) take(option, model, set, common);
  if (const std::string lines = model.option(kSkipLines); set.source(kSkipLines) == Source::none && !lines.empty()) {
    common.skip_lines = std::stoll(lines);
  }
  if (model.option(kTranspose) == "yes" && !common.transpose) {  // its columns have no names, and were rows
    common.transpose = true;
    take(kPointOptions[0], model, set, common);
    take(kPointOptions[1], model, set, common);
  }
  // What is given can only say the order of day and month in this table.
  std::string encode = model.option("--encode");
  if (set.source("--encode") != Source::none) {
    check_encode(model, given, common);
    encode += (encode.empty() ? "" : ",") + common.encode;
  }
  common.encode = encode;
  // The model finds its columns by name, which a list that repeats its own would prevent.
  for (std::string CommonOptions::*target : {&CommonOptions::columns, &CommonOptions::drop_columns}) {
    const char* name = target == &CommonOptions::columns ? "--columns" : "--drop-columns";
    if (!common.transpose && common.*target == model.option(name)) (common.*target).clear();
  }
}

void take_all_options(const data::TableModel& model, const std::string& given, const OptionSet& set,
                      CommonOptions& common) {
  for (const TextOption& option : kPointOptions) take(option, model, set, common);
  const std::string columns = common.columns, dropped = common.drop_columns;
  take_table_options(model, given, set, common);
  common.columns = columns;
  common.drop_columns = dropped;
  if (set.source("--scale") == Source::none) common.scale = model.scale;
  if (set.source("--pca") == Source::none) common.pca = model.components;
}

void write_table_model(data::ResultFile& file, const data::PointSource& points, const CommonOptions& common) {
  const bool keeps_missing = !common.nan.empty() && common.nan != "error";
  const bool is_weighed = !common.column_weights.empty();
  if (!points.table() && points.column_names().empty() && !keeps_missing && !is_weighed) return;
  data::TableModel model = data::table_of(points);
  const CommonOptions defaults;
  const auto add = [&](const char* name, const std::string& value, const std::string& usual) {
    if (value != usual) model.options.emplace_back(name, value);
  };
  for (const TextOption& option : kFormOptions) add(option.name, common.*option.target, defaults.*option.target);
  for (const TextOption& option : kPointOptions) add(option.name, common.*option.target, defaults.*option.target);
  std::erase_if(model.options, [](const auto& option) { return option.first == "--nan" && option.second == "error"; });
  add(kSkipLines, std::to_string(common.skip_lines), "0");
  add(kTranspose, common.transpose ? "yes" : "no", "no");
  model.scale = common.scale;
  model.components = common.pca;
  model.metric = common.metric;
  data::write_model(file, model);
}

std::string difference_of_columns(const std::vector<std::string>& names, const std::vector<std::string>& expected,
                                  const std::string& whose) {
  constexpr std::size_t kShown = 8, kLongest = 60;
  const auto [name, other] = std::mismatch(names.begin(), names.end(), expected.begin(), expected.end());
  if (names.empty() || expected.empty() || (name == names.end() && other == expected.end())) return "";
  const auto number = name - names.begin() + 1;
  if (other == expected.end()) {
    return fmt::format("expected {} columns, as {} has, found {}, of which column {} (counted from 1) is '{}'",
                       expected.size(), whose, names.size(), number, quoted(*name, kLongest));
  }
  if (name == names.end()) {
    return fmt::format("expected '{}' as column {} (counted from 1) of the points, as {} has, found only {}",
                       quoted(*other, kLongest), number, whose, names.size());
  }
  const std::unordered_set<std::string_view> found(names.begin(), names.end());
  const auto absent = std::find_if(other, expected.end(), [&](const auto& one) { return !found.contains(one); });
  if (absent != expected.end()) {
    return fmt::format("expected a column '{}', as {} has, found none among {}", quoted(*absent, kLongest), whose,
                       data::show_list(names, kShown));
  }
  return fmt::format("expected '{}' as column {} (counted from 1) of the points, as {} has, found '{}'",
                     quoted(*other, kLongest), number, whose, quoted(*name, kLongest));
}

std::unique_ptr<data::PointSource> open_centroids_for(const data::PointSource& points, const Given& given,
                                                      const CommonOptions& common) {
  const std::vector<std::string> names = common.pca > 0 ? std::vector<std::string>() : points.column_names();
  auto centroids = data::open_centroids(given.location, header_of(common));
  const std::vector<std::string> theirs = centroids->column_names();
  if (theirs.size() != names.size() || theirs == names) return centroids;  // a shape that differs is refused later
  if (std::is_permutation(theirs.begin(), theirs.end(), names.begin())) {
    return data::open_centroids(given.location, header_of(common), names);
  }
  throw Error(ExitCode::data, fmt::format("{} {}: {}; give centroids of points with these columns", given.option,
                                          given.location, difference_of_columns(theirs, names, points.name())));
}

std::string doubt_of_rows(const data::StoredResult& result, double squares, const std::string& points) {
  constexpr double kRounding = 1.001;
  const auto inertia = result.number("inertia");
  if (!inertia || result.number("total_weight") || !(squares > kRounding * *inertia)) return "";
  return fmt::format(
      "the labels of {} do not fit the rows of {}, whose squared distances add up to {:.6g}, and to {:.6g} where they "
      "were clustered; give those rows, in their order",
      result.file(), points, squares, *inertia);
}

data::IndexedColumns indexed_columns_of(const std::string& location, std::int64_t columns) {
  data::IndexedColumns indexed{.count = columns};
  if (location.empty() || !(names_model(location) || names_labels(location))) return indexed;
  indexed.base = data::StoredResult(data::parse_location(location).file).whole(kIndexBase).value_or(-1);
  return indexed;
}

void take_file_metric(const std::vector<std::string>& points, const OptionSet& set, CommonOptions& common) {
  if (set.source("--metric") != Source::none) return;
  std::optional<FileMetric> first;
  for (const std::string& location : points) {
    const auto found = metric_of_file(location);
    if (!found) continue;
    if (first && first->metric != found->metric) {
      throw Error(ExitCode::usage,
                  fmt::format("{}: expected points whose attribute distance is {}, as in {}, found {}; give "
                              "--metric {} or --metric {}",
                              found->location, first->distance, first->location, found->distance,
                              name_of(first->metric), name_of(found->metric)));
    }
    if (!first) first = found;
  }
  if (!first) return;
  const std::string before = std::exchange(common.metric, name_of(first->metric));
  if (const std::string reason = set.refusal("--metric"); !reason.empty()) {
    common.metric = before;
    throw Error(ExitCode::usage,
                fmt::format("{}: its attribute distance is {}, but {}; to use another metric, give it, as in --metric "
                            "euclidean",
                            first->location, first->distance, reason));
  }
  if (common.metric == before) return;
  const std::string said =
      fmt::format("{}, as {} says (distance {})", common.metric,
                  visible(stored_name(data::parse_location(first->location).file)), visible(first->distance));
  Terminal::instance().say(named_text("metric", said, prose_width(Stream::error)));
}

void warn_of_truth_metric(const std::string& truth, const OptionSet& set, const CommonOptions& common,
                          Progress& progress) {
  const auto found = metric_of_file(truth);
  if (!found || found->metric == metric_of(common)) return;
  progress.warning(
      fmt::format("--truth {}: its lists are by {}, as the file says; this run is by {}{}, "
                  "so lists may differ; to compare by it, give --metric {}",
                  truth, found->distance, common.metric, set.source("--metric") == Source::none ? "" : " (--metric)",
                  name_of(found->metric)));
}

}  // namespace kith::app
