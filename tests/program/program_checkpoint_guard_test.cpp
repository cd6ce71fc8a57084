// What guards a checkpoint: its owner, its lock, and what it knows about the inputs of its run.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "data/io/checksum.h"
#include "data/results/checkpoint_file.h"
#include "tests/support/checkpoint_trial.h"

using namespace kith::testing;

namespace {

/// 600 KiB, so that the mark of the file samples it: rows between the samples differ without notice.
void make_points(const std::string& file) {
  done({"generate", file, "-n", "9600", "-d", "16", "--integers", "-q", "-f"});
}

/// Changes a row that no sample holds, in a file that keeps its size.
void change_row(const std::string& file) {
  const std::string bytes = bytes_of(file);
  constexpr std::size_t kSamples = 64, kSampled = 4096;
  const std::size_t place = (bytes.size() - kSampled) / (kSamples - 1) * 30 + kSampled + 1000;
  std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
  out.seekp(static_cast<std::streamoff>(place));
  out.put(static_cast<char>(bytes[place] ^ 1));
}

struct Times {
  explicit Times(const std::string& file) {
    struct stat status {};
    REQUIRE(stat(file.c_str(), &status) == 0);
    times[0] = status.st_atim;
    times[1] = status.st_mtim;
  }
  void restore(const std::string& file) const { REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0); }
  timespec times[2];
};

/// A run that stops after its first step, in a folder that has its points.
struct Stopped {
  explicit Stopped(Words words) : command(std::move(words)) {
    make_points(folder / "x.h5");
    command.insert(command.end(), {"-q", "-o", folder / "out.h5", "--checkpoint", file()});
    command[1] = folder / "x.h5";
    run();
  }
  void run() const {
    Words first = command;
    first.insert(first.end(), {"--time-limit", kAtOnce});
    REQUIRE(run_kith(first).code == 124);
  }
  std::string file() const { return folder / "run.kith"; }
  /// Refused by the command and by resume, without a change of the checkpoint.
  void refused(int code, const Words& said) const {
    const std::string before = bytes_of(file());
    refuses(code, command, said);
    refuses(code, {"resume", file(), "--time-limit", "1h"}, said);
    CHECK(bytes_of(file()) == before);
    CHECK_FALSE(std::filesystem::exists(folder / "out.h5"));
  }

  Scratch folder;
  Words command;
};

const Words kSearch{"knn", "", "-k", "3", "--block-rows", "4000"};
const Words kClusters{"cluster", "", "-k", "20", "--init", "random"};

}  // namespace

TEST_CASE("an input that changed between a stop and its continuation is refused by name") {
  for (const Words& words : {kSearch, kClusters, Words{"sweep", "", "-k", "2,3", "--init", "random"}}) {
    INFO(words.front());
    const Stopped trial(words);
    const std::string points = trial.folder / "x.h5";
    const Times times(points);
    const auto before = kith::data::mark_of(points);
    change_row(points);
    REQUIRE(kith::data::mark_of(points).is_like(before));  // the samples do not show it
    trial.refused(3, {"expected the input x.h5 as it was when the run began", "another time of modification",
                      "add --same-inputs, else remove"});
    times.restore(points);
    trial.refused(3, {"the input x.h5", "another time of change (ctime)"});
  }
}

TEST_CASE("a file in the place of an input is refused, and --same-inputs takes a copy") {
  const Stopped trial(kClusters);
  const std::string points = trial.folder / "x.h5", copy = trial.folder / "copy.h5";
  Words whole{"cluster", points, "-k", "20", "--init", "random", "-q", "-o", trial.folder / "whole.h5"};
  done(whole);
  const Times times(points);
  std::filesystem::copy_file(points, copy);
  std::filesystem::rename(copy, points);
  times.restore(points);
  trial.refused(3, {"the input x.h5", "(ctime)"});
  // The advice of the message, which is no part of the command that the next checkpoint holds.
  const Outcome next = run_kith({"resume", trial.file(), "--same-inputs"});
  CHECK(next.code == 124);
  const auto words = kith::data::read_checkpoint(trial.file()).words;
  CHECK(std::count(words.begin(), words.end(), "--same-inputs") == 0);
  CHECK(std::count(words.begin(), words.end(), "--checkpoint") == 1);
  done({"resume", trial.file(), "--time-limit", "1h"});
  CHECK(bytes_of(trial.folder / "out.h5") == bytes_of(trial.folder / "whole.h5"));
  // Other samples are refused all the same.
  std::filesystem::remove(trial.folder / "out.h5");
  trial.run();
  std::string bytes = bytes_of(points);
  bytes.back() ^= 1;
  write_bytes(points, bytes);
  Words again = trial.command;
  again.push_back("--same-inputs");
  refuses(3, again, {"found that x.h5 has changed since"});
  const Outcome idle = run_kith({"cluster", points, "-k", "2", "--same-inputs"});
  CHECK(idle.says("--same-inputs has no effect: there is no --checkpoint"));
}

