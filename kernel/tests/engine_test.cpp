// States of programs: when two texts lead to the same state, how stacks merge, and what ends where.
#include "engine.h"

#include <string>

#include "check.h"
#include "programs.h"

using namespace scansion;
using namespace scansion::test;

namespace {

bool accepts(Engine& engine, const std::string& text) {
    StateId state = engine.step(engine.start(), text);
    return state != dead_state && engine.accepting(state);
}

// Compares acceptance of all strings over `alphabet` with a predicate.
template <class Expected>
void compare(const std::shared_ptr<const Program>& program, const std::string& alphabet, std::size_t longest, Expected expected) {
    Engine engine(program);
    for (const std::string& text : all_strings(alphabet, longest)) CHECK(accepts(engine, text) == expected(text));
}

void nested_pairs_are_counted() {
    Builder b;
    std::uint32_t s = b.rule();
    b.set_rule(s, b.alt({b.lex("a", b.node(Op::call, s, b.lex("b"))), b.lex("x")}));
    compare(b.finish(s), "abx", 7, [](const std::string& text) {
        std::size_t n = text.find('x');
        return n != std::string::npos && text.size() == 2 * n + 1 && text == std::string(n, 'a') + "x" + std::string(n, 'b');
    });
}

void readings_with_one_future_are_one_state() {
    Builder b;
    std::uint32_t s = b.rule(), x = b.rule(), y = b.rule();
    b.set_rule(x, b.alt({b.lex("a"), b.lex("bb")}));
    b.set_rule(y, b.alt({b.lex("b"), b.lex("aa")}));
    b.set_rule(s, b.alt({b.node(Op::call, x, b.lex("!")), b.node(Op::call, y, b.lex("!"))}));
    Engine engine(b.finish(s));
    StateId one = engine.step(engine.start(), "bb!"), two = engine.step(engine.start(), "aa!");
    CHECK(one == two && one != dead_state);
    CHECK(engine.step(engine.start(), "a") != engine.step(engine.start(), "b"));
    CHECK(engine.step(engine.start(), "c") == dead_state);
    CHECK(engine.step(dead_state, std::uint8_t{'a'}) == dead_state);
}

// s ::= "a" s "b" | "a" s "c" | "x": 2^n readings, one stack a level.
void callers_at_one_place_share_an_activation() {
    Builder b;
    std::uint32_t s = b.rule();
    b.set_rule(s, b.alt({b.lex("a", b.node(Op::call, s, b.lex("b"))), b.lex("a", b.node(Op::call, s, b.lex("c"))), b.lex("x")}));
    Engine engine(b.finish(s));
    StateId state = engine.step(engine.start(), std::string(200, 'a'));
    CHECK(engine.thread_count(state) <= 3);
    CHECK(engine.stack_count() < 2000);
    std::string ends;
    for (int i = 0; i < 100; ++i) ends += "bc";
    CHECK(accepts(engine, std::string(200, 'a') + "x" + ends));
    CHECK(!accepts(engine, std::string(200, 'a') + "x" + ends + "b"));
}

void tail_calls_leave_no_frame() {
    Builder b;
    std::uint32_t s = b.rule(), wrapped = b.rule();
    b.set_rule(wrapped, b.node(Op::call, s));
    b.set_rule(s, b.alt({b.lex("a", b.node(Op::call, wrapped)), b.lex("z")}));
    Engine engine(b.finish(s));
    StateId one = engine.step(engine.start(), "a"), many = engine.step(engine.start(), std::string(5000, 'a'));
    CHECK(one == many);
    CHECK(engine.state_count() < 10);
}

void nullable_parts_may_be_left_out() {
    Builder b;
    Languages& languages = Languages::instance();
    std::uint32_t s = b.rule(), maybe = b.rule(), inner = b.rule();
    LexId spaces = Lexemes::instance().start(languages.repeat(languages.literal(ascii(" ")), 0, 2), Encoding::text);
    b.set_rule(inner, b.lex(spaces));
    b.set_rule(maybe, b.alt({b.lex("m", b.node(Op::call, inner)), b.node(Op::call, inner)}));
    b.set_rule(s, b.node(Op::call, maybe, b.node(Op::call, maybe, b.lex("!"))));
    compare(b.finish(s), "m !", 6, [&](const std::string& text) {
        for (const std::string first : {"", " ", "  ", "m", "m ", "m  "})
            for (const std::string second : {"", " ", "  ", "m", "m ", "m  "})
                if (text == first + second + "!") return true;
        return false;
    });
}

void a_program_may_match_nothing_but_the_empty_text() {
    Builder b;
    std::uint32_t s = b.rule(0);
    Engine engine(b.finish(s));
    CHECK(engine.accepting(engine.start()));
    CHECK(engine.step(engine.start(), "a") == dead_state);
}

void repetitions_count() {
    for (auto [low, high] : {std::pair{0u, 0u}, {0u, 1u}, {2u, 2u}, {1u, 3u}, {2u, no_limit}, {0u, no_limit}}) {
        Builder b;
        std::uint32_t word = b.rule(), s = b.rule();
        b.set_rule(word, b.alt({b.lex("a"), b.lex("ab")}));
        b.set_rule(s, b.repeat(word, low, high, b.lex("!")));
        compare(b.finish(s), "ab!", 6, [low = low, high = high](const std::string& text) {
            if (text.empty() || text.back() != '!') return false;
            std::uint32_t count = 0;
            for (std::size_t i = 0; i + 1 < text.size(); ++i) {
                if (text[i] == '!' || (text[i] == 'b' && (i == 0 || text[i - 1] != 'a'))) return false;
                count += text[i] == 'a';
            }
            return count >= low && count <= high;
        });
    }
}

// Each turn of a repetition may match nothing, so any count up to the bound is reached with less text.
void repetitions_of_what_may_be_empty() {
    Builder b;
    Languages& languages = Languages::instance();
    std::uint32_t maybe = b.rule(), s = b.rule();
    b.set_rule(maybe, b.lex(Lexemes::instance().start(languages.repeat(languages.literal(ascii("a")), 0, 1), Encoding::text)));
    b.set_rule(s, b.repeat(maybe, 3, 4, b.lex("!")));
    compare(b.finish(s), "a!", 7, [](const std::string& text) {
        return !text.empty() && text.size() <= 5 && text == std::string(text.size() - 1, 'a') + "!";
    });
}

void left_recursion_is_refused_hidden_or_not() {
    Builder direct;
    std::uint32_t s = direct.rule();
    direct.set_rule(s, direct.alt({direct.node(Op::call, s, direct.lex("a")), direct.lex("b")}));
    CHECK(throws<Malformed>([&] { direct.finish(s); }));
    Builder hidden;
    std::uint32_t nothing = hidden.rule(0), t = hidden.rule();
    hidden.set_rule(t, hidden.alt({hidden.node(Op::call, nothing, hidden.node(Op::call, t)), hidden.lex("b")}));
    CHECK(throws<Malformed>([&] { hidden.finish(t); }));
    Builder repeated;
    std::uint32_t r = repeated.rule();
    repeated.set_rule(r, repeated.alt({repeated.repeat(r, 0, 1, repeated.lex("a")), repeated.lex("b")}));
    CHECK(throws<Malformed>([&] { repeated.finish(r); }));
}

void token_terminals_are_edges_between_tokens() {
    Builder b;
    std::uint32_t s = b.rule();
    b.set_rule(s, b.lex("a", b.token(5, 7, b.lex("b"))));
    Engine engine(b.finish(s));
    CHECK(!engine.has_token_edges(engine.start()));
    StateId state = engine.step(engine.start(), "a");
    CHECK(engine.has_token_edges(state));
    CHECK(engine.step(state, "b") == dead_state);
    CHECK(engine.step_token(state, 4) == dead_state && engine.step_token(state, 8) == dead_state);
    StateId after = engine.step_token(state, 6);
    CHECK(after != dead_state && after == engine.step_token(state, 5));
    CHECK(engine.accepting(engine.step(after, "b")));
    CHECK(engine.step_token(engine.start(), 6) == dead_state);
}

void the_depth_of_stacks_is_bounded() {
    Builder b;
    std::uint32_t value = b.rule();
    ArraySpec spec;
    spec.rest = {{value, {}}};
    b.set_rule(value, b.array(spec));
    Engine engine(b.finish(value));
    CHECK(throws<LimitExceeded>([&] { engine.step(engine.start(), std::string(200000, '[')); }));
    StateId state = engine.step(engine.start(), std::string(1000, '['));
    CHECK(engine.step(state, std::string(1000, ']')) != dead_state);
}

}  // namespace

int main() {
    nested_pairs_are_counted();
    readings_with_one_future_are_one_state();
    callers_at_one_place_share_an_activation();
    tail_calls_leave_no_frame();
    nullable_parts_may_be_left_out();
    a_program_may_match_nothing_but_the_empty_text();
    repetitions_count();
    repetitions_of_what_may_be_empty();
    left_recursion_is_refused_hidden_or_not();
    token_terminals_are_edges_between_tokens();
    the_depth_of_stacks_is_bounded();
    return finish();
}
