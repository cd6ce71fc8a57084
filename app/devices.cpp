// kith devices: what kith can compute on here, what is missing and why, versions and file formats.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/cli/common_options.h"
#include "app/cli/layout.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "core/backend.h"
#include "core/error.h"
#include "kernels/cpu/instructions/instructions.h"
#include "kernels/cpu/runtime/threads.h"

namespace kith::app {
namespace {

/// One backend on one device, or why there is none.
struct Found {
  std::string backend;
  std::string summary;
  int number = 0;
  std::string device;   // empty when missing
  std::string missing;  // the reason with its remedy
  std::vector<std::string> screens = {};
};

Found look_at(const BackendEntry& entry, int number) {
  BackendOptions options;
  options.device = number;
  Found found{entry.name, entry.summary, number, "", entry.missing(options)};
  if (!found.missing.empty()) return found;
  try {
    const Device device = entry.open(options)->device();
    found.device = fmt::format("{}, {}", device.name, device.description);
    found.screens = device.screens;
  } catch (const Error& error) {  // a card that is there but cannot be used belongs in the list
    found.missing = error.what();
  }
  return found;
}

std::vector<Found> look_around() {
  constexpr int kMostCards = 64;
  std::vector<Found> all;
  for (const BackendEntry& entry : backends()) {
    const bool has_numbers = std::string(entry.name) == "cuda";
    for (int number = 0; number < (has_numbers ? kMostCards : 1); ++number) {
      Found found = look_at(entry, number);
      if (number > 0 && found.device.empty()) break;  // one past the last card
      all.push_back(std::move(found));
    }
  }
  return all;
}

/// Names of the instruction sets that run here, best first.
std::vector<std::string> usable_instructions() {
  std::vector<std::string> names;
  for (const cpu::Instructions* set : cpu::instruction_sets()) {
    if (set->supported()) names.emplace_back(set->name);
  }
  return names;
}

std::string as_text(const std::vector<Found>& all) {
  const char* cuda = *KITH_CUDA_VERSION != '\0' ? "CUDA " KITH_CUDA_VERSION : "built without CUDA";
  std::string out = fmt::format("kith {}, HDF5 {}, {}\n\n", KITH_VERSION, KITH_HDF5_VERSION, cuda);
  const auto line = [&out](const std::string& lead, const std::string& text) {
    out += hang(lead, wrap(text, prose_width(Stream::output) - lead.size()));
  };
  out += "backends, best first\n";
  for (const Found& found : all) {
    line(fmt::format("  {:<6}", found.backend),
         fmt::format("{}{}", found.device.empty() ? "missing: " + found.missing : found.device,
                     found.number > 0 ? fmt::format(" (--device {})", found.number) : ""));
    if (!found.screens.empty()) line("        ", fmt::format("--screen {}", fmt::join(found.screens, ", ")));
  }
  out += "\nprocessor\n";
  line("  instructions ", fmt::format("{}: {}", cpu::instructions().name, cpu::instructions().summary));
  line("  KITH_CPU     ", fmt::format("{}", fmt::join(usable_instructions(), ", ")));
  line("  threads      ", std::to_string(cpu::usable_threads()));
  out += "\nformats\n";
  for (const data::FormatEntry& format : data::formats()) {
    line(fmt::format("  {:<9}", format.name), format.extensions);
    line("           ", format.summary);
  }
  return out;
}

std::string as_json(const std::vector<Found>& all) {
  using Json = nlohmann::ordered_json;
  Json object{{"command", "devices"}, {"version", KITH_VERSION}, {"hdf5", KITH_HDF5_VERSION}};
  object["cuda"] = *KITH_CUDA_VERSION != '\0' ? Json(KITH_CUDA_VERSION) : Json(nullptr);
  object["backends"] = Json::array();
  for (const Found& found : all) {
    Json entry{{"name", found.backend}, {"summary", found.summary}, {"usable", found.missing.empty()}};
    if (found.missing.empty()) {
      entry["number"] = found.number;
      entry["device"] = found.device;
      entry["screens"] = found.screens;
    } else {
      entry["missing"] = found.missing;
    }
    object["backends"].push_back(entry);
  }
  object["instructions"] = cpu::instructions().name;
  object["instruction_sets"] = usable_instructions();
  object["threads"] = cpu::usable_threads();
  object["formats"] = Json::array();
  for (const data::FormatEntry& format : data::formats()) {
    object["formats"].push_back(
        {{"name", format.name}, {"extensions", format.extensions}, {"summary", format.summary}});
  }
  return object.dump(2) + "\n";
}

}  // namespace

int run_devices(const Arguments& arguments) {
  bool json = false;
  OptionSet set({.command = "devices",
                 .summary = "what kith can compute on here, what is missing and why, versions and formats.",
                 .usage = "[--json]",
                 .examples = {"kith devices", "kith devices --json"}});
  set.begin_common();
  set.flag({.names = "--json", .help = "Print one JSON object."}, json);
  if (!set.parse(arguments)) return 0;
  const std::vector<Found> all = look_around();
  print_out(json ? as_json(all) : as_text(all));
  return 0;
}

}  // namespace kith::app