TEST_CASE("a checkpoint without the identities of its inputs is read") {
  const Stopped trial(kSearch);
  kith::data::Checkpoint old = kith::data::read_checkpoint(trial.file());
  REQUIRE(old.inputs.at(0).identity);
  // As version 0.1 wrote it: form 1, without these 25 bytes for each input.
  std::string bytes = bytes_of(trial.file());
  const std::size_t head = bytes.find(old.place) + old.place.size(), identity = 1 + 3 * 8, frame = 18;
  bytes.erase(head, identity);
  bytes[16] = '1';
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + frame, sizeof size);
  size -= identity;
  std::memcpy(bytes.data() + frame, &size, sizeof size);
  kith::data::Checksum checksum;
  checksum.add(bytes.data(), bytes.size() - 4);
  const std::uint32_t value = checksum.value();
  std::memcpy(bytes.data() + bytes.size() - 4, &value, sizeof value);
  write_bytes(trial.file(), bytes);
  CHECK_FALSE(kith::data::read_checkpoint(trial.file()).inputs.at(0).identity);
  CHECK(kith::data::read_checkpoint(trial.file()).state == old.state);
  done(trial.command);
  done({"knn", trial.folder / "x.h5", "-k", "3", "-q", "-o", trial.folder / "whole.h5"});
  CHECK(bytes_of(trial.folder / "out.h5") == bytes_of(trial.folder / "whole.h5"));
}

TEST_CASE("a checkpoint of another user is refused, the generation before it too") {
  if (geteuid() != 0) {
    WARN("only root can give files to another user; not tried");
    return;
  }
  const Stopped trial(kSearch);
  const Words said{"expected a checkpoint of your own, found one of user 12345", "copy it and name the copy"};
  trial.run();
  REQUIRE(std::filesystem::exists(trial.file() + ".prev"));
  REQUIRE(chown(trial.file().c_str(), 12345, 12345) == 0);
  trial.refused(5, said);
  REQUIRE(chown(trial.file().c_str(), 0, 0) == 0);
  REQUIRE(chown((trial.file() + ".prev").c_str(), 12345, 12345) == 0);
  refuses(5, trial.command, said);
  std::filesystem::remove(trial.file());
  refuses(5, trial.command, said);
  // The advice: a copy is one's own.
  std::filesystem::copy_file(trial.file() + ".prev", trial.folder / "mine.kith");
  done({"resume", trial.folder / "mine.kith", "--time-limit", "1h"});
  // A plain user trusts root, and a link of that user to a file of another one is no way around.
  std::filesystem::create_symlink(trial.file() + ".prev", trial.folder / "link.kith");
  refuses(5, {"resume", trial.folder / "link.kith"}, said);
}

TEST_CASE("a second run with the checkpoint of a running one is refused, until that run has ended in any way") {
  const Scratch folder, inputs;
  done({"generate", inputs / "x.h5", "-n", "60000", "-d", "16", "--kind", "noise", "-q"});
  Words first{"cluster", inputs / "x.h5",    "-k",     "100", "--init", "random", "--tolerance",
              "0",       "--max-iterations", "1000000"};  // a minute and more
  first.insert(first.end(), {"-q", "--checkpoint", folder / "run.kith", "--checkpoint-every", "1h", "-o"});
  Words second = first;
  first.push_back(folder / "first.h5");
  second.push_back(folder / "second.h5");
  const auto is_locked = [&] {
    const Words files = files_in(folder);
    return std::any_of(files.begin(), files.end(), [](const auto& name) { return name.starts_with(".run.kith."); });
  };
  for (const int number : {SIGINT, SIGKILL}) {
    Running run(first);
    CHECK(eventually(is_locked));
    kill(run.process(), SIGSTOP);  // so that it does not end before the second one begins
    refuses(5, second, {"run.kith: expected a checkpoint that no run uses", "another run uses it now", "wait until"});
    Words plan = second;
    plan.insert(plan.begin(), "plan");
    done(plan);  // it uses nothing
    kill(run.process(), number);
    kill(run.process(), SIGCONT);
    CHECK(run.wait().code == 128 + number);
    CHECK_FALSE(std::filesystem::exists(folder / "second.h5"));
    CHECK(is_locked() == (number == SIGKILL));     // the next run takes what is left of the lock
    std::filesystem::remove(folder / "run.kith");  // there only if the run had begun to compute before its signal
  }
  Words last = second;
  last.insert(last.end(), {"--time-limit", kAtOnce});
  CHECK(run_kith(last).code == 124);
  CHECK(files_in(folder) == Words{"run.kith"});
  // Any output of kith in the folder removes it as well.
  std::filesystem::remove(folder / "run.kith");
  std::filesystem::remove(folder / "first.h5");
  Running run(first);
  CHECK(eventually(is_locked));
  kill(run.process(), SIGKILL);
  run.wait();
  CHECK(is_locked());
  done({"cluster", kDigits, "-k", "2", "--max-iterations", "1", "-q", "-o", folder / "other.h5"});
  CHECK_FALSE(is_locked());
}

TEST_CASE("two runs that start at once with one checkpoint: one of them runs") {
  const Scratch folder;
  make_points(folder / "x.h5");
  for (int round = 0; round < 8; ++round) {
    const auto words = [&](const std::string& out) {
      return Words{
          "knn", folder / "x.h5", "-k",   "2",  "-q",        "-f", "--checkpoint", folder / "c", "--checkpoint-every",
          "0",   "--block-rows",  "1000", "-o", folder / out};
    };
    Running a(words("a.h5")), b(words("b.h5"));
    const Outcome one = a.wait(), other = b.wait();
    INFO(one.err << other.err);
    // Both may succeed, one after the other.
    CHECK((one.code == 0 || other.code == 0));
    for (const Outcome* outcome : {&one, &other}) {
      CHECK((outcome->code == 0 || (outcome->code == 5 && outcome->says("another run uses it now"))));
    }
    CHECK_FALSE(std::filesystem::exists(folder / "c"));
  }
}
