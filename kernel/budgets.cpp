// Budgets of tokens: a rule that is over after so many, wherever its text is.
#include "engine.h"

#include <algorithm>

namespace scansion {

namespace {
bool is_budget(const Item& item) { return item.kind() >= Resume::budget && item.kind() <= Resume::budget_until; }
}  // namespace

void Engine::note_budgets(Stack& s, std::span<const Item> items) const {
    s.allowance = 0;
    for (const Item& i : items) {
        if (i.kind() == Resume::accept) {
            s.allowance = no_limit;
            continue;
        }
        const Stack& parent = stacks_[i.parent];
        s.waits |= parent.waits || i.kind() == Resume::budget;
        const std::uint32_t tokens = is_budget(i) ? program_->budget_at(i.low()).tokens : no_limit;
        s.starts = std::min({s.starts, parent.starts, i.kind() == Resume::budget_begun ? tokens : no_limit});
        s.soonest = std::min({s.soonest, parent.soonest, i.kind() == Resume::budget_until ? i.data : no_limit});
        s.allowance = std::max(s.allowance, std::min(parent.allowance, tokens));
    }
}

// The stack with its items changed from the outside in, where `concerned` holds of a stack; items of which `change` is false go, and with them
// what returns to nothing else.
template <class Concerned, class Change>
StackId Engine::rewrite_stack(StackId root, FlatMap& known, Concerned concerned, Change change) {
    auto rewritten = [&](StackId s) { return concerned(stacks_[s]) ? known.find(s) : s; };
    return from_outside(root, rewritten, [&](StackId id) {
        std::vector<Item> items;
        for (Item i : stacks_[id].items) {
            const bool rooted = i.kind() == Resume::accept;
            i.parent = rewritten(i.parent);
            if ((rooted || i.parent) && change(i)) items.push_back(i);
        }
        known.insert(id, intern_stack(std::move(items)));
    });
}

// The first byte under a budget begins it.
StackId Engine::begin_budgets(StackId stack) {
    if (!stacks_[stack].waits) return stack;
    return rewrite_stack(stack, begun_, [](const Stack& s) { return s.waits; }, [](Item& i) {
        if (i.kind() == Resume::budget) i.point = point_of(Resume::budget_begun, i.low());
        return true;
    });
}

// One end of a token, and what is known of it.
struct Engine::Ending {
    std::uint32_t time;            // after the token
    bool inside_character = false;  // of the thread being looked at: no budget is over there
    FlatMap rewritten[2];          // stack -> stack, by `inside_character`

    bool ends(const Stack& s) const { return s.starts == 1 || s.soonest <= time; }
    bool touches(const Stack& s) const { return s.starts != no_limit || s.soonest <= time; }
    // When a budget is over: the token in which it began is the first one.
    std::uint32_t end_of(const Item& i, const Program& program) const {
        if (i.kind() == Resume::budget_until) return i.data;
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{time} + program.budget_at(i.low()).tokens - 1, no_limit - 1));
    }
    bool is_over(const Item& i, const Program& program) const { return is_budget(i) && i.kind() != Resume::budget && end_of(i, program) <= time; }
};

StackId Engine::at_end(Ending& ending, StackId stack) {
    return rewrite_stack(stack, ending.rewritten[ending.inside_character], [&](const Stack& s) { return ending.touches(s); }, [&](Item& i) {
        if (ending.is_over(i, *program_) && !ending.inside_character) return false;
        if (i.kind() == Resume::budget_begun) i = {point_of(Resume::budget_until, i.low()), ending.end_of(i, *program_), i.parent};
        return true;
    });
}

// What follows the budgets on the stack that are over. Of those inside each other the outermost counts: what follows the others is over as well.
StateId Engine::after_budgets(Ending& ending, StackId root) {
    const OpenClosure open(*this, 0);
    Closure& c = *open;
    std::vector<StackId> todo{root};
    std::unordered_set<StackId> seen{root};
    std::vector<Item> over;
    while (!todo.empty()) {
        const StackId s = todo.back();
        todo.pop_back();
        for (const Item& i : stacks_[s].items) {
            if (ending.ends(stacks_[i.parent]) && seen.insert(i.parent).second) todo.push_back(i.parent);
            if (ending.is_over(i, *program_)) over.push_back(i);
        }
    }
    for (Item i : over) {
        i.parent = at_end(ending, i.parent);
        if (i.parent) resume(c, i);
    }
    return finish(c);
}

bool Engine::inside_character(LexId lex) const {
    const LexKey& key = lexemes_[lex].key;
    switch (key.mode) {
        case LexMode::dead:
        case LexMode::text:
        case LexMode::quote:
        case LexMode::body:
        case LexMode::end: return false;
        case LexMode::keys:
        case LexMode::key_tail: {
            const KeyCursor at = lexemes_.cursor(lex);
            const std::string& text = lexemes_.key_spelling(at.keys[0]);
            std::size_t i = 0;
            while (i < at.depth) {
                const auto byte = static_cast<std::uint8_t>(text[i]);
                if (byte == '\\')
                    i += i + 1 < text.size() && text[i + 1] == 'u' ? 6 : 2;
                else
                    i += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
            }
            return i > at.depth;
        }
        default: return true;
    }
}

Moment Engine::end_token(Moment moment) {
    if (!program_->has_budgets || moment.state == dead_state) return {moment.state, 0};
    Ending ending{moment.time + 1, false, {}};
    const std::uint32_t first = states_[moment.state].first, count = states_[moment.state].count;
    auto stack_of_thread = [&](std::uint32_t i) -> const Stack& { return stacks_[threads_[first + i].stack]; };
    bool open = false, touched = false, ended = false;
    for (std::uint32_t i = 0; i < count; ++i) {
        open |= stack_of_thread(i).starts != no_limit || stack_of_thread(i).soonest != no_limit;
        touched |= ending.touches(stack_of_thread(i));
        ended |= ending.ends(stack_of_thread(i));
    }
    if (!open) return {moment.state, 0};  // texts that differ in their past alone come to one moment
    if (!touched) return {moment.state, ending.time};
    const std::uint64_t key = std::uint64_t{moment.time} << 32 | moment.state;
    StateId to = token_ends_.find(key);
    if (to == FlatMap::none) {
        std::vector<Thread> out;
        bool accepting = states_[moment.state].accepting;
        for (std::uint32_t i = 0; i < count; ++i) {
            Thread t = threads_[first + i];
            if (ending.touches(stacks_[t.stack])) {
                ending.inside_character = !t.is_token() && inside_character(t.lex);
                if (ending.ends(stacks_[t.stack]) && !ending.inside_character) add_state(out, accepting, after_budgets(ending, t.stack));
                t.stack = at_end(ending, t.stack);
            }
            if (t.stack) out.push_back(t);
        }
        to = intern_threads(out, accepting);
        token_ends_.insert(key, to);
    }
    return {to, ending.time, ended};
}

}  // namespace scansion
