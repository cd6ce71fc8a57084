// The two streams of the program: data on standard output, checked; messages on standard error, with a status line.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace kith::app {

/// A whole message, quoted (data/io/utf8.h): names in files may contain control characters, which a terminal would
/// obey.
std::string visible(std::string_view text);

/// JSON in UTF-8 with DEL and the control characters U+0080 to U+009F, which JSON permits, as \u009b.
std::string printable_json(std::string_view json);

/// What becomes of control characters on a terminal: they are shown, as in any text from files, or kept: the text has
/// none but those of color_block().
enum class Styles { show, keep };

/// Writes data, whole lines, to standard output; for a terminal as visible() shows them, since names and labels of
/// files may be among them. Throws Error(output) with the system's reason if that fails.
void print_out(std::string_view text, Styles styles = Styles::show);
/// A block of a colour, with bytes of red, green and blue, and a blank behind it, if standard output is a terminal that
/// shows colours and NO_COLOR is not set; else nothing.
std::string color_block(int red, int green, int blue);
/// Whether anything was printed there, or is about to be. Async-signal-safe.
bool has_printed() noexcept;
/// Flushes standard output. Throws Error(output) if that fails. Call it once, at the end.
void finish_out();

/// Columns for text on standard output or standard error: $COLUMNS, else the width of the terminal, else 80; at
/// least 40.
enum class Stream { output, error };
std::size_t text_width(Stream stream);
/// The same for prose, which is hard to read in long lines: at most 100.
std::size_t prose_width(Stream stream);

/// The same for errors and warnings, which stay on one line where nobody sees them at once, so that a log can be
/// searched for them: the columns of a terminal or $COLUMNS, else no limit (std::string::npos).
std::size_t message_width();

/// How many messages appear on standard error.
enum class Verbosity { quiet, normal, verbose };

/// Standard error. Any thread may write. Every message first clears the status line, and is wrapped to the width of the
/// terminal here; texts may contain line feeds.
class Terminal {
 public:
  static Terminal& instance();

  void set_verbosity(Verbosity verbosity);
  /// Nothing appears any more, also on standard output: another process speaks for all.
  void mute(bool muted = true) { muted_ = muted; }
  bool is_muted() const { return muted_; }
  bool is_terminal() const { return terminal_; }
  /// Whether standard output is a pipe, perhaps to a pager, which would draw on the same terminal.
  bool may_feed_pager() const;

  void say(const std::string& text);     // unless quiet
  void detail(const std::string& text);  // only when verbose
  void note(const std::string& text);    // always
  void warn(const std::string& text);    // always
  void error(const std::string& text);   // always
  /// A command to copy, always: on lines of its own, each but the last with a backslash at its end.
  void command(const std::string& text);
  /// Replaces the status line; an empty text clears it. For terminals only.
  void status(const std::string& text);

 private:
  Terminal();
  void lines(const std::string& text);
  void message(const std::string& lead, const char* color, const std::string& text);
  void write(const std::string& lines);

  std::mutex mutex_;
  Verbosity verbosity_ = Verbosity::normal;
  bool muted_ = false;
  bool terminal_ = false;
  bool colors_ = false;
  bool status_shown_ = false;
};

}  // namespace kith::app
