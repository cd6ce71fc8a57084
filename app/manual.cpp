// kith man and kith completion: the help of the commands for man(1) and for shells, which load the scripts below.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "app/cli/options.h"
#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "app/commands.h"
#include "core/error.h"
#include "data/source.h"

namespace kith::app {
namespace {

/// For bash and, by its bashcompinit, zsh. Words come from the program itself, so that the script does not age. bash
/// divides words at : and =, zsh does not. No word of the line and no name of a file becomes part of a program or a
/// pattern: the shell itself compares them, in quotes. A file named - or --help is not one for kith.
constexpr std::string_view kBash =
    R"sh(_kith_offer() {  # BEGIN PREFIX: the lines on standard input that begin with BEGIN
  local line
  while IFS= read -r line; do
    [[ $line == "$1"* ]] || continue
    if [[ -z $quote ]]; then
      COMPREPLY+=("$2$(printf %q "$line")")
    elif [[ $line != *["'"\"\\\$\`\!]* ]]; then  # in quotes, names stand as they are
      COMPREPLY+=("$2$line")
    fi
  done
}
_kith_words() {  # [NAME [COMMAND]]: the values of an option; with an empty name all names
  local name values newline=$'\n'
  while IFS=' ' read -r name values; do
    if [[ -z ${1-} ]]; then
      printf '%s\n' "$name"
    elif [[ $name == "$1" && -n $values ]]; then
      printf '%s\n' "${values// /$newline}"
    fi
  done < <(kith completion words "${@:2}" 2>/dev/null </dev/null)
}
_kith() {
  local line=${COMP_LINE:0:$COMP_POINT} command=${COMP_WORDS[1]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local part=${COMP_WORDS[COMP_CWORD]} word file words prefix="" quote="" blank=$'\1' at=1
  COMPREPLY=()
  [[ -z $ZSH_VERSION && $part == ["'"\"]* ]] && quote=${part:0:1}  # zsh quotes what is offered itself
  line=${line//\\ /$blank} word=${line##*[[:space:]]}
  word=${word//$blank/ } word=${word#[\"\']} word=${word//\\/} part=${part#[\"\']}
  [[ -n $quote ]] && word=$part  # with its blanks
  # These take a command themselves.
  if [[ $command == plan || $command == man || $command == help ]]; then at=2 command=${COMP_WORDS[2]}; fi
  if ((COMP_CWORD <= at)); then
    _kith_offer "$word" "" < <(_kith_words)
    [[ $word == -* ]] && _kith_offer "$word" "" <<< $'--help\n--version'
    return 0
  fi
  [[ $command == -* ]] && return 0
  if [[ $word == --*=* ]]; then
    [[ $part == ?*=* ]] && prefix=${part%%=*}=
    previous=${word%%=*} word=${word#*=}
  fi
  case $previous in
  --columns | --drop-columns | --id-column | --label-column | --weight-column)
    for file in "${COMP_WORDS[@]:2}"; do
      [[ $file != -* && -f $file ]] || continue
      compopt +o default +o bashdefault 2>/dev/null
      if [[ $word == *,* ]]; then
        [[ -z $quote ]] && prefix+=$(printf %q "${word%,*}"), || prefix+=${word%,*},
      fi
      _kith_offer "${word##*,}" "$prefix" < <(kith completion columns "$file" 2>/dev/null </dev/null)
      return 0
    done
    ;;
  esac
  if [[ $command == completion ]]; then
    _kith_offer "$word" "" <<< $'bash\nzsh\nfish'
  elif [[ $word == -* ]]; then
    _kith_offer "$word" "" < <(_kith_words "" "$command")
  elif [[ $word == *:* && -f ${word%%:*} ]]; then
    compopt +o default +o bashdefault 2>/dev/null
    [[ $part == *?:* ]] && prefix=${part%%:*}:
    _kith_offer "${word#*:}" "$prefix" < <(kith completion datasets "${word%%:*}" 2>/dev/null </dev/null)
  elif [[ -n $previous ]]; then
    words=$(_kith_words "$previous" "$command")
    [[ -n $words ]] && _kith_offer "$word" "$prefix" <<< "$words"
  fi
  return 0
}
complete -o default -o bashdefault -F _kith kith
)sh";

/// What stands before and after it for zsh, which sources it or finds it as the function _kith.
constexpr std::string_view kZshBegin = "#compdef kith\nautoload -U +X bashcompinit && bashcompinit\n";
constexpr std::string_view kZshEnd =
    "[[ ${funcstack[1]} == _kith ]] && _bash_complete -o default -o bashdefault -F _kith\ntrue\n";

constexpr std::string_view kFish = R"sh(function __kith_words
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  if contains -- "$words[2]" plan man help
    set -e words[2]
  end
  if test (count $words) -lt 2
    kith completion words </dev/null | string split -f 1 ' '
    string match -q -- '-*' "$current"; and printf '%s\n' --help --version
    return
  end
  switch $words[-1]
    case --columns --drop-columns --id-column --label-column --weight-column
      for file in $words[3..-1]
        string match -q -- '-*' "$file"; and continue
        test -f "$file"; or continue
        printf '%s\n' (string replace -r '[^,]*$' '' -- "$current")(kith completion columns "$file" 2>/dev/null </dev/null)
        return
      end
  end
  string match -q -- '-*' "$words[2]"; and return
  if test "$words[2]" = completion
    printf '%s\n' bash zsh fish
    return
  end
  if string match -q -- '*:*' "$current"; and not string match -q -- '-*' "$current"
    set -l file (string split -m 1 : -- "$current")[1]
    test -f "$file"; and printf '%s\n' "$file":(kith completion datasets "$file" 2>/dev/null </dev/null)
    return
  end
  set -l names
  kith completion words "$words[2]" 2>/dev/null </dev/null | while read -l name choices
    if test "$name" = "$words[-1]"; and test -n "$choices"
      string split ' ' -- $choices
      return
    end
    set -a names $name
  end
  printf '%s\n' $names
end
function __kith_takes_no_files
  set -l words (commandline -opc)
  test (count $words) -lt 2; and return
  contains -- $words[-1] --columns --drop-columns --id-column --label-column --weight-column; and return
  string match -q -- '*:*' (commandline -ct)
end
complete -c kith -n __kith_takes_no_files -f
complete -c kith -a '(__kith_words)'
)sh";

/// The names in a file, a line each: its columns, or what may stand after FILE: in a location. Names with control
/// characters are left out: a line feed would make two names of them, and shells print what they offer.
std::string names_in(const std::string& file, bool only_columns) {
  std::string out;
  const auto offer = [&out](const std::string& name) {
    if (!name.empty() && visible(name) == name) out += name + "\n";
  };
  for (const data::DatasetInfo& info : data::list_datasets(data::parse_location(file))) {
    if (!only_columns && !info.path.empty() && info.is_readable) offer(info.path);
    if (only_columns || info.path.empty()) std::ranges::for_each(info.columns, offer);
  }
  return out;
}

/// Prints the help of a command, or of kith, in another form: --help=manual, --help=words.
int print_help(const Arguments& words, const std::string& help) {
  return run_program(words.empty() ? Arguments{help} : Arguments{words.front(), help});
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
  return print_help(words, "--help=manual");
}

int run_completion(const Arguments& arguments) {
  Arguments words;
  if (!parse(
          {.command = "completion",
           .summary = "completion scripts for bash, zsh and fish: commands, options, values, datasets and columns.",
           .usage = "bash | zsh | fish",
           .examples = {"source <(kith completion bash)                       # in ~/.bashrc",
                        "source <(kith completion zsh)                        # in ~/.zshrc, after compinit",
                        "kith completion fish > ~/.config/fish/completions/kith.fish"}},
          {.names = "SHELL",
           .help =
               "bash, zsh or fish. The scripts themselves use words [COMMAND], columns FILE and datasets FILE, which "
               "print a name on each line.",
           .required = "the shell"},
          arguments, words)) {
    return 0;
  }
  const std::string shell = words.front();
  if (shell == "words") return print_help({words.begin() + 1, words.end()}, "--help=words");
  if (words.size() == 2 && (shell == "datasets" || shell == "columns")) {
    print_out(names_in(words[1], shell == "columns"));
    return 0;
  }
  if (shell == "bash" || shell == "zsh") {
    print_out(shell == "bash" ? std::string(kBash) : fmt::format("{}{}{}", kZshBegin, kBash, kZshEnd));
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
