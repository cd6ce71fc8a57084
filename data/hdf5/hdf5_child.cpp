// Limits and messages of the child processes that use the HDF5 library.
#include "data/hdf5/hdf5_child.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "data/hdf5/hdf5_file.h"
#include "data/hdf5/stored_rows.h"
#include "data/io/file_kind.h"
#include "data/io/input_error.h"
#include "data/io/location.h"
#include "data/io/memory_limit.h"

namespace kith::data {
namespace {

bool is_inside() {
  const char* choice = std::getenv("KITH_HDF5");
  return is_child_process() || (choice != nullptr && std::string_view(choice) == "inside");
}

/// Enough for all metadata of an intact file of this size, and a part of what this process may use.
ChildLimits limits_for(const std::string& file) {
  constexpr std::int64_t kLeast = std::int64_t{32} << 20, kUsual = std::int64_t{256} << 20;
  constexpr double kSeconds = 1.0, kBytesPerSecond = 4e6;
  struct stat status {};
  const std::int64_t bytes = stat(file.c_str(), &status) == 0 ? std::int64_t{status.st_size} : 0;
  const std::int64_t memory = std::min(kUsual + bytes, memory_limit() / 2);
  return {std::max(memory, kLeast), kSeconds + static_cast<double>(bytes) / kBytesPerSecond};
}

}  // namespace

void prepare_hdf5_children(const std::vector<std::string>& words) {
  const auto names_hdf5 = [](const std::string& word) { return has_hdf5_signature(parse_location(word).file); };
  if (!is_inside() && std::any_of(words.begin(), words.end(), names_hdf5)) start_child_server();
}

std::shared_ptr<Hdf5Child> Hdf5Child::of(const std::string& file) {
  require_regular(file, "a file");  // here: a pipe of this process, such as /dev/fd/63, is not one of its child
  static std::mutex mutex;
  static std::vector<std::shared_ptr<Hdf5Child>> all;
  const std::lock_guard lock(mutex);
  const auto is_unused = [](const auto& child) { return child.use_count() == 1; };
  std::erase_if(all, [&](const auto& child) { return is_unused(child) && child->has_failed_; });
  const auto same = std::ranges::find(all, file, [](const auto& child) { return child->file_; });
  if (same != all.end()) return *same;
  if (const auto unused = std::ranges::find_if(all, is_unused); unused != all.end()) {
    (*unused)->turn_to(file);
    return *unused;
  }
  return all.emplace_back(std::make_shared<Hdf5Child>(file));
}

Hdf5Child::Hdf5Child(std::string file) : file_(std::move(file)) {
  prepare_hdf5();  // before the first child is made, so that every child has it
  if (!is_inside()) start();
}

void Hdf5Child::start() {
  child_ = std::make_unique<ChildProcess>();
  has_read_others_ = false;
  Packer request;  // the server may be older than this run's limit
  request(reinterpret_cast<std::uintptr_t>(&set_memory_limit), requested_memory());
  run_once(file_, &serve<void, std::int64_t>, request.bytes());
}

void Hdf5Child::turn_to(const std::string& file) {
  file_ = file;
  has_read_others_ = true;
  requests_.clear();
  if (is_separate()) call(file_, &close_all_datasets);
}

void Hdf5Child::refuse_reply(const std::string& place) {
  refuse_input(place,
               "the HDF5 library gave a description of the file that cannot be right; the file is damaged: copy or "
               "create it again");
}

std::string Hdf5Child::run(const std::string& place, ChildFunction function, const std::string& request) {
  const std::lock_guard lock(mutex_);
  try {
    if (has_read_others_) {
      try {
        std::string reply = run_once(place, function, request);
        requests_.emplace_back(function, request);
        return reply;
      } catch (const Error&) {  // another file may be to blame
        start();
        for (const auto& [before, its_request] : std::exchange(requests_, {})) run_once(place, before, its_request);
      }
    }
    return run_once(place, function, request);
  } catch (const Error&) {
    has_failed_ = true;
    throw;
  }
}

std::string Hdf5Child::run_once(const std::string& place, ChildFunction function, const std::string& request) {
  const ChildLimits limits = limits_for(file_);
  try {
    return unpacked_reply(child_->call(function, request, limits),
                          fmt::format("{}: reading it takes more than the {} that the HDF5 library may use; if the "
                                      "file is not damaged, give a larger --memory",
                                      place, show_bytes(limits.memory)),
                          [&place] { refuse_reply(place); });
  } catch (const ChildDeath& death) {
    const std::string how =
        death.signal == SIGPROF ? fmt::format("needed more than {:.1f} s", limits.seconds) : describe(death);
    refuse_input(
        place, fmt::format("the HDF5 library {} while reading it; the file is damaged: copy or create it again", how));
  }
}

}  // namespace kith::data
