// kith knn --graph and --radius: edges from lists or from all rows within a radius, and their connected components.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "app/cli/terminal.h"
#include "app/knn/knn.h"
#include "core/neighbors/edge_weights.h"
#include "core/neighbors/neighbors.h"
#include "core/neighbors/radius.h"
#include "core/runtime/threads.h"
#include "data/io/file_kind.h"
#include "data/io/output_file.h"
#include "data/results/anndata_copy.h"
#include "data/results/other_formats.h"
#include "data/results/table_file.h"

namespace kith::app {
namespace {

constexpr std::int64_t kEdgeBytes = 16;  // a row and its D

/// work(row, its part of the edges) for each row of a part.
template <class Work>
void for_rows(std::int64_t first_row, const NeighborGraph& part, const Work& work) {
  for (std::int64_t i = 0; i < part.rows(); ++i) work(first_row + i, part.begin[i], part.begin[i + 1] - part.begin[i]);
}

/// The distances of all edges of a part, one after another.
template <class T>
std::vector<T> distances_of(std::int64_t first_row, const NeighborGraph& part, Unit unit) {
  std::vector<T> all;
  all.reserve(part.row.size());
  for_rows(first_row, part, [&](std::int64_t row, std::int64_t begin, std::int64_t count) {
    const Matrix<T> distances = convert_distances<T>({part.distance.data() + begin, 1, count}, unit, row);
    all.insert(all.end(), distances.data(), distances.data() + count);
  });
  return all;
}

/// Their weights.
template <class T>
std::vector<T> weights_of(const NeighborGraph& part) {
  return {part.weight.begin(), part.weight.end()};
}

/// What a matrix of one number for each edge holds: weights, if there are any, or distances.
template <class T>
std::vector<T> numbers_of(std::int64_t first_row, const NeighborGraph& part, Unit unit) {
  return part.weight.empty() ? distances_of<T>(first_row, part, unit) : weights_of<T>(part);
}

class GraphMaker {
 public:
  explicit GraphMaker(const KnnRun& run)
      : run_(run),
        options_(run.options),
        request_{.path = run.target,
                 .options = run.output,
                 .head = run.head,
                 .unit = options_.unit(),
                 .base = &run.base,
                 .queries = run.queries,
                 .edges = name_of_edges(),
                 .ids = run.ids,
                 .write_obsp = options_.write_obsp,
                 .weights = options_.has_weights() ? options_.weights : "",
                 .each_once = options_.edges() != GraphEdges::directed,
                 .are_pairs = options_.pairs} {}

  std::unique_ptr<GraphOutput> from_lists() {
    NeighborGraph lists;
    const std::int64_t edges = rows_of(run_.query_values) * options_.neighbors;
    lists.row.reserve(static_cast<std::size_t>(edges));
    lists.distance.reserve(static_cast<std::size_t>(edges));
    nearest_neighbors(
        *run_.held.points, run_.query_values, search_options(run_),
        [&](std::int64_t, const NeighborLists& result) {
          for (std::int64_t i = 0; i < result.index.rows(); ++i) {
            lists.row.insert(lists.row.end(), result.index.row(i).begin(), result.index.row(i).end());
            lists.distance.insert(lists.distance.end(), result.distance.row(i).begin(), result.distance.row(i).end());
            lists.begin.push_back(lists.edges());
          }
        },
        run_.job.progress);
    if (options_.has_weights()) return write_weighted(lists);
    if (options_.edges() != GraphEdges::directed) lists = with_edges(lists, options_.edges());
    if (options_.pairs) lists = upper_part(lists);
    if (!options_.components) return write(lists);
    write_components_of(lists);
    return nullptr;
  }

