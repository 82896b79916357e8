// Budgets of tokens: what is over when, what is left of the stacks, and that counting leaves little behind.
#include <string>
#include <vector>

#include "check.h"
#include "matcher.h"
#include "programs.h"

using namespace scansion;
using namespace scansion::test;

namespace {

LexId letters() { return Lexemes::instance().start(Languages::instance().repeat(Languages::instance().char_class({{'a', 'c'}}), 0, unbounded), Encoding::text); }

// The bytes that may follow, after tokens that are bytes.
std::string following(const std::shared_ptr<Constraint>& constraint, const std::string& text) {
    Matcher m(constraint);
    for (char c : text)
        if (!m.accept(static_cast<std::uint8_t>(c))) return "refused";
    std::vector<std::uint32_t> mask(constraint->vocabulary()->words());
    m.fill(mask.data());
    std::string out;
    for (std::uint32_t byte = 0; byte < 256; ++byte)
        if (mask[byte / 32] >> (byte % 32) & 1) out.push_back(static_cast<char>(byte));
    return out;
}

// start ::= budget(a*, tokens) "!"
std::shared_ptr<const Program> bounded(std::uint32_t tokens) {
    Builder b;
    std::uint32_t s = b.rule(), a = b.rule();
    b.set_rule(a, b.lex(letters()));
    b.set_rule(s, b.budget(a, tokens, b.lex("!")));
    return b.finish(s);
}

void a_rule_is_over_after_its_tokens() {
    auto constraint = constraint_of(bounded(2));
    CHECK(following(constraint, "") == "!abc");
    CHECK(following(constraint, "a") == "!abc");
    CHECK(following(constraint, "ab") == "!");
    CHECK(following(constraint, "abc") == "refused");
    CHECK(following(constraint, "ab!") == "");
}

// A budget inside another that is over sooner says nothing: right recursion stays flat.
void budgets_that_could_never_end_leave_no_frame() {
    Builder b;
    std::uint32_t s = b.rule(), a = b.rule();
    b.set_rule(a, b.alt({b.lex("a", b.budget(a, 1000)), b.lex("x")}));
    b.set_rule(s, b.budget(a, 1000, b.lex("!")));
    Engine engine(b.finish(s));
    Moment moment{engine.start(), 0};
    for (int i = 0; i < 900; ++i) moment = engine.end_token({engine.step(moment.state, std::uint8_t{'a'}), moment.time});
    CHECK(engine.thread_count(moment.state) == 2);
    CHECK(engine.stack_count() < 20);
    CHECK(engine.state_count() < 20);
}

void a_shorter_budget_inside_ends_first() {
    Builder b;
    std::uint32_t s = b.rule(), outer = b.rule(), inner = b.rule();
    b.set_rule(inner, b.lex(letters()));
    b.set_rule(outer, b.lex("(", b.budget(inner, 2, b.lex(")", b.lex("x")))));
    b.set_rule(s, b.budget(outer, 4, b.lex("!")));
    auto constraint = constraint_of(b.finish(s));
    CHECK(following(constraint, "(ab") == ")");
    CHECK(following(constraint, "(a)") == "x");
    CHECK(following(constraint, "(ab)") == "!");  // four tokens: the x is not to come any more
}

// The masks of all states under one budget are one.
void counting_makes_no_new_masks() {
    auto constraint = constraint_of(bounded(max_budget));
    Matcher m(constraint);
    std::vector<std::uint32_t> mask(constraint->vocabulary()->words());
    for (int i = 0; i < 500; ++i) {
        m.fill(mask.data());
        CHECK(m.accept('a'));
    }
    CHECK(constraint->tables()->masks.count() <= 2);
    CHECK(constraint->tables()->engine.state_count() < 10);
}

void rollback_gives_tokens_back() {
    Matcher m(constraint_of(bounded(2)));
    CHECK(m.accept('a') && m.accept('a') && !m.accept('a'));
    CHECK(m.rollback(1) && m.accept('b') && !m.accept('a') && m.accept('!'));
    m.reset();
    CHECK(m.accept_bytes("aaaa") && m.accept('a') && m.accept('a') && !m.accept('a'));
}

void forced_bytes_stop_where_a_budget_may_end() {
    Builder b;
    std::uint32_t s = b.rule(), a = b.rule();
    b.set_rule(a, b.lex("hello"));
    b.set_rule(s, b.budget(a, 3, b.lex("!")));
    Matcher m(constraint_of(b.finish(s)));
    CHECK(m.forced_bytes(100) == "hel");
    CHECK(m.accept('h') && m.forced_bytes(100) == "el");
    CHECK(m.accept('e') && m.accept('l') && m.forced_bytes(100) == "!");
}

}  // namespace

int main() {
    a_rule_is_over_after_its_tokens();
    budgets_that_could_never_end_leave_no_frame();
    a_shorter_budget_inside_ends_first();
    counting_makes_no_new_masks();
    rollback_gives_tokens_back();
    forced_bytes_stop_where_a_budget_may_end();
    return finish();
}
