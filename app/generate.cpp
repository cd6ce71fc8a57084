// kith generate: synthetic points in a file, labelled with their cluster.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "app/cli/layout.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "app/run/job.h"
#include "app/run/memory.h"
#include "app/run/results.h"
#include "app/synthetic/synthetic.h"
#include "data/results/other_formats.h"
#include "data/results/table_file.h"

namespace kith::app {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{32} << 20;  // rows are generated and written in blocks of this size

struct GenerateOptions {
  std::string target;
  std::string kind = "blobs";
  std::string type = "float32";
  double duplicates = 0.0;
  Recipe recipe;
  CommonOptions common;
};

HelpGroup list_of_kinds() {
  HelpGroup group{"Kinds", {}};
  for (const Kind& kind : kinds()) {
    const std::string clusters = kind.clusters > 0 ? " " + unbreakable(fmt::format("[K: {}]", kind.clusters)) : "";
    group.lines.push_back({kind.name, kind.summary + clusters});
  }
  return group;
}

void declare(OptionSet& set, GenerateOptions& options) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  Recipe& recipe = options.recipe;
  set.positional({.names = "OUT",
                  .help = "FILE[:DATASET] to write, HDF5; the default dataset is /points. Or FILE.npy, an array "
                          "without the clusters, or FILE.csv, .parquet or .arrow, a table with the columns x1, x2, ... "
                          "and label.",
                  .required = "the file to write"},
                 options.target);
  set.choice({.names = "--kind", .value = "NAME", .help = "One of the kinds below.", .stored = Stored::always},
             kind_names(), options.kind);
  set.integer({.names = "-n,--rows", .value = "N", .help = "Number of points.", .stored = Stored::always}, {1, kMost},
              recipe.rows);
  set.integer({.names = "-d,--columns", .value = "D", .help = "Number of values per point.", .stored = Stored::always},
              {1, kMost}, recipe.columns);
  set.integer({.names = "-k,--clusters",
               .value = "K",
               .help = "Number of blobs or shells; the number of each row is written to /labels, or in a column.",
               .shown_default = "depends on the kind",
               .stored = Stored::if_used,
               .no_effect = {[&options] {
                 const bool has_clusters = kind_of(options.kind, "--kind").clusters > 0;
                 return has_clusters ? std::string() : options.kind + " points have no clusters";
               }}},
              {1, std::numeric_limits<std::int32_t>::max()}, recipe.clusters);
  set.choice({.names = "--type",
              .value = "T",
              .help = "Element type: float32, float64, uint8, int32 or int64.",
              .stored = Stored::always},
             {"float32", "float64", "uint8", "int32", "int64"}, options.type);
  set.flag({.names = "--integers",
            .help = "Whole numbers from 0 to 255, as for integer types.",
            .stored = Stored::if_changed},
           recipe.integers);
  set.number({.names = "--offset", .value = "X", .help = "Number to add to every value.", .stored = Stored::always},
             recipe.offset);
  set.number({.names = "--duplicates",
              .value = "SHARE",
              .help = "Share of rows that repeat an earlier row, from 0 to below 1.",
              .stored = Stored::always},
             options.duplicates);
  set.begin_common();
  set.flag({.names = "-f,--force", .help = "Replace an existing file.", .section = Section::output},
           options.common.force);
  add_seed_option(set, options.common);
  add_thread_option(set, options.common);
  add_message_options(set, options.common);
  add_memory_option(set, options.common);
  set["--seed"].stored.when = Stored::always;
}

/// Memory for centers or directions, a block of rows, a row for each thread, and the labels.
std::int64_t bytes_of(const Recipe& recipe) {
  constexpr std::int64_t kDirections = 8, kThreadBytes = std::int64_t{1} << 20;
  const std::int64_t row = checked_product(recipe.columns, sizeof(double), "--columns");
  const std::int64_t common = recipe.kind->common == nullptr ? 0 : std::max(recipe.clusters, kDirections);
  const std::int64_t labels = recipe.kind->clusters > 0 ? recipe.rows * 4 : 0;
  const std::int64_t block =
      std::min(std::max(kBlockBytes, row), checked_product(row, recipe.rows, "--rows x --columns"));
  return checked_product(row, common + 1, "--clusters x --columns") + block + kThreadBytes + labels;
}

[[noreturn]] void refuse(const std::string& message) { throw Error(ExitCode::usage, message); }

