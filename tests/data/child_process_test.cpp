// Child processes: what a call returns, and what happens when the child crashes, hangs, or takes too much memory.
#include "data/io/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "data/format/element.h"
#include "data/hdf5/hdf5_child.h"
#include "tests/support/hdf5_files.h"
#include "tests/support/skipped.h"

using namespace kith;
using namespace kith::data;
using namespace kith::testing;

namespace {

constexpr ChildLimits kLimits{std::int64_t{64} << 20, 0.3};

std::string appended(std::string_view request) {
  static std::string kept;
  return kept += request;
}
std::string crash(std::string_view) {
  raise(SIGSEGV);
  return "";
}
std::string exit_with_7(std::string_view) { _exit(7); }
std::string hang(std::string_view) {
  for (volatile unsigned i = 0;;) i = i + 1;
}
std::string take_memory(std::string_view) {
  void* volatile memory = std::malloc(std::size_t{1} << 34);
  return memory == nullptr ? "none" : "";
}
std::string state;
std::string state_of_process(std::string_view) { return state; }
std::string own_process(std::string_view) { return std::to_string(getpid()); }
std::string descriptors(std::string_view) {
  int count = 0;
  for (int d = 0; d < 1000; ++d) count += fcntl(d, F_GETFD) != -1 ? 1 : 0;
  return std::to_string(count);
}

ChildDeath death_of(ChildFunction function) {
  ChildProcess child;
  try {
    child.call(function, "", kLimits);
  } catch (const ChildDeath& death) {
    CHECK_THROWS_AS(child.call(appended, "", kLimits), ChildDeath);
    return death;
  }
  FAIL("the child did not die");
  return {};
}

void crash_like_the_library() { raise(SIGSEGV); }
void hang_like_the_library() { hang(""); }
std::vector<std::int64_t> doubled(const std::vector<std::int64_t>& values, const std::string& text) {
  if (!text.empty()) throw Error(ExitCode::data, text);
  std::vector<std::int64_t> out;
  for (const std::int64_t value : values) out.push_back(2 * value);
  return out;
}

std::int64_t own_number() { return getpid(); }
std::int64_t sum = 0, calls_left = -1;
/// calls: the process dies after so many additions; -1: it does not.
void begin_sum(std::int64_t calls) {
  sum = 0;
  if (calls >= 0) calls_left = calls;
}
std::int64_t added(std::int64_t value) {
  if (calls_left-- == 0) crash_like_the_library();
  return sum += value;
}

/// Whether the process has ended; it may still wait for its parent to ask.
bool has_ended(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string number, name, state;
  return !(file >> number >> name >> state) || state == "Z" || state == "X";
}

}  // namespace

// The first of this file: later the server exists.
TEST_CASE("102: children are copies of the process as it was when the server started") {
  state = "before";
  start_child_server();
  state = "after";
  ChildProcess child;
  CHECK(child.call(state_of_process, "", kLimits) == "before");
}

TEST_CASE("a child keeps its state between calls, and has no open files but its socket") {
  ChildProcess first, second;
  CHECK(first.call(appended, "a", kLimits) == "a");
  CHECK(first.call(appended, "b", kLimits) == "ab");
  CHECK(second.call(appended, "c", kLimits) == "c");
  CHECK(first.call(descriptors, "", kLimits) == "4");
  const std::string large(3'000'000, 'x');
  CHECK(second.call(appended, large, kLimits) == "c" + large);
}

TEST_CASE("a crash, an exit and a call that is too long end the child and are reported") {
  CHECK(death_of(crash).signal == SIGSEGV);
  CHECK(death_of(exit_with_7).signal == 0);
  CHECK(death_of(exit_with_7).code == 7);
  CHECK(death_of(hang).signal == SIGPROF);
}

TEST_CASE("a child cannot take more memory than allowed") {
  ChildProcess child;
  std::string memory;
  try {
    memory = child.call(take_memory, "", kLimits);
  } catch (const ChildDeath&) {
    memory = is_sanitized() ? "none" : "died";  // a sanitizer ends the child
  }
  CHECK(memory == "none");
}

