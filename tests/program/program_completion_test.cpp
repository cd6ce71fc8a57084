// kith completion: what bash, zsh and fish offer, asked for with the keys of a terminal.
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <regex>

#include "tests/support/program.h"
#include "tests/support/skipped.h"

using namespace kith;
using namespace kith::testing;

namespace {

const std::string kFolder = std::filesystem::path(KITH_BINARY).parent_path().string();

constexpr const char* kBashStart = R"(PS1='> '
source <(kith completion bash)
set -o emacs
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind '"\C-xa": insert-completions'
written() { printf %s "$READLINE_LINE" > line.tmp; mv line.tmp line; READLINE_LINE=; READLINE_POINT=0; }
bind -x '"\C-xl": written'
PROMPT_COMMAND='> ready'
)";

constexpr const char* kZshStart = R"(PS1='> '
autoload -Uz compinit && compinit -u -D
source <(kith completion zsh)
bindkey -e
setopt no_beep no_always_last_prompt no_auto_menu
written() { print -rn -- "$BUFFER" > line.tmp; mv line.tmp line; BUFFER=; }
zle -N written
bindkey '^xl' written
precmd() { : > ready; }
)";

/// An interactive shell in a terminal of its own. Its start file makes "ready" when it asks for a command, and writes
/// the line that is being edited to "line" on control-x l.
class Shell {
 public:
  Shell(const Scratch& folder, const Words& words) : folder_(folder) {
    const winsize size{.ws_row = 50, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
    process_ = forkpty(&terminal_, nullptr, nullptr, &size);
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      const std::string path = kFolder + ":" + std::getenv("PATH");
      if (chdir(folder.path().c_str()) != 0) _exit(126);
      setenv("PATH", path.c_str(), 1);
      setenv("TERM", "dumb", 1);
      setenv("LC_ALL", "C", 1);  // the order of what is offered
      setenv("HOME", folder.path().c_str(), 1);
      setenv("ZDOTDIR", folder.path().c_str(), 1);
      std::vector<char*> arguments;
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      execvp(arguments[0], arguments.data());
      _exit(127);
    }
    INFO(words.front());
    REQUIRE(eventually([&] { return has("ready"); }));
  }
  ~Shell() {
    kill(process_, SIGKILL);
    close(terminal_);
    waitpid(process_, nullptr, 0);
  }
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// The line after these keys.
  std::string line(const std::string& keys) {
    const std::string typed = keys + "\x18l";
    REQUIRE(write(terminal_, typed.data(), typed.size()) == static_cast<ssize_t>(typed.size()));
    const bool is_there = eventually([&] { return has("line"); });
    INFO(screen_);
    REQUIRE(is_there);
    const std::string text = bytes_of(folder_ / "line");
    std::filesystem::remove(folder_ / "line");
    return text;
  }
  /// All that the shell has printed.
  const std::string& screen() const { return screen_; }

 private:
  /// Reads what the shell prints, so that it is never stopped by a full terminal.
  bool has(const std::string& file) {
    pollfd events{.fd = terminal_, .events = POLLIN, .revents = 0};
    while (poll(&events, 1, 0) > 0 && (events.revents & POLLIN) != 0) {
      char bytes[4096];
      const ssize_t count = read(terminal_, bytes, sizeof bytes);
      if (count <= 0) break;
      screen_.append(bytes, static_cast<std::size_t>(count));
    }
    return std::filesystem::exists(folder_ / file);
  }

  const Scratch& folder_;
  int terminal_ = -1;
  pid_t process_ = -1;
  std::string screen_;
};

bool is_installed(const std::string& shell) {
  if (std::system((shell + " --version > /dev/null 2>&1").c_str()) == 0) return true;
  WARN(shell + " is not installed; its completion was not tried");
  return false;
}

void make_files(const Scratch& folder) {
  FileMaker(folder / "p.h5").floats("train", {2, 2}, {1, 2, 3, 4});
  FileMaker(folder / "q.h5").floats("test", {2, 2}, {1, 2, 3, 4});
  FileMaker(folder / "my points.h5").floats("rows", {2, 2}, {1, 2, 3, 4});
  write_bytes(folder / "t.csv", "width,height,weight\n1,2,3\n4,5,6\n");
  write_bytes(folder / "n.csv", "petal length,plain,other\n1,2,3\n4,5,6\n");
}

