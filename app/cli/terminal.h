// The two streams of the program: data on standard output, checked; talk on standard error, with one animated line.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

namespace kith::app {

/// `text` with its control characters written out (\x1b, \n): names in files may hold any, and terminals obey them.
std::string visible(std::string_view text);

/// Writes data to standard output. Throws Error(output) when it does not arrive, with the system's reason.
void print_out(std::string_view text);
/// Flushes standard output and checks that everything arrived. To be called once, at the end.
void finish_out();

/// How much is said on standard error.
enum class Talk { quiet, normal, verbose };

/// Standard error. Any thread may write; the animated line is taken away before anything else is written.
class Terminal {
 public:
  static Terminal& instance();

  void talk(Talk level);
  bool is_terminal() const { return terminal_; }

  void say(const std::string& text);     // unless quiet
  void detail(const std::string& text);  // only when verbose
  void note(const std::string& text);    // always
  void warn(const std::string& text);    // always
  void error(const std::string& text);   // always
  /// Replaces the animated line; empty takes it away. For terminals only.
  void status(const std::string& text);

 private:
  Terminal();
  void line(const std::string& prefix, const char* color, const std::string& text);

  std::mutex mutex_;
  Talk talk_ = Talk::normal;
  bool terminal_ = false;
  bool colors_ = false;
  bool status_shown_ = false;
};

}  // namespace kith::app
