// Lists of words in several languages, compared in lower case.
#include "data/text/text_words.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <iterator>

#include "data/io/utf8.h"

namespace kith::data {

bool has_word(std::string_view list, std::string_view word) {
  if (word.empty() || word.find('|') != word.npos) return false;
  for (std::size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    if (list[at - 1] == '|' && list[at + word.size()] == '|') return true;
  }
  return false;
}

MissingWord missing_word(std::string_view text) {
  constexpr std::string_view kZeros = "|none|nil|zero|no|keine|kein|never|nie|aucun|free|";
  constexpr std::string_view kUsual =
      "|-|--|---|\u2013|\u2014|...|\u2026|*|k.a.|k. a.|n.v.|n/v|n/d|nd|n.d.|n.b.|s/d|unknown|unbekannt|not given|"
      "keine angabe|not available|(blank)|undefined|<nil>|no data|nodata|tba|tbd|";
  const std::string plain = lower_case(text);
  const bool can_be_named = text.size() <= 20 && text.find_first_of(",'\"\n") == text.npos;
  const auto first =
      std::ranges::find_if(text, [](unsigned char c) { return c < 0x80 && std::strchr("<>=~+-$( ", c) == nullptr; });
  const bool has_value =
      first != text.end() && std::isdigit(static_cast<unsigned char>(*first)) != 0;  // "<12", "5 - very good"
  if (!can_be_named || has_value || says_total_or_mean(text)) return MissingWord::no;
  if (text.find_first_of("0123456789") != text.npos) return MissingWord::code;
  return has_word(kZeros, plain)   ? MissingWord::zero
         : has_word(kUsual, plain) ? MissingWord::usual
                                   : MissingWord::perhaps;
}

namespace {

/// The text without what stands around totals: "* Total:"
std::string_view without_marks(std::string_view text) {
  constexpr std::string_view kMarks = " :*#";
  const std::size_t begin = std::min(text.find_first_not_of(kMarks), text.size());
  return text.substr(begin, text.find_last_not_of(kMarks) + 1 - begin);
}

}  // namespace

bool says_total(std::string_view text) {
  constexpr std::string_view kTotals =
      "|total|totals|totale|totales|totaal|subtotal|subtotals|subtotale|subtotaal|summe|somme|gesamt|gesamtsumme|"
      "zwischensumme|suma|sous-total|razem|insgesamt|"
      "__no_feature|__ambiguous|__too_low_aqual|__not_aligned|__alignment_not_unique|"  // of HTSeq
      "n_unmapped|n_multimapping|n_nofeature|n_ambiguous|";                             // of STAR
  // With the name of a group, as pivot tables write them: North Total, Total Nord, Nord Ergebnis, Gesamtergebnis.
  constexpr std::string_view kBegins[] = {"total ", "subtotal ", "sous-total ", "summe ", "zwischensumme "};
  constexpr std::string_view kEnds[] = {" total", " subtotal", " totale", " ergebnis", " gesamt", "gesamtergebnis"};
  if (!may_say_total(text)) return false;
  const std::string word = lower_case(without_marks(text));
  return has_word(kTotals, word) ||
         std::ranges::any_of(kBegins, [&word](std::string_view begin) { return word.starts_with(begin); }) ||
         std::ranges::any_of(kEnds, [&word](std::string_view end) { return word.ends_with(end); });
}

bool says_total_or_mean(std::string_view text) {
  constexpr std::string_view kMeans = "|sum|average|mean|median|mittelwert|moyenne|media|promedio|durchschnitt|";
  const std::string word = lower_case(without_marks(text));
  return says_total(text) || has_word(kMeans, word);
}

bool names_date(const std::string& name) {
  const std::string lower = lower_case(name);
  for (const char* word : {"date", "datum", "fecha", "day", "yyyymm", "ymd", "month", "monat", "period"}) {
    if (lower.find(word) != lower.npos) return true;
  }
  for (const char* word : {"tag", "dt", "jour", "dia", "data"}) {
    if (lower == word || lower.ends_with(std::string("_") + word)) return true;
  }
  return false;
}

bool names_identifier(const std::string& name) {
  const std::string lower = lower_case(name);
  for (const char* word : {"id", "uuid", "guid", "rowid", "index", "key"}) {
    if (lower == word) return true;
  }
  for (const char* end : {"_id", "-id", " id", ".id", "_uuid", "_guid", "_key"}) {
    if (lower.ends_with(end)) return true;
  }
  return name.size() > 2 && (name.ends_with("Id") || name.ends_with("ID")) &&
         std::islower(static_cast<unsigned char>(name[name.size() - 3])) != 0;
}

}  // namespace kith::data
