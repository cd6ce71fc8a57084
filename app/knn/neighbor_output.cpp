// One class for each kind of output; distances are converted to its unit on the way.
#include "app/knn/neighbor_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "app/cli/terminal.h"
#include "core/error.h"
#include "data/io/file_kind.h"
#include "data/io/utf8.h"
#include "data/source.h"

namespace kith::app {
namespace {

/// kith-neighbors, with distances of type T.
template <class T>
class ResultLists final : public NeighborOutput {
 public:
  explicit ResultLists(const NeighborOutputRequest& request)
      : unit_(request.unit), file_(request.path, request.options) {
    write_head(file_, request.head, *request.base);
    if (request.queries != nullptr) write_queries(file_, *request.queries);
    file_.attribute("distances", std::string(name_of(unit_)));
    request.ids.write(file_);
    const std::int64_t lists = (request.queries != nullptr ? request.queries : request.base)->rows();
    file_.create_matrix<std::int64_t>("neighbors", lists, request.neighbors);
    file_.create_matrix<T>("distances", lists, request.neighbors);
  }
  void append(std::int64_t first, const NeighborLists& lists) override {
    file_.write_rows<std::int64_t>("neighbors", first, lists.index.view());
    const Matrix<T> distances = convert_distances<T>(lists.distance.view(), unit_, first);
    file_.write_rows<T>("distances", first, distances.view());
  }
  void finish() override { file_.finish(); }

 private:
  Unit unit_;
  data::ResultFile file_;
};

/// An HDF5 file as ann-benchmarks makes them (write_output of its ann_benchmarks/datasets.py): both sets of points, the
/// neighbours as int32, distances as float32, roots or 1 - cos, and attributes that say what they are.
class AnnBenchmarks final : public NeighborOutput {
 public:
  explicit AnnBenchmarks(const NeighborOutputRequest& request)
      : unit_(request.head.metric == Metric::cosine ? Unit::cosine_distance : Unit::root),
        value_class_(request.head.value_class),
        file_(request.path, request.options) {
    const std::int64_t lists = rows_of(request.query_values);
    file_.attribute("distance", data::Text{request.head.metric == Metric::cosine ? "angular" : "euclidean"});
    file_.attribute("type", data::Text{"dense"});
    file_.attribute("point_type", data::Text{"float"});
    file_.attribute("dimension", columns_of(request.base_values));
    write_points("train", request.base_values);
    write_points("test", request.query_values);
    file_.create_matrix<std::int32_t>("neighbors", lists, request.neighbors);
    file_.create_matrix<float>("distances", lists, request.neighbors);
  }
  void append(std::int64_t first, const NeighborLists& lists) override {
    Matrix<std::int32_t> neighbors(lists.index.rows(), lists.index.columns());
    std::transform(lists.index.data(), lists.index.data() + lists.index.size(), neighbors.data(),
                   [](std::int64_t row) { return static_cast<std::int32_t>(row); });
    file_.write_rows<std::int32_t>("neighbors", first, std::as_const(neighbors).view());
    const Matrix<float> distances = convert_distances<float>(lists.distance.view(), unit_, first);
    file_.write_rows<float>("distances", first, distances.view());
  }
  void finish() override { file_.finish(); }

 private:
  /// Writes rows in the class of the run: directions of float32 rows, which are held as float64, are rounded.
  void write_points(const std::string& name, const PointsView& values) {
    value_class_ == ValueClass::f32 ? write_as<float>(name, values) : write_as<double>(name, values);
  }
  template <class T>
  void write_as(const std::string& name, const PointsView& values) {
    const std::int64_t rows = rows_of(values), columns = columns_of(values);
    const std::int64_t step = std::max<std::int64_t>((std::int64_t{1} << 20) / columns, 1);
    file_.create_matrix<T>(name, rows, columns);
    Matrix<T> block(std::min(step, rows), columns);
    for (std::int64_t first = 0; first < rows; first += step) {
      const std::int64_t here = std::min(step, rows - first);
      std::visit(
          [&](const auto& view) {
            const auto part = view.middle(first, here);
            std::transform(part.data, part.data + part.size(), block.data(), [](auto x) { return static_cast<T>(x); });
          },
          values);
      file_.write_rows<T>(name, first, std::as_const(block).view().middle(0, here));
    }
  }

