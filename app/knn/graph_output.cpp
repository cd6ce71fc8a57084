// One class for each kind of graph output, which converts distances to its unit.
#include "app/knn/graph_output.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/terminal.h"
#include "data/io/file_kind.h"
#include "data/io/output_bytes.h"

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
    Matrix<T> distances(part.edges(), 1);
    T* next = distances.data();
    for_rows<T>(first_row, part, unit_, [&](std::int64_t, std::span<const std::int64_t>, std::span<const T> row) {
      next = std::copy(row.begin(), row.end(), next);
    });
    file_.write_rows<std::int64_t>("indices", at, {part.row.data(), part.edges(), 1});
    file_.write_rows<T>("distances", at, {distances.data(), part.edges(), 1});
  }
  void finish() override { file_.finish(); }

 private:
  Unit unit_;
  std::vector<std::int64_t> begin_;
  data::ResultFile file_;
};

/// A line for each edge: comma-separated in a file with a header, or tab-separated on standard output.
template <class T>
class EdgeLines final : public GraphOutput {
 public:
  EdgeLines(const GraphOutputRequest& request, std::int64_t edges)
      : unit_(request.unit), once_(request.each_once), ids_(request.ids) {
    if (request.path.empty()) return;
    constexpr std::int64_t kUsualLine = 20;  // bytes, or more
    file_ = std::make_unique<data::OutputBytes>(request.path, request.options);
    file_->require_space(kUsualLine * (once_ ? edges / 2 : edges));
    file_->write("source,target,distance\n");
  }
  void append(std::int64_t first_row, const NeighborGraph& part) override {
    const char between = file_ ? ',' : '\t';
    for_rows<T>(
        first_row, part, unit_, [&](std::int64_t row, std::span<const std::int64_t> to, std::span<const T> distances) {
          std::string text;
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
  bool once_;
  const RowIds& ids_;
  std::unique_ptr<data::OutputBytes> file_;
};

template <class T>
std::unique_ptr<GraphOutput> open_as(const GraphOutputRequest& request, std::span<const std::int64_t> begin) {
  if (request.path.empty() || data::has_ending(request.path, ".csv")) {
    return std::make_unique<EdgeLines<T>>(request, begin.back());
  }
  return std::make_unique<GraphFile<T>>(request, begin);
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
  if (!request.path.empty()) {
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
