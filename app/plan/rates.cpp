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

/// At a place between or beyond the entries, of which at() is the place.
template <class At>
double interpolated(const Entries& entries, std::int64_t place, const At& at) {
  if (place <= at(entries.front())) return entries.front().seconds;
  if (place >= at(entries.back())) {
    return entries.back().seconds * static_cast<double>(place) / static_cast<double>(at(entries.back()));
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
    const double seconds = interpolated(Entries(first, next), size, [](const Entry& e) { return e.size; });
    of_columns.push_back({first->columns, size, seconds});
    first = next;
  }
  if (of_columns.empty()) return 0.0;
  return interpolated(of_columns, columns, [](const Entry& e) { return e.columns; });
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
