// Reads result files of kith: attributes of the root, and datasets like any other HDF5 input. Converts the model of a
// table to JSON and back, reads the parameters of a preparation, and compares their sizes.
#include "data/results/stored_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/error.h"
#include "data/hdf5/hdf5_checksum.h"
#include "data/hdf5/hdf5_child.h"
#include "data/hdf5/hdf5_texts.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/utf8.h"

namespace kith::data {
namespace {

RootFacts root_of(const std::string& file, bool verify) {
  return is_hdf5(file) ? read_root(file, verify) : RootFacts();
}

std::string regular(const std::string& file) {
  require_regular(file, "a result of kith");
  return file;
}

/// What cannot be read must not pass for absent.
void require_readable(const std::string& file, const RootFacts& root, const std::string& name) {
  if (std::find(root.unreadable.begin(), root.unreadable.end(), name) == root.unreadable.end()) return;
  refuse_input(file,
               fmt::format("the attribute {} cannot be read; the file is damaged: restore it from a copy, or make "
                           "it again",
                           name));
}

/// The values of a root attribute; none if there is no such attribute.
template <class T>
std::vector<T> values_of(const std::vector<std::pair<std::string, std::vector<T>>>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&name](const auto& item) { return item.first == name; });
  return found == all.end() ? std::vector<T>() : found->second;
}

using nlohmann::ordered_json;

constexpr int kVersion = 1;  // increases if a reader of the old version would be misled

constexpr std::pair<Encode, const char*> kOrders[] = {
    {Encode::date, "unambiguous"}, {Encode::date_day_first, "day first"}, {Encode::date_month_first, "month first"}};

ordered_json to_json(const ColumnModel& column) {
  ordered_json object;
  if (!column.name.empty()) object["name"] = column.name;
  object["number"] = column.number;
  object["kind"] = kind_of(column.how);
  for (const auto& [how, order] : kOrders) {
    if (column.how == how) object["order"] = order;
  }
  if (!column.texts.empty()) object["texts"] = column.texts;
  if (!column.fill.empty()) {
    const bool is_text = column.has_categories() && !column.texts.empty();
    const auto place = is_text ? column.place_of(column.fill) : std::nullopt;
    if (place) {
      object["fill"] = column.texts[static_cast<std::size_t>(*place)];
    } else if (column.fill.size() == 1) {
      object["fill"] = column.fill.front();
    } else {
      object["fill"] = column.fill;
    }
  }
  return object;
}

Encode how_of(const ordered_json& object) {
  const std::string kind = object.at("kind");
  for (const Encode how : {Encode::none, Encode::ordinal, Encode::onehot, Encode::yesno, Encode::unit, Encode::time}) {
    if (kind == kind_of(how)) return how;
  }
  const std::string order = object.at("order");
  for (const auto& [how, name] : kOrders) {
    if (kind == kind_of(how) && order == name) return how;
  }
  throw std::invalid_argument(fmt::format("a column of the kind '{}'", kind));
}

/// Only whole numbers are converted to integers: what becomes of 1e308 is undefined.
std::int64_t whole_number(const ordered_json& value) {
  if (!value.is_number_integer()) throw std::invalid_argument(value.dump() + " in place of a whole number");
  return value.get<std::int64_t>();
}

ColumnModel column_of(const ordered_json& object) {
  ColumnModel column;
  column.name = object.value("name", "");
  column.number = whole_number(object.at("number"));
  column.how = how_of(object);
  if (object.contains("texts")) column.texts = object.at("texts").get<std::vector<std::string>>();
  if (column.how == Encode::unit && column.texts.size() != 1) throw std::invalid_argument("a column without its unit");
  if (!object.contains("fill")) return column;
  const ordered_json& fill = object.at("fill");
  if (fill.is_string()) {
    const auto found = std::find(column.texts.begin(), column.texts.end(), fill.get<std::string>());
    if (found == column.texts.end()) throw std::invalid_argument("a fill that is none of its texts");
    column.fill = column.features_of(found - column.texts.begin());
  } else if (fill.is_array()) {
    column.fill = fill.get<std::vector<double>>();
  } else {
    column.fill = {fill.get<double>()};
  }
  if (std::ssize(column.fill) != column.width()) throw std::invalid_argument("a fill of another width");
  return column;
}

/// All stored parameters, not yet checked.
Preparation stored_parameters(const StoredResult& result, const std::string& scale, std::int64_t components) {
  Preparation parameters;
  const Scaling known[] = {Scaling::none, Scaling::zscore, Scaling::minmax, Scaling::unit};
  const auto* scaling = std::ranges::find_if(
      known, [&scale](Scaling s) { return (scale.empty() ? name_of(Scaling::none) : scale) == name_of(s); });
  if (scaling == std::end(known)) {
    throw Error(ExitCode::data, fmt::format("{}: its points were prepared with --scale {}, which this version of kith "
                                            "does not support; use the version that wrote it, {}",
                                            result.file(), scale, result.text("kith_version")));
  }
  parameters.scaling = *scaling;
  if (result.has("preparation/center")) {
    parameters.columns = {result.vector("preparation/center"), result.vector("preparation/scale")};
  }
  if (components > 0) {
    parameters.pca = {result.vector("preparation/mean"), result.matrix("preparation/components"),
                      result.vector("preparation/explained_variance"),
                      result.vector("preparation/explained_variance_ratio")};
  }
  return parameters;
}

