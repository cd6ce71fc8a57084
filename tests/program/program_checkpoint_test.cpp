// Checkpoints: runs that stop after any step, are killed or are asked to stop, and continue to the same bytes.
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <random>
#include <thread>

#include "data/results/checkpoint_file.h"
#include "tests/support/checkpoint_trial.h"
#include "tests/support/skipped.h"

using namespace kith::testing;

namespace {

/// Stops the run after each of its steps; every other part has another number of threads. Returns the number of parts.
int in_steps(const Trial& trial) {
  for (int parts = 1; parts < 200; ++parts) {
    const Outcome outcome = trial.part({"--time-limit", kAtOnce, "--threads", parts % 2 == 0 ? "1" : "2"});
    INFO(outcome.err);
    if (outcome.code == 0) {
      trial.check_same();
      return parts;
    }
    REQUIRE(outcome.code == 124);
    const Words left = files_in(trial.folder);
    REQUIRE((left == Words{"run.kith", "whole.h5"} || left == Words{"run.kith", "run.kith.prev", "whole.h5"}));
  }
  FAIL("the run does not end");
  return 0;
}

void flip(const std::string& file, std::size_t place) {
  std::string bytes = bytes_of(file);
  bytes[place] = static_cast<char>(bytes[place] ^ 4);
  write_bytes(file, bytes);
}

}  // namespace

TEST_CASE("a run that stops after every step writes the bytes of one that does not stop") {
  const Scratch inputs;
  done({"cluster", kDigits, "-k", "8", "--init", "first", "--max-iterations", "3", "-q", "-o", inputs / "start.h5"});
  CHECK(in_steps(Trial(digits({"-k", "6", "--init", "k-means++", "--max-iterations", "4"}))) > 8);
  CHECK(in_steps(Trial(digits({"-k", "5", "--init", "k-means||", "--max-iterations", "3"}))) > 7);
  CHECK(in_steps(Trial(digits({"-k", "4", "--init", "farthest", "--max-iterations", "2"}))) > 4);
  CHECK(in_steps(Trial(digits({"-k", "7", "--init", "random", "--n-init", "3", "--max-iterations", "3"}))) > 8);
  CHECK(in_steps(Trial(digits({"--init", inputs / "start.h5", "--max-iterations", "4"}))) > 3);
  CHECK(in_steps(Trial(digits({"-k", "5", "--init", "random", "--metric", "cosine", "--max-iterations", "4"}))) > 3);
  CHECK(in_steps(Trial(digits({"-k", "10", "--init", "random", "--freeze", inputs / "start.h5:/centroids",
                               "--max-iterations", "3"}))) > 2);
  CHECK(in_steps(Trial(digits({"-k", "5", "--batch", "300", "--epochs", "1", "--init", "random", "--save-distances",
                               "--medoids", "--max-iterations", "3"}))) > 8);
  CHECK(in_steps(Trial(digits({"-k", "5", "--batch", "500", "--epochs", "2", "--no-finish", "--init", "random"}))) > 7);
}

TEST_CASE("runs with weights and empty clusters continue to the same bytes") {
  const Scratch inputs;
  std::string rows = "x,y,w\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{},{}\n", i % 10, i % 3 * 0.37 + i * i % 7, 0.25 + i % 4);
  write_bytes(inputs / "rows.csv", rows);
  // All centroids but the first are equal, so that most clusters are empty at first.
  write_bytes(inputs / "start.csv", "x,y\n0,0\n9,6\n9,6\n9,6\n9,6\n");
  const Words weighted{"cluster", inputs / "rows.csv", "--weight-column", "w", "--tolerance", "0"};
  const auto with = [&](const Words& more) {
    Words words = weighted;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  CHECK(in_steps(Trial(with({"--init", inputs / "start.csv"}))) > 3);
  CHECK(in_steps(Trial(with({"--init", inputs / "start.csv", "--empty", "drop"}))) > 2);
  CHECK(in_steps(Trial(with({"--init", inputs / "start.csv", "--empty", "keep"}))) > 2);
  CHECK(in_steps(Trial(with({"-k", "4", "--n-init", "2"}))) > 8);
}

TEST_CASE("runs in two limbs, in passes and from the first rows continue to the same bytes") {
  const Scratch inputs;
  std::string rows;  // sums of such columns need two limbs
  for (int i = 0; i < 80; ++i) rows += fmt::format("{},{}\n", i % 9 * 1e12 + 0.001 * i, i % 5 * 1e-7);
  write_bytes(inputs / "wide.csv", rows);
  CHECK(in_steps(Trial({"cluster", inputs / "wide.csv", "-k", "5", "--init", "first", "--tolerance", "0"})) > 2);
  done({"generate", inputs / "x.h5", "-n", "120000", "-d", "32", "--kind", "noise", "-q"});  // 15.4 MB
  const Words passes{"cluster", inputs / "x.h5", "-k",       "4",    "--max-iterations", "3",
                     "--init",  "random",        "--memory", "13MB", "--tolerance",      "0"};
  CHECK(done({"cluster", inputs / "x.h5", "-k", "4", "--init", "random", "--memory", "13MB", "--max-iterations", "1",
              "--json"})
            .json()
            .contains("streamed"));
  CHECK(in_steps(Trial(passes)) > 2);
}