/// Completes the recipe from the options. Throws Error(usage) if it does not suit the type.
void complete(GenerateOptions& options) {
  Recipe& recipe = options.recipe;
  recipe.kind = &kind_of(options.kind, "--kind");
  recipe.seed = options.common.seed;
  if (recipe.rows >
      std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(sizeof(double)) / recipe.columns) {
    refuse(fmt::format("--rows x --columns: expected less than 2^60 values, found {} x {}; give smaller numbers",
                       recipe.rows, recipe.columns));
  }
  if (!(options.duplicates >= 0.0 && options.duplicates < 1.0)) {
    refuse(fmt::format("--duplicates: expected a share from 0 to below 1, found {}", options.duplicates));
  }
  if (recipe.kind->clusters > 0 && recipe.clusters > recipe.rows) {
    refuse(fmt::format("--clusters: expected at most {}, the number of points (-n), found {}", recipe.rows,
                       recipe.clusters));
  }
  if (recipe.clusters == 0) recipe.clusters = recipe.kind->clusters;
  recipe.duplicates = static_cast<std::int64_t>(options.duplicates * static_cast<double>(recipe.rows));
  if (options.type == "float32" && std::abs(recipe.offset) > std::numeric_limits<float>::max()) {
    refuse(
        fmt::format("--offset: expected a number from {0:g} to {1:g} with --type float32, found {2:g}; give --type "
                    "float64",
                    std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max(), recipe.offset));
  }
  if (options.type == "float32" || options.type == "float64") return;
  recipe.integers = true;
  const double most = options.type == "uint8" ? 0.0 : options.type == "int32" ? 0x1p31 - 256.0 : 0x1p52;
  if (std::rint(recipe.offset) != recipe.offset || !(std::abs(recipe.offset) <= most)) {
    refuse(fmt::format("--offset: expected {} with --type {}, found {}",
                       most > 0 ? fmt::format("a whole number from {:.0f} to {:.0f}", -most, most) : "0", options.type,
                       recipe.offset));
  }
}

/// Calls write(first row, rows) for all points, block after block.
template <class T, class Write>
void write_blocks(const Synthetic& synthetic, const Recipe& recipe, Threads& threads, Job& job, const Write& write) {
  const std::int64_t block =
      std::clamp<std::int64_t>(kBlockBytes / (recipe.columns * static_cast<std::int64_t>(sizeof(T))), 1, recipe.rows);
  Matrix<T> values(block, recipe.columns);
  job.progress.phase("generate", recipe.rows);
  for (std::int64_t first = 0; first < recipe.rows; first += block) {
    const std::int64_t here = std::min(block, recipe.rows - first);
    synthetic.fill(first, values.view().middle(0, here), threads);
    {
      const PhaseWithin phase(job.progress, "write");
      write(first, MatrixView<const T>(values.view().middle(0, here)));
    }
    job.progress.progress(first + here);
  }
}

template <class T>
void write_points(data::ResultFile& file, const std::string& dataset, const Recipe& recipe, Threads& threads,
                  Job& job) {
  const Synthetic synthetic(recipe);
  file.create_matrix<T>(dataset, recipe.rows, recipe.columns);
  write_blocks<T>(synthetic, recipe, threads, job,
                  [&](std::int64_t first, MatrixView<const T> rows) { file.write_rows<T>(dataset, first, rows); });
  if (recipe.kind->clusters == 0) return;
  std::vector<std::int32_t> labels(static_cast<std::size_t>(recipe.rows));
  for (std::int64_t i = 0; i < recipe.rows; ++i) labels[i] = synthetic.label(i);
  file.dataset("labels", std::span<const std::int32_t>(labels));
}

