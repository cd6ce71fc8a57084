// Knows texts that are no delimited tables by their first lines, and the commands that convert them.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "data/format/column_choice.h"
#include "data/io/numbers.h"
#include "data/io/utf8.h"
#include "data/text/text_head.h"
#include "data/text/text_number.h"
#include "data/text/text_record.h"

namespace kith::data {
namespace {

constexpr std::string_view kSpace = " \t\r\n\f\v";

std::string_view without_leading(std::string_view text, std::string_view characters) {
  const auto first = text.find_first_not_of(characters);
  return first == text.npos ? std::string_view() : text.substr(first);
}

/// Whether the text begins, in any case, with one of these words, which '|' separates.
bool begins_with(std::string_view text, std::string_view words) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  while (!words.empty()) {
    const std::string_view word = take_until(words, "|");
    if (text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), same)) return true;
  }
  return false;
}

bool is_arff(std::string_view begin) {
  begin = without_leading(begin, kSpace);
  while (begin.starts_with('%')) {
    take_until(begin, "\n");
    begin = without_leading(begin, kSpace);
  }
  return begins_with(begin, "@relation");
}

/// The fields of a line between blanks.
std::vector<std::string_view> take_words(std::string_view& text) {
  std::string_view line = take_until(text, "\n");
  std::vector<std::string_view> words;
  while (!(line = without_leading(line, kSpace)).empty()) words.push_back(take_until(line, " \t\r"));
  return words;
}

/// Numbers of words and of columns, then each word with its values: a table that its first line makes inconsistent.
bool is_word2vec(std::string_view begin) {
  const std::vector<std::string_view> sizes = take_words(begin), row = take_words(begin);
  std::int64_t words = 0, columns = 0;
  return sizes.size() == 2 && read_number(sizes[0], words) && read_number(sizes[1], columns) && words > 0 &&
         columns > 1 && std::ssize(row) == columns + 1;
}

/// Whether a rule of dashes under each name, and perhaps bars, stands among the first lines, beside a line of text: a
/// table of Markdown, Org, reStructuredText or of a terminal of a database.
bool is_ruled(std::string_view begin) {
  constexpr int kLines = 20;
  bool has_text = false;
  for (int line = 0; line < kLines && !begin.empty(); ++line) {
    std::string_view rule = take_until(begin, "\n");
    if (rule.ends_with('\r')) rule.remove_suffix(1);
    const bool has_bars = rule.find_first_of("|+") != rule.npos;
    const bool is_rule =
        rule.find_first_not_of(" |:+-=") == rule.npos && (rule.find("--") != rule.npos || rule.find("==") != rule.npos);
    const std::size_t first = rule.find_first_of("-="), gap = rule.find(' ', std::min(first, rule.size()));
    if (is_rule && (has_bars || rule.find_first_of("-=", std::min(gap, rule.size())) != rule.npos)) {
      return has_text || !without_leading(begin.substr(0, begin.find('\n')), kSpace).empty();
    }
    has_text = has_text || !without_leading(rule, kSpace).empty();
  }
  return false;
}

/// A line such as "(1.5, 2.5)", "[[1.5 2.5]" or "array([[1.5, 2.5],", as Python prints rows.
bool is_printed(std::string_view begin) {
  const std::string_view line = take_until(begin, "\n");
  if (line.starts_with("array([")) return true;
  if (line.starts_with("[[")) return line.find(',') == line.npos && line.find_first_of("0123456789") != line.npos;
  return line.starts_with('(') && line.rfind('(') == 0 && line.find(", ") != line.npos &&
         line.find_first_not_of(" ,;\r", std::min(line.rfind(')'), line.size() - 1) + 1) == line.npos &&
         line.rfind(')') != line.npos;
}

/// What MATLAB displays of a large matrix: a factor of all numbers above it, or its columns in several parts.
bool is_displayed(std::string_view begin) {
  const std::size_t factor = begin.find(" 1.0e"), end = begin.find('\n', std::min(factor, begin.size()));
  const bool has_factor = factor != begin.npos && begin.substr(0, end).find_last_of('*') > factor + 6 &&
                          without_leading(begin.substr(factor), " 1.0e+-23456789*\r").starts_with('\n');
  return has_factor || begin.find("  Columns 1 through ") != begin.npos;
}