TEST_CASE("a search keeps the lists of finished queries") {
  const Scratch inputs;
  done({"generate", inputs / "q.h5", "-n", "500", "-d", "64", "-q"});
  const Words knn{"knn", kDigits, "-k", "5", "--block-rows", "300"};
  const auto with = [&](const Words& more) {
    Words words = knn;
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  CHECK(in_steps(Trial(knn)) == 6);
  CHECK(in_steps(Trial(with({"--include-self", "--squared"}))) == 6);
  CHECK(in_steps(Trial(with({"--queries", inputs / "q.h5", "--metric", "cosine"}))) == 2);
  write_bytes(inputs / "nan.csv", "1,2\nNaN,3\n2,2\n0,1\n5,5\n");
  CHECK(in_steps(Trial({"knn", inputs / "nan.csv", "-k", "2", "--nan", "drop", "--block-rows", "1"})) == 4);
  refuses(2, with({"--checkpoint", inputs / "c.kith"}), {"--checkpoint needs --output"});
  refuses(2, with({"--graph", "-o", inputs / "g.h5", "--checkpoint", inputs / "c.kith"}), {"it keeps lists"});
  // Blocks that nobody chose have fewer queries with a checkpoint, and the same lists.
  const Trial plain({"knn", kDigits, "-k", "3"});
  CHECK(plain.part({}).code == 0);
  plain.check_same();
}

TEST_CASE("a sweep keeps the numbers of clusters that are finished") {
  CHECK(in_steps(Trial({"sweep", kDigits, "-k", "2-4", "--init", "random", "--max-iterations", "3"})) > 6);
  CHECK(in_steps(Trial(
            {"sweep", kDigits, "-k", "2,3", "--init", "random", "--warm", "--gap", "1", "--max-iterations", "2"})) > 4);
}

TEST_CASE("kith resume runs the command of the checkpoint again, from any folder") {
  const Scratch folder, elsewhere;
  const Words command{"cluster", kDigits, "-k", "5", "--init", "random", "-q", "-o", "out.h5", "--checkpoint", "c"};
  done({"cluster", kDigits, "-k", "5", "--init", "random", "-q", "-o", elsewhere / "whole.h5"});
  Words first = command;
  first.insert(first.end(), {"--time-limit", kAtOnce});
  const Outcome stopped = run_kith(first, {.folder = folder.path()});
  CHECK(stopped.code == 124);
  CHECK(stopped.says("continue with: kith resume c"));
  const Outcome further = run_kith({"resume", folder / "c", "--threads", "1"}, {.folder = elsewhere.path()});
  CHECK(further.code == 124);  // the time limit is part of the command
  done({"resume", folder / "c", "--time-limit", "1h"}, {.folder = elsewhere.path()});
  CHECK(bytes_of(folder / "out.h5") == bytes_of(elsewhere / "whole.h5"));
  CHECK(files_in(folder) == Words{"out.h5"});
  refuses(2, {"resume", folder / "c"}, {"does not exist", "removed when its run has written its result"});
  refuses(3, {"resume", folder / "out.h5"}, {"expected a checkpoint of kith, found"});
  CHECK(done({"resume", "--help"}).out.find("kith resume FILE") != std::string::npos);
}

TEST_CASE("killed runs continue to the same bytes and leave nothing else") {
  const char* many = std::getenv("KITH_KILLS");
  std::mt19937 random(18);
  const Trial trial(digits({"-k", "40", "--init", "random", "--tolerance", "0", "--n-init", "4"}));
  const auto begin = std::chrono::steady_clock::now();
  int kills = 0;
  for (int round = 0; kills < (many != nullptr ? std::atoi(many) : 20); ++round) {
    REQUIRE(round < 5000);
    Running run(trial.with({trial.folder / "parts.h5", "--checkpoint", trial.file(), "--checkpoint-every", "0"}));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 250'000));
    kill(run.process(), SIGKILL);
    const Outcome outcome = run.wait();
    INFO(outcome.err);
    REQUIRE((outcome.code == 0 || outcome.code == 128 + SIGKILL));
    kills += outcome.code != 0 ? 1 : 0;
    // A run may also be killed behind its last step, when it has removed the checkpoint.
    const bool complete = files_in(trial.folder) == Words{"parts.h5", "whole.h5"};
    if (outcome.code != 0 && !complete) continue;
    trial.check_same();
    std::filesystem::remove(trial.folder / "parts.h5");
  }
  CHECK(trial.part({"--checkpoint-every", "0"}).code == 0);
  trial.check_same();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::minutes(many != nullptr ? 10 : 1));
}

