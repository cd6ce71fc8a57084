// Shows the error that ends a run: as a message and, with --json, as an object on standard output.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/error.h"

namespace kith::app {

/// The words of the command line, in which the files of errors are found, and perhaps --json.
void note_words(const std::vector<std::string>& words);
/// From here on errors also have an object.
void expect_json();

/// The message of the error, followed by the options that help where its cause has some: core/ knows no options.
std::string message_with_remedy(const Error& error);

/// {"code", "message", "file", "remedy"}; `file` is the one of the command line that the message names, `remedy` what
/// stands behind the last semicolon; null if there is none.
nlohmann::ordered_json failure_object(int code, const std::string& message);

/// The object, if --json was given. A failure of standard output is not reported: it may be the one that is shown.
void print_failure(int code, const std::string& message);
/// The message on standard error, the commands with the options that it proposes, and the object.
void show_failure(ExitCode code, const std::string& message);

}  // namespace kith::app
