// Lines of standard input become rows by the reader of text files: as many at a time as are there. If it refuses them,
// each half is tried alone, so that in the end the line is known that it refuses.
#include "app/run/follow.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "app/cli/terminal.h"
#include "core/error.h"
#include "data/format/shape.h"
#include "data/format/table_model.h"
#include "data/io/utf8.h"
#include "data/reading.h"
#include "data/source.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"

namespace kith::app {
namespace {

constexpr const char* kName = "standard input";
constexpr std::size_t kLongestLine = std::size_t{64} << 20;  // as in files
constexpr std::size_t kWaiting = std::size_t{8} << 20;       // bytes of lines that are taken together
constexpr std::int64_t kMostLines = 4096;

std::int64_t most_lines(std::int64_t neighbors, std::int64_t columns, const CommonOptions& common) {
  if (common.block_rows > 0) return common.block_rows;
  return std::clamp<std::int64_t>(kQueryBlockBytes / bytes_per_query(neighbors, columns), 1, kMostLines);
}

/// Standard input by whole lines.
class LineInput {
 public:
  LineInput() {
#ifdef F_SETPIPE_SZ
    fcntl(STDIN_FILENO, F_SETPIPE_SZ, 1 << 20);  // so that more lines can wait than the usual 64 kB hold
#endif
  }
  /// Waits for a line, and takes all that are there. The last one may have no line end. False: the input has ended.
  bool take(std::string& lines) {
    while (!ended_ && (open_ == 0 || (buffer_.size() < kWaiting && is_ready()))) read_some();
    const std::size_t end = ended_ ? buffer_.size() : open_;
    lines.assign(buffer_, 0, end);
    buffer_.erase(0, end);
    open_ = 0;
    return !lines.empty();
  }

 private:
  static bool is_ready(int milliseconds = 0) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return poll(&input, 1, milliseconds) > 0;
  }
  void read_some() {
    char bytes[1 << 16];
    is_ready(-1);  // also where reading does not wait (O_NONBLOCK)
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count < 0) {
      throw Error(ExitCode::data, fmt::format("{}: cannot be read: {}", kName, std::system_category().message(errno)));
    }
    ended_ = count == 0;
    // Of a line that is too long only so much is kept that it is seen to be.
    std::string_view more(bytes, static_cast<std::size_t>(count));
    if (buffer_.size() - open_ > kLongestLine) more.remove_prefix(std::min(more.find('\n'), more.size()));
    const std::size_t last = more.rfind('\n');
    if (last != more.npos) open_ = buffer_.size() + last + 1;
    buffer_ += more;
  }

  std::string buffer_;
  std::size_t open_ = 0;  // where the line begins that has no end yet; 0: there is no other
  bool ended_ = false;
};

struct Line {
  std::string_view text;
  std::int64_t number = 0;  // counted from 1
};

class Following {
 public:
  Following(FollowRequest request, Job& job) : request_(std::move(request)), job_(job), options_(request_.read) {
    most_ = most_lines(request_.search.neighbors, request_.columns, job.common);
    skip_ = std::exchange(options_.skip_lines, 0);
    may_have_header_ = options_.header != data::Header::no;
    if (!options_.quotes) options_.quotes = true;
    if (!options_.delimiter.empty()) is_form_known_ = true;
    // A line has the columns of the table, of which encodings make more features.
    const data::TableModel* model = options_.model.get();
    fields_ = model != nullptr && model->has_encodings() ? std::ssize(model->columns) : request_.columns;
    if (model == nullptr || !model->has_names()) return;
    request_.names.clear();
    for (const data::ColumnModel& column : model->columns) request_.names.push_back(column.name);
  }

  void run() {
    LineInput input;
    for (std::string text; input.take(text);) {
      std::vector<Line> rows;
      for (std::string_view rest = text; !rest.empty();) {
        const std::size_t end = rest.find('\n');
        take({rest.substr(0, end), ++lines_}, rows);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      }
      for (std::span<const Line> left = rows; !left.empty();) {
        // The first line that can be read tells the form of the others.
        const std::size_t count =
            is_form_known_ ? std::min<std::size_t>(left.size(), static_cast<std::size_t>(most_)) : 1;
        answer(left.first(count));
        left = left.subspan(count);
        print_out(answers_);
        finish_out();
        answers_.clear();
      }
    }
  }