bool is_framed(std::string_view begin) {
  return begin.substr(0, begin.find("\n")).find("\u250c") != begin.npos ||
         (begin.starts_with("shape: (") && begin.find("\u250c") != begin.npos);
}

enum class Json { none, document, lines, values };

/// A first value in brackets or braces that begins as JSON does. After its end may only come white space, or another
/// value on a line of its own.
Json json_of(std::string_view begin) {
  begin = without_leading(begin, kSpace);
  if (!begin.starts_with('{') && !begin.starts_with('[')) return Json::none;
  const std::string_view inside = without_leading(begin.substr(1), kSpace);
  const std::string_view first = begin.starts_with('{') ? "\"}" : "\"{[]-0123456789ntf";
  if (inside.empty() || first.find(inside[0]) == first.npos) return Json::none;
  int depth = 0;
  bool text = false;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const char c = begin[i];
    if (text && c == '\\') ++i;
    if (c == '"') text = !text;
    if (text) continue;
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    if (depth > 0) continue;
    const std::string_view rest = begin.substr(i + 1);
    const std::string_view next = without_leading(rest, kSpace);
    if (next.empty()) return Json::document;
    const bool another = next[0] == begin[0] && rest.substr(0, rest.size() - next.size()).find('\n') != rest.npos;
    const bool is_line = begin.substr(0, i).find('\n') == begin.npos;
    return !another ? Json::none : is_line ? Json::lines : Json::values;
  }
  return Json::document;
}

/// The command that makes a table of a document of JSON.
std::string json_command(std::string_view begin, Json form) {
  if (form == Json::values) return "jq -c . IN > OUT.jsonl";
  const std::string head = "python3 -c \"import pandas; pandas.", end = ".to_csv('OUT.csv', index=False)\"";
  if (form == Json::lines) return head + "read_json('IN', lines=True)" + end;
  // Rows that are objects below a name, as {"data": [{"x": 1}]}
  const std::size_t rows = begin.starts_with('{') ? begin.find('[') : begin.npos;
  const std::size_t close = begin.substr(0, rows).rfind('"'), open = begin.substr(0, close).rfind('"');
  if (rows == begin.npos || open == begin.npos) return head + "read_json('IN')" + end;
  const std::string name(begin.substr(open + 1, close - open - 1));
  if (name == "columns" || name == "index") return head + "read_json('IN', orient='split')" + end;
  const bool are_objects = without_leading(begin.substr(rows + 1), kSpace).starts_with('{');
  if (!are_objects || name.find_first_of("'\\$`") != name.npos) return head + "read_json('IN')" + end;
  return "python3 -c \"import json, pandas; pandas.json_normalize(json.load(open('IN'))['" + name + "'])" + end;
}

/// The command that takes the first matrix from several variables of Octave; empty for one.
std::string octave_command(std::string_view begin) {
  constexpr std::string_view kName = "# name: ";
  const std::size_t matrix = begin.find("\n# type: matrix"), name = begin.rfind(kName, matrix);
  const bool is_octave = begin.starts_with(kName) || begin.starts_with("# Created by Octave");
  if (!is_octave || begin.find(kName) == begin.rfind(kName) || matrix == begin.npos || name == begin.npos) return "";
  std::string_view rest = begin.substr(name + kName.size());
  return fmt::format("awk '/^# name: / {{on = $3 == \"{}\"}} on' IN > OUT", take_until(rest, " \r\n"));
}

}  // namespace

