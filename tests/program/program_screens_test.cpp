// What people see on a terminal: no line of messages, tables, help or progress is longer than the terminal is wide, and
// no word or number is broken.
#include <fmt/format.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "app/cli/words.h"
#include "tests/support/program.h"

using namespace kith;
using namespace kith::testing;

namespace {

constexpr unsigned short kWidths[] = {60, 80, 120};
constexpr unsigned short kWide = 2000;  // wide enough for every line
const std::string kRoot = KITH_SOURCE_DIR;

struct Screen {
  std::string text;  // all that was written to the terminal
  int code = -1;

  bool says(const std::string& words) const {
    return unwrapped(std::regex_replace(text, std::regex("\r"), "")).find(words) != std::string::npos;
  }
};

/// What a shell command writes to a terminal of this width, until it ends or `seen`; then it is interrupted.
Screen on_terminal(const std::string& command, unsigned short width, const std::string& folder,
                   const std::function<bool(const std::string&)>& seen = nullptr) {
  const winsize size{.ws_row = 24, .ws_col = width, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, &size);
  REQUIRE(process >= 0);
  if (process == 0) {
    const std::string programs = std::filesystem::path(KITH_BINARY).parent_path().string();
    setenv("PATH", (programs + ":" + std::getenv("PATH")).c_str(), 1);
    setenv("TERM", "xterm", 1);
    unsetenv("COLUMNS");
    if (chdir(folder.c_str()) != 0) _exit(126);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  Screen screen;
  bool asked = false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (pollfd events{.fd = terminal, .events = POLLIN, .revents = 0}; std::chrono::steady_clock::now() < end;) {
    if (poll(&events, 1, 100) > 0) {
      char bytes[1 << 16];
      const ssize_t count = read(terminal, bytes, sizeof bytes);
      if (count <= 0) break;
      screen.text.append(bytes, static_cast<std::size_t>(count));
    }
    if (!asked && seen && seen(screen.text)) {
      asked = true;
      kill(-process, SIGINT);
    }
  }
  if (std::chrono::steady_clock::now() >= end) kill(-process, SIGKILL);
  int status = 0;
  waitpid(process, &status, 0);
  close(terminal);
  screen.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return screen;
}

/// The lines as they stand on the screen one after another, those of the status line too; without colours.
Words lines_of(const std::string& text) {
  static const std::regex escape("\x1b\\[[0-9;]*[A-Za-z]"), ends("\r+\n|\r|\n");
  const std::string plain = std::regex_replace(text, escape, "");
  Words lines(std::sregex_token_iterator(plain.begin(), plain.end(), ends, -1), {});
  std::erase(lines, "");
  return lines;
}

/// Words with # in place of digits, which may be those of a time; without what comes and goes with the width, and
/// without progress, of which a slow machine shows more. The items of lists are words, since a long list becomes
/// several options.
Words words_of(const std::string& text) {
  static const std::regex number("[0-9][0-9.]*(e[-+][0-9]+)?"), drawn_over("\r\x1b\\[K[^\r\n\x1b]+(?=\r\x1b\\[K)");
  const Words units{"\\", "#", "ms", "s", "min", "h", "GB/s", "ms,", "s,", "ms)", "s)"};
  Words words;
  for (const std::string& line : lines_of(std::regex_replace(text, drawn_over, ""))) {
    std::istringstream stream(
        std::regex_replace(line, std::regex(",|--(encode|drop-columns|column-weights)( |$)"), " "));
    for (std::string word; stream >> word;) {
      word = std::regex_replace(word, number, "#");
      if (std::ranges::find(units, word) == units.end()) words.push_back(word);
    }
  }
  return words;
}

/// The codepoints of UTF-8.
std::size_t width_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// No line is too long, and all words are those of a terminal on which nothing has to be wrapped. A word that is longer
/// than the terminal, such as a path, has a line of its own.
void check_screen(const std::string& text, const std::string& wide, std::size_t width) {
  const Words all = words_of(wide);
  std::set<std::string> whole(all.begin(), all.end());
  // The lesser of two may be the other one in the next run.
  for (const char* memory : {"left of the control group's limit", "free on this machine"}) {
    for (const std::string& word : words_of(memory)) whole.insert(word);
  }
  for (const std::string& line : lines_of(text)) {
    INFO(width << ": " << line);
    CHECK((width_of(line) <= width || words_of(line).size() == 1));
  }
  for (const std::string& word : words_of(text)) {
    INFO(width << ": " << word << "\n" << text);
    CHECK(whole.contains(word));
  }
}

void check_at_all_widths(const Words& commands, bool has_samples) {
  std::vector<Words> screens;
  for (const unsigned short width : {kWide, kWidths[0], kWidths[1], kWidths[2]}) {
    const Scratch folder;
    if (has_samples) std::filesystem::copy(kRoot + "/samples", folder / "samples");
    Words& of_width = screens.emplace_back();
    for (const std::string& command : commands) {
      of_width.push_back(on_terminal(command, width, folder / "").text);
      const bool is_data = command.starts_with("cat ") || command.starts_with("cut ");  // not laid out by kith
      if (width == kWide || is_data) continue;
      INFO(command);
      check_screen(of_width.back(), screens[0][of_width.size() - 1], width);
    }
  }
}

/// The commands that stand behind "    $ " on a page.
Words commands_of(const std::string& page) {
  Words commands;
  std::istringstream lines(bytes_of(kRoot + "/" + page));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("    $ ")) continue;
    commands.push_back(line.substr(6));
    while (commands.back().ends_with('\\') && std::getline(lines, line)) {
      commands.back().pop_back();
      commands.back() += line;
    }
  }
  return commands;
}

}  // namespace