TEST_CASE("a run that was killed after it wrote its output ends well; other outputs are kept") {
  const Trial trial(digits({"-k", "6", "--init", "random", "--max-iterations", "4"}));
  REQUIRE(trial.part({"--time-limit", kAtOnce}).code == 124);
  const std::string checkpoint = bytes_of(trial.file());
  const std::string output = trial.folder / "parts.h5";
  CHECK(trial.part({}).code == 0);
  const auto restore = [&](int seconds) {  // the checkpoint, so long before the output
    write_bytes(trial.file(), checkpoint);
    std::filesystem::last_write_time(trial.file(),
                                     std::filesystem::last_write_time(output) - std::chrono::seconds(seconds));
  };
  restore(1);
  CHECK(trial.part({}).code == 0);
  trial.check_same();
  restore(-1);
  CHECK(trial.part({}).says("exists; use -f/--force"));
  write_bytes(output, "other");
  restore(1);
  const Outcome refused = trial.part({});
  CHECK(refused.code == 5);
  CHECK(refused.says("with other bytes"));
  CHECK(bytes_of(output) == "other");
  CHECK(bytes_of(trial.file()) == checkpoint);
}

TEST_CASE("signals stop a run after its iteration; it continues to the same bytes") {
  const Scratch inputs;
  const Trial trial(long_run(inputs));
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
    std::filesystem::remove(trial.folder / "parts.h5");
    Words words = trial.with({trial.folder / "parts.h5", "--checkpoint", trial.file(), "--checkpoint-every", "0"});
    Running run(words);
    CHECK(eventually([&] { return std::filesystem::exists(trial.file()); }));
    kill(run.process(), number);
    const Outcome outcome = run.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 128 + number);
    CHECK(outcome.says("kith: stopped "));
    CHECK(outcome.says("continue with: kith resume"));
    CHECK(!std::filesystem::exists(trial.folder / "parts.h5"));
    CHECK(trial.part({}).code == 0);
    trial.check_same();
  }
}

TEST_CASE("a checkpoint behind a symbolic link stays one, and has its own place") {
  const Scratch folder, other;
  const Trial trial(digits({"-k", "5", "--init", "random"}));
  REQUIRE(trial.part({"--time-limit", kAtOnce}).code == 124);
  std::filesystem::copy_file(trial.file(), other / "kept");
  std::filesystem::remove(trial.file());
  std::filesystem::create_symlink(other / "kept", trial.file());
  REQUIRE(trial.part({"--time-limit", kAtOnce}).code == 124);
  CHECK(std::filesystem::is_symlink(trial.file()));
  CHECK(files_in(other) == Words{"kept", "kept.prev"});
  CHECK(trial.part({}).code == 0);
  CHECK(files_in(other).empty());
  CHECK(bytes_of(trial.folder / "parts.h5") == bytes_of(trial.folder / "whole.h5"));
  Setting here{.folder = folder / "."};
  refuses(2, {"cluster", kDigits, "-k", "3", "--checkpoint", "c", "-o", "./c"}, {"expected another name"}, here);
  refuses(2, {"cluster", kDigits, "-k", "3", "--checkpoint", "c", "-o", "./c.prev"}, {"expected another name"}, here);
}

TEST_CASE("a whole checkpoint for which there is no memory is not called damaged") {
  if (is_sanitized()) return skipped("a sanitizer takes much memory");
  const Scratch folder;
  write_bytes(folder / "points.csv", "x,y\n1,2\n3,4\n");
  kith::data::Checkpoint checkpoint;
  checkpoint.state.assign(std::size_t{300} << 20, 'x');
  kith::data::write_checkpoint(folder / "c", checkpoint);
  const Outcome outcome = run_kith({"resume", folder / "c"}, {.address_space = rlim_t{400} << 20});
  INFO(outcome.err);
  CHECK(outcome.code == 6);
  CHECK(!outcome.says("damaged"));
  refuses(3, {"resume", kDigits},
          {"expected a checkpoint of kith, found an HDF5 file", "name the file that --checkpoint wrote"});
}

