// Masks against stepping each token by itself, completions against searching through all texts, on programs that hold every kind of thread.
#include "masks.h"

#include <algorithm>
#include <random>
#include <string>

#include "check.h"
#include "matcher.h"
#include "programs.h"

using namespace scansion;
using namespace scansion::test;

namespace {

std::vector<std::string> random_tokens(std::mt19937& random, const std::vector<std::string>& pieces, std::size_t count) {
    std::vector<std::string> tokens;
    while (tokens.size() < count) {
        std::string token;
        for (std::size_t length = 2 + random() % 6; length > 0; --length) token += pieces[random() % pieces.size()];
        tokens.push_back(token);
    }
    return tokens;
}

// Any JSON value, with an object of declared and other keys, bounded strings and a unique array of few values.
std::shared_ptr<const Program> json(bool canonical, bool any_order, std::uint32_t longest) {
    Builder b;
    Languages& languages = Languages::instance();
    b.program().canonical_keys = canonical;
    std::uint32_t value = b.rule(), colour = b.rule(b.lex(Builder::words({"\"red\"", "\"green\"", "\"re\"", "1"})));
    ObjectSpec object;
    object.any_order = any_order;
    object.properties = {Builder::property("a", value, true), Builder::property("ab", colour), Builder::property("b", value)};
    object.groups = {Builder::group(Languages::anything, value)};
    object.max_properties = 4;
    ArraySpec colours, list;
    colours.rest = {{colour, {}}};
    colours.unique = true;
    list.rest = {{value, {}}};
    list.min_items = 1;
    list.max_items = 30;
    LexId bounded = Lexemes::instance().start(languages.repeat(Languages::any_char, 1, longest), Encoding::json_string);
    LexId digits = Lexemes::instance().start(languages.repeat(languages.char_class({{'0', '9'}}), 1, unbounded), Encoding::text);
    b.set_rule(value, b.alt({b.lex(bounded), b.lex(digits), b.object(object), b.array(colours), b.array(list)}));
    return b.finish(value);
}

bool masked(const std::vector<std::uint32_t>& mask, std::uint32_t id) { return mask[id / 32] >> (id % 32) & 1; }

void masks_are_what_each_token_does() {
    std::mt19937 random(17);
    const std::vector<std::string> pieces{"{", "}", "\"", ":", ",", "a", "ab", "b", "[", "]", "1", "red", "\"red\"", "green", "\\u0061", "\\", "u00", "\xc3", "\xa9"};
    auto vocabulary = byte_vocabulary(random_tokens(random, pieces, 700));
    for (bool canonical : {true, false})
        for (bool any_order : {true, false})
            for (std::uint32_t longest : {3u, 60u}) {
                auto constraint = constraint_of(json(canonical, any_order, longest), vocabulary);
                for (int walk = 0; walk < 12; ++walk) {
                    Matcher matcher(constraint);
                    std::string text;
                    for (int step = 0; step < 14 && !matcher.finished(); ++step) {
                        std::vector<std::uint32_t> mask(vocabulary->words(), 0xffffffffu), allowed;
                        matcher.fill(mask.data());
                        bool equal = true;
                        for (std::uint32_t id = 0; id < vocabulary->size(); ++id) {
                            const bool takes = matcher.allows(id);
                            equal &= takes == masked(mask, id);
                            if (takes) allowed.push_back(id);
                        }
                        if (!equal) std::fprintf(stderr, "after %s\n", text.c_str());
                        CHECK(equal);
                        CHECK(!allowed.empty());
                        if (allowed.empty()) break;
                        std::uint32_t id = allowed[random() % allowed.size()];
                        CHECK(matcher.accept(id));
                        if (vocabulary->text(id)) text += *vocabulary->text(id);
                    }
                }
            }
}

// The least length of a text that `engine` accepts after `state`, by breadth-first search over all bytes.
std::size_t fewest_bytes(Engine& engine, StateId state, std::size_t most) {
    std::vector<StateId> level{state};
    for (std::size_t length = 0; length <= most; ++length) {
        std::vector<StateId> next;
        for (StateId s : level) {
            if (engine.accepting(s)) return length;
            for (std::uint32_t byte = 0x20; byte < 0x80; ++byte)
                if (StateId to = engine.step(s, static_cast<std::uint8_t>(byte)); to != dead_state) next.push_back(to);
        }
        std::sort(next.begin(), next.end());
        next.erase(std::unique(next.begin(), next.end()), next.end());
        level = std::move(next);
    }
    return most + 1;
}

void completions_are_shortest_on_small_grammars() {
    std::mt19937 random(23);
    std::size_t compared = 0;
    for (int round = 0; round < 300; ++round) {
        // Rules call only later rules or come after a letter, so nothing is left recursive; the last rule always ends.
        Builder b;
        std::vector<std::uint32_t> rules;
        for (int i = 0; i < 4; ++i) rules.push_back(b.rule());
        for (std::size_t i = 0; i < rules.size(); ++i) {
            std::vector<std::uint32_t> ways{b.lex(std::string(1 + random() % 3, static_cast<char>('a' + random() % 3)))};
            for (std::size_t k = random() % 3; k > 0; --k) {
                std::uint32_t tail = random() % 2 ? 0 : b.node(Op::call, rules[random() % 4]);
                std::uint32_t way = b.lex(std::string(1, static_cast<char>('a' + random() % 3)), tail);
                if (i + 1 < rules.size() && random() % 2) way = b.repeat(rules[i + 1 + random() % (rules.size() - i - 1)], random() % 3, 3, way);
                ways.push_back(way);
            }
            b.set_rule(rules[i], b.alt(ways));
        }
        auto constraint = constraint_of(b.finish(rules[0]));
        Matcher matcher(constraint);
        for (int step = 0; step < 8; ++step) {
            std::string completion;
            CHECK(matcher.shortest_completion(completion, 1000));
            const std::size_t fewest = fewest_bytes(constraint->tables()->engine, matcher.state(), 24);
            CHECK(completion.size() == fewest || fewest > 24);
            CHECK(matcher.shortest_cost() == static_cast<std::int64_t>(completion.size()));
            StateId end = constraint->tables()->engine.step(matcher.state(), completion);
            CHECK(end != dead_state && constraint->tables()->engine.accepting(end));
            ++compared;
            std::string next = matcher.next_bytes();
            if (next.empty()) break;
            CHECK(matcher.accept_bytes(next.substr(random() % next.size(), 1)));
        }
    }
    CHECK(compared > 1000);
}

void folding_a_state_keeps_its_mask() {
    std::mt19937 random(29);
    auto vocabulary = byte_vocabulary({"1,", ",1", "1]", ",1,1", "\":1", "ab", "\",\""});
    Builder b;
    std::uint32_t one = b.rule(b.lex("1"));
    ArraySpec spec;
    spec.rest = {{one, {}}};
    spec.min_items = 40;
    spec.max_items = 90;
    auto constraint = constraint_of(b.finish(b.rule(b.array(spec))), vocabulary);
    Matcher matcher(constraint);
    CHECK(matcher.accept_bytes("[1"));
    for (int count = 1; count < 90; ++count) {
        std::vector<std::uint32_t> mask(vocabulary->words(), 0);
        matcher.fill(mask.data());
        for (std::uint32_t id = 0; id < vocabulary->size(); ++id) CHECK(masked(mask, id) == matcher.allows(id));
        CHECK(matcher.accept_bytes(",1"));
    }
    CHECK(constraint->tables()->masks.count() < 60);
}

}  // namespace

int main() {
    masks_are_what_each_token_does();
    completions_are_shortest_on_small_grammars();
    folding_a_state_keeps_its_mask();
    return finish();
}