  std::unique_ptr<GraphOutput> from_radius() {
    const RadiusOptions search{.limit = options_.radius.limit(options_.metric()),
                               .measure = measure_of(options_.metric()),
                               .base_is_queries = run_.queries == nullptr,
                               .include_self = options_.include_self,
                               .block_queries = options_.common.block_rows,
                               .pairs_once = (options_.components && run_.queries == nullptr) || options_.pairs,
                               .sorted = !options_.components,
                               .max_buffered_pairs = run_.spare_bytes / 4 / kBufferedPairBytes};
    if (options_.components) {
      write_components_within(search);
      return nullptr;
    }
    // Try to keep all edges in memory. If they do not fit, count them, and search again while writing.
    NeighborGraph graph;
    const std::int64_t spare = run_.spare_bytes - search.max_buffered_pairs * kBufferedPairBytes;
    const std::int64_t most = spare / (2 * kEdgeBytes);  // a vector may have twice the capacity of its size
    if (search_all(search, [&](std::int64_t, const NeighborGraph& part) {
          graph.row.insert(graph.row.end(), part.row.begin(), part.row.end());
          graph.distance.insert(graph.distance.end(), part.distance.begin(), part.distance.end());
          for (std::int64_t i = 0; i < part.rows(); ++i) {
            graph.begin.push_back(graph.begin.back() + part.begin[i + 1] - part.begin[i]);
          }
          return graph.edges() <= most;
        })) {
      return write(graph);
    }
    graph = {};
    const std::vector<std::int64_t> begin = count_edges(search);
    warn_if_large(begin.back());
    auto out = open(begin);
    search_all(search, [&](std::int64_t first, const NeighborGraph& part) {
      const PhaseWithin phase(run_.job.progress, "write");
      if (out) out->append(first, part);
      return true;
    });
    return out;
  }

 private:
  void warn_if_large(std::int64_t edges) const {
    constexpr double kLarge = 2e9;
    const double bytes = static_cast<double>(edges) * (run_.head.value_class == ValueClass::f32 ? 12 : 16);
    if (bytes < kLarge) return;
    run_.job.progress.warning(
        fmt::format("the graph has {} edges, about {:.1f} GB; a smaller radius has fewer, and "
                    "--components writes only the groups of rows",
                    edges, bytes * 1e-9));
  }
  const char* name_of_edges() const {
    if (options_.pairs) return "pairs";
    if (options_.has_radius()) return "radius";
    if (options_.symmetric || options_.has_weights()) return "symmetric";
    return options_.mutual ? "mutual" : "directed";
  }

  /// Calls keep(first row, part of the graph) until it returns false; returns whether it never did.
  template <class Keep>
  bool search_all(const RadiusOptions& search, const Keep& keep) const {
    return radius_neighbors(
        *run_.held.points, run_.query_values, search,
        [&](std::int64_t first, std::span<const std::vector<Neighbor>> lists) {
          NeighborGraph part;
          for (const std::vector<Neighbor>& list : lists) part.add_row(list);
          return keep(first, part);
        },
        run_.job.progress);
  }

  /// (rows + 1) Where the edges of each row begin.
  std::vector<std::int64_t> count_edges(const RadiusOptions& search) const {
    std::vector<std::int64_t> begin{0};
    if (search.pairs_once) {  // the other way counts both rows of a pair
      search_all(search, [&begin](std::int64_t, const NeighborGraph& part) {
        for (std::int64_t i = 0; i < part.rows(); ++i) {
          begin.push_back(begin.back() + part.begin[i + 1] - part.begin[i]);
        }
        return true;
      });
      return begin;
    }
    const std::vector<std::int64_t> counts =
        count_radius_neighbors(*run_.held.points, run_.query_values, search, run_.job.progress);
    for (const std::int64_t count : counts) begin.push_back(begin.back() + count);
    return begin;
  }

  /// The edges from lower rows to higher ones.
  static NeighborGraph upper_part(const NeighborGraph& graph) {
    NeighborGraph part;
    for (std::int64_t i = 0; i < graph.rows(); ++i) {
      for (std::int64_t e = graph.begin[i]; e < graph.begin[i + 1]; ++e) {
        if (graph.row[e] <= i) continue;
        part.row.push_back(graph.row[e]);
        part.distance.push_back(graph.distance[e]);
        if (!graph.weight.empty()) part.weight.push_back(graph.weight[e]);
      }
      part.begin.push_back(part.edges());
    }
    return part;
  }

  /// Reports the number of edges before any is written. Null if they are not written.
  std::unique_ptr<GraphOutput> open(std::span<const std::int64_t> begin) {
    const std::int64_t edges = begin.back();
    run_.job.report.edges = edges;
    Terminal::instance().detail(fmt::format("{:<11}{}, {:.1f} for each row", options_.pairs ? "pairs" : "edges", edges,
                                            static_cast<double>(edges) / static_cast<double>(begin.size() - 1)));
    if (request_.path.empty() && options_.common.json) return nullptr;
    return open_graph_output(request_, begin);
  }

  std::unique_ptr<GraphOutput> write(const NeighborGraph& graph) {
    auto out = open(graph.begin);
    if (!out) return out;
    const PhaseWithin phase(run_.job.progress, "write");
    out->append(0, graph);
    return out;
  }

