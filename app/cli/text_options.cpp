// The options that describe the form of text files: delimiter, numbers, header, comments.
#include "app/cli/common_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/file_names.h"
#include "data/format/column_choice.h"
#include "data/format/formats.h"
#include "data/io/utf8.h"
#include "data/text/text_columns.h"
#include "data/text/text_number.h"
#include "data/text/text_units.h"

namespace kith::app {
namespace {

/// A reason against options that describe inputs of a kind.
std::vector<Reason> unless_any(const OptionSet& set, bool (*is_one)(const std::string& file), const char* reason) {
  return {[&set, is_one, reason]() -> std::string {
    const std::vector<std::string> inputs = set.inputs({Input::table});
    const bool any = std::any_of(inputs.begin(), inputs.end(),
                                 [is_one](const std::string& input) { return is_one(data::each_file(input).front()); });
    return any || inputs.empty() ? "" : reason;  // a result names its own table
  }};
}

/// Whether the text is one character, no letter or digit and none of `others`.
bool is_mark(const std::string& text, const char* others) {
  return text.size() == 1 && std::isalnum(static_cast<unsigned char>(text[0])) == 0 &&
         std::string(others).find(text) == std::string::npos;
}

/// One character for --delimiter, or nothing for auto.
std::string delimiter_of(const std::string& text) {
  const std::pair<const char*, const char*> words[] = {
      {"auto", ""}, {"comma", ","}, {"tab", "\t"}, {"\\t", "\t"}, {"semicolon", ";"}, {"blanks", " "}, {"space", " "}};
  for (const auto& [word, delimiter] : words) {
    if (text == word) return delimiter;
  }
  if (!is_mark(text, "\"+-.#\r\n")) {
    throw Error(ExitCode::usage, fmt::format("--delimiter: expected auto, comma, tab, semicolon, blanks or one "
                                             "character that does not occur in numbers, found '{}'",
                                             text));
  }
  return text;
}

/// The mark that --decimal or --thousands names, '\0' for none; nothing if it names none.
std::optional<char> mark_of(const std::string& text) {
  const std::pair<const char*, char> words[] = {{"none", '\0'}, {"point", '.'}, {"comma", ','},
                                                {"blank", ' '}, {"space", ' '}, {"apostrophe", '\''}};
  for (const auto& [word, mark] : words) {
    if (text == word) return mark;
  }
  if (const char mark = data::plain_mark(text); mark != '\0') return mark;
  return is_mark(text, "\"+-\r\n\t") ? std::optional(text[0]) : std::nullopt;
}

void read_number_style(const CommonOptions& common, data::ReadOptions& options) {
  const bool is_open = common.decimal == "auto";
  const std::optional<char> decimal = is_open ? '.' : mark_of(common.decimal), thousands = mark_of(common.thousands);
  if (decimal != '.' && decimal != ',') {
    throw Error(ExitCode::usage, fmt::format("--decimal: expected point or comma, found '{}'", common.decimal));
  }
  if (!thousands) {
    throw Error(ExitCode::usage, fmt::format("--thousands: expected none, comma, point, blank, apostrophe or one "
                                             "character that does not occur in numbers, found '{}'",
                                             common.thousands));
  }
  if (decimal == thousands) {
    throw Error(ExitCode::usage, fmt::format("--thousands: expected another mark than the decimal mark, found '{}' "
                                             "for both; name both with --decimal and --thousands",
                                             common.thousands));
  }
  options.decimal = is_open && common.thousands == "none" ? '\0' : *decimal;
  options.thousands = *thousands;
}

/// The character of --comment, '\0' for none, or nothing for auto.
std::optional<char> comment_of(const std::string& text) {
  if (text == "auto") return std::nullopt;
  if (text == "none") return '\0';
  if (!is_mark(text, "\"+-. \t\r\n")) {
    throw Error(ExitCode::usage, fmt::format("--comment: expected auto, none or one character that begins no row, such "
                                             "as '#' or '%', found '{}'",
                                             text));
  }
  return text[0];
}

/// The texts of "low<medium<high".
std::vector<std::string> ordered_texts(const std::string& rule, const std::string& text) {
  std::vector<std::string> texts = split_text(text, '<');
  for (const std::string& each : texts) {
    if (!each.empty() && std::ranges::count(texts, each) == 1) continue;
    throw Error(ExitCode::usage, fmt::format("--encode: expected different texts in ascending order, COLUMN=low<high, "
                                             "found '{}'",
                                             quoted(rule)));
  }
  return texts;
}

constexpr const char *kOnehotMissing = "onehot+missing", *kFirstNumber = "first-number";

/// The rules of --encode: "onehot", "city=onehot,ordinal".
std::vector<data::EncodeRule> encode_rules(const std::string& text) {
  constexpr std::pair<const char*, data::Encode> kWords[] = {
      {"none", data::Encode::none},          {"ordinal", data::Encode::ordinal},
      {"onehot", data::Encode::onehot},      {"date", data::Encode::date},
      {"dmy", data::Encode::date_day_first}, {"mdy", data::Encode::date_month_first},
      {"yesno", data::Encode::yesno},        {"unit", data::Encode::unit},
      {"time", data::Encode::time},          {kOnehotMissing, data::Encode::onehot},
      {kFirstNumber, data::Encode::unit}};
  std::vector<data::EncodeRule> rules;
  if (text.empty()) return rules;
  for (const data::ListItem& item : data::split_list("--encode", text)) {
    const std::size_t equals = item.text.rfind('=', item.text.find('<'));
    data::EncodeRule rule;
    if (equals != item.text.npos) rule.column = item.text.substr(0, equals);
    const std::string word = equals == item.text.npos ? item.text : item.text.substr(equals + 1);
    if (equals != item.text.npos && equals > 0 && word.find('<') != word.npos) {
      rule.how = data::Encode::ordinal;
      rule.order = ordered_texts(item.text, word);
      rules.push_back(std::move(rule));
      continue;
    }
    const auto* known =
        std::find_if(std::begin(kWords), std::end(kWords), [&word](const auto& entry) { return word == entry.first; });
    const bool is_first = word == kFirstNumber;
    if (known == std::end(kWords) || equals == 0 || (is_first && equals == item.text.npos)) {
      throw Error(ExitCode::usage,
                  fmt::format("--encode: expected onehot, onehot+missing, ordinal, date, dmy, mdy, "
                              "yesno, unit, time or none, or COLUMN=onehot and so on, or COLUMN=first-number, "
                              "or COLUMN=low<high, "
                              "found '{}'",
                              quoted(item.text)));
    }
    rule.how = known->second;
    rule.keeps_missing = word == kOnehotMissing;
    if (is_first) rule.order = {std::string(data::kFirstNumber)};
    rules.push_back(std::move(rule));
  }
  return rules;
}

/// Whether columns of a file may hold texts that become features.
bool may_hold_texts(const std::string& file) { return data::is_arrow(file) || data::is_read_as_text(file); }

}  // namespace

void add_text_options(OptionSet& set, CommonOptions& common) {
  const auto option = [&set](const char* names, const char* value, const char* help) {
    return Option{.names = names,
                  .value = value,
                  .help = help,
                  .section = Section::text,
                  .stored = {Stored::if_changed, position::kInput},
                  .no_effect = unless_any(set, data::is_read_as_text, "no input that it describes is text")};
  };
  set.text(option("--delimiter", "C", "Delimiter of text files: comma, tab, semicolon, blanks, or any one character."),
           common.delimiter);
  set.text(option("--decimal", "C",
                  "Decimal separator in text files: point, comma, or auto: point, but asked where points may separate "
                  "thousands."),
           common.decimal);
  set.text(option("--thousands", "C",
                  "Thousands separator in text files: none, comma, point, blank (also no-break and thin ones), "
                  "apostrophe, or any one character."),
           common.thousands);
  set.choice(option("--header", "WHEN",
                    "Whether the first line of a text file names its columns: yes, no, or auto: if it holds no number, "
                    "or numbers that the rows below show to be names, such as years."),
             {"auto", "yes", "no"}, common.header);
  set.choice(option("--quote", "WHICH",
                    "Whether \" in text files stands around fields: double: it does; none: it is a character like "
                    "others, as in word vectors; auto: it does, unless it hides rows, which is refused."),
             {"auto", "double", "\"", "none"}, common.quote);
  set.integer(option("--skip-lines", "N", "Lines to leave out at the beginning of text files, before the header."),
              {0, std::numeric_limits<std::int64_t>::max()}, common.skip_lines);
  set.text(option("--comment", "C",
                  "Ignore lines of text files that begin with this character. none: no comments; auto: ignore lines "
                  "that begin with # before the first data line."),
           common.comment);
  Option index_base = option("--index-base", "N",
                             "The first index of svmlight files: 0, 1, or auto: 1 unless a file of the run has the "
                             "index 0 or the result it is used with says otherwise.");
  index_base.no_effect = unless_any(set, data::is_svmlight, "no input that it describes is svmlight");
  set.choice(index_base, {"auto", "0", "1"}, common.index_base);
  Option encode = option("--encode", "LIST",
                         "Make features of columns of text: onehot (for each text a column of 0 and 1), onehot+missing "
                         "(also one for missing values), ordinal (the "
                         "place of the text in the order of a scale or of numbers that it knows, else of the alphabet, "
                         "or in that of size=S<M<L), date (days since 1970; "
                         "dmy or mdy if day and month "
                         "are unclear), yesno (1 and 0), unit (the number in 165 cm, $ 1.50, or 1.2M "
                         "beside 300K), first-number (of a column with texts such as 1.2*, 4 out of 5 or 1/2), time "
                         "(hours of 08:30, 08.30 or 1:23:45), none; for all such columns, for "
                         "some, or both, as in "
                         "date,onehot,size=ordinal.");
  encode.section = Section::preparation;
  encode.no_effect = unless_any(set, may_hold_texts, "no input that it describes is a table with texts");
  encode.shown_default = "none";
  set.text(encode, common.encode);
}

void add_missing_texts_option(OptionSet& set, CommonOptions& common) {
  const Reason unread = unless_any(set, may_hold_texts, "no input is text, and none of its words is a number").front();
  set.text({.names = "--na-values",
            .value = "LIST",
            .help = "More words and numbers that mean a missing value, as in -,unknown,-999. In formats other than "
                    "text only numbers do.",
            .section = Section::text,
            .stored = {Stored::if_changed_and_used, position::kMissing},
            .no_effect = {[&common, unread]() -> std::string {
              data::ReadOptions options;
              read_missing_texts(common, options);
              return data::numbers_among(options.missing_texts).empty() ? unread() : "";
            }}},
           common.na_values);
}

void read_missing_texts(const CommonOptions& common, data::ReadOptions& options) {
  if (common.na_values.empty()) return;
  for (data::ListItem& item : data::split_list("--na-values", common.na_values)) {
    options.missing_texts.push_back(std::move(item.text));
  }
}

data::Header header_of(const CommonOptions& common) {
  if (common.header == "auto") return data::Header::automatic;
  return common.header == "yes" ? data::Header::yes : data::Header::no;
}

void read_text_options(const CommonOptions& common, data::ReadOptions& options) {
  options.delimiter = delimiter_of(common.delimiter);
  options.header = header_of(common);
  if (common.quote != "auto") options.quotes = common.quote != "none";
  options.skip_lines = common.skip_lines;
  options.comment = comment_of(common.comment);
  if (options.comment && !options.delimiter.empty() && *options.comment == options.delimiter[0]) {
    throw Error(
        ExitCode::usage,
        fmt::format("--comment: expected another character than --delimiter, found '{}' for both", common.comment));
  }
  read_number_style(common, options);
  options.encode = encode_rules(common.encode);
}

data::ReadOptions text_form(const CommonOptions& common) {
  data::ReadOptions options;
  read_text_options(common, options);
  options.encode.clear();
  return options;
}

}  // namespace kith::app
