// The table of texts for missing values; docs/commands.md lists the same.
#include "data/text/missing_texts.h"

#include <algorithm>
#include <iterator>

namespace kith::data {
namespace {

struct MissingText {
  std::string_view text;
  const char* written_by;
  bool is_marker = false;  // is_missing_marker()
};

// Not in the table, since they mean zero or a number elsewhere, are --na-values only: "-", "--" (accounting formats and
// statistical offices write them for 0), "none", "nil", "*", "unknown", -999, 9999.
constexpr MissingText kTexts[] = {
    {"NA", "R, pandas", true},
    {"N/A", "pandas, spreadsheets", true},
    {"#N/A", "Excel", true},
    {"NULL", "SQL", true},
    {"null", "JSON, polars", true},
    {"None", "Python", true},
    {"?", "ARFF, UCI", true},
    {".", "Stata, SAS, SPSS", true},
    {"<NA>", "pandas"},
    {"NaT", "pandas"},
    {"n/a", "pandas"},
    {"na", "by hand"},
    {"n.a.", "data banks of companies"},
    {"N.A.", "data banks of companies"},
    {"\\N", "MySQL, PostgreSQL, Hive"},
    {"Null", "SQL"},
    {"(null)", "Oracle, SQLite"},
    {"[NULL]", "DBeaver"},
    {"<null>", "DataGrip"},
    {"missing", "Julia"},
    {"#NA", "Excel"},
    {"#N/A N/A", "Excel with Bloomberg"},
    {"#NV", "Excel, German"},
    {"#N/D", "Excel, Italian, Spanish, Portuguese"},
    {"..", "World Bank"},
    {"...", "statistical offices"},
    {":", "Eurostat"},
    {"1.#IND", "Microsoft's C library"},
    {"-1.#IND", "Microsoft's C library"},
    {"1.#QNAN", "Microsoft's C library"},
    {"-1.#QNAN", "Microsoft's C library"},
    {"1.#INF", "Microsoft's C library"},
    {"-1.#INF", "Microsoft's C library"},
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// .a to .z and ._, the further missing values of Stata and SAS.
bool is_extended_missing(std::string_view text) {
  return text.size() == 2 && text[0] == '.' && (is_letter(text[1]) || text[1] == '_');
}

/// #DIV/0!, #VALUE!, #NAME?, #WERT!, Err:502: an error of Excel or LibreOffice, in any language.
bool is_spreadsheet_error(std::string_view text) {
  constexpr std::size_t kShortest = 4, kLongest = 16;
  constexpr std::string_view kNumbered = "Err:";
  if (text.starts_with(kNumbered)) {
    return text.find_first_not_of("0123456789", kNumbered.size()) == text.npos && text.size() == kNumbered.size() + 3;
  }
  const bool is_framed = text.size() >= kShortest && text.size() <= kLongest && text[0] == '#' &&
                         (text.back() == '!' || text.back() == '?');
  return is_framed && std::all_of(text.begin() + 1, text.end() - 1, [](unsigned char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c >= 0x80;
         });
}

const MissingText* find(std::string_view text) {
  return std::find_if(std::begin(kTexts), std::end(kTexts),
                      [text](const MissingText& known) { return known.text == text; });
}

}  // namespace

bool is_missing_text(std::string_view text) {
  return find(text) != std::end(kTexts) || is_extended_missing(text) || is_spreadsheet_error(text);
}

bool is_missing_marker(std::string_view text) {
  const MissingText* known = find(text);
  return known != std::end(kTexts) && known->is_marker;
}

}  // namespace kith::data
