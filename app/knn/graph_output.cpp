// One class for each kind of graph output, which converts distances to its unit.
#include "app/knn/graph_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/terminal.h"
#include "data/io/file_kind.h"
#include "data/io/output_bytes.h"
#include "data/results/array_file.h"
#include "data/results/label_file.h"
#include "data/results/obsp_writer.h"

namespace kith::app {
namespace {

/// work(row, edges of the row, distances as T) for each row of a part.
template <class T, class Work>
void for_rows(std::int64_t first_row, const NeighborGraph& part, Unit unit, const Work& work) {
  for (std::int64_t i = 0; i < part.rows(); ++i) {
    const std::int64_t begin = part.begin[i], count = part.begin[i + 1] - begin;
    const Matrix<T> distances = convert_distances<T>({part.distance.data() + begin, 1, count}, unit, first_row + i);
    work(first_row + i, std::span(part.row).subspan(begin, count), distances.row(0));
  }
}

/// The distances of all edges of a part, one after another.
template <class T>
std::vector<T> distances_of(std::int64_t first_row, const NeighborGraph& part, Unit unit) {
  std::vector<T> all;
  all.reserve(part.row.size());
  for_rows<T>(first_row, part, unit, [&](std::int64_t, std::span<const std::int64_t>, std::span<const T> distances) {
    all.insert(all.end(), distances.begin(), distances.end());
  });
  return all;
}

/// kith-graph, with distances of type T.
template <class T>
class GraphFile final : public GraphOutput {
 public:
  GraphFile(const GraphOutputRequest& request, std::span<const std::int64_t> begin)
      : unit_(request.unit), begin_(begin.begin(), begin.end()), file_(request.path, request.options) {
    write_head(file_, request.head, *request.base);
    if (request.queries != nullptr) file_.attribute("queries", stored_name(request.queries->name()));
    file_.attribute("distances", std::string(name_of(unit_)));
    file_.attribute("edges", request.edges);
    request.ids.write(file_);
    file_.attribute("shape", std::vector<std::int64_t>{std::ssize(begin) - 1, request.base->rows()});
    file_.dataset("indptr", begin);
    file_.create_vector<std::int64_t>("indices", begin_.back());
    file_.create_vector<T>("distances", begin_.back());
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const std::int64_t at = begin_[first_row];
    const std::vector<T> distances = distances_of<T>(first_row, part, unit_);
    file_.write_rows<std::int64_t>("indices", at, {part.row.data(), part.edges(), 1});
    file_.write_rows<T>("distances", at, {distances.data(), part.edges(), 1});
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
    const std::vector<T> distances = distances_of<T>(first_row, part, unit_);
    file_.append(part.row.data(), distances.data(), part.edges());
  }
  void finish() override { file_.finish(); }

 private:
  Unit unit_;
  data::SparseArchive file_;
};

/// A copy of the AnnData file of the points, with the distances as a matrix of obsp.
template <class T>
class AnnDataGraph final : public GraphOutput {
 public:
  AnnDataGraph(const GraphOutputRequest& request, std::span<const std::int64_t> begin)
      : unit_(request.unit),
        file_(request.path, request.options,
              {data::parse_location(request.base->name()).file, request.write_obsp, sizeof(T) == sizeof(float)},
              {begin.begin(), begin.end()}) {}
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const std::vector<T> distances = distances_of<T>(first_row, part, unit_);
    file_.append(part.row, {distances.begin(), distances.end()});
  }
  void finish() override { file_.finish(); }

 private:
  Unit unit_;
  data::ObspMatrix file_;
};

/// A NumPy array of records: source and target as int64, distance as T.
template <class T>
class EdgeRecords final : public GraphOutput {
 public:
  explicit EdgeRecords(const GraphOutputRequest& request)
      : unit_(request.unit), once_(request.each_once), file_(request.path, request.options) {
    file_.seek(std::ssize(head()));
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    for_rows<T>(first_row, part, unit_,
                [&](std::int64_t row, std::span<const std::int64_t> to, std::span<const T> distances) {
                  std::string bytes;
                  for (std::size_t e = 0; e < to.size(); ++e) {
                    if (once_ && to[e] < row) continue;
                    data::append_record(bytes, row, to[e], distances[e]);
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
    return data::numpy_head(data::record_type<Place, Place, T>({"source", "target", "distance"}), {edges_});
  }

  Unit unit_;
  bool once_;
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
    if (request.path.empty()) return;
    constexpr std::int64_t kUsualLine = 20;  // bytes, or more
    const std::int64_t edges = begin.back();
    file_ = std::make_unique<data::OutputBytes>(request.path, request.options);
    file_->require_space(kUsualLine * (once_ ? edges / 2 : edges));
    file_->write(matrix_ ? fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", begin.size() - 1,
                                       request.base->rows(), edges)
                         : "source,target,distance\n");
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const char between = file_ ? ',' : '\t';
    for_rows<T>(
        first_row, part, unit_, [&](std::int64_t row, std::span<const std::int64_t> to, std::span<const T> distances) {
          std::string text;
          for (std::size_t e = 0; matrix_ && e < to.size(); ++e) {
            text += fmt::format("{} {} {}\n", row + 1, to[e] + 1, distances[e]);
          }
          if (matrix_) return file_->write(text);
          const std::string source = ids_.query_row(row, between);
          for (std::size_t e = 0; e < to.size(); ++e) {
            if (once_ && to[e] < row) continue;
            text += fmt::format("{}{}{}{}{}\n", source, between, ids_.base_row(to[e], between), between, distances[e]);
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

template <class T>
std::unique_ptr<GraphOutput> open_as(const GraphOutputRequest& request, std::span<const std::int64_t> begin) {
  if (!request.write_obsp.empty()) return std::make_unique<AnnDataGraph<T>>(request, begin);
  const auto ends = [&request](const char* ending) { return data::has_ending(request.path, ending); };
  if (request.path.empty() || ends(".csv") || ends(".mtx")) return std::make_unique<EdgeLines<T>>(request, begin);
  if (ends(".npy")) return std::make_unique<EdgeRecords<T>>(request);
  if (ends(".npz")) return std::make_unique<GraphArchive<T>>(request, begin);
  return std::make_unique<GraphFile<T>>(request, begin);
}

/// For each row its component, and whether it is the lowest row of it: lines of CSV, or a NumPy array of records.
void write_component_rows(const GraphOutputRequest& request, std::span<const std::int64_t> labels,
                          data::LabelFormat format) {
  data::OutputBytes file(request.path, request.options);
  const bool csv = format == data::LabelFormat::csv;
  file.write(
      csv ? fmt::format("{},component,keep\n", request.ids.base_name())
          : data::numpy_head(data::record_type<std::int64_t, bool>({"component", "keep"}), {std::ssize(labels)}));
  for (std::int64_t i = 0; i < std::ssize(labels); ++i) {
    const std::int64_t component = labels[static_cast<std::size_t>(i)];
    std::string record;
    if (csv) {
      record = fmt::format("{},{},{:d}\n", request.ids.base_row(i, ','), request.ids.base_row(component, ','),
                           component == i);
    } else {
      data::append_record(record, component, component == i);
    }
    file.write(record);
  }
  file.publish();
}

}  // namespace

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
      text += fmt::format("{}\t{}\n", request.ids.base_row(static_cast<std::int64_t>(i), '\t'),
                          request.ids.base_row(labels[i], '\t'));
      if (text.size() < (1U << 16) && i + 1 < labels.size()) continue;
      print_out(text);
      text.clear();
    }
  }
  return std::ssize(keep);
}

}  // namespace kith::app