void check_sizes(const Preparation& parameters, std::int64_t components, const std::string& file) {
  const auto& [center, scale] = parameters.columns;
  const PrincipalComponents& pca = parameters.pca;
  const bool fits = center.size() == scale.size() && std::find(scale.begin(), scale.end(), 0.0) == scale.end() &&
                    pca.size() == components && std::ssize(pca.mean) == pca.components.columns() &&
                    (center.empty() || pca.mean.empty() || center.size() == pca.mean.size());
  if (fits) return;
  throw Error(ExitCode::data, fmt::format("{}: damaged: the datasets in /preparation do not match; compute the result "
                                          "again",
                                          file));
}

}  // namespace

StoredResult::StoredResult(const std::string& file)
    : file_(regular(file)), root_(root_of(file, true)), format_(root_.text("format")) {
  if (format_.starts_with("kith-")) return;
  refuse_input(file, fmt::format("expected a result of kith, an HDF5 file with the attribute `format`, found {}; `kith "
                                 "cluster ... -o RESULT.h5` writes one",
                                 format_.empty() ? "none" : kith::quoted(format_)));
}

bool StoredResult::is_one(const std::string& file) { return root_of(file, false).text("format").starts_with("kith-"); }

std::string StoredResult::text(const std::string& attribute) const {
  require_readable(file_, root_, attribute);
  return root_.text(attribute);
}

std::vector<std::string> StoredResult::lines(const std::string& attribute) const {
  return split_lines(text(attribute));
}

std::optional<double> StoredResult::number(const std::string& attribute) const {
  require_readable(file_, root_, attribute);
  const auto values = values_of(root_.numbers, attribute);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

std::optional<std::int64_t> StoredResult::whole(const std::string& attribute) const {
  const auto values = wholes(attribute);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

std::vector<std::int64_t> StoredResult::wholes(const std::string& attribute) const {
  require_readable(file_, root_, attribute);
  return values_of(root_.wholes, attribute);
}

bool StoredResult::has(const std::string& dataset) const {
  const std::size_t slash = dataset.find('/');
  const std::string member = dataset.substr(0, slash);
  const bool is_member = std::find(root_.members.begin(), root_.members.end(), member) != root_.members.end();
  if (!is_member || slash == dataset.npos) return is_member;
  const std::vector<DatasetInfo> all = list_hdf5({file_, "/" + member}, {});
  return std::any_of(all.begin(), all.end(), [&](const DatasetInfo& info) { return info.path == "/" + dataset; });
}

Matrix<double> StoredResult::matrix(const std::string& dataset) const {
  const auto source = open_hdf5({file_, "/" + dataset},
                                {.precision = Precision::f64, .vector_as_column = true, .missing = Missing::keep});
  return std::get<Matrix<double>>(read_all(*source));
}

std::vector<double> StoredResult::vector(const std::string& dataset) const {
  const Matrix<double> values = matrix(dataset);
  return {values.data(), values.data() + values.size()};
}

std::int64_t verify_result(const std::string& file) { return Hdf5Child::of(file)->call(file, &verify_file, file); }

void write_model(ResultFile& file, const TableModel& model) {
  ordered_json object{{"version", kVersion}, {"columns", ordered_json::array()}};
  for (const ColumnModel& column : model.columns) object["columns"].push_back(to_json(column));
  object["table_columns"] = model.table_columns;
  object["excluded"] = model.excluded;
  ordered_json options = ordered_json::object();
  for (const auto& [name, value] : model.options) options[name] = value;
  object["options"] = options;
  object["scale"] = model.scale;
  object["pca"] = model.components;
  object["metric"] = model.metric;
  // Names may be bytes that are no UTF-8: they become U+FFFD, and are not found again by name.
  const std::string text = object.dump(1, ' ', false, ordered_json::error_handler_t::replace);
  file.create_vector<std::uint8_t>("model", std::ssize(text));
  file.write_rows<std::uint8_t>("model", 0, {reinterpret_cast<const std::uint8_t*>(text.data()), std::ssize(text), 1});
}

std::shared_ptr<const TableModel> read_model(const StoredResult& result) {
  if (!result.has("model")) return nullptr;
  std::string text;
  for (const double byte : result.vector("model")) text += static_cast<char>(static_cast<unsigned char>(byte));
  TableModel model;
  try {
    const ordered_json object = ordered_json::parse(text);
    if (whole_number(object.at("version")) > kVersion) {
      refuse_input(result.file(), fmt::format("its model is of a later version; use kith {} or later to read it",
                                              result.text("kith_version")));
    }
    for (const ordered_json& column : object.at("columns")) model.columns.push_back(column_of(column));
    model.table_columns = whole_number(object.at("table_columns"));
    model.excluded = object.at("excluded").get<std::vector<std::string>>();
    for (const auto& [name, value] : object.at("options").items()) model.options.emplace_back(name, value);
    model.scale = object.at("scale");
    model.components = whole_number(object.at("pca"));
    model.metric = object.at("metric");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& problem) {
    refuse_input(result.file(), fmt::format("expected a description of the columns in /model, found {}; the file has "
                                            "been changed, cluster again",
                                            problem.what()));
  }
  return std::make_shared<const TableModel>(std::move(model));
}

std::optional<Preparation> read_preparation(const StoredResult& result) {
  const std::string scale = result.text("scale");
  const std::int64_t components = result.whole("pca").value_or(0);
  const bool is_prepared = !scale.empty() || components > 0 || result.has("preparation/center");
  if (!is_prepared) return std::nullopt;
  Preparation parameters = stored_parameters(result, scale, components);
  check_sizes(parameters, components, result.file());
  return parameters;
}

}  // namespace kith::data