TEST_CASE("every command of the tour fits the terminal") {
  const Words commands = commands_of("docs/tour.md");
  CHECK(commands.size() >= 18);
  check_at_all_widths(commands, true);
}

TEST_CASE("every command of README, and plans and lists, fit the terminal") {
  Words commands = commands_of("README.md");
  CHECK(commands.size() >= 5);
  for (const char* more : {"kith devices", "kith plan cluster samples/digits.h5 -k 10",
                           "kith info samples/*.h5 samples/iris.csv samples/orders.csv",
                           "kith cluster samples/digits.h5 -k 10 -v", "kith info samples/iris.csv --stats",
                           "kith knn samples/digits.h5 -k 3 --dry-run", "kith cluster samples/wine.npy -k 3",
                           "kith cluster samples/digits.h5 -k 10 --max-iterations 2 -o part-of-it.h5",
                           "kith table clusters.h5 | head -1 | cut -c1-40"}) {
    commands.push_back(more);
  }
  check_at_all_widths(commands, true);
}

TEST_CASE("errors fit the terminal, and the command that they propose has lines of its own") {
  const Words wrong{"kith cluster samples/iris.csv -k 3",
                    "kith cluster samples/digits.h5",
                    "kith cluster samples/digits.h5 -k 4 -o picture.png",
                    "kith cluster samples/digits.h5 -k 4 -o samples/digits.h5 -f",
                    "kith cluster samples/digits.h5 -k 4000",
                    "kith cluster samples/digits.h5 -k 4 --metrik cosine",
                    "kith cluster samples/digits.h5 -k 4 --metric manhattan",
                    "kith cluster samples/digits.h5 -k 4 extra words",
                    "kith cluster samples/digits.h5:/labels -k 4",
                    "kith cluster samples/orders.csv -k 2",
                    "kith cluster samples/customers.csv -k 3",
                    "kith knn samples/customers.csv -k 3",
                    "kith evaluate samples/wine.npy --truth samples/wine_classes.npy",
                    "kith cluster no-such-file.h5 -k 4 --memory 1e9",
                    "kith cluster no-such-file-in-this-folder-or-in-any-other-one.h5 -k 4",
                    "kith clutser samples/digits.h5",
                    "kith generate points.h5 -o points.h5",
                    "kith knn samples/wine.npy --queries samples/digits.h5 -k 3",
                    "kith evaluate samples/wine_classes.npy --truth samples/digits.h5",
                    "printf '2020,2021\\n1,2\\n3,4\\n' > years.csv; kith cluster years.csv -k 2",
                    "kith plan generate x.h5"};
  check_at_all_widths(wrong, true);
  const Screen screen = on_terminal("kith cluster digits.h5", 60, kRoot + "/samples");
  CHECK(screen.code == 2);
  CHECK(std::regex_replace(screen.text, std::regex("\r|\x1b\\[[0-9;]*m"), "") ==
        "kith: -k, the number of clusters, is missing; for example:\n"
        "  kith cluster points.h5:/train -k 50 -o clusters.h5\n");
}

TEST_CASE("the command that reads a messy table stands below the error, and works as it is copied") {
  const Scratch folder;
  std::filesystem::copy(kRoot + "/samples", folder / "samples");
  for (const unsigned short width : kWidths) {
    const Screen screen = on_terminal("kith cluster samples/orders.csv -k 2", width, folder / "");
    CHECK(screen.code == 3);
    const std::string text = std::regex_replace(screen.text, std::regex("\r|\x1b\\[[0-9;]*m"), "");
    const std::size_t begin = text.find("\n  kith cluster samples/orders.csv -k 2 ");
    INFO(text);
    REQUIRE(begin != text.npos);
    const Screen again = on_terminal(text.substr(begin + 1), width, folder / "");
    INFO(again.text);
    CHECK(again.code == 0);
    CHECK(again.says("clusters   2; "));
  }
}