/// An array of NumPy, or a table whose columns have names.
template <class T>
void write_other(const data::Location& target, const data::OutputOptions& output, const char* type,
                 const Recipe& recipe, Threads& threads, Job& job) {
  const Synthetic synthetic(recipe);
  if (data::RowOutput::makes_records(target.file)) {
    data::OutputBytes out(target.file, output);
    out.write(data::numpy_head(fmt::format("'{}'", type), {recipe.rows, recipe.columns}));
    write_blocks<T>(synthetic, recipe, threads, job, [&](std::int64_t, MatrixView<const T> rows) {
      out.write(rows.data, static_cast<std::size_t>(rows.size()) * sizeof(T));
    });
    return out.publish();
  }
  using Value = std::conditional_t<sizeof(T) == 1, std::int32_t, T>;  // tables have no bytes
  std::vector<data::ArrowField> fields;
  for (std::int64_t j = 0; j < recipe.columns; ++j)
    fields.push_back({fmt::format("x{}", j + 1), data::arrow_type<Value>()});
  const bool labelled = recipe.kind->clusters > 0;
  if (labelled) fields.push_back({"label", data::ArrowType::int32});
  data::RowOutput out(target.file, output, fields, {});
  write_blocks<T>(synthetic, recipe, threads, job, [&](std::int64_t first, MatrixView<const T> rows) {
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      for (const T value : rows.row(i)) out.add(Value{value});
      if (labelled) out.add(std::int32_t{synthetic.label(first + i)});
      out.end_row();
    }
  });
  out.finish();
}

}  // namespace

int run_generate(const Arguments& arguments) {
  GenerateOptions options;
  OptionSet set({.command = "generate",
                 .summary = "synthetic points, with and without structure.",
                 .usage = "OUT [options]",
                 .examples = {"kith generate blobs.h5 -n 100000 -d 16 -k 20 --seed 1",
                              "kith generate tied.h5:/train --kind uniform -n 5000 -d 4 --type uint8 --duplicates 0.2",
                              "kith generate far.h5 --kind shells -d 3 -k 4 --offset 1e6 --type float64"},
                 .list = list_of_kinds()});
  declare(set, options);
  if (!set.parse(arguments)) return 0;
  complete(options);
  const data::Location target = data::parse_location(options.target);
  const std::string dataset = target.dataset.empty() ? "points" : target.dataset.substr(target.dataset[0] == '/');
  const bool labelled = options.recipe.kind->clusters > 0;
  if (dataset.empty() || dataset.find('/') != std::string::npos || (labelled && dataset == "labels")) {
    refuse(fmt::format("{}: expected a dataset at the root of the file other than /labels, such as /points",
                       options.target));
  }
  const bool is_other = data::RowOutput::makes_records(target.file) || data::has_ending(target.file, ".csv") ||
                        data::is_table_file(target.file);
  if (is_other && !target.dataset.empty())
    refuse(fmt::format("{}: expected {} alone, which has no datasets", options.target, target.file));
  Job job("generate", options.common);
  data::OutputOptions output = output_options(options.common, {});
  output.endings = {".h5", ".npy", ".csv", ".parquet", ".arrow"};
  data::check_output(target.file, output);
  data::check_table_file(target.file);
  job.warn(set);
  job.report.seed = options.common.seed;
  job.report.points = PointsReport{is_other ? target.file : fmt::format("{}:/{}", target.file, dataset),
                                   options.recipe.rows, options.recipe.columns, options.type, false};

  require_memory(bytes_of(options.recipe), target.file, options.common.memory);
  if (options.common.dry_run) return 0;

  Threads threads(static_cast<int>(options.common.threads));
  job.report.backend = "cpu";
  job.report.threads = threads.count();
  std::optional<data::ResultFile> file;
  if (!is_other) write_origin(file.emplace(target.file, output), "kith-points", set.stored_command({}));
  const auto write = [&](auto zero, const char* type) {
    using T = decltype(zero);
    if (file) return write_points<T>(*file, dataset, options.recipe, threads, job);
    write_other<T>(target, output, type, options.recipe, threads, job);
  };
  if (options.type == "float32") write(float{}, "<f4");
  if (options.type == "float64") write(double{}, "<f8");
  if (options.type == "uint8") write(std::uint8_t{}, "|u1");
  if (options.type == "int32") write(std::int32_t{}, "<i4");
  if (options.type == "int64") write(std::int64_t{}, "<i8");
  job.progress.phase("write", 0);
  if (file) file->finish();
  job.wrote(target.file);
  const bool has_column = is_other && !data::RowOutput::makes_records(target.file);
  job.close(labelled ? fmt::format("kith cluster {} -k {}{} -o clusters.h5", shell_word(options.target),
                                   std::min(options.recipe.clusters, options.recipe.rows),
                                   has_column ? " --label-column label" : "")
                     : fmt::format("kith knn {} -k 5 -o neighbors.h5", shell_word(options.target)));
  return 0;
}

}  // namespace kith::app
