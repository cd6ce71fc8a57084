// What each option of kith knn means, and what it cannot be combined with.
#include "app/knn/knn.h"

#include <fmt/format.h>

#include "app/run/dropped_rows.h"
#include "app/run/follow.h"
#include "app/run/preparation.h"
#include "data/results/other_formats.h"
#include "data/results/table_file.h"

namespace kith::app {
namespace {

/// Which results --nan drop supports: lists can contain rows without neighbours; graphs, comparisons and other formats
/// cannot.
std::string unsupported_drop(const KnnOptions& options) {
  const char* result = options.makes_graph()                       ? "a graph"
                       : options.uses_lists()                      ? "--classify or --outliers"
                       : !options.truth.empty()                    ? "--truth"
                       : options.list_format() != ListFormat::kith ? "another --format"
                                                                   : nullptr;
  if (options.common.nan != "drop" || result == nullptr) return "";
  return fmt::format("--nan drop: expected lists of -k in kith's format, found {}; remove such rows from the file",
                     result);
}

std::string unsupported_format(const KnnOptions& options) {
  if (!options.makes_graph() || options.list_format() == ListFormat::kith) return "";
  return fmt::format(
      "--format: expected kith, or an output name that ends with .csv, for a graph, found {}; the other formats hold "
      "lists of equal length only",
      options.format == "auto" ? options.common.output : options.format);
}

std::string unused_squared(const KnnOptions& options) {
  if (options.unit() != Unit::squared && options.unit() != Unit::root)
    return "only Euclidean distances are square roots";
  const bool prints_lists = options.truth.empty() && !options.common.json;
  if (options.components || (options.common.output.empty() && !prints_lists)) return "no distances are written";
  return options.list_format() != ListFormat::kith ? "the output format defines its distances" : "";
}

/// Texts stand beside answers in text and in tables.
std::string unjoined_format(const KnnOptions& options) {
  const std::string& output = options.common.output;
  const bool has_texts =
      output.empty() || data::label_format(output) == data::LabelFormat::csv || data::is_table_file(output);
  if (has_texts && options.list_format() == ListFormat::kith) return "";
  return fmt::format(
      "--join: expected an --output that ends with .csv, .parquet or .arrow, or none, found {}; give "
      "-o ANSWERS.csv",
      output);
}

void declare_graph(OptionSet& set, KnnOptions& options) {
  constexpr int kGraph = position::kTask + 1;
  set.flag({.names = "--graph",
            .help = "Write the neighbour lists of BASE as a graph: compressed sparse rows (CSR).",
            .stored = {Stored::if_changed, kGraph},
            .excludes = {"--radius", "--min-cosine", "--queries"}},
           options.graph);
  set.flag({.names = "--symmetric",
            .help = "Add an edge between two rows if either lists the other.",
            .stored = {Stored::if_changed, kGraph},
            .excludes = {"--mutual", "--radius", "--min-cosine", "--queries"}},
           options.symmetric);
  set.flag({.names = "--mutual",
            .help = "Add an edge between two rows if each lists the other.",
            .stored = {Stored::if_changed, kGraph},
            .excludes = {"--radius", "--min-cosine", "--queries"}},
           options.mutual);
  set.flag({.names = "--pairs",
            .help = "Write each pair of rows within --radius once, the lower row first; with -k, each pair of which "
                    "one row lists the other.",
            .stored = {Stored::if_changed, kGraph},
            .excludes = {"--graph", "--symmetric", "--mutual", "--components", "--queries", "--include-self",
                         "--write-obsp"}},
           options.pairs);
  set.choice(
      {.names = "--weights",
       .value = "HOW",
       .help = "Weigh the edges of the graph, in which two rows are connected if either lists the other, from 0 to "
               "1: jaccard (shared neighbours, as PhenoGraph), gaussian or umap (as scanpy's methods gauss and "
               "umap with K + 1 neighbours), or none.",
       .stored = {Stored::if_changed, kGraph},
       .excludes = {"--symmetric", "--mutual", "--components", "--radius", "--min-cosine", "--queries",
                    "--include-self", "--squared"},
       .refused = {when([&options] { return options.has_weights() && !options.makes_graph(); },
                        "--weights: expected a graph, whose edges it weighs; give --graph or --pairs"),
                   when([&options] { return options.has_weights() && options.metric() == Metric::inner_product; },
                        "--weights: expected a distance; give another --metric than inner-product")}},
      {"none", "jaccard", "gaussian", "umap"}, options.weights);
  set.flag(
      {.names = "--components",
       .help = "Write the connected components of the graph or of --radius, and the lowest row of each, instead "
               "of edges.",
       .stored = {Stored::if_changed, kGraph},
       .excludes = {"--queries"},
       .refused = {when([&options] { return !options.makes_graph(); },
                        "--components: expected --radius R, --min-cosine C or --graph, whose edges connect rows")}},
      options.components);
  set.text(
      {.names = "--write-obsp",
       .value = "NAME",
       .help = "Make --output a copy of BASE's AnnData file, with the distances of the graph as this new matrix of "
               "obsp. With --weights: with NAME_distances, NAME_connectivities and uns/NAME, as scanpy has them.",
       .section = Section::output,
       .excludes = {"--queries", "--components"},
       .refused = {when([&options] { return !options.makes_graph(); },
                        "--write-obsp: expected a graph; give --graph, --symmetric, --mutual or --radius R"),
                   when([&options] { return options.common.output.empty(); },
                        "--write-obsp: expected the name of the copy, found no --output; give -o COPY.h5ad"),
                   when([&options] { return options.common.transpose; },
                        "--write-obsp cannot be combined with --transpose, whose points are not the rows of obs; "
                        "leave one of them out")}},
      options.write_obsp);
}

void declare_uses(OptionSet& set, KnnOptions& options) {
  set.text(
      {.names = "--classify",
       .value = "FILE[:DATASET]",
       .help = "Instead of lists: the class of each query by the votes of its neighbours, whose labels are here: a "
               "vector, a result, or FILE:COLUMN of a text file. Without --queries: how often the neighbours of a "
               "row have its class, for 1 to K of them. With --truth: accuracy, precision, recall and F1.",
       .input = Input::file,
       .stored = Stored::if_changed,
       .excludes = {"--graph", "--symmetric", "--mutual", "--pairs", "--radius", "--min-cosine", "--join", "--format",
                    "--include-self", "--checkpoint", "--outliers"}},
      options.classify);
  set.choice({.names = "--vote",
              .value = "HOW",
              .help = "For --classify: equal votes, or distance: each counts 1 / distance. Ties go to the class whose "
                      "label is the lowest.",
              .stored = Stored::if_used,
              .no_effect = {when([&options] { return options.classify.empty(); }, "there is no --classify")}},
             {"equal", "distance"}, options.vote);
  set.flag({.names = "--outliers",
            .help = "Instead of lists: the distance of each row of BASE to its K-th neighbour, and its local outlier "
                    "factor: about 1 inside a cluster, larger for outliers.",
            .stored = Stored::if_changed,
            .excludes = {"--graph", "--symmetric", "--mutual", "--pairs", "--radius", "--min-cosine", "--join",
                         "--truth", "--format", "--include-self", "--checkpoint", "--queries"}},
           options.outliers);
}

}  // namespace

void declare(OptionSet& set, KnnOptions& options) {
  constexpr int kQueries = position::kTask + 2;
  add_points(set, options.base, "the file to search in", "BASE");
  set.integer({.names = "-k,--neighbors",
               .value = "K",
               .help = "Number of neighbours per query.",
               .shown_default = "none",
               .stored = Stored::if_changed},
              {1, std::numeric_limits<std::int64_t>::max()}, options.neighbors);
  add_radius_options(set, options.common, options.radius,
                     "Instead of -k: all rows within this distance, R included (for cosine: sqrt(2 - 2 cos); 0.1 is a "
                     "cosine of 0.995, 0.447 one of 0.9; for correlation 1 - r, for haversine km); for inner-product, "
                     "of at least R.",
                     {"-k"});
  set.text({.names = "--queries",
            .value = "POINTS",
            .help = "Points to find neighbours for: a file, or a set as for BASE (a folder, a pattern or @LIST). "
                    "Without --queries, kith finds each row's neighbours in BASE, "
                    "excluding the row itself.",
            .shown_default = "BASE",
            .input = Input::table,
            .stored = {Stored::if_changed, kQueries}},
           options.queries);
  add_follow_option(set, options.follow, "--queries", options.queries,
                    {"--radius", "--min-cosine", "--graph", "--symmetric", "--mutual", "--pairs", "--components",
                     "--write-obsp", "--classify", "--outliers", "--truth", "--join", "--checkpoint", "--time-limit"});
  set.flag({.names = "--include-self",
            .help = "Without --queries: keep each row in its own list.",
            .stored = {Stored::if_used, kQueries},
            .no_effect = {when([&options] { return !options.queries.empty(); }, "there are --queries")}},
           options.include_self);
  declare_graph(set, options);
  declare_uses(set, options);
  add_ids_option(set, options.common);
  set["--ids"].excludes = {"--id-column", "--transpose"};
  set.text(
      {.names = "--join",
       .value = "COLUMNS",
       .help = "Columns of the table of BASE, or of --ids, to write beside each answer for both of its rows, named "
               "as for --columns; also columns of text. They are not part of the points unless --columns names "
               "them.",
       .section = Section::points,
       .shown_default = "none",
       .stored = {Stored::if_changed, position::kInput},
       .refused = {[&options] { return unjoined_format(options); }}},
      options.common.join);
  set.flag({.names = "--squared",
            .help = "Write squared distances.",
            .stored = {Stored::if_changed, kQueries},
            .no_effect = {[&options] { return unused_squared(options); }}},
           options.squared);
  set.text(
      {.names = "--truth",
       .value = "FILE[:DATASET]",
       .help = "Compare the neighbours with these lists (FILE: its /neighbors) from kith, ann-benchmarks, BIGANN or "
               "an .ivecs file; exit with 1 if a list differs in more than the order of ties. With --classify: the "
               "known classes of the queries.",
       .input = Input::file,
       .refused = {when([&options] { return !options.classify.empty() && options.queries.empty(); },
                        "--truth: expected --queries, whose known classes it gives; without them, --classify compares "
                        "each row with its own label; leave --truth out"),
                   when([&options] { return options.makes_graph(); },
                        "--truth cannot be combined with a graph: it compares the lists of -k; leave --truth "
                        "out")}},
      options.truth);
  set.choice({.names = "--format",
              .value = "NAME",
              .help = "Format of the lists in the output: kith, ann-benchmarks, bigann, ivecs, or auto: bigann for "
                      ".ibin, ivecs for .ivecs, kith for other names.",
              .section = Section::output,
              .no_effect = {when([&options] { return options.common.output.empty(); }, "there is no --output")}},
             {"auto", "kith", "ann-benchmarks", "bigann", "ivecs"}, options.format);
  add_checkpoint_options(set, options.checkpoint);
  set["--time-limit"].help =
      "Stop after the block of queries in which the run reaches this time: 2h, 30min, 45s. The exit code is then 124.";
  set["--checkpoint"].refused = {
      when([&options] { return options.makes_graph(); },
           "--checkpoint cannot be combined with a graph or --radius: it keeps lists; leave it out"),
      when([&options] { return options.common.output.empty(); },
           "--checkpoint needs --output FILE: printed lists cannot be continued; give it")};
  add_missing_options(set, options.common, false,
                      "Rows with NaN, infinity or a missing value: error stops, drop ignores them: they are nobody's "
                      "neighbours, and have the neighbours -1 at the distance NaN.");
  add_preparation_options(set, options.common);
  add_common_options(
      set, options.common,
      "Write the result to this HDF5 file, or to .csv, .npy, .parquet or .arrow; lists also to .ivecs or "
      ".ibin, graphs to .mtx or .npz (SciPy). It appears only when it is complete.");
  add_bits_option(set, options.common);
  set["--memory"].help =
      "Maximum memory of the run, as in 4GB or 512MiB. With --queries, points that do not fit are read again in each "
      "pass, from their file or from --scratch.";
  set["--seed"].no_effect = {[]() -> std::string { return "knn uses no random numbers"; }};
  set["--nan"].refused = {[&options] { return unsupported_drop(options); }};
  for (const char* name : {"--format", "--output"}) {
    set[name].refused = {[&options] { return unsupported_format(options); }};
  }
}

}  // namespace kith::app
