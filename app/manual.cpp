// kith man and kith completion: the help of the commands for man(1) and for shells, which load the scripts below.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "app/cli/command_names.h"
#include "app/cli/help_page.h"
#include "app/cli/options.h"
#include "app/cli/suggest.h"
#include "app/cli/terminal.h"
#include "app/commands.h"
#include "core/error.h"

namespace kith::app {
namespace {

/// For bash and, by its bashcompinit, zsh. Words come from the program itself, so that the script does not age.
constexpr std::string_view kBash = R"sh(_kith() {
  local line=${COMP_LINE:0:COMP_POINT} command=${COMP_WORDS[1]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local word=${line##*[[:space:]]} part=${COMP_WORDS[COMP_CWORD]} words file list=""
  local at=1
  COMPREPLY=()
  # These take a command themselves.
  if [[ $command == plan || $command == man || $command == help ]]; then at=2 command=${COMP_WORDS[2]}; fi
  if ((COMP_CWORD <= at)); then
    COMPREPLY=($(compgen -W "$(kith completion words | cut -d ' ' -f 1)" -- "$word"))
    return
  fi
  case $previous in
  --columns | --drop-columns | --id-column | --label-column | --weight-column)
    [[ $word == *,* ]] && list=${word%,*},
    for file in "${COMP_WORDS[@]:2}"; do
      [[ -f $file ]] || continue
      words=$(COLUMNS=100000 kith info "$file" 2>/dev/null | sed -n 's/^  columns //p' | tr -d ' ' | tr , '\n')
      COMPREPLY=($(compgen -P "$list" -W "$words" -- "${word##*,}"))
      return
    done
    ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$(kith completion words "$command" 2>/dev/null | cut -d ' ' -f 1)" -- "$word"))
  elif [[ $word == *:* ]]; then
    [[ $part == : ]] && part=""
    words=$(COLUMNS=100000 kith info "${word%%:*}" 2>/dev/null | sed -n 's|^  \(/[^ ]*\) .*|\1|p')
    COMPREPLY=($(compgen -W "$words" -- "$part"))
  else
    words=$(kith completion words "$command" 2>/dev/null | sed -n "s/^$previous //p")
    if [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$word")); fi
  fi
}
complete -o default -o bashdefault -F _kith kith
)sh";

constexpr std::string_view kFish = R"sh(function __kith_words
  set -l words (commandline -opc)
  if test (count $words) -lt 2
    kith completion words | string split -f 1 ' '
    return
  end
  set -l current (commandline -ct)
  if string match -q -- '*:*' $current
    set -l file (string split -m 1 : $current)[1]
    for path in (COLUMNS=100000 kith info $file 2>/dev/null | string match -r '^  (/\S*) ' --groups-only)
      echo $file:$path
    end
    return
  end
  kith completion words $words[2] 2>/dev/null | while read -l name choices
    echo $name
    if test "$name" = "$words[-1]"; string split ' ' $choices; end
  end
end
complete -c kith -n 'test (count (commandline -opc)) -lt 2' -f
complete -c kith -a '(__kith_words)'
)sh";

/// Prints the help of a command, or of kith, in another form.
int print_help(const Arguments& words, HelpForm form) {
  set_help_form(form);
  return run_program(words.empty() ? Arguments{"--help"} : Arguments{words.front(), "--help"});
}

/// The words after `kith man` or `kith completion`; false if help was asked for and printed.
bool parse(const OptionSet::Head& head, const Option& option, const Arguments& arguments, Arguments& words) {
  OptionSet set(head);
  set.positionals(option, words);
  return set.parse(arguments);
}

}  // namespace

int run_man(const Arguments& arguments) {
  Arguments words;
  if (!parse({.command = "man",
              .summary = "the manual page of a command, or of kith, from the same texts as its help.",
              .usage = "[COMMAND]",
              .examples = {"kith man cluster | man -l -", "kith man > kith.1"}},
             {.names = "COMMAND", .help = "A command of kith. [kith itself]"}, arguments, words)) {
    return 0;
  }
  return print_help(words, HelpForm::manual);
}

int run_completion(const Arguments& arguments) {
  Arguments words;
  if (!parse({.command = "completion",
              .summary = "completion scripts for bash, zsh and fish: commands, options, values, datasets and columns.",
              .usage = "bash | zsh | fish",
              .examples = {"source <(kith completion bash)                       # in ~/.bashrc",
                           "source <(kith completion zsh)                        # in ~/.zshrc, after compinit",
                           "kith completion fish > ~/.config/fish/completions/kith.fish"}},
             {.names = "SHELL",
              .help =
                  "bash, zsh or fish; or words [COMMAND], which the scripts use: a name on each line, and its choices.",
              .required = "the shell"},
             arguments, words)) {
    return 0;
  }
  const std::string shell = words.front();
  if (shell == "words") return print_help({words.begin() + 1, words.end()}, HelpForm::words);
  if (shell == "bash" || shell == "zsh") {
    print_out(fmt::format("{}{}", shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" : "", kBash));
    return 0;
  }
  if (shell == "fish") {
    print_out(kFish);
    return 0;
  }
  throw Error(ExitCode::usage, fmt::format("completion: expected bash, zsh or fish, found '{}'{}", shell,
                                           suggestion(shell, {"bash", "zsh", "fish"})));
}

}  // namespace kith::app
