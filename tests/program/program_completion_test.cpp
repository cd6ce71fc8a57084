// kith completion: what bash, zsh and fish offer, asked for with the keys of a terminal.
#include <poll.h>
#include <pty.h>

#include <cstdlib>

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
      {"kith cluster p.h5 --metric co", "kith cluster p.h5 --metric cosine "},
      {"kith cluster p.h5 --metric=co", "kith cluster p.h5 --metric=cosine "},
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
      {"kith cluster p.h5 --metric c", "kith cluster p.h5 --metric chebyshev cosine "},
      {"kith cluster p.h5 --metric=c", "kith cluster p.h5 --metric=chebyshev cosine "},
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
      {"kith cluster p.h5 --metric co", "kith cluster p.h5 --metric cosine "},
      {"kith cluster p.h5 --metric=co", "kith cluster p.h5 --metric=cosine "},
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
      {"kith cluster p.h5 --metric co", "cosine\n"},
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