/// Names that would run a command if they became part of a program of sed, awk or a shell: none makes the file
/// EXECUTED, or empties the file victim.
constexpr const char* kHostile[] = {"a/b/;e touch EXECUTED #",
                                    "$(touch EXECUTED)",
                                    "`touch EXECUTED`",
                                    "x;touch EXECUTED",
                                    "a/b/wPWN",
                                    "'\"\\",
                                    "*",
                                    "-f",
                                    "-nf/dev/null"};

void make_hostile_files(const Scratch& folder) {
  std::filesystem::create_directories(folder / "a/b");
  std::filesystem::create_directory(folder / "PWN ");
  write_bytes(folder / "victim", "whole");
  std::filesystem::create_symlink("../victim", folder / "PWN /p");
  for (const char* name : kHostile) write_bytes(folder / name, "1,2\n");
  write_bytes(
      folder / "h.csv",
      "\"$(touch EXECUTED)\",\"`touch EXECUTED`\",a'b,-n,\"new\nline\",\"q\"\"q\",p;touch EXECUTED,pl us,plain\n"
      "1,2,3,4,5,6,7,8,9\n");
}

void check_harmless(const Scratch& folder) {
  CHECK_FALSE(std::filesystem::exists(folder / "EXECUTED"));
  CHECK(bytes_of(folder / "victim") == "whole");
}

std::string in_quotes(const std::string& word) {
  return "'" + std::regex_replace(word, std::regex("'"), "'\\''") + "'";
}

/// Asks for completions after and within each of the words.
void try_hostile_names(Shell& shell, const Scratch& folder) {
  for (const char* name : kHostile) {
    const std::string word = in_quotes(name);
    INFO(word);
    for (const std::string before :
         {"kith ", "kith plan ", "kith cluster ", "kith cluster --metric ", "kith knn --queries "}) {
      shell.line(before + word + " \t\t");
      shell.line(before + word + "\t");
      CHECK(shell.line(before + word + " t.csv --mem\t")
                .ends_with(before == "kith " || before == "kith plan " ? "--mem" : "--memory "));
    }
    check_harmless(folder);
  }
  shell.line("kith cluster samples/iris.csv \t\t");
  for (const char* noise : {"sed:", "awk:", "expression", "unknown option", "command not found", "syntax error"}) {
    INFO(shell.screen());
    CHECK(shell.screen().find(noise) == std::string::npos);
  }
}

}  // namespace

TEST_CASE("bash completes commands, options, values, files, datasets and columns in a terminal") {
  const Scratch folder;
  make_files(folder);
  write_bytes(folder / "start", kBashStart);
  Shell bash(folder, {"bash", "--noprofile", "--rcfile", "start", "-i"});
  const std::vector<std::pair<std::string, std::string>> unique{
      {"kith clu", "kith cluster "},
      {"kith plan clu", "kith plan cluster "},
      {"kith help clu", "kith help cluster "},
      {"kith --ver", "kith --version "},
      {"kith completion z", "kith completion zsh "},
      {"kith plan cluster --max-i", "kith plan cluster --max-iterations "},
      {"kith cluster p.h5 --max-i", "kith cluster p.h5 --max-iterations "},
      {"kith cluster p.h5 --metric cos", "kith cluster p.h5 --metric cosine "},
      {"kith cluster p.h5 --metric=cos", "kith cluster p.h5 --metric=cosine "},
      {"kith cluster p", "kith cluster p.h5 "},
      {"kith cluster my", "kith cluster my\\ points.h5 "},
      {"kith cluster p.h5:", "kith cluster p.h5:/train "},
      {"kith cluster my\\ points.h5:", "kith cluster my\\ points.h5:/rows "},
      {"kith knn p.h5 --queries q.h5:/t", "kith knn p.h5 --queries q.h5:/test "},
      {"kith cluster t.csv --columns h", "kith cluster t.csv --columns height "},
      {"kith cluster t.csv --columns width,h", "kith cluster t.csv --columns width,height "},
      {"kith cluster n.csv --label-column pe", "kith cluster n.csv --label-column petal\\ length "},
      {"kith evaluate t.csv:h", "kith evaluate t.csv:height "},
      {"kith cluster missing.h5:", "kith cluster missing.h5:"},
      {"kith nonsense --", "kith nonsense --"},
  };
  for (const auto& [typed, expected] : unique) {
    INFO(typed);
    CHECK(bash.line(typed + "\t") == expected);
  }
  const std::vector<std::pair<std::string, std::string>> several{
      // all that are offered
      {"kith cluster p.h5 --metric c", "kith cluster p.h5 --metric chebyshev correlation cosine "},
      {"kith cluster p.h5 --metric=c", "kith cluster p.h5 --metric=chebyshev correlation cosine "},
      {"kith cluster p.h5 --header ", "kith cluster p.h5 --header auto no yes "},
      {"kith cluster t.csv --columns w", "kith cluster t.csv --columns weight width "},
      {"kith cluster n.csv --label-column p", "kith cluster n.csv --label-column petal\\ length plain "},
      {"kith completion ", "kith completion bash fish zsh "},
  };
  for (const auto& [typed, expected] : several) {
    INFO(typed);
    CHECK(bash.line(typed + "\x18" + "a") == expected);
  }
}

