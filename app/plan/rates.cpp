// Keeps rates in a file of the cache folder, and interpolates them.
#include "app/plan/rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/plan/usual_rates.h"
#include "data/io/checksum.h"
#include "data/results/text_file.h"

namespace kith::app {
namespace {

using Entries = std::vector<Rates::Entry>;

/// The time between two entries, at places with these logarithms.
double between(double x, double x0, double y0, double x1, double y1) {
  return x1 > x0 ? std::exp(std::log(y0) + (std::log(y1) - std::log(y0)) * (x - x0) / (x1 - x0)) : y0;
}

/// The power of the size with which the time grows between the last two entries.
double growth_of(const Entries& entries) {
  if (entries.size() < 2) return 1.0;
  const Rates::Entry &before = entries.end()[-2], &last = entries.back();
  const double sizes = static_cast<double>(last.size) / static_cast<double>(before.size);
  return std::clamp(std::log(last.seconds / before.seconds) / std::log(sizes), 0.0, 1.0);
}

/// At a place between or beyond the entries, of which at() is the place. growth: power of the place beyond the last.
template <class At>
double interpolated(const Entries& entries, std::int64_t place, const At& at, double growth = 1.0) {
  if (place <= at(entries.front())) return entries.front().seconds;
  if (place >= at(entries.back())) {
    const double times = static_cast<double>(place) / static_cast<double>(at(entries.back()));
    return entries.back().seconds * std::pow(times, growth);
  }
  const auto above = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return at(e) >= place; });
  const auto log_of = [](std::int64_t number) {
    return std::log(static_cast<double>(std::max<std::int64_t>(number, 1)));
  };
  return between(log_of(place), log_of(at(above[-1])), above[-1].seconds, log_of(at(*above)), above->seconds);
}

Rates read_rates(const std::string& file) {
  Rates rates;
  std::ifstream in(file);
  const auto object = nlohmann::json::parse(in, nullptr, false);
  if (!object.is_object() || object.value("version", "") != KITH_VERSION) return rates;
  try {
    for (std::size_t i = 0; i < kOperationNames.size(); ++i) {
      for (const auto& e : object.at("seconds_per_row").at(kOperationNames[i])) {
        rates.entries[i].push_back({e.at(0), e.at(1), e.at(2)});
      }
    }
    rates.memory = object.at("memory");
    rates.load = object.at("load");
    rates.reread = object.at("reread");
    rates.measured = true;
  } catch (const nlohmann::json::exception&) {  // a damaged file is as good as none
    return {};
  }
  return rates;
}

}  // namespace

double Rates::seconds_per_row(Operation operation, std::int64_t columns, std::int64_t size) const {
  const Entries& all = entries[static_cast<std::size_t>(operation)];
  Entries of_columns;
  for (auto first = all.begin(); first != all.end();) {
    const auto next = std::find_if(first, all.end(), [&](const Entry& e) { return e.columns != first->columns; });
    const Entries of_size(first, next);
    const double growth = operation == Operation::join ? growth_of(of_size) : 1.0;
    const double seconds = interpolated(
        of_size, size, [](const Entry& e) { return e.size; }, growth);
    of_columns.push_back({first->columns, size, seconds});
    first = next;
  }
  if (of_columns.empty()) return 0.0;
  return interpolated(of_columns, columns, [](const Entry& e) { return e.columns; });
}

double Rates::search_seconds(std::int64_t rows, std::int64_t columns, std::int64_t queries) const {
  constexpr std::int64_t kMostColumns = 32;  // of trees
  constexpr double kBuilding = 0.25;         // of the time of a join by a tree, about
  constexpr double kTreeGrowth = 1.5;        // of the time of a row, at most, with twice as many rows
  const auto n = static_cast<double>(rows), q = static_cast<double>(queries);
  const double products = n * seconds_per_row(Operation::search, columns, queries);
  const double join = seconds_per_row(Operation::join, columns, rows);
  const bool has_tree =
      join > 0.0 && columns <= kMostColumns && seconds_per_row(Operation::join, columns, 2 * rows) < kTreeGrowth * join;
  return has_tree ? std::min(products, join * (q * (1 - kBuilding) + n * kBuilding)) : products;
}

std::string rates_file(const std::string& backend, const std::string& device) {
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  std::string folder = cache != nullptr && *cache == '/' ? cache : "";
  if (folder.empty() && home != nullptr && *home != '\0') folder = std::string(home) + "/.cache";
  data::Checksum sum;
  sum.add(device.data(), device.size());
  return folder.empty() ? "" : fmt::format("{}/kith/limits-{}-{:08x}.json", folder, backend, sum.value());
}

void write_rates(const std::string& file, const Rates& rates) {
  nlohmann::ordered_json object{
      {"version", KITH_VERSION}, {"memory", rates.memory}, {"load", rates.load}, {"reread", rates.reread}};
  for (std::size_t i = 0; i < kOperationNames.size(); ++i) {
    auto& list = object["seconds_per_row"][kOperationNames[i]] = nlohmann::ordered_json::array();
    for (const Rates::Entry& e : rates.entries[i]) list.push_back({e.columns, e.size, e.seconds});
  }
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), failure);
  data::write_text_file(file, {.force = true, .endings = {".json"}}, object.dump(1) + "\n");
}

Rates rates_for(const std::string& backend, const std::string& device, std::int64_t threads) {
  const std::string file = rates_file(backend, device);
  Rates rates = file.empty() ? Rates{} : read_rates(file);
  if (rates.measured || backend != "cpu") return rates;
  rates = usual_rates();
  const double faster = static_cast<double>(std::max<std::int64_t>(threads, 1)) / kUsualThreads;
  for (Entries& entries : rates.entries) {
    for (Rates::Entry& entry : entries) entry.seconds /= faster;
  }
  return rates;
}

}  // namespace kith::app
