// Compares texts with scales of questionnaires, and reads the numbers that they begin with.
#include "data/text/text_values.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "data/io/utf8.h"
#include "data/text/text_number.h"

namespace kith::data {
namespace {

// The places of a scale, from the least to the most, with all words for each: "least/none|some|most".
constexpr std::string_view kScales[] = {
    "strongly disagree/completely disagree/totally disagree|disagree|somewhat disagree/slightly disagree/tend to "
    "disagree|neutral/neither agree nor disagree/neither|somewhat agree/slightly agree/tend to agree|agree|"
    "strongly agree/completely agree/totally agree",
    "very dissatisfied/very unsatisfied/extremely dissatisfied|dissatisfied/unsatisfied|somewhat dissatisfied/slightly "
    "dissatisfied|neutral/neither satisfied nor dissatisfied|somewhat satisfied/slightly satisfied|satisfied|very "
    "satisfied/extremely satisfied",
    "never|almost never/hardly ever|rarely/seldom|occasionally|sometimes|often/frequently|very often/very frequently|"
    "usually|almost always|always",
    "terrible|very bad/very poor|bad/poor|fair/average/okay/ok/acceptable|good|very good|excellent/outstanding",
    "very unlikely/extremely unlikely|unlikely|somewhat unlikely|neutral/neither likely nor unlikely|somewhat likely|"
    "likely|very likely/extremely likely",
    "not at all important/not important/unimportant|slightly important|somewhat important/moderately important|"
    "important|very important|extremely important",
    "not at all|very little|a little/slightly|somewhat/moderately|quite a bit|a lot/very/very "
    "much|extremely/completely",
    "very difficult|difficult|neutral|easy|very easy",
    "very low|low|medium/moderate|high|very high",
    "tiny/very small|small|medium|large/big|very large/huge",
    "stimme überhaupt nicht zu/stimme gar nicht zu|stimme nicht zu|stimme eher nicht zu|teils teils/teils, teils/teils-"
    "teils/teils/weder noch/neutral|stimme eher zu|stimme zu|stimme voll zu/stimme völlig zu/stimme voll und ganz zu",
    "trifft überhaupt nicht zu/trifft gar nicht zu|trifft nicht zu|trifft eher nicht zu/trifft wenig zu|teils teils/"
    "teils, teils/teils-teils/teils/weder noch/neutral|trifft eher zu/trifft ziemlich zu|trifft zu|trifft voll zu/"
    "trifft völlig zu/trifft voll und ganz zu",
    "sehr unzufrieden|unzufrieden|eher unzufrieden|neutral/teils teils/teils, teils/weder noch|eher "
    "zufrieden|zufrieden|"
    "sehr zufrieden",
    "nie/niemals|fast nie|selten|manchmal/gelegentlich|oft/häufig|sehr oft/sehr häufig|fast immer|immer",
    "sehr schlecht|schlecht|mittel/mittelmäßig|gut|sehr gut",
    "ungenügend|mangelhaft|ausreichend|befriedigend|gut|sehr gut",
    "sehr niedrig/sehr gering|niedrig/gering|mittel|hoch|sehr hoch",
    "klein|mittel|groß",
    "pas du tout d'accord|pas d'accord|plutôt pas d'accord|neutre/ni d'accord ni pas d'accord|plutôt d'accord|d'accord|"
    "tout à fait d'accord",
    "très insatisfait|insatisfait|plutôt insatisfait|neutre|plutôt satisfait|satisfait|très satisfait",
    "jamais|rarement|parfois/quelquefois|souvent|très souvent|toujours",
    "très mauvais|mauvais|moyen|bon|très bon|excellent",
    "totalmente en desacuerdo/muy en desacuerdo|en desacuerdo|neutral/ni de acuerdo ni en desacuerdo|de acuerdo|"
    "totalmente de acuerdo/muy de acuerdo",
    "muy insatisfecho|insatisfecho|neutral|satisfecho|muy satisfecho",
    "nunca|casi nunca|rara vez/raramente|a veces|a menudo/frecuentemente|casi siempre|siempre",
    "mai|raramente|a volte/qualche volta|spesso|sempre"};

/// The place of a word in a scale; -1: it is not there.
int place_in(std::string_view scale, std::string_view word) {
  int place = 0;
  for (std::size_t at = 0; at <= scale.size();) {
    const std::size_t end = std::min(scale.find_first_of("|/", at), scale.size());
    if (scale.substr(at, end - at) == word) return place;
    place += end < scale.size() && scale[end] == '|' ? 1 : 0;
    at = end + 1;
  }
  return -1;
}

/// The texts by ascending keys; none if two keys are equal.
template <class Key>
std::vector<std::string> by_keys(std::vector<std::pair<Key, std::string>> keyed) {
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < keyed.size(); ++i) {
    if (i > 0 && keyed[i].first == keyed[i - 1].first) return {};
    texts.push_back(std::move(keyed[i].second));
  }
  return texts;
}

std::vector<std::string> order_of_scale(const std::vector<std::string>& texts) {
  for (const std::string_view scale : kScales) {
    std::vector<std::pair<int, std::string>> places;
    for (const std::string& text : texts) {
      const int place = place_in(scale, lower_case(without_blanks(text)));
      if (place < 0) break;
      places.emplace_back(place, text);
    }
    if (places.size() == texts.size()) return by_keys(std::move(places));
  }
  return {};
}

/// A text that begins with a number, or a range.
struct Numbered {
  double low = 0.0, high = 0.0;
  bool is_range = false;
  bool is_bound = false;   // < or >, which measurements have too
  std::string label = {};  // behind the number and a mark: "bad" of "1 = bad"
};

/// Takes a number without a sign from the front.
std::optional<double> take_number(std::string_view& text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [stop, problem] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (problem != std::errc()) return std::nullopt;
  const char* behind = stop[-1] == '.' ? stop - 1 : stop;  // 1. bad
  text = without_blanks(text.substr(static_cast<std::size_t>(behind - text.data())));
  return value;
}

/// Removes one of the words, in lower case, from the front; false: there is none.
template <std::size_t Count>
bool take_word(std::string_view& text, const std::string_view (&words)[Count]) {
  for (const std::string_view word : words) {
    if (!text.starts_with(word)) continue;
    text = without_blanks(text.substr(word.size()));
    return true;
  }
  return false;
}

/// Nothing for texts that do not begin with a number, or have no mark behind it. `text` is in lower case.
std::optional<Numbered> numbered(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr std::string_view kBelow[] = {"<=", "<", "under ", "below ", "less than ", "up to ", "unter ", "bis "};
  constexpr std::string_view kAbove[] = {">=", ">", "over ", "above ", "more than ", "über "};
  constexpr std::string_view kMore[] = {"+", "and ", "or ", "und ", "oder "};  // 65 and over, 65 or older
  constexpr std::string_view kDashes[] = {"-", "\u2013", "\u2014", "to ", "bis "};
  constexpr std::string_view kMarks[] = {"=", ":", ".", ")", "("};
  constexpr std::string_view kCurrencies[] = {"$", "\u20ac", "\u00a3"};
  const bool is_below = take_word(text, kBelow), is_above = !is_below && take_word(text, kAbove);
  const bool is_bound = is_below || is_above;
  if (text.starts_with('(')) text.remove_prefix(1);
  take_word(text, kCurrencies);
  const auto low = take_number(text);
  if (!low) return std::nullopt;
  if (is_below) return Numbered{-kInfinity, *low, true, is_bound};
  if (is_above || take_word(text, kMore)) return Numbered{*low, kInfinity, true, is_bound};
  if (text.empty()) return Numbered{*low, *low};
  const bool is_dash = take_word(text, kDashes);
  if (!is_dash && !take_word(text, kMarks)) return std::nullopt;
  take_word(text, kCurrencies);
  std::string label(text.substr(0, text.size() - (text.ends_with(')') ? 1 : 0)));
  const auto high = take_number(text);
  if (!high) return Numbered{.low = *low, .high = *low, .label = std::move(label)};
  return is_dash && *high >= *low ? std::optional(Numbered{*low, *high, true}) : std::nullopt;
}

/// A text with its number at the end, "bad (1)", with the number first.
std::string with_number_first(const std::string& text) {
  const std::size_t open = text.rfind('(');
  if (open == 0 || open == text.npos || !text.ends_with(')')) return text;
  const std::string inside = text.substr(open + 1, text.size() - open - 2);
  return is_number_text(inside) ? inside + " = " + std::string(without_blanks(text.substr(0, open))) : text;
}

TextOrder order_of_numbers(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::pair<double, double>, std::string>> keyed;
  std::vector<Numbered> all;
  for (const std::string& text : texts) {
    auto found = numbered(with_number_first(lower_case(without_blanks(text))));
    if (!found) return {};
    keyed.push_back({{found->low, found->high}, text});
    all.push_back(std::move(*found));
  }
  std::sort(all.begin(), all.end(), [](const Numbered& a, const Numbered& b) { return a.low < b.low; });
  bool any_range = false, any_bound = false, any_plain = false, any_label = false;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool overlaps = i > 0 && (all[i].low < all[i - 1].high || all[i].low == all[i - 1].low);
    if (overlaps) return {};
    any_range = any_range || all[i].is_range;
    any_bound = any_bound || all[i].is_bound;
    any_label = any_label || !all[i].label.empty();
    any_plain = any_plain || (!all[i].is_range && all[i].label.empty());
    labels.push_back(all[i].label);
  }
  if (!any_range && !any_label) return {};  // numbers
  std::vector<std::string> meant = order_of_scale(labels);
  const bool ascend = meant == labels;
  std::reverse(meant.begin(), meant.end());
  const bool is_sure = any_range ? !any_label && !(any_bound && any_plain) : any_plain || ascend || meant == labels;
  return {by_keys(std::move(keyed)), is_sure};
}

}  // namespace

TextOrder known_order(const std::vector<std::string>& texts) {
  if (texts.size() < 2) return {};
  std::vector<std::string> scale = order_of_scale(texts);
  return scale.empty() ? order_of_numbers(texts) : TextOrder{.texts = std::move(scale), .is_sure = true};
}

}  // namespace kith::data