TEST_CASE("bash runs nothing that a name says, and quotes the names that it offers") {
  const Scratch folder;
  make_files(folder);
  make_hostile_files(folder);
  write_bytes(folder / "start", kBashStart);
  Shell bash(folder, {"bash", "--noprofile", "--rcfile", "start", "-i"});
  try_hostile_names(bash, folder);
  const std::string column = "kith cluster h.csv --label-column ";
  CHECK(bash.line(column + "\x18" + "a") ==
        column + R"(-n \$\(touch\ EXECUTED\) \`touch\ EXECUTED\` a\'b p\;touch\ EXECUTED pl\ us plain q\"q )");
  CHECK(bash.line(column + "\\$\t") == column + R"(\$\(touch\ EXECUTED\) )");
  CHECK(bash.line(column + "'pl \t") == column + "'pl us' ");
  CHECK(bash.line(column + "'$\t") == column + "'$");  // it would not be safe in other quotes
  CHECK(bash.line("kith cluster h.csv --columns pl\\ us,pla\t") == "kith cluster h.csv --columns pl\\ us,plain ");
  CHECK(bash.line("kith cluster p.h5 --scale=z\t") == "kith cluster p.h5 --scale=zscore ");
  CHECK(bash.line("kith evaluate h.csv:p\\;\t") == R"(kith evaluate h.csv:p\;touch\ EXECUTED )");
  check_harmless(folder);
}

TEST_CASE("zsh completes the same in a terminal") {
  if (!is_installed("zsh")) return skipped("zsh is not installed");
  const Scratch folder;
  make_files(folder);
  done({"completion", "zsh"}, {.standard_output = folder / "_kith"});
  CHECK(std::system(("zsh -n '" + (folder / "_kith") + "'").c_str()) == 0);
  write_bytes(folder / ".zshrc", kZshStart);
  Shell zsh(folder, {"zsh", "-d", "-i"});
  const std::vector<std::pair<std::string, std::string>> cases{
      {"kith clu", "kith cluster "},
      {"kith plan cluster --max-i", "kith plan cluster --max-iterations "},
      {"kith cluster p.h5 --metric cos", "kith cluster p.h5 --metric cosine "},
      {"kith cluster p.h5 --metric=cos", "kith cluster p.h5 --metric=cosine "},
      {"kith cluster p", "kith cluster p.h5 "},
      {"kith cluster p.h5:", "kith cluster p.h5:/train "},
      {"kith cluster t.csv --columns h", "kith cluster t.csv --columns height "},
      {"kith cluster t.csv --columns width,h", "kith cluster t.csv --columns width,height "},
      {"kith cluster n.csv --label-column pe", "kith cluster n.csv --label-column petal\\ length "},
  };
  for (const auto& [typed, expected] : cases) {
    INFO(typed);
    CHECK(zsh.line(typed + "\t") == expected);
  }
}

