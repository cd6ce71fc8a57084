// Runs that are asked to stop: what they write, and how they end.
#include <signal.h>

#include <sstream>

#include "tests/support/checkpoint_trial.h"

using namespace kith::testing;

namespace {

/// Processor time that a process has used, without that of the system.
double processor_seconds(pid_t process) {
  const std::string text = bytes_of("/proc/" + std::to_string(process) + "/stat");
  std::istringstream fields(text.substr(text.rfind(')') + 2));  // from the third field on
  std::string field;
  for (int i = 3; i <= 14; ++i) fields >> field;
  return std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

TEST_CASE("--keep-best writes the result of an interrupted run, which --init resumes to the same bytes") {
  const Scratch inputs;
  const Trial trial(long_run(inputs));
  const Outcome outcome = run_kith(trial.with({trial.folder / "part.h5", "--keep-best", "--time-limit", kAtOnce}));
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.says("interrupted after 1 iteration; continue with: kith cluster --init"));
  CHECK(bytes_of(trial.folder / "part.h5").find("interrupted") != std::string::npos);
  done({"cluster", inputs / "x.h5", "-k", "60", "--init", trial.folder / "part.h5", "--tolerance", "0",
        "--max-iterations", "100000", "-q", "-o", trial.folder / "parts.h5"});
  std::filesystem::remove(trial.folder / "part.h5");
  trial.check_same();

  // With a checkpoint as well, the run goes on from there, and replaces the result.
  Running run(trial.with(
      {trial.folder / "parts.h5", "-f", "--checkpoint", trial.file(), "--checkpoint-every", "0", "--keep-best"}));
  CHECK(eventually([&] { return std::filesystem::exists(trial.file()); }));
  kill(run.process(), SIGTERM);
  const Outcome stopped = run.wait();
  INFO(stopped.err);
  CHECK(stopped.code == 128 + SIGTERM);
  CHECK(stopped.says("continue with: kith resume " + trial.file()));
  CHECK(bytes_of(trial.folder / "parts.h5").find("interrupted") != std::string::npos);
  CHECK(run_kith({"resume", trial.file()}).code == 0);
  trial.check_same();
  refuses(2, {"cluster", kDigits, "-k", "3", "--time-limit", "2h"}, {"--time-limit needs --checkpoint FILE"});
  refuses(2, {"cluster", kDigits, "-k", "3", "--keep-best", "--algorithm", "bisecting"}, {"--keep-best cannot be"});
}

TEST_CASE("--keep-best ends seedings and batches, and marks a result of fewer runs") {
  const Scratch folder;
  const auto ends = [&](const Words& more) {
    Words words{"cluster", kDigits, "-k", "9", "-f", "-o", folder / "part.h5", "--keep-best", "--time-limit", kAtOnce};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_kith(words);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK(bytes_of(folder / "part.h5").find("interrupted") != std::string::npos);
    CHECK(!outcome.says("still change after"));
    return outcome;
  };
  CHECK(ends({"--n-init", "4", "--max-iterations", "1"}).says("interrupted after 1 of 4 runs; give --checkpoint"));
  CHECK(ends({"--n-init", "4"}).says("interrupted after 0 of 4 runs; give --checkpoint"));
  CHECK(ends({"--batch", "300", "--epochs", "99", "--no-finish"}).says("interrupted after 0 iterations; give"));
  // A result that lacks runs or batches is no place to go on from: a new run starts from its centroids.
  done({"cluster", kDigits, "--init", folder / "part.h5", "--batch", "300", "--epochs", "99", "--no-finish", "-f", "-o",
        folder / "again.h5"});
  CHECK(bytes_of(folder / "again.h5").find("--init part.h5") != std::string::npos);
}

TEST_CASE("what follows the iterations can be stopped") {
  int code = 0;
  for (std::int64_t rows = 40'000; code == 0 && rows < 3'000'000; rows *= 4) {  // more where balancing ends too soon
    const Scratch folder;
    done({"generate", folder / "x.h5", "-n", std::to_string(rows), "-d", "16", "-q"});
    const std::string shown = folder / "shown";
    Running run({"cluster", folder / "x.h5", "-k", "100", "--min-size", std::to_string(rows / 100 - rows / 4000),
                 "--max-size", std::to_string(rows / 100 + rows / 4000), "--balance", "--max-iterations", "2",
                 "--checkpoint", folder / "c", "-o", folder / "out.h5", "--progress", "always", "--backend", "cpu"},
                {.runner = {"sh", "-c", "exec \"$@\" 2> '" + shown + "'", "sh"}});
    CHECK(eventually([&] { return bytes_of(shown).find("balance") != std::string::npos; }));
    kill(run.process(), SIGTERM);
    code = run.wait().code;
    CHECK(std::filesystem::exists(folder / "out.h5") == (code == 0));
  }
  CHECK(code == 128 + SIGTERM);
}

TEST_CASE("times have units") {
  refuses(2, {"cluster", kDigits, "-k", "3", "--keep-best", "--time-limit", "2x"}, {"a time such as 2h, 30min or 45s"});
  refuses(2, {"cluster", kDigits, "-k", "3", "--keep-best", "--time-limit", "-1s"}, {"a time such as"});
  done({"cluster", kDigits, "-k", "3", "--keep-best", "--time-limit", "0.5h", "-q"});
}

// A terminal of its own for standard error; the output goes to a pipe, as to a pager, or elsewhere.
TEST_CASE("there is no status line while standard output is a pipe") {
  const Scratch folder;
  done({"generate", folder / "x.h5", "-n", "200000", "-d", "16", "--kind", "noise", "-q"});
  const Words words{"cluster", folder / "x.h5",    "-k",     "200",      "--init",    "random", "--tolerance",
                    "0",       "--max-iterations", "100000", "--n-init", "--backend", "cpu"};
  std::string command = KITH_BINARY;  // hours of work, of which the time limit takes some
  for (const std::string& word : words) command += " '" + word + (word == "--n-init" ? "=1000'" : "'");
  command += " --keep-best --time-limit ";
  const auto shown_with = [&](const std::string& limit, bool pipe) {
    const std::string shown = folder / "shown";
    const std::string line =
        "TERM=xterm script -qec \"" + command + limit + (pipe ? " | cat" : " > /dev/null") + "\" /dev/null > " + shown;
    CHECK(std::system(line.c_str()) == 0);
    const std::string text = bytes_of(shown);
    INFO(text);
    CHECK(text.find("interrupted; ") != text.npos);
    return text.find("of at most") != text.npos;
  };
  CHECK(!shown_with("1.4s", true));
  bool shows = false;  // after a second of iterations, which a machine under load reaches late
  for (const char* limit : {"1.4s", "4s", "12s", "40s"}) shows = shows || shown_with(limit, false);
  CHECK(shows);
}

TEST_CASE("Ctrl-C names the options that would have kept something, and only those that the command has") {
  const Scratch folder;
  done({"generate", folder / "x.h5", "-n", "40000", "-d", "24", "-q"});
  const auto stopped = [&](Words words) {
    words.insert(words.begin() + 1, {folder / "x.h5", "--backend", "cpu", "--threads", "1"});  // a GPU ends too soon
    Running run(words);
    // Before its options are read and its rows computed with, a run says nothing of them.
    CHECK(eventually([&] { return processor_seconds(run.process()) >= 0.2; }));
    kill(run.process(), SIGINT);
    const Outcome outcome = run.wait();
    CHECK(outcome.code == 128 + SIGINT);
    return outcome;
  };
  const Words slow{"-k", "200", "--init", "random", "--tolerance", "0", "--max-iterations", "100000"};
  const auto cluster = [&](const Words& more) {
    Words words{"cluster"};
    words.insert(words.end(), slow.begin(), slow.end());
    words.insert(words.end(), more.begin(), more.end());
    return stopped(words);
  };
  CHECK(
      cluster({}).says("kith: stopped; nothing was written. --checkpoint FILE lets a run continue, --keep-best keeps "
                       "its result so far\n"));
  const Outcome kept = cluster({"-o", folder / "out.h5", "--checkpoint", folder / "c"});
  CHECK(kept.says("continue with: kith resume " + (folder / "c")));
  CHECK_FALSE(kept.says("--checkpoint FILE"));
  // What cannot be combined is not proposed, as an option that is there is not.
  const Outcome bisecting = stopped({"cluster", "-k", "20000", "--algorithm", "bisecting"});
  CHECK(bisecting.says("kith: stopped; nothing was written\n"));
  const Outcome printed = stopped({"knn", "-k", "200"});
  CHECK_FALSE(printed.says("--checkpoint"));
  const Outcome sweep = stopped({"sweep", "-k", "200-210", "--init", "random"});
  CHECK(sweep.says("--checkpoint FILE lets a run continue\n"));
  CHECK_FALSE(sweep.says("--keep-best"));
  // Its advice works.
  const Outcome again = run_kith({"resume", folder / "c", "--max-iterations", "100000", "--time-limit", "0.000001ms"});
  CHECK(again.code == 124);
}