TEST_CASE("in a log, an error is one line that can be searched for; what is not an error has 80 columns") {
  const Scratch folder;
  const Outcome outcome = run_kith({"cluster", kRoot + "/samples/iris.csv", "-k", "3"});
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
  CHECK(outcome.err.size() > 200);
  const Outcome part =
      done({"cluster", kDigits, "-k", "10", "--max-iterations", "2", "-o", "part.h5"}, {.folder = folder / ""});
  CHECK(part.err.find("76 of 1797 labels (4.2 %) still change after 2 iterations; continue with:\n  kith cluster "
                      "--init part.h5 ") != std::string::npos);
  std::istringstream lines(part.err);
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK((line.size() <= 80 || line.starts_with("kith: ") || line.starts_with("  kith ") ||
           line.find(kDigits) != line.npos));
  }
}

TEST_CASE("help of all commands fits the terminal") {
  Words commands{"kith", "kith --version --verbose"};
  for (const std::string_view name : app::kCommandNames) commands.push_back(fmt::format("kith {} --help", name));
  check_at_all_widths(commands, false);
}

TEST_CASE("help begins with the options that matter most, and has sections") {
  const auto at = [](const std::string& help, const std::string& text) {
    INFO(text);
    const std::size_t place = help.find(text);
    CHECK(place != std::string::npos);
    return place;
  };
  const std::string help = done({"cluster", "--help"}).out;
  std::size_t last = 0;
  for (const char* text :
       {"\nMain options:\n", "\n  -k, --clusters K", "\n  -o, --output FILE", "\n      --columns LIST",
        "\n      --nan HOW", "\n      --scale HOW", "\nOptions:\n", "\nPoints:\n", "\nPoints in text files:\n",
        "\n      --delimiter C", "\nPreparation:\n", "\n      --pca D", "\nOutput:\n", "\n  -f, --force",
        "\nMachine:\n", "\n      --threads N", "\nMessages:\n", "\n  -q, --quiet"}) {
    const std::size_t place = at(help, text);
    CHECK(place >= last);
    last = place;
  }
  CHECK(help.find("--clusters", last) == std::string::npos);  // each option is listed once
  const std::string page = done({"man", "cluster"}).out;
  for (const char* section :
       {".SH MAIN OPTIONS\n", ".SH EXAMPLES\n", ".SH EXIT STATUS\n", ".SH ENVIRONMENT\n", ".SH FILES\n"}) {
    at(page, section);
  }
  at(page, "KITH_OPTION");
  at(page, "kith.toml");
}

TEST_CASE("progress fits the terminal, begins with the time left of the run, and a slow phase causes advice once") {
  const Scratch folder;
  done({"generate", folder / "p.h5", "-n", "300000", "-d", "64", "--kind", "uniform"});
  const std::string command = "kith cluster p.h5 -k 20000 --init k-means++ --threads 1 --backend cpu";
  for (const unsigned short width : {60, 80}) {
    const Screen screen = on_terminal(command, width, folder / "", [](const std::string& text) {
      const std::size_t advice = text.find("advice: ");
      return advice != text.npos && text.find(" left (", advice) != text.npos;
    });
    INFO(screen.text);
    CHECK(screen.code == 130);
    CHECK(screen.says("advice: choosing the first centroids takes about "));
    CHECK(screen.says("; with --init k-means|| about "));
    int shown = 0;
    static const std::regex status(
        "at most [0-9.]+ (s|min|h)( [0-9]+ (s|min))? left \\(([12] of [23], )?choose centroids [0-9]+ of 20000\\).*");
    for (const std::string& line : lines_of(screen.text)) {
      INFO(line);
      CHECK(width_of(line) <= width);
      shown += std::regex_match(line, status) ? 1 : 0;
    }
    CHECK(shown >= 1);
    CHECK(screen.text.find("advice: choosing") == screen.text.rfind("advice: choosing"));
  }
  // In a log each state is a line.
  Running running({"cluster", folder / "p.h5", "-k", "20000", "--init", "k-means++", "--threads", "1", "--backend",
                   "cpu", "--no-advice", "--time-limit", "4s", "--keep-best", "--progress", "always"});
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  kill(running.process(), SIGKILL);
  const Outcome outcome = running.wait();
  INFO(outcome.err);
  CHECK(outcome.says(" left ("));
  CHECK(!outcome.says("advice: "));
}
