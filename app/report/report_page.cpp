// kith report: a page with pictures of a result.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "app/cli/terminal.h"
#include "app/cli/units.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "app/evaluate/suggestion.h"
#include "app/report/clustered_points.h"
#include "app/run/dropped_rows.h"
#include "app/run/held_points.h"
#include "app/run/results.h"
#include "core/error.h"
#include "data/results/other_formats.h"
#include "data/results/stored_result.h"
#include "pictures/pictures.h"

namespace kith::app {
namespace {

std::vector<double> values_of(const data::StoredResult& result, const char* dataset, std::size_t count) {
  std::vector<double> values = result.vector(dataset);
  if (values.size() == count) return values;
  throw Error(ExitCode::data, fmt::format("{}:/{}: expected {} values, one for each number of clusters, found {}; the "
                                          "file has been changed, sweep again",
                                          result.file(), dataset, count, values.size()));
}

std::string cell(double value) { return std::isfinite(value) ? shown_number(value) : ""; }

std::string better_of(const Score& score) {
  if (score.value == &Scores::inertia) return "look for the knee";
  return score.higher_is_better ? "larger is better" : "smaller is better";
}

pictures::Table table_of(const SweepScores& scores) {
  pictures::Table table{"Scores", {"clusters"}, {}};
  for (const auto& [score, values] : scores.columns) table.head.push_back(scores.name(score));
  for (std::size_t i = 0; i < scores.clusters.size(); ++i) {
    std::vector<std::string> row{fmt::format("{:.0f}", scores.clusters[i])}, classes{""};
    for (const auto& [score, values] : scores.columns) {
      row.push_back(cell(values[i]));
      classes.emplace_back(preferred(scores, score) == i ? "best" : "");
    }
    table.rows.push_back(std::move(row));
    table.classes.push_back(std::move(classes));
  }
  table.note = "Bold: the choice of each criterion, as in the pictures. kith info --json and the file have all digits.";
  return table;
}

/// The page of a result of kith sweep: scores against the number of clusters. Throws Error(data) if they do not fit.
pictures::Page sweep_page(const data::StoredResult& result) {
  const std::string command = result.text("command");
  SweepScores scores{
      result.vector("k"), {}, command.find(" --silhouette simplified") != command.npos ? "simplified" : "exact"};
  for (const Score& score : scores_for(ScoreUse::sweep)) {
    if (result.has(score.name))
      scores.columns.emplace_back(score, values_of(result, score.name, scores.clusters.size()));
  }
  const std::string file = std::filesystem::path(result.file()).filename().string();
  pictures::Page page{.title = fmt::format("{}: {} numbers of clusters", file, scores.clusters.size())};
  page.facts.emplace_back("Command", fmt::format("kith {}", command));
  std::optional<double> suggested;
  if (const auto stored = result.whole("suggested"); stored && *stored > 0) {
    suggested = static_cast<double>(*stored);
    page.facts.emplace_back("Suggestion", fmt::format("k = {}: {}", *stored, result.text("reason")));
  }
  page.facts.emplace_back("Made by", fmt::format("kith {}", result.text("kith_version")));
  if (const Suggestion suggestion = suggestion_of(scores); !suggestion.disagreement.empty()) {
    page.notes.push_back(fmt::format("Warning: {}.", suggestion.disagreement));
  }
  for (const auto& [score, values] : scores.columns) {
    if (score.value == &Scores::gap_error) continue;
    const pictures::SweepCurve curve{score.name, scores.name(score),       better_of(score),       score.meaning,
                                     values,     preferred(scores, score), !score.higher_is_better};
    page.pictures.push_back(pictures::sweep(scores.clusters, curve, suggested, static_cast<int>(page.pictures.size())));
  }
  page.tables.push_back(table_of(scores));
  return page;
}

struct ReportOptions {
  std::string result;
  std::string points;
  std::string tile;
  std::string svg;
  CommonOptions common;
};

void declare(OptionSet& set, ReportOptions& options) {
  set.positional({.names = "RESULT", .help = "A result of kith cluster or kith sweep."}, options.result);
  set.text(
      {.names = "--points",
       .value = "POINTS",
       .help = "The points that were clustered, FILE:DATASET. Their columns are found by name; other options about "
               "the table are those of that run, unless they are given here.",
       .shown_default = "the file that RESULT names, in this folder or beside RESULT",
       .input = Input::table},
      options.points);
  set.text({.names = "--tile",
            .value = "RxC",
            .help = "Points are images of R rows and C columns: show the centroids as images, as in --tile 8x8."},
           options.tile);
  set.text({.names = "--svg",
            .value = "FOLDER",
            .help = "Also write each picture to a file in this folder.",
            .section = Section::output},
           options.svg);
  set.begin_common();
  set.text({.names = "-o,--output",
            .value = "FILE",
            .help = "Write the page to this file, as in -o page.html; it appears only when it is complete.",
            .section = Section::output,
            .shown_default = "standard output"},
           options.common.output);
  set.flag({.names = "-f,--force",
            .help = "Replace existing output files. Inputs are never replaced.",
            .section = Section::output},
           options.common.force);
  add_thread_option(set, options.common);
  add_memory_option(set, options.common);
  add_scratch_option(set, options.common);
  add_input_options(set, options.common);
  add_missing_options(set, options.common, true, "What the run did with NaN, infinity and missing values of text.");
  add_message_options(set, options.common);
}

/// Parses "8x8", an image with one value per column of the points.
pictures::TileShape tile_of(const std::string& text, std::int64_t columns) {
  constexpr Range kSides{1, std::int64_t{1} << 20};
  const std::size_t cross = text.find('x');
  if (cross != text.npos) {
    const pictures::TileShape shape{parse_integer(text.substr(0, cross), "--tile", kSides),
                                    parse_integer(text.substr(cross + 1), "--tile", kSides)};
    if (shape.rows * shape.columns == columns) return shape;
  }
  throw Error(ExitCode::usage,
              fmt::format("--tile: expected rows x columns of images with {} values, one for each column "
                          "of the points, as in --tile 8x8, found '{}'",
                          columns, text));
}

std::string stop_of(const data::StoredResult& result) {
  const std::string rule = result.text("stopped_by");
  const double value = result.number("stopped_value").value_or(0.0);
  if (rule == "labels") return "converged (no label changed)";
  if (rule == "tolerance") return fmt::format("converged (squared shift {:.4g}, within the tolerance)", value);
  return "stopped at the limit before convergence";
}

std::vector<std::pair<std::string, std::string>> facts_of(const data::StoredResult& result) {
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("Command", fmt::format("kith {}", result.text("command")));
  const std::vector<std::int64_t> shape = result.wholes("points_shape");
  if (shape.size() == 2) {
    facts.emplace_back("Points",
                       fmt::format("{}, {} x {} (rows x columns)", result.text("points"), shape[0], shape[1]));
  }
  if (result.has("counts")) facts.emplace_back("Clusters", fmt::format("{}", result.vector("counts").size()));
  const auto inertia = result.number("inertia"), total = result.number("totss");
  if (inertia && total && *total > 0.0) {
    facts.emplace_back("Inertia", fmt::format("{}; the clusters explain {:.1f} % of the variance", cell(*inertia),
                                              100.0 * (*total - *inertia) / *total));
  } else if (inertia) {
    facts.emplace_back("Inertia", cell(*inertia));
  }
  if (const auto iterations = result.whole("iterations")) {
    facts.emplace_back("Iterations", fmt::format("{}; {}", *iterations, stop_of(result)));
  }
  if (const auto runs = result.whole("n_init"); runs && *runs > 1) {
    facts.emplace_back("Runs",
                       fmt::format("{}; run {} has the lowest inertia", *runs, result.whole("run").value_or(0) + 1));
  }
  facts.emplace_back("Made by", fmt::format("kith {}", result.text("kith_version")));
  return facts;
}

double rows_in(const std::vector<std::int64_t>& counts) {
  return static_cast<double>(std::max<std::int64_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 1));
}

/// A line for each cluster, or for the largest 500.
pictures::Table table_of(const data::StoredResult& result, const Clustering& clustering) {
  constexpr std::size_t kMostLines = 500;
  pictures::Table table{"Clusters", {"cluster", "rows", "percent", "inertia", "inertia per row", "nearest row"}, {}};
  const std::vector<double> inertia = result.vector("inertia_per_cluster"), nearest = result.vector("nearest_row");
  const double rows = rows_in(clustering.counts);
  std::vector<std::int64_t> shown(clustering.counts.size());
  std::iota(shown.begin(), shown.end(), std::int64_t{0});
  if (shown.size() > kMostLines) {
    shown = pictures::largest_clusters(clustering.counts, kMostLines);
    table.note = fmt::format("The {} largest of {} clusters. ", shown.size(), clustering.counts.size());
  }
  table.is_folded = pictures::shown_clusters(clustering.counts).size() < clustering.counts.size();
  if (table.is_folded) table.title = fmt::format("Table of the clusters ({})", clustering.counts.size());
  table.note +=
      "Inertia: the sum of the squared distances of the rows to their centroid. Nearest row: the number, "
      "from 0, of the row nearest to the centroid, the most typical one.";
  for (const std::int64_t c : shown) {
    const double count = static_cast<double>(clustering.counts[c]);
    table.rows.push_back({std::to_string(c), std::to_string(clustering.counts[c]),
                          fmt::format("{:.2f}", 100.0 * count / rows), cell(inertia[c]),
                          count > 0.0 ? cell(inertia[c] / count) : "", fmt::format("{:.0f}", nearest[c])});
  }
  return table;
}

/// How far a cluster lies above (or, below 0, below) all rows in a column, in standard deviations within the clusters.
double difference_of(const ProfileValue& value) { return value.difference < 0.0 ? -value.order : value.order; }

/// The columns of the file, and in each the differences of the clusters.
pictures::CentroidMap map_of(const Profile& profile) {
  const auto clusters = std::ssize(profile.clusters), columns = std::ssize(profile.columns);
  pictures::CentroidMap map{Matrix<double>(clusters, columns), {}, "standard deviations within the clusters"};
  for (const ProfileColumn& column : profile.columns) map.names.push_back(column.name);
  for (std::int64_t c = 0; c < clusters; ++c) {
    for (std::int64_t j = 0; j < columns; ++j) {
      map.differences(c, j) = difference_of(profile.clusters[static_cast<std::size_t>(c)][static_cast<std::size_t>(j)]);
    }
  }
  return map;
}

/// The map of a report without the points: centroids minus the mean of all, in standard deviations of the centroids.
pictures::CentroidMap map_of(const Clustering& clustering) {
  const std::int64_t clusters = clustering.centroids.rows(), columns = clustering.centroids.columns();
  pictures::CentroidMap map{Matrix<double>(clusters, columns), clustering.names,
                            "standard deviations of the centroids, weighted by their rows"};
  const double rows = rows_in(clustering.counts);
  for (std::int64_t j = 0; j < columns; ++j) {
    double mean = 0.0, squares = 0.0;
    for (std::int64_t c = 0; c < clusters; ++c) {
      mean += static_cast<double>(clustering.counts[c]) * clustering.means(c, j) / rows;
    }
    for (std::int64_t c = 0; c < clusters; ++c) {
      const double difference = clustering.means(c, j) - mean;
      squares += static_cast<double>(clustering.counts[c]) * difference * difference / rows;
    }
    for (std::int64_t c = 0; c < clusters; ++c) {
      map.differences(c, j) = squares > 0.0 ? (clustering.means(c, j) - mean) / std::sqrt(squares) : 0.0;
    }
  }
  return map;
}

/// A line for each column of the file, those first in which the clusters differ most, and a column for each cluster.
pictures::Table table_of(const Profile& profile) {
  // Columns that have only numbers say little, also on a page.
  const bool is_unnamed = std::ranges::all_of(
      profile.columns, [](const ProfileColumn& column) { return column.name.starts_with("column "); });
  const std::size_t most_lines = is_unnamed ? 12 : 40;
  const std::vector<std::int64_t> clusters = pictures::shown_clusters(profile.counts);
  pictures::Table table{"What the clusters are, in the units of the file", {"", "all rows"}, {}};
  table.texts = 1;
  std::vector<std::string> sizes{"rows", cell(rows_in(profile.counts))};
  for (const std::int64_t c : clusters) {
    const auto cluster = static_cast<std::size_t>(c);
    table.head.push_back(fmt::format("cluster {}", c));
    sizes.push_back(fmt::format("{} ({:.1f} %)", cell(static_cast<double>(profile.counts[cluster])),
                                100.0 * profile.share(cluster)));
  }
  table.rows.push_back(std::move(sizes));
  table.classes.emplace_back();
  std::vector<double> most(profile.columns.size(), 0.0);
  for (const std::int64_t c : clusters) {
    const auto& values = profile.clusters[static_cast<std::size_t>(c)];
    for (std::size_t j = 0; j < most.size(); ++j) most[j] = std::max(most[j], values[j].order);
  }
  std::vector<std::size_t> order(most.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return most[a] > most[b]; });
  order.resize(std::min(order.size(), most_lines));
  for (const std::size_t j : order) {
    const ProfileColumn& column = profile.columns[j];
    std::vector<std::string> line{column.name, shown_value(column, profile.all[j])}, classes{"", ""};
    for (const std::int64_t c : clusters) {
      const ProfileValue& value = profile.clusters[static_cast<std::size_t>(c)][j];
      line.push_back(shown_value(column, value));
      classes.push_back(pictures::heat_class(difference_of(value)));
    }
    table.rows.push_back(std::move(line));
    table.classes.push_back(std::move(classes));
  }
  table.note = pictures::note_on_clusters(clusters.size(), profile.counts);
  if (order.size() < most.size()) {
    table.note += fmt::format(" The {} of {} columns in which a cluster differs most.", order.size(), most.size());
  }
  table.note +=
      " Means of numbers, of texts the commonest with its share. Orange cells are above all rows, blue ones "
      "below; the stronger the colour, the farther (in standard deviations within the clusters).";
  table.note.erase(0, table.note.find_first_not_of(' '));
  return table;
}