  Unit unit_;
  ValueClass value_class_;
  data::ResultFile file_;
};

/// BIGANN's answers have squared distances, or products, of directions too, as FAISS gives them
/// (dataset_preparation/make_groundtruth.py of big-ann-benchmarks).
class BenchmarkLists final : public NeighborOutput {
 public:
  BenchmarkLists(data::NeighborFormat format, const NeighborOutputRequest& request)
      : unit_(request.head.metric == Metric::cosine ? Unit::cosine : unit_of(request.head.metric, true)),
        has_distances_(format == data::NeighborFormat::bigann),
        file_(request.path, request.options, format, {rows_of(request.query_values), request.neighbors}) {}
  void append(std::int64_t first, const NeighborLists& lists) override {
    if (!has_distances_) return file_.write(first, lists.index.view(), {});
    const Matrix<float> distances = convert_distances<float>(lists.distance.view(), unit_, first);
    file_.write(first, lists.index.view(), distances.view());
  }
  void finish() override { file_.finish(); }

 private:
  Unit unit_;
  bool has_distances_;
  data::NeighborFile file_;
};

/// A row for each neighbour. Dropped queries have the neighbour -1, at no distance. Records are a matrix with a row for
/// each query.
template <class T>
class ListRows final : public NeighborOutput {
 public:
  explicit ListRows(const NeighborOutputRequest& request)
      : unit_(request.unit),
        ids_(request.ids),
        out_(request.path, request.options, fields_of(request), print_rows, request.neighbors) {
    if (!out_.are_records()) return;
    const std::int64_t lists = (request.queries != nullptr ? request.queries : request.base)->rows();
    out_.require_space(std::int64_t{sizeof(std::int64_t) + sizeof(T)} * lists * request.neighbors);
  }
  void append(std::int64_t first, const NeighborLists& lists) override {
    const Matrix<T> distances = convert_distances<T>(lists.distance.view(), unit_, first);
    for (std::int64_t i = 0; i < distances.rows(); ++i) {
      for (std::int64_t j = 0; j < distances.columns(); ++j) {
        const std::int64_t row = lists.index(i, j);
        if (!out_.are_records()) ids_.add_query(out_, first + i);
        ids_.add_base(out_, row);
        out_.add_known(distances(i, j), row >= 0);
        ids_.add_joined(out_, first + i, row);
        out_.end_row();
      }
    }
    out_.flush();
  }
  void finish() override { out_.finish(); }

 private:
  static std::vector<data::ArrowField> fields_of(const NeighborOutputRequest& request) {
    std::vector<data::ArrowField> fields = request.ids.joined_fields(false);
    fields.insert(fields.begin(), {request.ids.row_field("neighbor"), {"distance", data::arrow_type<T>()}});
    if (!RowOutput::makes_records(request.path)) fields.insert(fields.begin(), request.ids.row_field("query"));
    return fields;
  }

