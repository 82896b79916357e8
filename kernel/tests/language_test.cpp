// The algebra of languages against its definition, string by string over a small alphabet.
#include "language.h"

#include <functional>
#include <random>
#include <set>

#include "check.h"

using namespace scansion;
using namespace scansion::test;

namespace {

using Words = std::set<std::string>;

const std::vector<std::string> universe = all_strings("ab", 6);
constexpr std::size_t longest = 6;

// A language and the same set of words, cut at `longest` characters, by definition.
struct Sample {
    LangId language;
    Words words;
};

Words concatenated(const Words& left, const Words& right) {
    Words out;
    for (const std::string& a : left)
        for (const std::string& b : right)
            if (a.size() + b.size() <= longest) out.insert(a + b);
    return out;
}

void compare(const Sample& sample) {
    Languages& languages = Languages::instance();
    for (const std::string& text : universe) CHECK(languages.matches(sample.language, ascii(text)) == sample.words.contains(text));
    if (!sample.words.empty()) {
        CHECK(!languages.is_nothing(sample.language));
        auto shortest = languages.shortest(sample.language);
        CHECK(shortest && languages.matches(sample.language, *shortest));
        std::size_t least = longest;
        for (const std::string& word : sample.words) least = std::min(least, word.size());
        CHECK(shortest && shortest->size() == least);
        CHECK(languages.min_length(sample.language) == least);
    }
}

void algebra_is_its_definition() {
    Languages& languages = Languages::instance();
    Words every(universe.begin(), universe.end());
    LangId ab_star = languages.repeat(languages.char_class({{'a', 'b'}}), 0, unbounded);
    std::mt19937 random(7);
    std::vector<Sample> samples{
        {Languages::nothing, {}},
        {Languages::empty, {""}},
        {languages.literal(ascii("a")), {"a"}},
        {languages.char_class({{'b', 'b'}}), {"b"}},
        {languages.char_class({{'a', 'a'}, {'b', 'b'}}), {"a", "b"}},
        {languages.literals({ascii("ab"), ascii("a"), ascii("bba")}), {"ab", "a", "bba"}},
    };
    for (int round = 0; round < 400; ++round) {
        const Sample a = samples[random() % samples.size()];
        const Sample b = samples[random() % samples.size()];
        Sample made{};
        switch (random() % 5) {
            case 0:
                made = {languages.concat(a.language, b.language), concatenated(a.words, b.words)};
                break;
            case 1:
                made = {languages.union_({a.language, b.language}), a.words};
                made.words.insert(b.words.begin(), b.words.end());
                break;
            case 2:
                made.language = languages.intersection({a.language, b.language});
                for (const std::string& word : a.words)
                    if (b.words.contains(word)) made.words.insert(word);
                break;
            case 3:
                // The complement is relative to all strings; the sample is of those over the alphabet.
                made.language = languages.intersection({ab_star, languages.complement(a.language)});
                for (const std::string& word : every)
                    if (!a.words.contains(word)) made.words.insert(word);
                break;
            default: {
                std::uint32_t low = random() % 3;
                std::uint32_t high = random() % 3 == 0 ? unbounded : low + random() % 3;
                made.language = languages.repeat(a.language, low, high);
                Words power{""};
                for (std::uint32_t count = 0; count <= std::min<std::uint32_t>(high, longest + low); ++count) {
                    if (count >= low) made.words.insert(power.begin(), power.end());
                    power = concatenated(power, a.words);
                }
            }
        }
        compare(made);
        samples.push_back(made);
    }
}

void equal_languages_are_one() {
    Languages& languages = Languages::instance();
    LangId a = languages.literal(ascii("a")), b = languages.literal(ascii("b")), c = languages.literal(ascii("c"));
    CHECK(languages.union_({a, languages.union_({b, c})}) == languages.union_({languages.union_({c, a}), b}));
    CHECK(languages.concat(a, languages.concat(b, c)) == languages.concat(languages.concat(a, b), c));
    CHECK(languages.complement(languages.complement(a)) == a);
    CHECK(languages.intersection({a, Languages::anything}) == a);
    CHECK(languages.union_({a, Languages::nothing}) == a);
    CHECK(languages.concat(a, Languages::nothing) == Languages::nothing);
}

void counted_repetition_is_not_expanded() {
    Languages& languages = Languages::instance();
    std::size_t before = languages.size();
    LangId body = languages.char_class({{'a', 'z'}});
    LangId many = languages.repeat(body, 1'000'000, 2'000'000);
    CHECK(languages.min_length(many) == 1'000'000);
    CHECK(languages.size() - before < 100);
    CHECK(languages.max_length(languages.repeat(body, 1, 10'000)) == 10'000u);
    // Lengths are ultimately periodic: a multiple of three is never 1,000,001.
    LangId triples = languages.repeat(languages.literal(ascii("abc")), 1, unbounded);
    CHECK(languages.is_nothing(languages.intersection({triples, languages.repeat(Languages::any_char, 1'000'001, 1'000'001)})));
    CHECK(!languages.is_nothing(languages.intersection({triples, languages.repeat(Languages::any_char, 999'999, 999'999)})));
}

void words_are_counted_and_listed() {
    Languages& languages = Languages::instance();
    LangId three = languages.literals({ascii("b"), ascii("a"), ascii("ab")});
    CHECK(languages.count(three, 100) == 3);
    CHECK(languages.count(three, 2) == 2);
    auto words = languages.words(three, 3);
    CHECK(words && *words == (std::vector<std::vector<CodePoint>>{ascii("a"), ascii("ab"), ascii("b")}));
    CHECK(!languages.words(three, 2));
    CHECK(languages.count(Languages::anything, 1000) == 1000);
}

void many_states_meet_the_limit() {
    Languages& languages = Languages::instance();
    // (a|b)*a(a|b){20} has 2^20 states; no word of it has length 3, and finding that out may not take them all.
    LangId either = languages.char_class({{'a', 'b'}});
    LangId wide = languages.concat({languages.repeat(either, 0, unbounded), languages.literal(ascii("a")), languages.repeat(either, 20, 20)});
    bool met = false;
    try {
        languages.is_nothing(languages.intersection({wide, languages.complement(wide)}));
    } catch (const LimitExceeded& error) {
        met = error.limit == "language_states";
    }
    CHECK(met || languages.intersection({wide, languages.complement(wide)}) == Languages::nothing);
    CHECK(languages.matches(wide, ascii("b" + std::string(21, 'a'))));
    CHECK(!languages.matches(wide, ascii("ab" + std::string(20, 'b'))));
}

}  // namespace

int main() {
    algebra_is_its_definition();
    equal_languages_are_one();
    counted_repetition_is_not_expanded();
    words_are_counted_and_listed();
    many_states_meet_the_limit();
    return finish();
}