TEST_CASE("damaged checkpoints are refused, and the generation before is named") {
  const Trial trial(digits({"-k", "5", "--init", "random"}));
  for (int i = 0; i < 3; ++i) REQUIRE(trial.part({"--time-limit", kAtOnce}).code == 124);
  const std::string whole = bytes_of(trial.file()), previous = trial.file() + ".prev";
  const Words again = trial.with({trial.folder / "parts.h5", "--checkpoint", trial.file()});
  for (std::size_t place = 20; place < whole.size(); place += whole.size() / 9) {
    write_bytes(trial.file(), whole);
    flip(trial.file(), place);
    refuses(3, again, {"is damaged", previous + " is whole (after iteration 2)"});
    write_bytes(trial.file(), whole.substr(0, place));
    refuses(3, again, {"run.kith", previous + " is whole"});
  }
  write_bytes(trial.file(), "");
  refuses(3, again, {"expected a checkpoint of kith, found an empty file"});
  refuses(3, {"resume", trial.file()}, {"expected a checkpoint of kith, found an empty file"});
  // As a crash between two renames would leave it on a file system without links.
  std::filesystem::remove(trial.file());
  REQUIRE(trial.part({"--time-limit", kAtOnce}).code == 124);
  CHECK(bytes_of(trial.file()).find("after iteration 3") != std::string::npos);
  CHECK(bytes_of(previous).find("after iteration 2") != std::string::npos);
  CHECK(trial.part({}).code == 0);
  trial.check_same();
}

TEST_CASE("checkpoints of other runs are refused") {
  const Scratch inputs;
  const std::string rows = "x,y\n1,2\n3,4\n5,7\n6,7\n9,1\n";
  write_bytes(inputs / "rows.csv", rows);
  const Trial trial({"cluster", inputs / "rows.csv", "-k", "2", "--init", "random"});
  REQUIRE(trial.part({"--time-limit", kAtOnce}).code == 124);
  const Words again = trial.with({trial.folder / "parts.h5", "--checkpoint", trial.file()});
  Words other = again;
  other.insert(other.end(), {"--seed", "1"});
  refuses(2, other, {"expected a checkpoint of 'cluster rows.csv", "--seed 1", "remove it to begin a new run"});
  const kith::data::Checkpoint own = kith::data::read_checkpoint(trial.file());
  kith::data::Checkpoint changed = own;
  changed.kith_version = "0.0.9";
  kith::data::write_checkpoint(trial.file(), changed);
  refuses(2, again, {"expected a checkpoint of kith", "found one of 0.0.9; continue with that version"});
  changed = own;
  changed.words = {"generate", inputs / "rows.csv", "-f"};
  kith::data::write_checkpoint(trial.file(), changed);
  refuses(3, {"resume", trial.file()}, {"expected the checkpoint of cluster, sweep or knn, found that of generate"});
  write_bytes(inputs / "rows.csv", "x,y\n1,2\n3,4\n5,7\n6,8\n9,1\n");
  changed = own;
  changed.inputs = {kith::data::mark_of(inputs / "rows.csv")};
  kith::data::write_checkpoint(trial.file(), changed);
  refuses(3, again, {"rows.csv: expected the centroids of the checkpoint, found others: the points have changed"});
  kith::data::write_checkpoint(trial.file(), own);
  refuses(3, again, {"expected a checkpoint of the same inputs, found that rows.csv has changed"});
  write_bytes(inputs / "rows.csv", rows + "1,1\n");
  refuses(3, again, {"expected a checkpoint of points that are 6 x 2 f64, found 5 x 2 f64"});
  refuses(2, {"cluster", "-", "-k", "2", "--checkpoint", trial.folder / "s"}, {"standard input"},
          {.standard_input = inputs / "rows.csv"});
  refuses(5, {"cluster", inputs / "rows.csv", "-k", "2", "--checkpoint", inputs / "rows.csv"}, {"is the input"});
  write_bytes(inputs / "note.prev", "mine");
  refuses(5, {"cluster", inputs / "rows.csv", "-k", "2", "--checkpoint", inputs / "note"}, {"choose another name"});
  CHECK(bytes_of(inputs / "note.prev") == "mine");
}

TEST_CASE("a checkpoint that cannot be written is a warning, unless the run was asked to stop") {
  const Scratch folder;
  const Words run{"cluster",
                  kDigits,
                  "-k",
                  "100",
                  "--init",
                  "random",
                  "-q",
                  "-o",
                  folder / "labels.npy",
                  "--checkpoint",
                  folder / "c",
                  "--checkpoint-every",
                  "0"};
  Words limited = run;
  limited.insert(limited.end(), {"--time-limit", kAtOnce});
  const Outcome stopped = run_kith(limited, {.file_bytes = 20000});
  CHECK(stopped.code == 5);
  CHECK(files_in(folder).empty());
  const Outcome outcome = run_kith(run, {.file_bytes = 20000});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.says("File too large"));
  CHECK(outcome.says("the run goes on without this checkpoint"));
  CHECK(files_in(folder) == Words{"labels.npy"});
}