std::string bits_in_column(const TextHead& head, std::int64_t column) {
  constexpr std::size_t kLeastRows = 3, kLeastBits = 8, kLeastDigits = 16;
  const auto j = static_cast<std::size_t>(column);
  std::size_t length = 0;
  bool begins_zero = false, has_letter = false, differ = false, are_bits = true;
  for (const TextHead::Sample& row : head.samples) {
    const std::string_view text = j < row.fields.size() ? std::string_view(row.fields[j]) : std::string_view();
    if (length == 0) length = text.size();
    if (text.size() != length || text.find_first_not_of("0123456789abcdefABCDEF") != text.npos || text.empty())
      return "";
    are_bits = are_bits && text.find_first_not_of("01") == text.npos;
    begins_zero = begins_zero || text[0] == '0';
    has_letter = has_letter || text.find_first_not_of("0123456789") != text.npos;
    differ = differ || text != head.samples.front().fields[j];
  }
  if (!differ || head.samples.size() < kLeastRows) return "";
  const char c = head.syntax.delimiter;
  const std::string begin = c == kBlanks ? "awk " : fmt::format("awk -F'{}' ", c == '\t' ? "\\t" : std::string(1, c));
  if (are_bits && begins_zero && length >= kLeastBits) {
    const std::string drop =
        head.columns == 1 ? ""
                          : fmt::format("leave it out with --drop-columns {}, or ", option_text(head.names, column));
    return fmt::format(
        "rows of bits, a character for each; {0}give each bit a column: {1}'NR > {2} {{gsub(/[^01]/, \"\", "
        "${3}); gsub(/./, \"& \", ${3}); print ${3}}}' IN > OUT",
        drop, begin, head.lines_before, column + 1);
  }
  if (!has_letter || length % 2 != 0 || length < kLeastDigits) return "";
  return fmt::format(
      "rows of bits in hexadecimal digits, such as fingerprints; make an FPS file of them: {}'BEGIN {{print "
      "\"#FPS1\"}} NR > {} {{print ${} \"\\t\" {}}}' IN > OUT.fps",
      begin, head.lines_before, column + 1,
      head.columns == 1 ? "NR"
      : column == 0     ? "$2"
                        : "$1");
}