/// columns: of the prepared points
pictures::RunHistory history_of(const data::StoredResult& result, std::int64_t columns) {
  pictures::RunHistory history{result.vector("iteration_inertia"), result.vector("iteration_shift"),
                               result.text("stopped_by"), 0.0};
  const auto total = result.number("totss"), tolerance = result.number("tolerance");
  const std::vector<std::int64_t> shape = result.wholes("points_shape");
  if (total && tolerance && shape.size() == 2) {
    const std::int64_t rows = shape[0] - result.whole("dropped_rows").value_or(0);
    const double weight = result.number("total_weight").value_or(static_cast<double>(rows));
    // n rows of length 1 with a mean of length m: 2 n (1 - m) around its direction, n (1 - m^2) around itself.
    const bool is_cosine = takes_directions(metric_named(result.text("metric")));
    const double spread = is_cosine ? *total - *total * *total / (4.0 * weight) : *total;
    history.threshold = *tolerance * (spread / weight / static_cast<double>(columns));
  }
  return history;
}

pictures::Page page_of(const data::StoredResult& result, const ReportOptions& options,
                       const std::vector<std::string>& columns, Job& job) {
  const Clustering clustering(result);
  const std::string file = std::filesystem::path(result.file()).filename().string();
  pictures::Page page{.title = fmt::format("{}: {} clusters", file, clustering.counts.size()),
                      .facts = facts_of(result)};
  std::optional<pictures::TileShape> tile;
  if (!options.tile.empty()) tile = tile_of(options.tile, clustering.centroids.columns());
  std::optional<ClusteredPoints> points;
  if (const auto location = find_points(result, options.points)) {
    points = read_clustered_points(*location, result, clustering, columns, job);
    if (!points->doubt.empty()) page.notes.push_back(points->doubt);
  } else {
    page.notes.push_back(
        fmt::format("The points, {}, were not found, so their pictures are missing; --points FILE gives "
                    "their location.",
                    result.text("points")));
    job.progress.warning(page.notes.back());
  }
  if (result.number("total_weight")) {
    page.notes.emplace_back("The rows are weighted: inertia and centroids use the weights, the pictures count rows.");
  }
  const ClusteredPoints* read = points ? &*points : nullptr;
  job.progress.phase("draw", 0);
  const Profile* profile = read != nullptr && read->profile ? &*read->profile : nullptr;
  if (profile != nullptr) page.answers.push_back(table_of(*profile));
  page.pictures.push_back(pictures::sizes(clustering.counts));
  if (read != nullptr) page.pictures.push_back(pictures::scatter(read->plane, read->labels, clustering.counts));
  if (tile) page.pictures.push_back(pictures::tiles(clustering.centroids.view(), *tile, clustering.counts));
  page.pictures.push_back(
      pictures::centroid_map(profile != nullptr ? map_of(*profile) : map_of(clustering), clustering.counts));
  if (read != nullptr && read->silhouettes) {
    page.pictures.push_back(pictures::silhouettes(*read->silhouettes, clustering.counts));
  } else if (read != nullptr && pictures::shown_clusters(clustering.counts).size() > 1) {
    page.notes.push_back(fmt::format(
        "The silhouettes of so many values would take long, so they are missing; kith evaluate {} --points {} "
        "--sample 100 computes some.",
        shell_word(result.file()), shell_word(result.text("points"))));
  }
  if (read != nullptr) {
    page.pictures.push_back(pictures::distances(read->distances, read->labels, clustering.counts));
  }
  // Bisecting has iterations of each split alone.
  const bool has_history = result.has("iteration_inertia") && !result.has("tree_parent");
  if (has_history && result.whole("iterations").value_or(0) > 0) {
    auto drawn = pictures::iterations(history_of(result, clustering.centroids.columns()));
    if (drawn) page.pictures.push_back(std::move(*drawn));
  }
  page.tables.push_back(table_of(result, clustering));
  return page;
}