  Unit unit_;
  const RowIds& ids_;
  RowOutput out_;
};

/// Lists in kith's own formats, by the ending of the name; without a name, lines on standard output.
template <class T>
std::unique_ptr<NeighborOutput> open_lists(const NeighborOutputRequest& request) {
  if (request.path.empty() || data::label_format(request.path) != data::LabelFormat::none) {
    return std::make_unique<ListRows<T>>(request);
  }
  return std::make_unique<ResultLists<T>>(request);
}

void write_ids(data::ResultFile& file, const std::string& name, const std::vector<std::string>& ids) {
  const auto longest = std::max_element(ids.begin(), ids.end(),
                                        [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  if (longest->size() <= 256) return write_texts(file, name, ids);
  throw Error(ExitCode::data,
              fmt::format("identifiers of rows: row {} (counted from 1): expected at most 256 bytes for a result in "
                          "HDF5, found {} ('{}'); shorten it, or write a .csv file",
                          longest - ids.begin() + 1, longest->size(), quoted(*longest, 40)));
}

}  // namespace

ListFormat list_format(const std::string& chosen, const std::string& path) {
  if (chosen == "ann-benchmarks") return ListFormat::ann_benchmarks;
  if (chosen == "bigann" || (chosen == "auto" && data::has_ending(path, ".ibin"))) return ListFormat::bigann;
  if (chosen == "ivecs" || (chosen == "auto" && data::has_ending(path, ".ivecs"))) return ListFormat::ivecs;
  return ListFormat::kith;
}

void check_list_format(ListFormat format, Metric metric, const data::PointSource& base,
                       const data::PointSource* queries) {
  if (format == ListFormat::kith) return;
  if (format == ListFormat::ann_benchmarks && metric != Metric::euclidean && metric != Metric::cosine) {
    throw Error(ExitCode::usage,
                fmt::format("--format ann-benchmarks: expected --metric euclidean or cosine, which that "
                            "project defines, found {}",
                            name_of(metric)));
  }
  if (format == ListFormat::ann_benchmarks && queries == nullptr) {
    throw Error(ExitCode::usage, "--format ann-benchmarks: expected --queries, which become its dataset /test");
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::int64_t rows = std::max(base.rows(), queries != nullptr ? queries->rows() : 0);
  if (rows <= kMost) return;
  throw Error(ExitCode::usage,
              fmt::format("--format: expected at most {} rows, the limit of 32-bit row numbers, found {}; "
                          "write a result of kith (-o FILE.h5)",
                          kMost, rows));
}

std::unique_ptr<NeighborOutput> open_neighbor_output(ListFormat format, const NeighborOutputRequest& request) {
  switch (format) {
    case ListFormat::ann_benchmarks:
      return std::make_unique<AnnBenchmarks>(request);
    case ListFormat::bigann:
      return std::make_unique<BenchmarkLists>(data::NeighborFormat::bigann, request);
    case ListFormat::ivecs:
      return std::make_unique<BenchmarkLists>(data::NeighborFormat::ivecs, request);
    default:
      return request.head.value_class == ValueClass::f32 ? open_lists<float>(request) : open_lists<double>(request);
  }
}

void print_rows(const std::string& text) { print_out(text); }

RowIds::RowIds(const data::PointSource& base, const data::PointSource* queries, bool named,
               const std::vector<std::string>& joined)
    : are_same_(queries == nullptr) {
  if (named) {
    base_ = base.kept(data::Kept::id);
    if (queries != nullptr) queries_ = queries->kept(data::Kept::id);
    base_name_ = base.id_name();
  }
  for (const std::string& column : joined) {
    data::RowTexts texts = data::texts_beside(base, column);
    Joined one{texts.name.empty() ? fmt::format("column {}", column) : texts.name, std::move(texts.texts), {}};
    const auto form = queries == nullptr ? std::nullopt : queries->table_form();
    one.has_queries = form && std::ranges::count(form->names, one.name) > 0;
    if (one.has_queries) one.queries = queries->texts_of(column).texts;
    joined_.push_back(std::move(one));
  }
}

std::vector<data::ArrowField> RowIds::joined_fields(bool are_pairs) const {
  std::vector<data::ArrowField> fields;
  const auto add = [&fields](const std::string& name) { fields.push_back({name, data::ArrowType::text}); };
  for (const Joined& column : joined_) {
    if (are_same_ || column.has_queries) add(are_pairs ? column.name + "_a" : "query_" + column.name);
    add(are_pairs ? column.name + "_b" : "neighbor_" + column.name);
  }
  return fields;
}

std::vector<data::ArrowField> RowIds::joined_fields() const {
  std::vector<data::ArrowField> fields;
  for (const Joined& column : joined_) fields.push_back({column.name, data::ArrowType::text});
  return fields;
}

data::ArrowField RowIds::row_field(const std::string& name) const {
  return {name, base_.empty() ? data::ArrowType::int64 : data::ArrowType::text};
}

void RowIds::add_row(RowOutput& out, const std::vector<std::string>& ids, std::int64_t row) const {
  if (out.are_records() || (out.is_table() ? base_ : ids).empty()) return out.add(row);
  if (row < 0) return out.add_missing("-1");
  out.add(ids.empty() ? std::to_string(row) : ids[static_cast<std::size_t>(row)]);
}

void RowIds::add_joined(RowOutput& out, std::int64_t query, std::int64_t row) const {
  const auto add = [&out](const std::vector<std::string>& texts, std::int64_t at) {
    at < 0 ? out.add_missing() : out.add(texts[static_cast<std::size_t>(at)]);
  };
  for (const Joined& column : joined_) {
    if (are_same_ || column.has_queries) add(column.has_queries ? column.queries : column.base, query);
    add(column.base, row);
  }
}

void RowIds::add_joined(RowOutput& out, std::int64_t row) const {
  for (const Joined& column : joined_) out.add(column.base[static_cast<std::size_t>(row)]);
}

void RowIds::write(data::ResultFile& file) const {
  if (!base_.empty()) write_ids(file, "ids", base_);
  if (!queries_.empty()) write_ids(file, "query_ids", queries_);
}

std::string RowIds::text_of(const std::vector<std::string>& ids, std::int64_t row, char delimiter) {
  if (ids.empty() || row < 0) return std::to_string(row);
  const std::string& id = ids[static_cast<std::size_t>(row)];
  return delimiter == ',' ? data::csv_field(id) : quoted(id, id.size());
}

}  // namespace kith::app