namespace {

/// The second line, of letters alone, as sequences of proteins and genes have them; empty if it is none.
std::string_view sequence_below(std::string_view begin) {
  take_until(begin, "\n");
  std::string_view line = take_until(begin, "\n");
  if (line.ends_with('\r')) line.remove_suffix(1);
  const bool is_one =
      std::ranges::all_of(line, [](char c) { return is_letter(c) || c == '*' || c == '-' || c == '.'; });
  return is_one ? line : std::string_view();
}

bool is_fasta(std::string_view begin) { return begin.starts_with('>') && !sequence_below(begin).empty(); }

bool is_fastq(std::string_view begin) {
  if (!begin.starts_with('@') || sequence_below(begin).empty()) return false;
  take_until(begin, "\n");
  take_until(begin, "\n");
  return begin.starts_with('+');
}

/// Lines of fixed columns, of which the first words are known: coordinates stand from the 31st character on.
bool is_pdb(std::string_view begin) {
  constexpr std::string_view kRecords[] = {"HEADER    ", "TITLE     ", "REMARK ", "CRYST1",
                                           "MODEL ",     "ATOM  ",     "HETATM"};
  for (int line = 0; line < 1000 && !begin.empty(); ++line) {
    const std::string_view record = take_until(begin, "\n");
    const bool is_atom = record.starts_with("ATOM  ") || record.starts_with("HETATM");
    if (is_atom) return record.size() >= 54 && record[34] == '.' && record[42] == '.' && record[50] == '.';
    if (line == 0 && std::ranges::none_of(kRecords, [&](std::string_view r) { return record.starts_with(r); }))
      return false;
  }
  return false;
}

/// Statements of accounts in the format of SWIFT: lines :20:, :25:, :61:.
bool is_mt940(std::string_view begin) {
  return (begin.starts_with(":20:") || begin.starts_with("{1:")) && begin.find("\n:61:") != begin.npos;
}

/// Molecules: the fourth line ends with the version of the format.
bool is_molfile(std::string_view begin) {
  for (int line = 0; line < 3; ++line) take_until(begin, "\n");
  const std::string_view counts = take_until(begin, "\r\n");
  return counts.ends_with("V2000") || counts.ends_with("V3000");
}

/// $GPGGA,123519,...
bool is_nmea(std::string_view begin) { return begin.size() > 6 && begin[6] == ','; }
bool is_cif(std::string_view begin) { return begin.find("\nloop_") != begin.npos; }
bool is_ascii_ply(std::string_view begin) { return begin.find("\nformat ascii") != begin.npos; }
bool is_stl(std::string_view begin) { return begin.find("facet normal") != begin.npos; }
bool is_grid(std::string_view begin) {
  return begin.find("\nnrows") != begin.npos || begin.find("\nNROWS") != begin.npos;
}

/// A text that begins with one of the words, or that `recognises` knows; with both, that fulfils both.
struct TextKind {
  std::string_view start = {};  // as begins_with() takes them
  bool (*recognises)(std::string_view begin) = nullptr;
  const char* what = "";
};

constexpr const char* kPickle = "a Python pickle, which may run any program when it is loaded; save its arrays as .npy";
constexpr const char* kToa5 =
    "a TOA5 file of a Campbell logger, with lines above and below the names of its columns; leave them out: sed -e 1d "
    "-e 3,4d IN > OUT.csv";
constexpr const char* kSql = "a script of SQL; run it in a database, and export the table as CSV";
constexpr const char* kMarkup = "an HTML or XML page; download or export the table itself, as CSV";
constexpr const char* kQif =
    "accounts in the format of Quicken (QIF); make a table of dates and amounts: awk 'BEGIN {print \"date,amount\"} "
    "{sub(/\\r$/, \"\")} /^D/ {d = substr($0, 2); gsub(/ /, \"\", d); gsub(/\\047/, \"/\", d)} /^T/ {t = substr($0, "
    "2); gsub(/,/, \"\", "
    "t)} /^\\^/ {print d \",\" t}' IN > OUT.csv";
constexpr const char* kSam =
    "alignments of sequences (SAM); make a table of their places, qualities and lengths: sed '/^@/d' IN | cut -f 4,5,9 "
    "> OUT";
constexpr const char* kNmea =
    "what a GPS receiver sends (NMEA); make a table of it: gpsbabel -t -i nmea -f IN -o unicsv -F OUT.csv";
constexpr const char* kGff =
    "places in a genome (GFF); make a table of where they begin and end: awk -F'\\t' '!/^#/ && NF > 8 {print $4 \",\" "
    "$5}' IN > OUT.csv";
constexpr const char* kPhone = "contacts or dates of a calendar; export them as CSV";

constexpr TextKind kTextKinds[] = {
    {.recognises = is_arff,
     .what = "an ARFF file (--label-column names its class later); convert it: python3 -c \"import pandas, "
             "scipy.io.arff as a; pandas.DataFrame(a.loadarff('IN')[0]).to_csv('OUT.csv', index=False)\""},
    {.start = "(dp0\n|(lp0\n|ccopy_reg\n|cnumpy", .what = kPickle},
    {.recognises = is_printed,
     .what = "rows in brackets, as Python prints them; convert it: sed -e 's/array(//' -e 's/[][()]//g' -e 's/[,;] "
             "*$//' IN > OUT"},
    {.start = "\"TOA5\"|TOA5,", .what = kToa5},
    {.recognises = is_word2vec,
     .what = "vectors of word2vec below a line with their sizes; say --skip-lines 1 --id-column 1 --quote none"},
    {.recognises = is_ruled,
     .what =
         "a table of Markdown or of a terminal, with rules; convert it: sed -e '/^[ |:+=-]*$/d' -e '/^(*[0-9]* rows* "
         "*[a-z)]/d' -e 's/^ *| *//' -e 's/ *| *$//' IN > OUT"},
    {.recognises = is_framed,
     .what =
         "a table in a frame, as terminals show it; convert it: sed -e '/^shape: /d' -e '/\u2500/d' -e '/\u2550/d' -e "
         "'/ --- /{N;d;}' -e 's/^\u2502 *//' -e 's/ *\u2502 *$//' -e 's/ *[\u2502\u2506] */,/g' IN > OUT.csv"},
    {.recognises = is_displayed,
     .what = "what MATLAB displays, with a factor or in parts; write the matrix itself: writematrix(A, 'OUT.csv')"},
    {.start = "structure(list(",
     .what = "what dput of R writes; convert it: Rscript -e \"write.csv(dget('IN'), 'OUT.csv', row.names = FALSE)\""},
    {.start = "*************************** 1. row",
     .what = "rows of MySQL in lines for each column; end the query with ; in place of \\G"},
    {.start = "-[ RECORD 1 ]",
     .what = "rows of PostgreSQL in lines for each column; export them: psql --csv -c QUERY > OUT.csv"},
    {.start = "\\begin{",
     .what =
         "a table of LaTeX; convert it: sed -e '/^ *\\\\[a-z]/d' -e 's/ *\\\\\\\\.*$//' -e 's/ *& */,/g' IN > OUT.csv"},
    {.start = "insert into |create table ", .what = kSql},
    {.start = "<!doctype|<html|<?xml|<svg|<table|<body|<meta|<div", .what = kMarkup},
    {.start = "{\\rtf", .what = "an RTF document; save the table in it as CSV"},
    {.recognises = is_fasta,
     .what = "sequences (FASTA), which are no points; make numbers of each first, such as counts of its k-mers"},
    {.recognises = is_fastq,
     .what = "sequences with qualities (FASTQ), which are no points; make numbers of each first, such as counts of its "
             "k-mers"},
    {.start = "##fileformat=VCF",
     .what =
         "variants of genes (VCF); this counts their alleles, in a row for each variant, of which --transpose makes "
         "points "
         "of the samples: awk -F'\\t' '!/^#/ {s = \"\"; for (i = 10; i <= NF; i++) {split($i, g, \":\"); s = s (i > 10 "
         "? \",\" : \"\") (g[1] ~ /[.]/ ? \"\" : gsub(/[1-9]/, \"\", g[1]))} print s}' IN > OUT.csv"},
    {.start = "#1.3\n",
     .what = "a GCT file with lines about its samples; leave them out: awk -F'\\t' 'NR == 2 {m = $4} NR == 3 || "
             "NR > 3 + m' IN > OUT"},
    {.start = "##gff-version|#!genome-build", .what = kGff},
    {.start = "@HD\t|@SQ\t", .what = kSam},
    {.recognises = is_pdb,
     .what =
         "atoms of a molecule (PDB); make a table of their places: awk '/^(ATOM  |HETATM)/ {print substr($0, 31, 8) "
         "\",\" substr($0, 39, 8) \",\" substr($0, 47, 8)}' IN > OUT.csv"},
    {.start = "data_",
     .recognises = is_cif,
     .what = "atoms of a molecule or crystal (CIF); make a table of their places, where the columns are those of the "
             "Protein Data Bank: awk '/^(ATOM|HETATM) / {print $11, $12, $13}' IN > OUT"},
    {.recognises = is_molfile, .what = "molecules (MOL or SDF); make fingerprints of them: obabel IN -O OUT.fps"},
    {.start = "!Type:|!Account|!Option:", .what = kQif},
    {.recognises = is_mt940,
     .what = "statements of accounts (MT940); make a table of dates and amounts: sed -nE -e "
             "'s/^:61:(..)(..)(..)([0-9]{4})?(RC|D)[A-Z]?([0-9]+),([0-9]*).*/20\\1-\\2-\\3,-\\6.\\70/p' -e "
             "'s/^:61:(..)(..)(..)([0-9]{4})?(RD|C)[A-Z]?([0-9]+),([0-9]*).*/20\\1-\\2-\\3,\\6.\\70/p' IN > OUT.csv"},
    {.start = "OFXHEADER:",
     .what = "statements of accounts (OFX); take the amounts: grep -o '<TRNAMT>[-+0-9.]*' IN | cut -c 9- > OUT"},
    {.start = "ply\n",
     .recognises = is_ascii_ply,
     .what = "a point cloud (PLY); leave out its head: sed '1,/^end_header/d' IN > OUT"},
    {.start = "# .PCD",
     .what = "a point cloud (PCD); if its data are ascii, leave out its head: sed '1,/^DATA/d' IN > OUT"},
    {.start = "solid ",
     .recognises = is_stl,
     .what = "a body of triangles (STL); take their corners: awk '/vertex/ {print $2, $3, $4}' IN > OUT"},
    {.start = "ncols",
     .recognises = is_grid,
     .what = "a grid of Esri; leave out its head, which names the value of missing ones: sed '/^[A-Za-z]/d' IN > OUT"},
    {.start = "$GP|$GN", .recognises = is_nmea, .what = kNmea},
    {.start = "BEGIN:VCARD|BEGIN:VCALENDAR", .what = kPhone},
};

}  // namespace

std::string foreign_text(std::string_view begin) {
  begin = without_byte_order_mark(begin);
  const std::string_view text = without_leading(begin, kSpace);
  for (const TextKind& kind : kTextKinds) {
    const bool begins = kind.start.empty() || begins_with(text, kind.start);
    if (begins && (kind.recognises == nullptr || kind.recognises(begin))) return kind.what;
  }
  if (const std::string command = octave_command(begin); !command.empty()) {
    return "several variables of Octave; take one of them, such as the first matrix: " + command;
  }
  const Json json = json_of(text);
  if (json == Json::none) return "";
  return std::string("JSON") +
         (json == Json::values ? " over many lines; write one line for each value: " : "; convert it: ") +
         json_command(text, json);
}

}  // namespace kith::data