  std::unique_ptr<GraphOutput> write_weighted(const NeighborGraph& lists) {
    Threads threads(static_cast<int>(options_.common.threads));
    const auto* weight = std::ranges::find(kEdgeWeights, options_.weights, [](EdgeWeight w) { return name_of(w); });
    NeighborGraph graph = with_weights(lists, distances_of<double>(0, lists, request_.unit), *weight, threads);
    if (options_.pairs) graph = upper_part(graph);
    request_.lists = &lists;
    return write(graph);
  }

  void write_components_of(const NeighborGraph& graph) {
    ConnectedComponents components(graph.rows());
    for (std::int64_t i = 0; i < graph.rows(); ++i) {
      for (std::int64_t e = graph.begin[i]; e < graph.begin[i + 1]; ++e) components.unite(i, graph.row[e]);
    }
    write_labels(components, graph.edges());
  }

  /// Keeps no edges. Each pair of rows is found once, and counts as two edges.
  void write_components_within(const RadiusOptions& search) {
    ConnectedComponents components(run_.base.rows());
    std::int64_t edges = 0;
    radius_neighbors(
        *run_.held.points, run_.query_values, search,
        [&](std::int64_t first, std::span<const std::vector<Neighbor>> lists) {
          for (std::size_t i = 0; i < lists.size(); ++i) {
            const std::int64_t row = first + static_cast<std::int64_t>(i);
            for (const Neighbor& neighbor : lists[i]) {
              components.unite(row, neighbor.row);
              edges += neighbor.row == row ? 1 : 2;
            }
          }
          return true;
        },
        run_.job.progress);
    write_labels(components, edges);
  }

  void write_labels(ConnectedComponents& components, std::int64_t edges) {
    run_.job.progress.phase("write", 0);
    run_.job.report.edges = edges;
    request_.head.format = "kith-components";
    run_.job.report.components = write_components(request_, components.labels(), !options_.common.json);
  }

  const KnnRun& run_;
  const KnnOptions& options_;
  GraphOutputRequest request_;
};

/// work(row, its target rows, their distances as T, and their weights or none) for each row of a part.
template <class T, class Work>
void for_edges(std::int64_t first_row, const NeighborGraph& part, Unit unit, const Work& work) {
  const std::vector<T> weights = weights_of<T>(part);
  for_rows(first_row, part, [&](std::int64_t row, std::int64_t begin, std::int64_t count) {
    const Matrix<T> distances = convert_distances<T>({part.distance.data() + begin, 1, count}, unit, row);
    const std::span<const T> all(weights);
    work(row, std::span(part.row).subspan(begin, count), distances.row(0),
         all.empty() ? all : all.subspan(begin, count));
  });
}

/// kith-graph, with distances of type T.
template <class T>
class GraphFile final : public GraphOutput {
 public:
  GraphFile(const GraphOutputRequest& request, std::span<const std::int64_t> begin)
      : unit_(request.unit), begin_(begin.begin(), begin.end()), file_(request.path, request.options) {
    write_head(file_, request.head, *request.base);
    if (request.queries != nullptr) write_queries(file_, *request.queries);
    file_.attribute("distances", std::string(name_of(unit_)));
    file_.attribute("edges", request.edges);
    request.ids.write(file_);
    file_.attribute("shape", std::vector<std::int64_t>{std::ssize(begin) - 1, request.base->rows()});
    file_.dataset("indptr", begin);
    file_.create_vector<std::int64_t>("indices", begin_.back());
    file_.create_vector<T>("distances", begin_.back());
    if (request.weights.empty()) return;
    file_.attribute("weights", request.weights);
    file_.create_vector<T>("weights", begin_.back());
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const std::int64_t at = begin_[first_row];
    const std::vector<T> distances = distances_of<T>(first_row, part, unit_);
    file_.write_rows<std::int64_t>("indices", at, {part.row.data(), part.edges(), 1});
    file_.write_rows<T>("distances", at, {distances.data(), part.edges(), 1});
    if (part.weight.empty()) return;
    const std::vector<T> weights = weights_of<T>(part);
    file_.write_rows<T>("weights", at, {weights.data(), part.edges(), 1});
  }
  void finish() override { file_.finish(); }

