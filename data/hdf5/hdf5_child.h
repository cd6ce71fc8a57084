// The processes that read HDF5 files with the HDF5 library, which crashes on some damaged files.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/io/child_process.h"
#include "data/io/packed.h"

namespace kith::data {

/// Prepares for children before this process has threads, if one of the words of a command line names an HDF5 file.
void prepare_hdf5_children(const std::vector<std::string>& words);

/// Calls functions that use the HDF5 library in a child process with limits on memory and time; with KITH_HDF5=inside,
/// for debugging, in this process. All files but those that this process is writing are read this way. A process reads
/// one file at a time. It is kept for the next file, because many small files would take longer to start processes than
/// to read. An error in a process that has read another file before counts only if a new process finds it, too: so it
/// never comes from what another file did to the process.
class Hdf5Child {
 public:
  /// The child for `file`, shared by all that use it.
  static std::shared_ptr<Hdf5Child> of(const std::string& file);
  explicit Hdf5Child(std::string file);

  /// Returns function(arguments...), computed in the child. Arguments and result are packed (data/io/packed.h).
  /// Rethrows the Error that the function throws. Throws Error(data) with `place`, a file or a dataset of it, if the
  /// child dies or its reply does not have the expected form.
  template <class Result, class... Parameters>
  Result call(const std::string& place, Result (*function)(Parameters...),
              const std::decay_t<Parameters>&... arguments) {
    if (child_ == nullptr) return function(arguments...);
    Packer request;
    request(reinterpret_cast<std::uintptr_t>(function), arguments...);
    const std::string reply = run(place, &serve<Result, Parameters...>, request.bytes());
    return unpacked<Result>(reply, [&place] { refuse_reply(place); });
  }
  /// Whether functions run in another process.
  bool is_separate() const { return child_ != nullptr; }

 private:
  /// Runs in the child. A function has the same address in both processes, because the child is a fork.
  template <class Result, class... Parameters>
  static std::string serve(std::string_view request) {
    return packed_reply([request](Packer& reply) {
      Unpacker in(request);
      const auto function = reinterpret_cast<Result (*)(Parameters...)>(in.take<std::uintptr_t>());
      std::tuple<std::decay_t<Parameters>...> arguments;
      std::apply([&in](auto&... argument) { in(argument...); }, arguments);
      if constexpr (std::is_void_v<Result>) {
        std::apply(function, arguments);
      } else {
        reply(std::apply(function, arguments));
      }
    });
  }

  /// The packed result; throws the error that the reply holds.
  std::string run(const std::string& place, ChildFunction function, const std::string& request);
  std::string run_once(const std::string& place, ChildFunction function, const std::string& request);
  void start();
  /// Turns a child that nobody uses to another file.
  void turn_to(const std::string& file);
  [[noreturn]] static void refuse_reply(const std::string& place);

  std::string file_;
  std::unique_ptr<ChildProcess> child_;  // null: functions run in this process
  std::mutex mutex_;
  bool has_read_others_ = false;
  bool has_failed_ = false;
  std::vector<std::pair<ChildFunction, std::string>> requests_;  // about this file, if it has read others
};

}  // namespace kith::data
