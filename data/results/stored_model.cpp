// Converts the model of a table to JSON and back, reads the parameters of a preparation, and compares their sizes.
#include "data/results/stored_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "data/io/input_error.h"

namespace kith::data {
namespace {

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
  const auto* scaling = std::find_if(std::begin(known), std::end(known), [&scale](Scaling s) {
    return (scale.empty() ? name_of(Scaling::none) : scale) == name_of(s);
  });
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