TEST_CASE("children end with the process that uses them, however it ends") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t user = fork();
  if (user == 0) {
    ChildProcess child;
    const std::string process = child.call(own_process, "", kLimits);
    [[maybe_unused]] const ssize_t written = write(ends[1], process.data(), process.size());
    close(ends[1]);
    pause();
  }
  close(ends[1]);
  char text[32] = "";
  REQUIRE(read(ends[0], text, sizeof text - 1) > 0);
  close(ends[0]);
  CHECK_FALSE(has_ended(text));
  kill(user, SIGKILL);
  waitpid(user, nullptr, 0);
  bool ended = false;
  for (int tries = 0; tries < 1000 && !ended; ++tries) {
    usleep(10'000);
    ended = has_ended(text);
  }
  CHECK(ended);
}

TEST_CASE("functions of the HDF5 library run elsewhere, and their errors come back") {
  const auto child = std::make_shared<Hdf5Child>("x.h5");
  REQUIRE(child->is_separate());
  CHECK(child->call("x.h5", &doubled, {1, -2}, "") == std::vector<std::int64_t>{2, -4});
  refused(ExitCode::data, [&] { child->call("x.h5", &doubled, {1}, "wrong"); }, {"wrong"});
  for (int i = 0; i < 2; ++i) {
    refused(ExitCode::data, [&] { child->call("x.h5:/d", &crash_like_the_library); },
            {"x.h5:/d: the HDF5 library crashed (signal 11) while reading it", "copy or create it again"});
  }
}

TEST_CASE("a process reads file after file, and no file is blamed for what another one did to the process") {
  const Scratch folder;
  for (const char* name : {"a.h5", "b.h5", "c.h5"}) std::ofstream(folder / name) << "x";
  const auto process_for = [&](const char* name) { return Hdf5Child::of(folder / name)->call(name, &own_number); };
  const std::int64_t first = process_for("a.h5");
  CHECK(process_for("b.h5") == first);
  {
    const auto held = Hdf5Child::of(folder / "b.h5");
    CHECK(process_for("c.h5") != first);
    CHECK(held->call("b.h5", &own_number) == first);
  }
  Hdf5Child::of(folder / "b.h5")->call("b.h5", &begin_sum, 2);  // does damage that shows later
  {
    const auto held = Hdf5Child::of(folder / "a.h5");
    CHECK(held->call("a.h5", &own_number) == first);
    held->call("a.h5", &begin_sum, -1);
    CHECK(held->call("a.h5", &added, 2) == 2);
    CHECK(held->call("a.h5", &added, 3) == 5);
    CHECK(held->call("a.h5", &added, 4) == 9);  // a new process does all of it again
    CHECK(held->call("a.h5", &own_number) != first);
  }
  refused(ExitCode::data, [&] { Hdf5Child::of(folder / "c.h5")->call("c.h5", &crash_like_the_library); },
          {"c.h5: the HDF5 library crashed (signal 11)"});
  CHECK(process_for("a.h5") > 0);
}

TEST_CASE("a call of the HDF5 library that is too long is an error of the file") {
  refused(ExitCode::data, [&] { Hdf5Child("x.h5").call("x.h5:/d", &hang_like_the_library); },
          {"x.h5:/d: the HDF5 library needed more than 1.0 s while reading it"});
}

TEST_CASE("messages that do not have the expected form are refused before memory is taken") {
  Packer packer;
  packer(std::vector<std::string>{"a", "bc"}, std::optional<double>(0.5), true);
  const std::string bytes = packer.bytes();
  Unpacker whole(bytes);
  CHECK(whole.take<std::vector<std::string>>() == std::vector<std::string>{"a", "bc"});
  CHECK(whole.take<std::optional<double>>() == 0.5);
  CHECK_THROWS_AS(whole.require_end(), UnpackError);
  CHECK(whole.take<bool>());
  whole.require_end();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    Unpacker cut(std::string_view(bytes).substr(0, size));
    CHECK_THROWS_AS((cut.take<std::vector<std::string>>(), cut.take<std::optional<double>>(), cut.take<bool>()),
                    UnpackError);
  }
  Packer huge;
  huge(~std::uint64_t{0});
  CHECK_THROWS_AS(Unpacker(huge.bytes()).take<std::vector<double>>(), UnpackError);
  CHECK_THROWS_AS(Unpacker(huge.bytes()).take<std::string>(), UnpackError);
  CHECK_THROWS_AS(Unpacker("\x02").take<bool>(), UnpackError);
  CHECK_THROWS_AS(Unpacker("\x7f").take<Number>(), UnpackError);
}