void write_pictures(const pictures::Page& page, const std::string& folder, data::OutputOptions output) {
  output.endings = {".svg"};
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw Error(ExitCode::output, fmt::format("--svg {}: {}", folder, failure.message()));
  for (const pictures::Picture& picture : page.pictures) {
    data::write_text_file(fmt::format("{}/{}.svg", folder, picture.name), output, pictures::svg_file(picture));
  }
}

}  // namespace

int run_report(const Arguments& arguments) {
  ReportOptions options;
  OptionSet set(
      {.command = "report",
       .summary = "a page with pictures of a result.",
       .usage = "RESULT [-o PAGE.html] [options]",
       .examples = {"kith report clusters.h5 -o page.html",
                    "kith report clusters.h5 --points ../points.h5:/train --tile 8x8 -o page.html",
                    "kith report clusters.h5 --svg pictures -o page.html", "kith report sweep.h5 -o sweep.html"}});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  if (options.result.empty()) set.refuse_missing("RESULT, the file with the result,");
  std::string& target = options.common.output;
  if (target == "-") target.clear();
  const bool is_shown = target.empty() && options.svg.empty() && !options.common.json;
  if (is_shown && isatty(STDOUT_FILENO) != 0) {
    throw Error(ExitCode::usage, "refusing to write HTML to a terminal; give -o page.html");
  }
  const data::StoredResult result(options.result);
  const bool is_sweep = result.format() == "kith-sweep";
  if (result.format() != "kith-clusters" && !is_sweep) {
    throw Error(ExitCode::data, fmt::format("{}: expected a result of kith cluster or kith sweep, found one of format "
                                            "{}",
                                            options.result, result.format()));
  }
  const std::vector<std::string> columns = take_input_options(result, options.common);
  Job job("report", options.common);
  data::OutputOptions output = output_options(options.common, {options.result});
  if (const auto points = find_points(result, options.points)) {
    output.inputs.push_back(data::parse_location(*points).file);
  }
  output.endings = {".html", ".htm"};
  if (!target.empty()) data::check_output(target, output);
  set["--force"].no_effect = {
      when([&] { return target.empty() && options.svg.empty(); }, "there is no --output and no --svg")};
  for (const char* option : {"--points", "--tile", "--columns", "--drop-columns"}) {
    set[option].no_effect = {when([is_sweep] { return is_sweep; }, "the page of a sweep shows only scores")};
  }
  job.warn(set);
  if (options.common.dry_run) return 0;
  const pictures::Page page = is_sweep ? sweep_page(result) : page_of(result, options, columns, job);
  job.progress.phase("write", 0);
  if (!options.svg.empty()) {
    write_pictures(page, options.svg, output);
    job.report.output = options.svg;
  }
  if (!target.empty()) {
    data::write_text_file(target, output, pictures::html(page));
    job.wrote(target);
  } else if (is_shown) {
    print_out(pictures::html(page));
  }
  job.close(target.empty() ? "" : fmt::format("open {} in a browser", target));
  return 0;
}

}  // namespace kith::app
