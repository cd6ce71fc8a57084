// kith knn --graph and --radius: edges from lists or from all rows within a radius, and their connected components.
#include <fmt/format.h>

#include <algorithm>

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
constexpr std::int64_t kUsualLine = 20;  // bytes of an edge in text, or more

/// work(row, its part of the edges) for each row of a part.
template <class Work>
void for_rows(std::int64_t first_row, const NeighborGraph& part, const Work& work) {
  for (std::int64_t i = 0; i < part.rows(); ++i) work(first_row + i, part.begin[i], part.begin[i + 1] - part.begin[i]);
}

/// Where the edges of the rows of a part end, behind those of the rows before.
void append_begins(const NeighborGraph& part, std::vector<std::int64_t>& begin) {
  for_rows(0, part,
           [&begin](std::int64_t, std::int64_t, std::int64_t count) { begin.push_back(begin.back() + count); });
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
          append_begins(part, graph.begin);
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
        append_begins(part, begin);
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
        file_(request.path, request.options, {begin.begin(), begin.end()}, request.base->rows(), sizeof(T)) {}
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

/// A row for each edge.
template <class T>
class EdgeRows final : public GraphOutput {
 public:
  EdgeRows(const GraphOutputRequest& request, std::int64_t edges)
      : unit_(request.unit),
        once_(request.each_once),
        ids_(request.ids),
        out_(request.path, request.options, fields_of(request), print_rows) {
    if (data::has_ending(request.path, ".csv")) out_.require_space(kUsualLine * (once_ ? edges / 2 : edges));
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    for_edges<T>(first_row, part, unit_,
                 [&](std::int64_t row, std::span<const std::int64_t> to, std::span<const T> distances,
                     std::span<const T> weights) {
                   for (std::size_t e = 0; e < to.size(); ++e) {
                     if (once_ && to[e] < row) continue;
                     ids_.add_query(out_, row);
                     ids_.add_base(out_, to[e]);
                     out_.add(distances[e]);
                     if (!weights.empty()) out_.add(weights[e]);
                     ids_.add_joined(out_, row, to[e]);
                     out_.end_row();
                   }
                 });
    out_.flush();
  }
  void finish() override { out_.finish(); }

 private:
  static std::vector<data::ArrowField> fields_of(const GraphOutputRequest& request) {
    const RowIds& ids = request.ids;
    const bool are_pairs = request.are_pairs && !RowOutput::makes_records(request.path);
    std::vector<data::ArrowField> fields{ids.row_field(are_pairs ? ids.base_name() + "_a" : "source"),
                                         ids.row_field(are_pairs ? ids.base_name() + "_b" : "target"),
                                         {"distance", data::arrow_type<T>()}};
    if (!request.weights.empty()) fields.push_back({"weight", data::arrow_type<T>()});
    const auto joined = ids.joined_fields(request.are_pairs);
    fields.insert(fields.end(), joined.begin(), joined.end());
    return fields;
  }

  Unit unit_;
  bool once_;
  const RowIds& ids_;
  RowOutput out_;
};

/// A line for each edge in the format MatrixMarket, which counts rows from 1.
template <class T>
class MatrixLines final : public GraphOutput {
 public:
  MatrixLines(const GraphOutputRequest& request, std::span<const std::int64_t> begin)
      : unit_(request.unit), file_(request.path, request.options) {
    file_.require_space(kUsualLine * begin.back());
    file_.write(fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", begin.size() - 1,
                            request.base->rows(), begin.back()));
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const std::vector<T> numbers = numbers_of<T>(first_row, part, unit_);
    for_rows(first_row, part, [&](std::int64_t row, std::int64_t begin, std::int64_t count) {
      std::string text;
      for (std::int64_t e = begin; e < begin + count; ++e) {
        text += fmt::format("{} {} {}\n", row + 1, part.row[e] + 1, numbers[e]);
      }
      file_.write(text);
    });
  }
  void finish() override { file_.publish(); }

 private:
  Unit unit_;
  data::OutputBytes file_;
};

template <class T>
std::unique_ptr<GraphOutput> open_as(const GraphOutputRequest& request, std::span<const std::int64_t> begin) {
  if (!request.write_obsp.empty()) return std::make_unique<AnnDataGraph<T>>(request, begin);
  const auto ends = [&request](const char* ending) { return data::has_ending(request.path, ending); };
  if (request.path.empty() || data::label_format(request.path) != data::LabelFormat::none) {
    return std::make_unique<EdgeRows<T>>(request, begin.back());
  }
  if (ends(".mtx")) return std::make_unique<MatrixLines<T>>(request, begin);
  if (ends(".npz")) return std::make_unique<GraphArchive<T>>(request, begin);
  return std::make_unique<GraphFile<T>>(request, begin);
}

/// For each row its component and, in a file, whether it is the lowest row of it. Records have no row numbers.
void write_component_rows(const GraphOutputRequest& request, std::span<const std::int64_t> labels) {
  const RowIds& ids = request.ids;
  const bool is_file = !request.path.empty(), names_rows = !RowOutput::makes_records(request.path);
  std::vector<data::ArrowField> fields = ids.joined_fields();
  if (is_file) fields.insert(fields.begin(), {"keep", data::ArrowType::flag});
  fields.insert(fields.begin(), ids.row_field("component"));
  if (names_rows) fields.insert(fields.begin(), ids.row_field(ids.base_name()));
  RowOutput out(request.path, request.options, fields, print_rows);
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) {
    const std::int64_t component = labels[static_cast<std::size_t>(i)];
    if (names_rows) ids.add_base(out, i);
    ids.add_base(out, component);
    if (is_file) out.add(component == i);
    ids.add_joined(out, i);
    out.end_row();
  }
  out.finish();
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
  if (request.path.empty() ? shown : data::label_format(request.path) != data::LabelFormat::none) {
    write_component_rows(request, labels);
  } else if (!request.path.empty()) {
    data::ResultFile file(request.path, request.options);
    write_head(file, request.head, *request.base);
    file.attribute("edges", request.edges);
    request.ids.write(file);
    file.dataset("components", labels);
    file.dataset("keep", keep);
    file.dataset("counts", counts);
    file.finish();
  }
  return std::ssize(keep);
}

}  // namespace kith::app