 private:
  Unit unit_;
  std::vector<std::int64_t> begin_;
  data::ResultFile file_;
};

/// A SciPy CSR matrix, with values of type T.
template <class T>
class GraphArchive final : public GraphOutput {
 public:
  GraphArchive(const GraphOutputRequest& request, std::span<const std::int64_t> begin)
      : unit_(request.unit),
        file_(request.path, request.options, {begin.begin(), begin.end()}, request.base->rows(),
              data::numpy_type<T>()) {}
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const std::vector<T> numbers = numbers_of<T>(first_row, part, unit_);
    file_.append(part.row.data(), numbers.data(), part.edges());
  }
  void finish() override { file_.finish(); }

 private:
  Unit unit_;
  data::SparseArchive file_;
};

/// A copy of the AnnData file of the points, with the distances as a matrix of obsp; or, with weights, with the lists
/// and the graph as scanpy has them.
template <class T>
class AnnDataGraph final : public GraphOutput {
 public:
  AnnDataGraph(const GraphOutputRequest& request, std::span<const std::int64_t> begin)
      : request_(request), file_(request.path, request.options, data::parse_location(request.base->name()).file) {
    constexpr bool single = sizeof(T) == sizeof(float);
    if (request.weights.empty()) {
      file_.begin(request.write_obsp, single, {begin.begin(), begin.end()});
      return;
    }
    neighbors_ = request.lists->begin[1] + 1;
    file_.begin(data::neighbor_matrix(request.write_obsp, "distances"), single, request.lists->begin);
    const std::vector<T> distances = distances_of<T>(0, *request.lists, request.unit);
    file_.append(request.lists->row, {distances.begin(), distances.end()});
    file_.begin(data::neighbor_matrix(request.write_obsp, "connectivities"), single, {begin.begin(), begin.end()});
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const std::vector<T> numbers = numbers_of<T>(first_row, part, request_.unit);
    file_.append(part.row, {numbers.begin(), numbers.end()});
  }
  void finish() override {
    if (neighbors_ > 0) {
      const std::string method = request_.weights == name_of(EdgeWeight::gaussian) ? "gauss" : request_.weights;
      file_.describe(request_.write_obsp, {method, name_of(request_.head.metric), neighbors_});
    }
    file_.finish();
  }

 private:
  const GraphOutputRequest request_;
  std::int64_t neighbors_ = 0;  // of a graph with weights: of each row, itself included
  data::ObspMatrix file_;
};

/// A NumPy array of records: source and target as int64, distance as T.
template <class T>
class EdgeRecords final : public GraphOutput {
 public:
  explicit EdgeRecords(const GraphOutputRequest& request)
      : unit_(request.unit),
        once_(request.each_once),
        weighted_(!request.weights.empty()),
        file_(request.path, request.options) {
    file_.seek(std::ssize(head()));
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    for_edges<T>(first_row, part, unit_,
                 [&](std::int64_t row, std::span<const std::int64_t> to, std::span<const T> distances,
                     std::span<const T> weights) {
                   std::string bytes;
                   for (std::size_t e = 0; e < to.size(); ++e) {
                     if (once_ && to[e] < row) continue;
                     data::append_record(bytes, row, to[e], distances[e]);
                     if (weighted_) data::append_record(bytes, weights[e]);
                     ++edges_;
                   }
                   file_.write(bytes);
                 });
  }
  void finish() override {
    file_.seek(0);
    file_.write(head());
    file_.publish();
  }

 private:
  std::string head() const {
    using Place = std::int64_t;
    return data::numpy_head(weighted_
                                ? data::record_type<Place, Place, T, T>({"source", "target", "distance", "weight"})
                                : data::record_type<Place, Place, T>({"source", "target", "distance"}),
                            {edges_});
  }

