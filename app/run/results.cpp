// What the result files have in common: root attributes, distances in the unit and precision of the run.
#include "app/run/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <system_error>
#include <utility>

#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/run/freshness.h"
#include "app/run/profile.h"
#include "core/error.h"
#include "core/numbers/places.h"
#include "core/runtime/threads.h"
#include "data/file_set.h"
#include "data/format/shape.h"
#include "data/io/checksum.h"
#include "kernels/cpu/memory.h"

namespace kith::app {
namespace {

/// Names of units, in the order of the enumeration.
constexpr const char* kUnitNames[] = {"euclidean",   "squared-euclidean", "cosine-distance", "cosine",
                                      "correlation", "kilometers",        "inner-product",   "manhattan",
                                      "chebyshev",   "hamming",           "jaccard"};

double in_unit(double d, Unit unit) {
  switch (unit) {
    case Unit::root:
      return std::sqrt(d);
    case Unit::cosine_distance:
    case Unit::correlation:
      return d / 2;
    case Unit::kilometers:
      return great_circle(d);
    case Unit::cosine:
      return 1 - d / 2;
    case Unit::inner_product:
      return 0.0 - d;  // no -0
    default:
      return d;
  }
}

constexpr const char* kNamesChecksum = "_crc32";

/// The checksum of the names one after another, each with a zero byte.
std::int64_t names_checksum(const std::vector<std::string>& names) {
  data::Checksum sum;
  for (const std::string& name : names) sum.add(name.c_str(), name.size() + 1);
  return sum.value();
}

using Json = nlohmann::ordered_json;

/// These attributes come first; the others follow in the order of the file.
constexpr const char* kFirstFacts[] = {"format",       "format_version", "kith_version", "command", "points",
                                       "points_shape", "points_type",    "class",        "metric",  "k"};

bool is_list(const std::string& attribute) {
  return attribute == "columns" || attribute == "classes" || attribute == "clusters" || attribute == "inputs";
}

/// A whole number exactly; 64 bits without a sign if it is that large.
Json number_of(double value, std::int64_t whole) {
  const auto bits = static_cast<std::uint64_t>(whole);
  if (value >= 0x1p63) return static_cast<double>(bits) == value ? Json(bits) : Json(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

/// All attributes by name.
Json attributes_of(const data::StoredResult& result) {
  const data::RootFacts& root = result.root();
  Json all = Json::object();
  for (const auto& [name, text] : root.texts) {
    all[name] = is_list(name) ? Json(result.lines(name)) : Json(result.text(name));
  }
  for (std::size_t i = 0; i < root.numbers.size(); ++i) {
    const auto& [name, values] = root.numbers[i];
    if (name == "crc32") continue;
    const std::vector<std::int64_t> wholes = result.wholes(name);
    Json list = Json::array();
    for (std::size_t j = 0; j < values.size(); ++j) list.push_back(number_of(values[j], wholes[j]));
    all[name] = name != "points_shape" && name != "shape" && list.size() == 1 ? list[0] : list;
  }
  return all;
}

std::vector<std::int64_t> counts_of(const data::StoredResult& result) {
  const std::vector<double> counts = result.vector("counts");
  return {counts.begin(), counts.end()};
}

std::string value_text(const std::string& name, const Json& value) {
  if (name == "command") return "kith " + value.get<std::string>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shown_number(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> items;
  for (const Json& item : value) items.push_back(value_text("", item));
  return name.ends_with("shape") ? fmt::format("{}", fmt::join(items, " x ")) : data::show_list(items);
}

constexpr auto kSweep = static_cast<unsigned>(ScoreUse::sweep), kPoints = static_cast<unsigned>(ScoreUse::points),
               kClasses = static_cast<unsigned>(ScoreUse::classes);

constexpr Score kScores[] = {
    {"inertia", "inertia", "inertia", false, kSweep, &Scores::inertia,
     "The sum of the squared distances of all rows to their centroids. It falls with every cluster more, so its "
     "smallest value says nothing; its knee, after which it falls slowly, does."},
    {"silhouette", "silhouette", "silhouette", true, kSweep | kPoints, &Scores::silhouette,
     "How much nearer the rows are to their own cluster than to the next one, from -1 to 1; near 0 clusters touch."},
    {"simplified_silhouette", "simplified silhouette", "simplified", true, kPoints, &Scores::simplified_silhouette},
    {"calinski_harabasz", "Calinski-Harabasz", "Calinski-H.", true, kSweep | kPoints, &Scores::calinski_harabasz,
     "The variance between clusters over the variance within them."},
    {"davies_bouldin", "Davies-Bouldin", "Davies-B.", false, kSweep | kPoints, &Scores::davies_bouldin,
     "The spread of each cluster over its distance from the cluster most like it, on average."},
    {"bic", "BIC", "BIC", true, kSweep, &Scores::bic,
     "The Bayesian information criterion: how likely round clusters of one size make these points, less a penalty for "
     "each cluster."},
    {"gap", "gap", "gap", true, kSweep, &Scores::gap,
     "How much lower the logarithm of the inertia is than that of evenly spread points. The first number of clusters "
     "counts whose gap is not below the next one less its error."},
    {"gap_error", "gap error", "error", false, kSweep, &Scores::gap_error},
    {"adjusted_rand_index", "adjusted Rand index", "ARI", true, kClasses, &Scores::adjusted_rand_index},
    {"adjusted_mutual_information", "adjusted mutual information", "AMI", true, kClasses,
     &Scores::adjusted_mutual_information},
    {"normalized_mutual_information", "normalized mutual information", "NMI", true, kClasses,
     &Scores::normalized_mutual_information},
    {"homogeneity", "homogeneity", "homogeneity", true, kClasses, &Scores::homogeneity},
    {"completeness", "completeness", "completeness", true, kClasses, &Scores::completeness},
    {"v_measure", "V-measure", "V-measure", true, kClasses, &Scores::v_measure},
    {"fowlkes_mallows", "Fowlkes-Mallows", "Fowlkes-M.", true, kClasses, &Scores::fowlkes_mallows},
    {"purity", "purity", "purity", true, kClasses, &Scores::purity},
};

}  // namespace

const char* name_of(Unit unit) { return kUnitNames[static_cast<std::size_t>(unit)]; }

Unit unit_of(Metric metric, bool squared) {
  constexpr Unit kUnits[] = {Unit::root,    Unit::root,    Unit::inner_product, Unit::manhattan, Unit::chebyshev,
                             Unit::hamming, Unit::jaccard, Unit::correlation,   Unit::kilometers};
  static_assert(std::size(kUnits) == std::size(kMetrics));
  const Unit unit = kUnits[static_cast<int>(metric)];
  return squared && unit == Unit::root ? Unit::squared : unit;
}

void write_origin(data::ResultFile& file, const std::string& format, const std::string& command) {
  file.attribute("format", format);
  file.attribute("format_version", std::int64_t{1});
  file.attribute("kith_version", std::string(KITH_VERSION));
  file.attribute("command", command);
  if (const auto inputs = marks_in(command, file.marks()); !inputs.empty()) {
    file.attribute("inputs", fmt::format("{}", fmt::join(inputs, "\n")));
  }
}

std::optional<std::int64_t> number_in(const std::string& command, const std::string& option) {
  const std::string word = fmt::format(" {} ", option);
  const std::size_t at = command.find(word);
  std::int64_t number = 0;
  if (at == command.npos) return std::nullopt;
  const char* text = command.c_str() + at + word.size();
  const auto [end, problem] = std::from_chars(text, command.c_str() + command.size(), number);
  return problem == std::errc() ? std::optional(number) : std::nullopt;
}

void write_names(data::ResultFile& file, const std::string& attribute, const std::vector<std::string>& names) {
  constexpr std::size_t kMostBytes = 60'000;  // HDF5 1.8 has 64 KiB for an attribute
  const std::string text = fmt::format("{}", fmt::join(names, "\n"));
  const bool one_a_line = std::count(text.begin(), text.end(), '\n') + 1 == std::ssize(names);
  if (names.empty()) return;
  if (one_a_line && !names.back().empty() && text.size() < kMostBytes) {
    file.attribute(attribute, text);
  } else {
    file.attribute(attribute + kNamesChecksum, names_checksum(names));
  }
}

bool lists_other_columns(const data::StoredResult& result, const std::vector<std::string>& names) {
  const auto before = result.whole(std::string("columns") + kNamesChecksum);
  return before && !names.empty() && *before != names_checksum(names);
}

namespace {

template <std::size_t width>
void write_as(data::ResultFile& file, const std::string& name, const std::vector<std::string>& texts,
              std::int64_t columns) {
  using Text = data::FixedText<width>;
  const std::int64_t across = std::max<std::int64_t>(columns, 1), rows = std::ssize(texts) / across;
  const std::int64_t most = std::max<std::int64_t>((std::int64_t{1} << 20) / width / across, 1);
  columns == 0 ? file.create_vector<Text>(name, rows) : file.create_matrix<Text>(name, rows, columns);
  Matrix<Text> block(std::min(most, rows), across);
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t here = std::min(most, rows - first);
    for (std::int64_t i = 0; i < here * across; ++i) {
      Text& text = block.data()[i];
      const std::string& from = texts[static_cast<std::size_t>(first * across + i)];
      std::memset(text.bytes, 0, width);
      std::memcpy(text.bytes, from.data(), std::min(from.size(), width));
    }
    file.write_rows<Text>(name, first, std::as_const(block).view().middle(0, here));
  }
}

}  // namespace

void write_texts(data::ResultFile& file, const std::string& name, const std::vector<std::string>& texts,
                 std::int64_t columns) {
  std::size_t longest = 0;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  if (longest <= 16) return write_as<16>(file, name, texts, columns);
  if (longest <= 64) return write_as<64>(file, name, texts, columns);
  if (longest <= 256) return write_as<256>(file, name, texts, columns);
  write_as<4096>(file, name, texts, columns);  // the longest path
}

void write_files(data::ResultFile& file, const std::string& group, const data::PointSource& points) {
  const data::FileSet* set = points.set();
  if (set == nullptr) return;
  std::vector<std::string> names;
  std::vector<std::int64_t> first_rows, rows, bytes, checksums;
  for (const data::FileSet::File& one : set->files()) {
    names.push_back(one.relative);
    first_rows.push_back(one.first_row);
    rows.push_back(one.rows);
  }
  for (const data::InputMark& mark : set->names().marks()) {
    bytes.push_back(mark.bytes);
    checksums.push_back(std::int64_t{mark.checksum});
  }
  write_texts(file, group + "/name", names);
  file.dataset(group + "/first_row", std::span<const std::int64_t>(first_rows));
  file.dataset(group + "/rows", std::span<const std::int64_t>(rows));
  file.dataset(group + "/bytes", std::span<const std::int64_t>(bytes));
  file.dataset(group + "/checksum", std::span<const std::int64_t>(checksums));
}

void write_queries(data::ResultFile& file, const data::PointSource& queries) {
  file.attribute("queries", stored_name(queries.name()));
  write_files(file, "query_files", queries);
}

void write_head(data::ResultFile& file, const ResultHead& head, const data::PointSource& points) {
  write_origin(file, head.format, head.command);
  file.attribute("points", stored_name(points.name()));
  file.attribute("points_shape", std::vector<std::int64_t>{points.rows(), data::shown_columns(points)});
  // The type that the values are computed as: float16, float32 and uint8 files of equal values give equal results.
  const bool are_bits = points.row_bits().count > 0;
  file.attribute("points_type", std::string(are_bits                                  ? "bit"
                                            : points.value_class() == ValueClass::f32 ? "float32"
                                                                                      : "float64"));
  write_names(file, "columns", points.column_names());
  if (const auto indexed = points.indexed_columns()) file.attribute(kIndexBase, indexed->base);
  file.attribute("metric", std::string(name_of(head.metric)));
  file.attribute("class", std::string(name_of(head.value_class)));
  write_files(file, "files", points);
}

template <class T>
Matrix<T> convert_distances(MatrixView<const double> d, Unit unit, std::int64_t first) {
  constexpr bool is_narrow = sizeof(T) == sizeof(float);
  Matrix<T> out(d.rows, d.columns);
  for (std::int64_t i = 0; i < d.rows; ++i) {
    for (std::int64_t j = 0; j < d.columns; ++j) {
      const double distance = in_unit(d(i, j), unit);
      out(i, j) = static_cast<T>(distance);
      if (std::isfinite(out(i, j)) || std::isnan(d(i, j))) continue;
      const bool helps = is_narrow && std::isfinite(distance);
      throw Error(
          ExitCode::data,
          fmt::format("row {} (counted from 1): the {} distance{} exceeds the range of {}; {}", first + i + 1,
                      name_of(unit), helps ? fmt::format(" of {:g}", distance) : "", helps ? "float32" : "float64",
                      helps ? "give --precision f64" : "divide the values by a power of two"));
    }
  }
  return out;
}

template Matrix<float> convert_distances(MatrixView<const double>, Unit, std::int64_t);
template Matrix<double> convert_distances(MatrixView<const double>, Unit, std::int64_t);

void write_distances(data::ResultFile& file, std::span<const double> squared, ValueClass value_class) {
  const auto write = [&](auto zero) {
    using T = decltype(zero);
    const auto rows = static_cast<std::int64_t>(squared.size());
    const Matrix<T> roots = convert_distances<T>({squared.data(), rows, 1}, Unit::root, 0);
    file.dataset("distances", std::span<const T>(roots.data(), squared.size()));
  };
  value_class == ValueClass::f32 ? write(0.0F) : write(0.0);
  file.attribute("distances", std::string(name_of(Unit::root)));
}

void write_assignment(data::ResultFile& file, const KMeansResult& result) {
  file.dataset("labels", std::span<const std::int32_t>(result.labels));
  file.dataset("counts", std::span<const std::int64_t>(result.counts));
  if (!result.weights.empty()) file.dataset("weights", std::span<const double>(result.weights));
  file.dataset("inertia_per_cluster", std::span<const double>(result.inertia_per_cluster));
}

void write_iterations(data::ResultFile& file, const Iterations& before, const KMeansResult& result) {
  Iterations all = before;
  for (const IterationRecord& record : result.history) {
    all.inertia.push_back(record.inertia);
    all.shift.push_back(record.shift);
    all.changed.push_back(record.changed);
  }
  file.dataset("iteration_inertia", std::span<const double>(all.inertia));
  file.dataset("iteration_shift", std::span<const double>(all.shift));
  file.dataset("iteration_changed", std::span<const std::int64_t>(all.changed));
}

namespace {

/// k sum n_c^2 / n^2: 1 where all clusters have as many rows, k where one has them all. As in FAISS.
double imbalance_of(const std::vector<std::int64_t>& counts) {
  double rows = 0.0, squares = 0.0;
  for (const std::int64_t count : counts) {
    rows += static_cast<double>(count);
    squares += static_cast<double>(count) * static_cast<double>(count);
  }
  return static_cast<double>(counts.size()) * squares / (rows * rows);
}

}  // namespace

void note_iterations(Report& report, const KMeansResult& result) {
  report.iterations = result.history;
  report.runs = result.runs;
  report.kept_run = result.run;
  report.inertia = result.inertia;
  report.stopped_by = result.stopped_by;
  report.stopped_value = result.stopped_value;
  report.shift_threshold = result.shift_threshold;
  report.iterations_done = result.iterations;
  report.changed = result.changed;
  report.total_inertia = result.total_inertia;
}

ClusterReport cluster_report(const KMeansResult& result) {
  const auto [smallest, largest] = std::minmax_element(result.counts.begin(), result.counts.end());
  return {static_cast<std::int64_t>(result.counts.size()), *smallest, *largest, result.empty_clusters,
          imbalance_of(result.counts)};
}

double assignment_flops(std::int64_t rows, std::int64_t columns, std::int64_t clusters) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(clusters);
}

std::int64_t thread_bytes(std::int64_t tasks, std::int64_t bytes) {
  constexpr std::int64_t kUsual = std::int64_t{1} << 20;
  return std::min<std::int64_t>(usable_threads(), tasks) * std::max<std::int64_t>(bytes - kUsual, 0);
}

std::int64_t long_row_bytes(std::int64_t rows, std::int64_t columns, std::int64_t clusters, std::int64_t threads) {
  return cpu::long_row_bytes(rows, columns, clusters, threads);
}

std::int64_t assignment_bytes(const data::PointSource& points, const AssignmentMemory& memory) {
  constexpr std::int64_t kState = 16, kLabel = 4;  // the state is two labels and a distance
  constexpr std::int64_t kBound = 4, kNarrow = 8;  // of a row, if there are more columns
  constexpr std::int64_t kSeed = 8;                // the nearest seed and the candidates that are nearer, before labels
  constexpr std::int64_t kDistances = 12;          // as they are kept and as they are written
  constexpr std::int64_t kBytesPerValue = 64;      // centroids before and after, screened, two limbs of sums
  constexpr std::int64_t kUnscreened = 40;
  const std::int64_t results = memory.runs > 1 ? 2 : 1;  // the best one and that of the current run
  const std::int64_t bound = points.columns() > kNarrow ? kBound : 0;
  std::int64_t row = kState + std::max(results * kLabel + bound, memory.seeds ? kSeed : 0);
  if (memory.keeps_distances) row += kDistances + (results - 1) * 8;
  const std::int64_t centroids = checked_product(memory.clusters, points.columns(), "centroids");
  const bool is_screened = cpu::is_screened(points.rows(), points.columns(), memory.clusters);
  return long_row_bytes(points.rows(), points.columns(), memory.clusters, memory.threads) +
         checked_product(points.rows(), row, "rows") +
         checked_product(centroids, is_screened ? kBytesPerValue : kUnscreened, "centroids") +
         checked_product(points.rows(), listed_row_bytes(points, memory.clusters), "rows");
}

std::int64_t listed_row_bytes(const data::PointSource& points, std::int64_t clusters) {
  // Measured with outliers. Of few columns no screen but a local one has lists, and it does not pay with few clusters.
  constexpr std::int64_t kNarrow = 8, kFewClusters = 64, kOrder = 16;
  constexpr std::int64_t kVeryFewClusters = 16, kFewLists = 40, kLists = 60;
  if (points.columns() <= kNarrow) return clusters > kFewClusters ? kOrder : 0;
  return clusters > kVeryFewClusters ? kLists : kFewLists;
}

std::int64_t label_bytes(const data::PointSource& points, bool with_distances) {
  const std::int64_t a_distance = points.value_class() == ValueClass::f32 ? 4 : 8;
  return points.rows() * (4 + (with_distances ? a_distance : 0));
}

std::int64_t block_bytes(const BlockMemory& block) {
  const std::int64_t chosen = block.block_rows > 0 ? block.block_rows : block.usual_rows;
  return checked_product(std::clamp<std::int64_t>(chosen, 1, block.rows), block.row_bytes, "rows of one block");
}

std::string cluster_table(const KMeansResult& result) {
  const std::int64_t rows = std::accumulate(result.counts.begin(), result.counts.end(), std::int64_t{0});
  const bool nearest = !result.nearest_row.empty(), weighted = !result.weights.empty();
  TextTable table;
  const auto line = [&](const std::string& name, const std::string& points, const std::string& percent,
                        const std::string& weight, const std::string& inertia, const std::string& row) {
    std::vector<std::string> cells{name, points, percent};
    if (weighted) cells.push_back(weight);
    cells.push_back(inertia);
    if (nearest) cells.push_back(row);
    table.rows.push_back(std::move(cells));
  };
  const auto numbers = [&](const std::string& name, std::int64_t points, double weight, double inertia,
                           const std::string& row) {
    const double percent = 100.0 * static_cast<double>(points) / static_cast<double>(rows);
    line(name, std::to_string(points), fmt::format("{:.2f}", percent), shown_number(weight), shown_number(inertia),
         row);
  };
  line("cluster", "points", "percent", "weight", "inertia", "nearest row");
  for (std::size_t c = 0; c < result.counts.size(); ++c) {
    numbers(std::to_string(c), result.counts[c], weighted ? result.weights[c] : 0.0, result.inertia_per_cluster[c],
            nearest ? std::to_string(result.nearest_row[c]) : "");
  }
  numbers("all", rows, std::accumulate(result.weights.begin(), result.weights.end(), 0.0), result.inertia, "");
  table.columns.assign(table.rows[0].size(), Align::right);
  return lay_out(table, text_width(Stream::output));
}

nlohmann::ordered_json result_facts(const data::StoredResult& result) {
  Json all = attributes_of(result);
  Json sizes;
  if (result.has("counts")) {
    const std::vector<std::int64_t> counts = counts_of(result);
    all["k"] = counts.size();
    if (!counts.empty()) {
      const auto [smallest, largest] = std::minmax_element(counts.begin(), counts.end());
      sizes = {
          {"smallest", *smallest}, {"largest", *largest}, {"empty", std::ranges::count(counts, 0)}, {"counts", counts}};
    }
  } else if (const std::int64_t neighbors = number_in(result.text("command"), "--neighbors").value_or(0);
             neighbors > 0) {
    all["k"] = neighbors;
  } else if (result.format() == "kith-sweep" && result.has("k")) {
    Json numbers = Json::array();
    for (const double number : result.vector("k")) numbers.push_back(static_cast<std::int64_t>(number));
    all["k"] = numbers;
  }
  Json facts = Json::object();
  for (const char* name : kFirstFacts) {
    if (all.contains(name)) facts[name] = all[name];
  }
  for (const auto& [name, value] : all.items()) {
    if (!facts.contains(name)) facts[name] = value;
  }
  if (!sizes.is_null()) facts["sizes"] = sizes;
  return facts;
}

std::string result_text(const nlohmann::ordered_json& facts, std::size_t width) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const auto& [name, value] : facts.items()) {
    if (name == "format_version" || name == "kith_version" || name == "sizes") continue;
    std::string text = value_text(name, value);
    if (name == "format" && facts.contains("kith_version")) {
      text += fmt::format(", version {}, of kith {}", value_text("", facts["format_version"]),
                          value_text("", facts["kith_version"]));
    }
    std::string shown = name;
    std::replace(shown.begin(), shown.end(), '_', ' ');
    lines.emplace_back(std::move(shown), std::move(text));
  }
  if (facts.contains("sizes")) {
    const Json& sizes = facts["sizes"];
    lines.emplace_back("sizes", fmt::format("{} to {} rows, {} empty: {}", sizes["smallest"].get<std::int64_t>(),
                                            sizes["largest"].get<std::int64_t>(), sizes["empty"].get<std::int64_t>(),
                                            value_text("counts", sizes["counts"])));
  }
  std::size_t widest = 0;
  for (const auto& [name, text] : lines) widest = std::max(widest, name.size());
  std::string out;
  for (const auto& [name, text] : lines) {
    const std::string lead = fmt::format("  {:<{}}  ", visible(name), widest);
    out += lead.size() <= width / 2 ? hang(lead, wrap(visible(text), width - lead.size()))
                                    : hang("  ", {visible(name)}) + hang("    ", wrap(visible(text), width - 4));
  }
  return out;
}

std::vector<Score> scores_for(ScoreUse use) {
  std::vector<Score> scores;
  for (const Score& score : kScores) {
    if ((score.uses & static_cast<unsigned>(use)) != 0) scores.push_back(score);
  }
  return scores;
}

}  // namespace kith::app
