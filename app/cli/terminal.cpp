// The two streams of the program: data on standard output, checked; messages on standard error, with a status line.
#include "app/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/cli/layout.h"
#include "core/error.h"
#include "data/io/utf8.h"

namespace kith::app {
namespace {

std::atomic<bool> printed{false};

[[noreturn]] void refuse_output() {
  const int reason = errno;
  throw Error(ExitCode::output, fmt::format("standard output: cannot write: {}", std::strerror(reason)));
}

/// Writes all of `text` in one call, so that lines of several threads do not mix. Failures cannot be reported anywhere.
void write_error(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

/// visible(), but with line feeds and the other characters that are `kept`.
std::string visible_lines(std::string_view text, const char* kept = "\n") {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(kept, begin), text.size());
    out += visible(text.substr(begin, end - begin));
    if (end < text.size()) out += text[end];
    begin = end + 1;
  }
  return out;
}

/// Whether the user wants colours and the terminal has them; the stream is not looked at.
bool may_color() {
  const char* kind = std::getenv("TERM");
  const char* no_color = std::getenv("NO_COLOR");
  return kind != nullptr && std::strcmp(kind, "dumb") != 0 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace

std::string color_block(int red, int green, int blue) {
  static const bool has_colors = isatty(STDOUT_FILENO) == 1 && may_color();
  if (!has_colors) return "";
  const char* kind = std::getenv("COLORTERM");
  if (kind != nullptr && (std::strcmp(kind, "truecolor") == 0 || std::strcmp(kind, "24bit") == 0)) {
    return fmt::format("\033[48;2;{};{};{}m    \033[0m ", red, green, blue);
  }
  const auto step = [](int value) { return (value + 25) / 51; };  // of the cube of 6 x 6 x 6 colours
  return fmt::format("\033[48;5;{}m    \033[0m ", 16 + 36 * step(red) + 6 * step(green) + step(blue));
}

std::string visible(std::string_view text) { return quoted(text, text.size()); }

std::string printable_json(std::string_view json) {
  std::string out;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<unsigned char>(json[i]);
    const auto next = static_cast<unsigned char>(i + 1 < json.size() ? json[i + 1] : '\0');
    const bool control = byte == 0xc2 && next >= 0x80 && next < 0xa0;  // the two bytes of UTF-8
    if (control || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", control ? next : byte);
      if (control) ++i;
    } else {
      out += json[i];
    }
  }
  return out;
}

std::size_t text_width(Stream stream) {
  constexpr std::size_t kLeast = 40, kUsual = 80;
  const char* variable = std::getenv("COLUMNS");
  if (const long columns = variable != nullptr ? std::strtol(variable, nullptr, 10) : 0; columns > 0) {
    return std::max(static_cast<std::size_t>(columns), kLeast);
  }
  winsize size{};
  const int file = stream == Stream::output ? STDOUT_FILENO : STDERR_FILENO;
  if (ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return std::max<std::size_t>(size.ws_col, kLeast);
}

std::size_t prose_width(Stream stream) { return std::min<std::size_t>(text_width(stream), 100); }

std::size_t message_width() {
  const char* variable = std::getenv("COLUMNS");
  const bool is_given = variable != nullptr && *variable != '\0';
  return is_given || isatty(STDERR_FILENO) == 1 ? text_width(Stream::error) : std::string::npos;
}

bool has_printed() noexcept { return printed.load(); }

void print_out(std::string_view text, Styles styles) {
  if (Terminal::instance().is_muted()) return;
  static const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  std::string shown;
  if (is_terminal) {
    Terminal::instance().status("");  // else data would continue the status line
    if (styles == Styles::show) {
      shown = visible_lines(text, "\n\t");
      text = shown;
    }
  }
  printed.store(true);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) refuse_output();
}

void finish_out() {
  if (std::fflush(stdout) != 0) refuse_output();
}

Terminal& Terminal::instance() {
  static Terminal terminal;
  return terminal;
}

Terminal::Terminal() {
  const char* kind = std::getenv("TERM");
  terminal_ = isatty(STDERR_FILENO) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  colors_ = terminal_ && may_color();
}

bool Terminal::may_feed_pager() const {
  struct stat status {};
  return terminal_ && fstat(STDOUT_FILENO, &status) == 0 && S_ISFIFO(status.st_mode);
}

void Terminal::set_verbosity(Verbosity verbosity) { verbosity_ = verbosity; }

void Terminal::write(const std::string& lines) {
  if (muted_) return;
  const std::lock_guard lock(mutex_);
  write_error((status_shown_ ? "\r\033[K" : "") + lines);
  status_shown_ = false;
}

void Terminal::lines(const std::string& text) {
  std::string shown = visible_lines(text), out;
  if (shown.ends_with('\n')) shown.pop_back();
  for (const std::string& line : split_text(shown, '\n')) out += lay_out_line(line, text_width(Stream::error));
  write(out);
}

void Terminal::message(const std::string& lead, const char* color, const std::string& text) {
  std::string out = lay_out_message(lead, visible(text), message_width());
  const std::string name = lead.substr(0, lead.size() - 1);  // what follows may be a blank or a line feed
  if (colors_) out.replace(0, name.size(), fmt::format("\033[{}m{}\033[0m", color, name));
  write(out);
}

void Terminal::say(const std::string& text) {
  if (verbosity_ != Verbosity::quiet) lines(text);
}

void Terminal::note(const std::string& text) { lines(text); }

void Terminal::detail(const std::string& text) {
  if (verbosity_ == Verbosity::verbose) lines(text);
}

void Terminal::warn(const std::string& text) { message("kith: warning: ", "33", text); }

void Terminal::error(const std::string& text) { message("kith: ", "31", text); }

void Terminal::command(const std::string& text) { write(lay_out_command(visible(text), message_width())); }

void Terminal::status(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (muted_ || (text.empty() && !status_shown_)) return;
  status_shown_ = !text.empty();
  write_error("\r\033[K" + visible(text).substr(0, text_width(Stream::error) - 1));
}

}  // namespace kith::app