  Unit unit_;
  bool once_, weighted_;
  std::int64_t edges_ = 0;
  data::OutputBytes file_;
};

/// A line for each edge: comma-separated in a file with a header, tab-separated on standard output, or in the format
/// MatrixMarket, which counts rows from 1.
template <class T>
class EdgeLines final : public GraphOutput {
 public:
  EdgeLines(const GraphOutputRequest& request, std::span<const std::int64_t> begin)
      : unit_(request.unit),
        matrix_(data::has_ending(request.path, ".mtx")),
        once_(request.each_once && !matrix_),
        ids_(request.ids) {
    const std::string weight = request.weights.empty() ? "" : ",weight";
    const std::string names = request.are_pairs
                                  ? fmt::format("{},{},distance{}", ids_.base_name("_a"), ids_.base_name("_b"), weight)
                                  : "source,target,distance" + weight;
    if (request.path.empty()) return;
    constexpr std::int64_t kUsualLine = 20;  // bytes, or more
    const std::int64_t edges = begin.back();
    file_ = std::make_unique<data::OutputBytes>(request.path, request.options);
    file_->require_space(kUsualLine * (once_ ? edges / 2 : edges));
    file_->write(matrix_ ? fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", begin.size() - 1,
                                       request.base->rows(), edges)
                         : fmt::format("{}{}\n", names, ids_.joined_header(request.are_pairs)));
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const char between = file_ ? ',' : '\t';
    for_edges<T>(first_row, part, unit_,
                 [&](std::int64_t row, std::span<const std::int64_t> to, std::span<const T> distances,
                     std::span<const T> weights) {
                   std::string text;
                   for (std::size_t e = 0; matrix_ && e < to.size(); ++e) {
                     text += fmt::format("{} {} {}\n", row + 1, to[e] + 1, weights.empty() ? distances[e] : weights[e]);
                   }
                   if (matrix_) return file_->write(text);
                   const std::string source = ids_.query_row(row, between);
                   for (std::size_t e = 0; e < to.size(); ++e) {
                     if (once_ && to[e] < row) continue;
                     text += fmt::format("{}{}{}{}{}", source, between, ids_.base_row(to[e], between), between,
                                         distances[e]);
                     if (!weights.empty()) text += fmt::format("{}{}", between, weights[e]);
                     ids_.append_joined(text, row, to[e], between);
                     text += '\n';
                   }
                   file_ ? file_->write(text) : print_out(text);
                 });
  }
  void finish() override {
    if (file_) file_->publish();
  }

 private:
  Unit unit_;
  bool matrix_, once_;
  const RowIds& ids_;
  std::unique_ptr<data::OutputBytes> file_;
};

/// A Parquet or Arrow file with a row for each edge, as EdgeLines writes them.
template <class T>
class EdgeTable final : public GraphOutput {
 public:
  explicit EdgeTable(const GraphOutputRequest& request)
      : unit_(request.unit),
        once_(request.each_once),
        ids_(request.ids),
        file_(request.path, request.options, fields_of(request)) {}
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    std::vector<data::TableColumn>& columns = file_.columns();
    for_edges<T>(first_row, part, unit_,
                 [&](std::int64_t row, std::span<const std::int64_t> to, std::span<const T> distances,
                     std::span<const T> weights) {
                   for (std::size_t e = 0; e < to.size(); ++e) {
                     if (once_ && to[e] < row) continue;
                     ids_.add_rows(columns, 0, weights.empty() ? 3 : 4, row, to[e]);
                     columns[2].add(distances[e]);
                     if (!weights.empty()) columns[3].add(weights[e]);
                   }
                   if (columns[0].rows >= kFlushedRows) file_.flush();
                 });
  }
  void finish() override { file_.finish(); }

 private:
  static constexpr std::int64_t kFlushedRows = std::int64_t{1} << 20;
  static std::vector<data::ArrowField> fields_of(const GraphOutputRequest& request) {
    const RowIds& ids = request.ids;
    const std::string name = ids.plain_base_name();
    std::vector<data::ArrowField> fields{ids.row_field(request.are_pairs ? name + "_a" : "source"),
                                         ids.row_field(request.are_pairs ? name + "_b" : "target"),
                                         {"distance", data::arrow_type<T>()}};
    if (!request.weights.empty()) fields.push_back({"weight", data::arrow_type<T>()});
    const auto joined = ids.joined_fields(request.are_pairs);
    fields.insert(fields.end(), joined.begin(), joined.end());
    return fields;
  }

  Unit unit_;
  bool once_;
  const RowIds& ids_;
  data::TableFile file_;
};

template <class T>
std::unique_ptr<GraphOutput> open_as(const GraphOutputRequest& request, std::span<const std::int64_t> begin) {
  if (!request.write_obsp.empty()) return std::make_unique<AnnDataGraph<T>>(request, begin);
  const auto ends = [&request](const char* ending) { return data::has_ending(request.path, ending); };
  if (request.path.empty() || ends(".csv") || ends(".mtx")) return std::make_unique<EdgeLines<T>>(request, begin);
  if (data::is_table_file(request.path)) return std::make_unique<EdgeTable<T>>(request);
  if (ends(".npy")) return std::make_unique<EdgeRecords<T>>(request);
  if (ends(".npz")) return std::make_unique<GraphArchive<T>>(request, begin);
  return std::make_unique<GraphFile<T>>(request, begin);
}