 private:
  /// Adds the line to the rows, unless it is skipped or names the columns.
  void take(Line line, std::vector<Line>& rows) {
    if (line.number == 1) line.text = without_byte_order_mark(line.text);
    if (line.number <= skip_ || line.text.find_first_not_of(" \t\r") == line.text.npos) return;
    const char comment = options_.comment.value_or(is_first_ ? '#' : '\0');
    if (comment != '\0' && line.text.starts_with(comment)) return;
    if (std::exchange(is_first_, false)) {
      if (!options_.comment) options_.comment = '\0';
      const bool is_header =
          may_have_header_ && (options_.header == data::Header::yes || known_names(names_in(line.text)) > 0);
      if (!is_header && may_have_header_ && are_other_names(line.text)) refuse_names(line);
      options_.header = is_header ? data::Header::yes : data::Header::no;
      if (is_header) return take_header(line);
    }
    rows.push_back(line);
  }

  std::vector<std::string> fields_by(char delimiter, std::string_view line) const {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return data::fields_of(line, {.delimiter = delimiter, .quotes = *options_.quotes});
  }
  /// The fields of a line, divided so that as many as possible are names of columns.
  std::vector<std::string> names_in(std::string_view line) const {
    std::vector<std::string> best;
    for (const char c : options_.delimiter.empty() ? std::string("\t;,| ") : options_.delimiter) {
      std::vector<std::string> fields = fields_by(c, line);
      if (best.empty() || known_names(fields) > known_names(best)) best = std::move(fields);
    }
    return best;
  }
  std::int64_t known_names(const std::vector<std::string>& fields) const {
    return std::ranges::count_if(fields,
                                 [&](const auto& field) { return std::ranges::count(request_.names, field) > 0; });
  }
  /// Whether a first line holds nothing but words, which no row of these columns can be, as one of them is a number.
  bool are_other_names(std::string_view line) const {
    const data::TableModel* model = options_.model.get();
    if (request_.names.empty() || (model != nullptr && std::ranges::none_of(model->columns, [](const auto& column) {
                                     return column.how == data::Encode::none;
                                   }))) {
      return false;
    }
    return std::ranges::all_of(names_in(line), [](const std::string& field) {
      return std::ranges::any_of(field, [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; }) &&
             std::ranges::none_of(field, [](unsigned char c) { return std::isdigit(c) != 0; }) &&
             !data::is_missing_text(field);
    });
  }
  [[noreturn]] void refuse_names(const Line& line) const {
    throw Error(ExitCode::data,
                fmt::format("{}: line {}: expected a row, or the columns of {}, {}, found other names, {}; name them "
                            "so, or say --header no if the line is a row",
                            kName, line.number, request_.of, data::show_list(request_.names, 8),
                            data::show_list(names_in(line.text), 8)));
  }
  void take_header(const Line& line) {
    header_ = line.text;
    const std::vector<std::string> best = names_in(line.text);
    if (std::ranges::count(best, options_.id_column) == 0) options_.id_column.clear();
    if (!options_.columns.empty() || !options_.drop_columns.empty()) return;
    for (const std::string& name : request_.names) {
      if (std::ranges::count(best, name) == 1) continue;
      throw Error(
          ExitCode::data,
          fmt::format("{}: line {}: expected the columns of {}, {}, each once, found {}; name them so, or leave "
                      "the line out and give the columns in their order",
                      kName, line.number, request_.of, data::show_list(request_.names, 8), data::show_list(best, 8)));
    }
  }

  void answer(std::span<const Line> lines) {
    const std::size_t answered = answers_.size();
    try {
      return answer_rows(lines);
    } catch (const Error& error) {
      if (error.code() != ExitCode::data && error.code() != ExitCode::usage) throw;
      answers_.resize(answered);
      if (lines.size() == 1) {
        std::string_view what = error.what();
        const std::string place = fmt::format("line {}", lines.front().number);
        for (const std::string& begin :
             {std::string(kName) + ": ", place + ", ", place + ": ", std::string("line 1, ")}) {
          if (what.starts_with(begin)) what.remove_prefix(begin.size());
        }
        std::string text(what);
        if (const std::size_t at = text.find(" in line 1)"); at != text.npos) text.erase(at, 10);
        // What reads a whole table in another way does not mend a line of it.
        if (text.find("--nan") != text.npos || text.find("--encode") != text.npos) {
          text = text.substr(0, text.find("; ")) + "; correct the line";
        }
        Terminal::instance().error(fmt::format("{}: {}: {}", kName, place, text));
        answers_ += "error\n";
        return;
      }
    }
    const std::size_t half = lines.size() / 2;
    answer(lines.first(half));
    answer(lines.subspan(half));
  }

