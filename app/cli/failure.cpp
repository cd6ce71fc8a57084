// What a user can do about an error; and the file and the remedy in its message, which begins with the one and ends
// with the other.
#include "app/cli/failure.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>

#include "app/cli/terminal.h"
#include "app/cli/words.h"
#include "data/io/location.h"

namespace kith::app {
namespace {

struct CommandLine {
  std::vector<std::string> words;
  bool json = false;
};

CommandLine& command_line() {
  static CommandLine line;
  return line;
}

/// The longest file of the command line that the message begins with or, if it exists, contains.
std::string file_in(const std::string& message) {
  std::string found;
  for (std::string word : command_line().words) {
    if (word.starts_with("--")) word.erase(0, word.find('=') == word.npos ? word.size() : word.find('=') + 1);
    const std::string file = data::parse_location(word).file;
    if (file.size() <= found.size() || message.find(file) == message.npos) continue;
    std::error_code failure;
    const bool leads = message.starts_with(file + ":");
    if (leads || std::filesystem::is_regular_file(file, failure)) found = file;
  }
  return found;
}

const char* remedy_for(Cause cause) {
  constexpr const char* kRemedies[] = {"",
                                       "run again, or with another --backend",
                                       "give a smaller -k, another --seed or --init, or --empty relocate",
                                       "remove the row, or give --precision f64",
                                       "divide the values by a power of ten, or give --scale zscore",
                                       "give a smaller --pca",
                                       "give another --min-size or --max-size",
                                       "give another --radius",
                                       "--include-self keeps each row in its own list",
                                       ""};  // the message says where the value is
  static_assert(std::size(kRemedies) == static_cast<std::size_t>(Cause::value) + 1);
  return kRemedies[static_cast<std::size_t>(cause)];
}

}  // namespace

void note_words(const std::vector<std::string>& words) {
  command_line().words = words;
  const auto end = std::find(words.begin(), words.end(), "--");
  if (std::find(words.begin(), end, "--json") != end) expect_json();
}

void expect_json() { command_line().json = true; }

/// The options that a message proposes at its end, as in "; say --header yes or --header no", each alone with its
/// value.
std::vector<std::string> ready_options(const std::string& message) {
  constexpr std::string_view kSay = " say ", kOr = " or ";
  const auto say = message.rfind(kSay);
  if (say == message.npos || say == 0 || (message[say - 1] != ';' && message[say - 1] != '?')) return {};
  std::string rest = message.substr(say + kSay.size());
  std::vector<std::string> options;
  static const std::regex kOptions(
      "--[a-z-]+ ('[^']*'|[^ ',;()-](,?[^ ',;()])*)( --[a-z-]+ ('[^']*'|[^ ',;()-](,?[^ ',;()])*))*");
  for (;;) {
    const auto end = rest.find(kOr);
    options.push_back(rest.substr(0, end));
    if (!std::regex_match(options.back(), kOptions)) return {};
    if (end == rest.npos) return options;
    rest.erase(0, end + kOr.size());
  }
}

/// The options with which a file can be read, as in "this reads it: --nan drop --decimal comma (or ...)"; empty: the
/// message names none.
std::string reading_options(const std::string& message) {
  constexpr std::string_view kReads = " this reads it: ";
  const auto reads = message.rfind(kReads);
  if (reads == message.npos) return "";
  const std::size_t begin = reads + kReads.size();
  static const std::regex kOptions("--[a-z-]+ ('[^']*'|[^ ';()]+)( --[a-z-]+ ('[^']*'|[^ ';()]+))*");
  std::smatch options;
  const std::string rest = message.substr(begin);
  return std::regex_search(rest, options, kOptions, std::regex_constants::match_continuous) ? options.str() : "";
}

std::string message_with_remedy(const Error& error) {
  const std::string remedy = remedy_for(error.cause());
  return remedy.empty() ? error.what() : error.what() + ("; " + remedy);
}

nlohmann::ordered_json failure_object(int code, const std::string& message) {
  nlohmann::ordered_json object{{"code", code}, {"message", message}, {"file", nullptr}, {"remedy", nullptr}};
  if (const std::string file = file_in(message); !file.empty()) object["file"] = file;
  if (const auto semicolon = message.rfind("; "); semicolon != message.npos) {
    object["remedy"] = message.substr(semicolon + 2);
  }
  if (!ready_options(message).empty()) object["remedy"] = message.substr(message.rfind(" say ") + 1);
  return object;
}

void print_failure(int code, const std::string& message) {
  const auto& [words, json] = command_line();
  if (!json) return;
  nlohmann::ordered_json object{{"command", words.empty() ? "" : words.front()}, {"version", KITH_VERSION}};
  object["error"] = failure_object(code, message);
  try {
    print_out(printable_json(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n");
    finish_out();
  } catch (const Error&) {  // the exit code and the message remain
  }
}

void show_failure(ExitCode code, const std::string& message) {
  Terminal::instance().error(message);
  std::vector<std::string> all = ready_options(message);
  if (const std::string options = reading_options(message); all.empty() && !options.empty()) all.push_back(options);
  for (const std::string& options : all) {
    std::string command = "kith";
    for (const std::string& word : command_line().words) command += " " + shell_word(word);
    Terminal::instance().command(command + " " + options);
  }
  print_failure(static_cast<int>(code), message);
}

}  // namespace kith::app