/// The same as a Parquet or Arrow file.
void write_component_table(const GraphOutputRequest& request, std::span<const std::int64_t> labels) {
  const RowIds& ids = request.ids;
  std::vector<data::ArrowField> fields{
      ids.row_field(ids.plain_base_name()), ids.row_field("component"), {"keep", data::ArrowType::flag}};
  const auto joined = ids.joined_fields();
  fields.insert(fields.end(), joined.begin(), joined.end());
  data::TableFile file(request.path, request.options, fields);
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) {
    const std::int64_t component = labels[static_cast<std::size_t>(i)];
    ids.add_base_row(file.columns()[0], i);
    ids.add_base_row(file.columns()[1], component);
    file.columns()[2].add(component == i);
    ids.add_joined(file.columns(), 3, i);
    if (i % (std::int64_t{1} << 20) == 0) file.flush();
  }
  file.finish();
}

/// For each row its component, and whether it is the lowest row of it: lines of CSV, or a NumPy array of records.
void write_component_rows(const GraphOutputRequest& request, std::span<const std::int64_t> labels,
                          data::LabelFormat format) {
  if (format == data::LabelFormat::table) return write_component_table(request, labels);
  data::OutputBytes file(request.path, request.options);
  const bool csv = format == data::LabelFormat::csv;
  file.write(
      csv ? fmt::format("{},component,keep{}\n", request.ids.base_name(), request.ids.joined_header())
          : data::numpy_head(data::record_type<std::int64_t, bool>({"component", "keep"}), {std::ssize(labels)}));
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) {
    const std::int64_t component = labels[static_cast<std::size_t>(i)];
    std::string record;
    if (csv) {
      record =
          fmt::format("{},{},{:d}", request.ids.base_row(i, ','), request.ids.base_row(component, ','), component == i);
      request.ids.append_joined(record, i, ',');
      record += '\n';
    } else {
      data::append_record(record, component, component == i);
    }
    file.write(record);
  }
  file.publish();
}

}  // namespace

std::unique_ptr<GraphOutput> make_graph(const KnnRun& run) {
  GraphMaker maker(run);
  return run.options.has_radius() ? maker.from_radius() : maker.from_lists();
}

std::int64_t graph_bytes(const KnnOptions& options, std::int64_t rows) {
  if (!options.makes_graph()) return 0;
  if (options.has_radius()) return 2 * kEdgeBytes * RadiusOptions().capacity;  // of a block, in growing vectors
  // Lists, their transpose, and those of both or of either.
  // With weights also their order, their distances and the weights.
  const std::int64_t copies = options.has_weights()                     ? 7
                              : options.edges() == GraphEdges::directed ? 1
                              : options.edges() == GraphEdges::mutual   ? 3
                                                                        : 4;
  return copies * kEdgeBytes * checked_product(rows, options.neighbors, "edges of the graph");
}

std::unique_ptr<GraphOutput> open_graph_output(const GraphOutputRequest& request, std::span<const std::int64_t> begin) {
  return request.head.value_class == ValueClass::f32 ? open_as<float>(request, begin) : open_as<double>(request, begin);
}

std::int64_t write_components(const GraphOutputRequest& request, std::span<const std::int64_t> labels, bool shown) {
  std::vector<std::int64_t> keep, place(labels.size()), counts;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == static_cast<std::int64_t>(i)) {  // the lowest row of a group comes before its others
      place[i] = std::ssize(keep);
      keep.push_back(labels[i]);
      counts.push_back(0);
    }
    ++counts[place[labels[i]]];
  }
  if (const data::LabelFormat format = data::label_format(request.path); format != data::LabelFormat::none) {
    write_component_rows(request, labels, format);
  } else if (!request.path.empty()) {
    data::ResultFile file(request.path, request.options);
    write_head(file, request.head, *request.base);
    file.attribute("edges", request.edges);
    request.ids.write(file);
    file.dataset("components", labels);
    file.dataset("keep", keep);
    file.dataset("counts", counts);
    file.finish();
  } else if (shown) {
    std::string text;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      text += fmt::format("{}\t{}", request.ids.base_row(static_cast<std::int64_t>(i), '\t'),
                          request.ids.base_row(labels[i], '\t'));
      request.ids.append_joined(text, static_cast<std::int64_t>(i), '\t');
      text += '\n';
      if (text.size() < (1U << 16) && i + 1 < labels.size()) continue;
      print_out(text);
      text.clear();
    }
  }
  return std::ssize(keep);
}

}  // namespace kith::app