  void answer_rows(std::span<const Line> lines) {
    const std::int64_t first = lines.front().number;
    std::string text = header_.empty() ? "" : header_ + "\n";
    for (std::int64_t number = first; const Line& line : lines) {
      if (line.text.size() > kLongestLine) {
        throw Error(ExitCode::data, fmt::format("expected at most {} bytes in a line, found more", kLongestLine));
      }
      text.append(static_cast<std::size_t>(line.number - number), '\n');  // lines that are no rows
      text.append(line.text) += '\n';
      number = line.number + 1;
    }
    data::ReadOptions options = options_;
    if (header_.empty()) options.id_column.clear();
    const auto source = data::open_text_lines(kName, text, first, options);
    const std::int64_t fields =
        fields_ == request_.columns ? source->columns() : std::ssize(data::table_of(*source).columns);
    if (fields != fields_) {
      throw Error(ExitCode::data, fmt::format("expected {} columns, as {} has, found {}; correct the line", fields_,
                                              request_.of, fields));
    }
    if (source->rows() != std::ssize(lines)) {
      throw Error(ExitCode::data, "expected a row, found a quotation mark without its end in the line, or a comment");
    }
    data::Reading reading(*source, {.drop_missing = job_.common.nan == "drop"});
    bool any = true;
    try {
      reading.wait_for(reading.rows());
    } catch (const data::AllDropped&) {
      any = false;
    }
    for (const std::string& remark : source->remarks()) {
      if (said_.insert(remark).second) Terminal::instance().warn(fmt::format("{}: {}", kName, remark));
    }
    const PreparationStep step{{}, request_.preparation};
    if (any && request_.preparation != nullptr && !step.is_none()) prepare(reading, step, job_.common, first - 1);
    append_answers(reading, any);
    if (!is_form_known_) options_.delimiter = std::string(1, source->table_form()->delimiter);
    is_form_known_ = true;
  }

  void append_answers(const data::Reading& reading, bool any) {
    const std::span<const std::int64_t> kept = reading.kept_rows();
    std::int64_t row = 0;
    const NeighborLists none;
    const auto append_dropped = [&](std::int64_t end) {
      for (; row < end; ++row) append(none, -1);
    };
    Observer silent;
    const auto take = [&](std::int64_t begin, const NeighborLists& lists) {
      for (std::int64_t i = 0; i < lists.index.rows(); ++i, ++row) {
        if (!kept.empty()) append_dropped(kept[static_cast<std::size_t>(begin + i)]);
        append(lists, i);
      }
    };
    if (any) nearest_neighbors(request_.points, reading.values(), request_.search, take, silent);
    append_dropped(reading.rows());
  }
  void append(const NeighborLists& lists, std::int64_t i) {
    request_.answer(lists, i, answers_);
    answers_ += '\n';
  }

  FollowRequest request_;
  Job& job_;
  data::ReadOptions options_;
  std::int64_t most_ = 0, skip_ = 0, lines_ = 0, fields_ = 0;
  bool may_have_header_ = true, is_first_ = true, is_form_known_ = false;
  std::string header_;  // empty: the lines have none
  std::string answers_;
  std::set<std::string> said_;  // remarks, each of which is said once
};

}  // namespace

void add_follow_option(OptionSet& set, bool& follow, const char* option, const std::string& rows,
                       std::vector<const char*> excludes) {
  for (const char* common : {"--output", "--json", "--transpose"}) excludes.push_back(common);
  const std::string name = option;
  set.flag({.names = "--follow",
            .help = "Answer the lines of standard input as they come, one line each, until it ends: what they are "
                    "compared with is read and held once. Lines that wait are answered together, at most --block-rows "
                    "of them. A line that cannot be read has the answer 'error', and a message says why.",
            .excludes = std::move(excludes),
            .refused = {[&rows, name]() -> std::string {
              if (rows == "-") return "";
              return fmt::format("--follow: expected {} -, the lines of standard input, found {}; give {} -", name,
                                 rows.empty() ? "none" : rows, name);
            }}},
           follow);
}

std::int64_t follow_bytes(std::int64_t neighbors, std::int64_t columns, const CommonOptions& common) {
  const std::int64_t lines = most_lines(neighbors, columns, common);
  return lines * (bytes_per_query(neighbors, columns) + 8 * columns) + 4 * static_cast<std::int64_t>(kWaiting);
}

void follow(FollowRequest request, Job& job) {
  job.progress.finish();
  Following(std::move(request), job).run();
}

}  // namespace kith::app