TEST_CASE("zsh runs nothing that a name says, and quotes the names that it offers") {
  if (!is_installed("zsh")) return;
  const Scratch folder;
  make_files(folder);
  make_hostile_files(folder);
  write_bytes(folder / ".zshrc", kZshStart);
  Shell zsh(folder, {"zsh", "-d", "-i"});
  try_hostile_names(zsh, folder);
  const std::string column = "kith cluster h.csv --label-column ";
  CHECK(zsh.line(column + "\\$\t") == column + R"(\$\(touch\ EXECUTED\) )");
  CHECK(zsh.line(column + "'$\t") == column + "'$(touch EXECUTED)' ");
  CHECK(zsh.line(column + "'pl \t") == column + "'pl us' ");
  CHECK(zsh.line(column + "a\t") == column + "a\\'b ");
  check_harmless(folder);
}

TEST_CASE("fish runs nothing that a name says, and offers each name whole") {
  if (!is_installed("fish")) return;
  const Scratch folder;
  make_files(folder);
  make_hostile_files(folder);
  done({"completion", "fish"}, {.standard_output = folder / "kith.fish"});
  std::string script = "source kith.fish\n";
  const auto offer = [&](const std::string& line) {  // quoted for fish
    script += "complete -C " +
              std::regex_replace(in_quotes(std::regex_replace(line, std::regex(R"(\\)"), R"(\\)")),
                                 std::regex(R"('\\'')"), R"(\')") +
              "\n";
  };
  for (const char* name : kHostile) {
    for (const char* before : {"kith ", "kith plan ", "kith cluster ", "kith cluster --metric "}) {
      offer(before + in_quotes(name) + " ");
      offer(before + in_quotes(name) + " t.csv --mem");
    }
  }
  for (const char* word : {"-x:", "--foo:", "data/points.csv "}) offer(std::string("kith cluster ") + word);
  const auto run = [&](const std::string& commands) {
    write_bytes(folder / "try.fish", commands);
    const std::string command = "cd '" + (folder / "") + "' && HOME='" + (folder / "") + "' PATH='" + kFolder +
                                "':$PATH fish --no-config try.fish >offered 2>errors";
    REQUIRE(std::system(command.c_str()) == 0);
    CHECK(bytes_of(folder / "errors").empty());
    check_harmless(folder);
  };
  run(script);
  script = "source kith.fish\n";
  offer("kith cluster h.csv --label-column ");
  run(script);
  const std::string offered = bytes_of(folder / "offered");
  for (const char* name :
       {"$(touch EXECUTED)", "`touch EXECUTED`", "a'b", "-n", "q\"q", "p;touch EXECUTED", "pl us", "plain"}) {
    INFO(name);
    CHECK(("\n" + offered).find("\n" + std::string(name) + "\n") != std::string::npos);
  }
  CHECK(offered.find("new") == std::string::npos);
}

TEST_CASE("fish completes the same") {
  if (!is_installed("fish")) return skipped("fish is not installed");
  const Scratch folder;
  make_files(folder);
  done({"completion", "fish"}, {.standard_output = folder / "kith.fish"});
  CHECK(std::system(("fish --no-execute '" + (folder / "kith.fish") + "'").c_str()) == 0);
  const std::vector<std::pair<std::string, std::string>> cases{
      {"kith clu", "cluster\n"},
      {"kith plan clu", "cluster\n"},
      {"kith plan cluster --max-i", "--max-iterations\n"},
      {"kith cluster p.h5 --metric cos", "cosine\n"},
      {"kith cluster p.h5:", "p.h5:/train\n"},
      {"kith knn p.h5 --queries q.h5:/t", "q.h5:/test\n"},
      {"kith cluster p", "p.h5\n"},
      {"kith cluster t.csv --columns h", "height\n"},
      {"kith cluster t.csv --columns width,h", "width,height\n"},
      {"kith cluster n.csv --label-column pe", "petal length\n"},
      {"kith completion z", "zsh\n"},
  };
  for (const auto& [typed, expected] : cases) {
    INFO(typed);
    write_bytes(folder / "try.fish", "source kith.fish\ncomplete -C '" + typed + "' > offered\n");
    const std::string command = "cd '" + (folder / "") + "' && HOME='" + (folder / "") + "' PATH='" + kFolder +
                                "':$PATH fish --no-config try.fish";
    REQUIRE(std::system(command.c_str()) == 0);
    CHECK(bytes_of(folder / "offered") == expected);
  }
}

TEST_CASE("completion names the shells that it knows") {
  refuses(2, {"completion", "csh"}, {"bash, zsh or fish", "found 'csh'"});
}
