// Lexeme states byte by byte, and slices of a vocabulary against walking every token by itself.
#include "vocabulary.h"

#include <algorithm>
#include <random>
#include <set>

#include "check.h"

using namespace scansion;
using namespace scansion::test;

namespace {

// The state after `text`, or dead.
LexId run(LexId state, const std::string& text) {
    for (char c : text) {
        state = Lexemes::instance().step(state, static_cast<std::uint8_t>(c));
        if (state == dead_lex) break;
    }
    return state;
}

bool accepts(LexId state, const std::string& text) { return Lexemes::instance().accepting(run(state, text)); }

void json_strings_are_read_by_value() {
    Languages& languages = Languages::instance();
    LexId name = Lexemes::instance().start(languages.literal({'n', 0xe9, 0x1f600}), Encoding::json_string);
    CHECK(accepts(name, "\"n\xc3\xa9\xf0\x9f\x98\x80\""));
    CHECK(accepts(name, R"("n\u00e9\ud83d\ude00")"));
    CHECK(accepts(name, R"("\u006e\u00E9\uD83D\uDE00")"));
    CHECK(!accepts(name, R"("n\u00e9\ud83d")"));
    CHECK(run(name, "n") == dead_lex);
    CHECK(run(name, R"("n\u00e8)") == dead_lex);
    LexId any = Lexemes::instance().start(Languages::anything, Encoding::json_string);
    CHECK(accepts(any, R"("a\"\\\/\b\f\n\r\t")"));
    CHECK(run(any, "\"\n") == dead_lex);                // raw control character
    CHECK(run(any, "\"\\x") == dead_lex);               // no such escape
    CHECK(run(any, "\"\\ude00") == dead_lex);           // low surrogate alone
    CHECK(run(any, "\"\\ud83dx") == dead_lex);          // high surrogate alone
    CHECK(run(any, "\"\xc0") == dead_lex);              // overlong
    CHECK(run(any, "\"\xed\xa0") == dead_lex);          // surrogate in UTF-8
    CHECK(run(any, "\"\xf4\x90") == dead_lex);          // beyond U+10FFFF
    CHECK(run(any, "\"\xf4\x8f\xbf\xbf") != dead_lex);
}

void lengths_count_characters() {
    Languages& languages = Languages::instance();
    LexId two = Lexemes::instance().start(languages.repeat(Languages::any_char, 2, 2), Encoding::json_string);
    CHECK(accepts(two, "\"\xf0\x9f\x98\x80\xc3\xa9\""));
    CHECK(accepts(two, R"("\ud83d\ude00a")"));
    CHECK(run(two, "\"a\"") == dead_lex);
    CHECK(run(two, "\"abc") == dead_lex);
    CHECK(Lexemes::instance().min_bytes(two) == 4);
}

std::vector<std::optional<std::string>> random_tokens(std::mt19937& random, std::size_t count) {
    const std::vector<std::string> pieces{"a", "b", "\"", "\\", "n", "u", "0", "\xc3", "\xa9", ",", "}", ":", " ", "\n", "\xf0\x9f", "\x98\x80"};
    std::vector<std::optional<std::string>> tokens{std::nullopt, "", std::nullopt};
    while (tokens.size() < count) {
        std::string token;
        for (std::size_t length = 1 + random() % 5; length > 0; --length) token += pieces[random() % pieces.size()];
        tokens.push_back(token);
    }
    return tokens;
}

// Tokens below `node` and what is left of each, as (rest, id).
void collect(const Trie& trie, std::uint32_t node, std::string prefix, std::multiset<std::pair<std::string, std::uint32_t>>& out) {
    for (std::uint32_t child = node + 1; child < trie.nodes[node].end; child = trie.nodes[child].end) {
        std::string text = prefix + static_cast<char>(trie.nodes[child].byte);
        for (std::uint32_t i = 0; i < trie.nodes[child].token_count; ++i) out.emplace(text, trie.tokens[trie.nodes[child].first_token + i]);
        collect(trie, child, text, out);
    }
}

void slices_are_what_each_token_does() {
    std::mt19937 random(11);
    Languages& languages = Languages::instance();
    Lexemes& lexemes = Lexemes::instance();
    auto tokens = random_tokens(random, 6000);
    Vocabulary vocabulary(tokens, {0}, {2});
    CHECK(!vocabulary.text(0) && !vocabulary.text(1) && !vocabulary.text(2));
    std::multiset<std::pair<std::string, std::uint32_t>> all, expected_all;
    collect(vocabulary.trie(), 0, "", all);
    for (std::uint32_t id = 3; id < tokens.size(); ++id) expected_all.emplace(*tokens[id], id);
    CHECK(all == expected_all);

    LexId string = lexemes.start(Languages::anything, Encoding::json_string);
    LexId short_string = lexemes.start(languages.repeat(Languages::any_char, 0, 3), Encoding::json_string);
    LexId text = lexemes.start(languages.repeat(languages.char_class({{'a', 'u'}}), 1, unbounded), Encoding::text);
    std::vector<LexId> states{run(string, "\""), run(short_string, "\"a"), run(string, "\"\\"), text, run(text, "a")};
    // Bounded strings, whose slices are derived from that of the string without bounds.
    LangId no_b = languages.repeat(languages.complement(languages.literal({'b'})), 0, unbounded);
    LangId letters = languages.repeat(languages.char_class({{'a', 'u'}, {0x80, 0xffff}}), 0, unbounded);
    LangId ends_in_a = languages.concat(Languages::anything, languages.literal({'a'}));
    for (LangId language : {Languages::anything, no_b, letters, ends_in_a})
        for (auto [low, high] : {std::pair{0u, 1u}, {0u, 2u}, {2u, 5u}, {4u, 4u}, {0u, 100u}, {7u, 200u}, {3u, unbounded}}) {
            LexId bounded = lexemes.start(languages.intersection({language, languages.repeat(Languages::any_char, low, high)}), Encoding::json_string);
            for (const char* begun : {"\"", "\"a", "\"\\", "\"\\u00", "\"\xc3"})
                if (LexId state = run(bounded, begun); state != dead_lex) states.push_back(state);
        }
    CHECK(states.size() > 80);
    for (LexId state : states) {
        auto slice = vocabulary.slice(0, state);
        std::set<std::uint32_t> stay(slice->stay.begin(), slice->stay.end());
        for (std::uint32_t id = 0; id < vocabulary.size() && !slice->bits.empty(); ++id)
            if (slice->bits[id / 32] >> (id % 32) & 1) stay.insert(id);
        std::set<std::uint32_t> expected_stay;
        std::multiset<std::pair<std::string, std::uint32_t>> rest, some_rest, all_rest;  // a token that may stay need not be among those that leave
        for (std::uint32_t id = 3; id < tokens.size(); ++id) {
            LexId at = state;
            const std::string& token = *tokens[id];
            std::vector<std::string> behind;
            for (std::size_t i = 0; i < token.size() && at != dead_lex; ++i) {
                at = lexemes.step(at, static_cast<std::uint8_t>(token[i]));
                if (at != dead_lex && lexemes.accepting(at) && i + 1 < token.size()) behind.push_back(token.substr(i + 1));
            }
            if (at != dead_lex) expected_stay.insert(id);
            for (const std::string& b : behind) {
                all_rest.emplace(b, id);
                if (at == dead_lex) some_rest.emplace(b, id);
            }
        }
        CHECK(stay == expected_stay);
        collect(*slice->remainders, 0, "", rest);
        for (const auto* exits : {&slice->exits, &slice->digit_exits})
            for (std::uint32_t exit : *exits) collect(vocabulary.trie(), exit, "", rest);
        CHECK(std::includes(rest.begin(), rest.end(), some_rest.begin(), some_rest.end()));
        CHECK(std::includes(all_rest.begin(), all_rest.end(), rest.begin(), rest.end()));
        CHECK(vocabulary.slice(0, state) == slice);
    }
}

void ids_outside_are_refused() {
    bool refused = false;
    try {
        Vocabulary({"a", "b"}, {2}, {});
    } catch (const Malformed&) {
        refused = true;
    }
    CHECK(refused);
}

}  // namespace

int main() {
    json_strings_are_read_by_value();
    lengths_count_characters();
    slices_are_what_each_token_does();
    ids_outside_are_refused();
    return finish();
}
