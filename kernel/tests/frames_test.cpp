// Frames of objects and arrays by themselves: what may come next, what may close, and what is refused because nothing could finish it.
#include "frames.h"

#include <algorithm>
#include <random>
#include <set>

#include "check.h"
#include "programs.h"

using namespace scansion;
using namespace scansion::test;

namespace {

struct Objects {
    explicit Objects(Builder& b, std::uint32_t rule) : program(b.finish(rule)), conditions(program->conditions), frames(*program, conditions, texts) {}
    std::shared_ptr<const Program> program;
    Conditions conditions;
    TextTrie texts;
    ObjectFrames frames;

    std::set<std::string> next(FrameId f) {
        std::vector<std::uint32_t> properties, groups;
        const auto found = frames.available(f);
        properties.assign(found.properties.begin(), found.properties.end());
        groups.assign(found.groups.begin(), found.groups.end());
        std::set<std::string> out;
        for (std::uint32_t p : properties) out.insert(Lexemes::instance().key_text(frames.spec(f).properties[p].key));
        if (!groups.empty()) out.insert("*");
        return out;
    }
    FrameId read(FrameId f, std::uint32_t property, std::uint32_t alternative = 0) {
        FrameId key = frames.with_property(f, property);
        return key == no_frame ? no_frame : frames.with_value(key, alternative);
    }
};

using Names = std::set<std::string>;

void declared_order_goes_forward_past_what_is_optional() {
    Builder b;
    std::uint32_t value = b.rule(b.lex("1"));
    ObjectSpec spec;
    spec.properties = {Builder::property("a", value), Builder::property("b", value, true), Builder::property("c", value)};
    spec.groups = {Builder::group(Languages::anything, value)};
    std::uint32_t root = b.rule(b.object(spec));
    Objects o(b, root);
    FrameId f = o.frames.initial(0);
    CHECK(o.next(f) == (Names{"a", "b"}));
    CHECK(!o.frames.may_close(f));
    CHECK(o.next(o.read(f, 0)) == (Names{"b"}));
    FrameId after = o.read(f, 1);
    CHECK(o.next(after) == (Names{"c", "*"}));
    CHECK(o.frames.may_close(after));
    FrameId extra = o.frames.with_value(o.frames.with_group(after, 0, o.texts.insert(TextTrie::root, "x")), 0);
    CHECK(o.next(extra) == (Names{"*"}));
    CHECK(o.frames.is_used(extra, o.texts.insert(TextTrie::root, "x")) && !o.frames.is_used(after, o.texts.insert(TextTrie::root, "x")));
}

void any_order_offers_what_was_not_read() {
    Builder b;
    std::uint32_t value = b.rule(b.lex("1"));
    ObjectSpec spec;
    spec.any_order = true;
    for (std::uint32_t i = 0; i < 70; ++i) spec.properties.push_back(Builder::property("k" + std::to_string(i), value, i == 65));
    std::uint32_t root = b.rule(b.object(spec));
    Objects o(b, root);
    FrameId f = o.frames.initial(0);
    CHECK(o.next(f).size() == 70 && !o.frames.may_close(f));
    FrameId one = o.read(o.read(f, 3), 65), other = o.read(o.read(f, 65), 3);
    CHECK(one == other);
    CHECK(o.next(one).size() == 68 && o.frames.may_close(one));
}

void counts_leave_room_for_what_must_come() {
    Builder b;
    std::uint32_t value = b.rule(b.lex("1"));
    ObjectSpec spec;
    spec.any_order = true;
    spec.properties = {Builder::property("a", value), Builder::property("b", value), Builder::property("c", value, true)};
    spec.max_properties = 2;
    std::uint32_t root = b.rule(b.object(spec));
    Objects o(b, root);
    FrameId f = o.frames.initial(0);
    CHECK(o.next(o.read(f, 0)) == (Names{"c"}));
    CHECK(o.frames.with_property(o.read(f, 0), 1) == no_frame);
    CHECK(o.next(o.read(o.read(f, 0), 2)).empty());
}

// {a, b} closed, minProperties 2, declared order: after b first nothing could follow.
void a_count_that_order_makes_unreachable_is_seen() {
    Builder b;
    std::uint32_t value = b.rule(b.lex("1"));
    ObjectSpec spec;
    spec.properties = {Builder::property("a", value), Builder::property("b", value)};
    spec.min_properties = 2;
    std::uint32_t root = b.rule(b.object(spec));
    Objects o(b, root);
    FrameId f = o.frames.initial(0);
    CHECK(o.next(f) == (Names{"a"}));
    CHECK(!o.frames.may_close(o.read(f, 0)));
    CHECK(o.frames.may_close(o.read(o.read(f, 0), 1)));
}

// "b comes with a": as a condition; and in declared order "a may not come when b cannot".
void conditions_take_keys_away() {
    Builder b;
    std::uint32_t value = b.rule(b.lex("1"));
    std::uint32_t only_with = b.condition(1, 0, 1);                   // b
    std::uint32_t condition = b.condition(0, 1, only_with);           // not a, or b
    ObjectSpec spec;
    spec.properties = {Builder::property("a", value), Builder::property("b", value)};
    spec.condition = condition;
    spec.max_properties = 1;
    std::uint32_t root = b.rule(b.object(spec));
    Objects o(b, root);
    FrameId f = o.frames.initial(0);
    CHECK(o.next(f) == (Names{"b"}));  // a would want b, and there is room for one
    CHECK(o.frames.may_close(f));
}

void diagrams_are_the_functions_they_stand_for() {
    std::mt19937 random(3);
    for (int round = 0; round < 60; ++round) {
        // A random ordered diagram over five events, and its truth table.
        std::vector<Condition> given(2, {0, 0, 0});
        std::vector<std::uint32_t> below{0, 1};
        for (std::uint32_t event = 5; event-- > 0;)
            for (int k = 0; k < 2; ++k) {
                std::uint32_t low = below[random() % below.size()], high = below[random() % below.size()];
                if (low > 1 && given[low].event <= event) low = random() % 2;
                if (high > 1 && given[high].event <= event) high = random() % 2;
                given.push_back({event, low, high});
                below.push_back(static_cast<std::uint32_t>(given.size() - 1));
            }
        Conditions conditions(given);
        const std::uint32_t root = static_cast<std::uint32_t>(given.size() - 1);
        auto truth = [&](std::uint32_t events) {
            std::uint32_t at = root;
            while (at > 1) at = events >> given[at].event & 1 ? given[at].if_true : given[at].if_false;
            return at == 1;
        };
        std::uint32_t fewest = 0xffffffffu;
        for (std::uint32_t events = 0; events < 32; ++events) {
            std::uint32_t residual = conditions.given(root);
            std::vector<std::uint32_t> order{0, 1, 2, 3, 4};
            std::shuffle(order.begin(), order.end(), random);
            for (std::uint32_t e : order) residual = conditions.restrict(residual, e, events >> e & 1);
            CHECK(conditions.trivial(residual) && (residual == Conditions::always) == truth(events));
            std::uint32_t happened = conditions.given(root);
            for (std::uint32_t e = 0; e < 5; ++e)
                if (events >> e & 1) happened = conditions.restrict(happened, e, true);
            CHECK(conditions.holds_now(happened) == truth(events));
            if (truth(events)) fewest = std::min(fewest, static_cast<std::uint32_t>(__builtin_popcount(events)));
        }
        CHECK(conditions.fewest(conditions.given(root), 5) == fewest);
    }
}

void arrays_count_and_look_ahead() {
    Builder b;
    std::uint32_t one = b.rule(b.lex("1")), two = b.rule(b.lex("2"));
    ArraySpec spec;
    spec.prefix = {{{one, {}}}, {{one, {0}}, {two, {}}}};
    spec.rest = {{two, {}}};
    spec.counters = {{1, no_limit}};
    spec.max_items = 4;
    std::uint32_t root = b.rule(b.array(spec));
    auto program = b.finish(root);
    ArrayFrames frames(*program);
    FrameId f = frames.initial(0);
    CHECK(!frames.may_close(f) && frames.may_continue(f) && frames.items_needed(f) == 1);
    FrameId first = frames.with_item(f, 0);
    CHECK(first != no_frame && !frames.may_close(first));
    CHECK(frames.with_item(first, 1) == no_frame);  // only the second item can raise the counter
    FrameId second = frames.with_item(first, 0);
    CHECK(second != no_frame && frames.may_close(second));
    FrameId fourth = frames.with_item(frames.with_item(second, 0), 0);
    CHECK(fourth != no_frame && frames.may_close(fourth) && !frames.may_continue(fourth) && frames.with_item(fourth, 0) == no_frame);
}

void items_seen_are_refused_again() {
    Builder b;
    std::uint32_t one = b.rule(b.lex("1"));
    ArraySpec spec;
    spec.rest = {{one, {}}};
    spec.unique = true;
    std::uint32_t root = b.rule(b.array(spec));
    auto program = b.finish(root);
    ArrayFrames frames(*program);
    FrameId f = frames.with_seen(frames.with_item(frames.initial(0), 0), 7);
    CHECK(f != no_frame && frames.with_seen(f, 7) == no_frame && frames.with_seen(f, 8) != no_frame);
    CHECK(frames.with_seen(f, 8) == frames.with_seen(f, 8));
}

// What folding joins must not be told apart within `longest` steps.
void folded_counts_have_the_same_near_future() {
    const std::uint32_t longest = 3;
    for (std::uint32_t low = 0; low < 16; ++low)
        for (std::uint32_t high : {low, low + 1, low + 5, low + 20, no_limit})
            for (std::uint32_t floor = 0; floor < 3; ++floor)
                for (std::uint32_t count = 0; count <= std::min(high, low + 20); ++count) {
                    const std::uint32_t folded = fold_count(count, floor, low, high, longest);
                    CHECK((count < floor) == (folded < floor) && (count >= floor || folded == count));
                    for (std::uint32_t step = 0; step <= longest; ++step) {
                        CHECK((count + step >= low) == (folded + step >= low));
                        CHECK((count + step < high) == (folded + step < high));
                    }
                }
}

}  // namespace

int main() {
    declared_order_goes_forward_past_what_is_optional();
    any_order_offers_what_was_not_read();
    counts_leave_room_for_what_must_come();
    a_count_that_order_makes_unreachable_is_seen();
    conditions_take_keys_away();
    diagrams_are_the_functions_they_stand_for();
    arrays_count_and_look_ahead();
    items_seen_are_refused_again();
    folded_counts_have_the_same_near_future();
    return finish();
}
