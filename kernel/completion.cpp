#include "completion.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "uses.h"

namespace scansion {

namespace {
constexpr std::uint64_t impossible = Completion::impossible;
constexpr std::uint64_t not_computed = impossible - 1;
std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a >= not_computed || b >= not_computed ? impossible : a + b; }
std::uint64_t add(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return add(add(a, b), c); }
}  // namespace

std::uint64_t Completion::value_cost(const Value& value) const {
    std::uint64_t best = impossible;
    for (const Alternative& a : value) best = std::min(best, rule_cost_[a.rule]);
    return best;
}

std::uint64_t Completion::member_cost(const ObjectSpec& spec, std::uint32_t property) const {
    const Property& p = spec.properties[property];
    return add(lexemes_.key_spelling(p.key).size(), Lexemes::instance().min_bytes(engine_.program().punctuation.colon), value_cost(p.value));
}

// What it takes to finish the rule from a node, as far as the costs of what follows and of the rules it calls are known.
std::uint64_t Completion::cost_from(std::uint32_t i) {
    const Program& p = engine_.program();
    const Node& n = p.nodes[i];
    auto lex = [&](LexId id) -> std::uint64_t {
        if (id == dead_lex) return impossible;
        std::uint32_t bytes = lexemes_.min_bytes(id);
        return bytes == 0xffffffffu ? impossible : bytes;
    };
    switch (n.op) {
        case Op::ret: return 0;
        case Op::fail: return impossible;
        case Op::lex: return add(lex(p.lexemes[n.a]), node_cost_[n.b]);
        case Op::call: return add(rule_cost_[n.a], node_cost_[n.b]);
        case Op::budget: return add(rule_cost_[p.budget_at(i).rule], node_cost_[n.b]);
        case Op::alt: {
            std::uint64_t cost = impossible;
            for (std::uint32_t k = 0; k < n.b; ++k) cost = std::min(cost, node_cost_[p.targets[n.a + k]]);
            return cost;
        }
        case Op::token: return add(1, node_cost_[n.b]);
        case Op::object: {
            FrameId f = engine_.object_frames().initial(n.a);
            return f == no_frame ? impossible : add(lex(p.punctuation.object_open), object_rest(f, false), node_cost_[n.b]);
        }
        case Op::array: return add(lex(p.punctuation.array_open), array_rest(engine_.array_frames().initial(n.a), false), node_cost_[n.b]);
        case Op::repeat: {
            const Repeat r = p.repeat_at(i);
            const std::uint64_t body = rule_cost_[r.rule];
            return r.low == 0 ? node_cost_[n.b] : body == impossible ? impossible : add(body * r.low, node_cost_[n.b]);
        }
    }
    return impossible;
}

// Costs of finishing a rule from each node, cheapest first, each handed on to what it is part of (Knuth, "A generalization of Dijkstra's
// algorithm", 1977). Containers, which depend on many costs, are reckoned once all that is cheaper has been handed on.
void Completion::prepare() {
    if (ready_) return;
    ready_ = true;
    const Program& p = engine_.program();
    node_cost_.assign(p.nodes.size(), impossible);
    rule_cost_.assign(p.rules.size(), impossible);
    const Uses uses(p);
    using Entry = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::vector<std::uint32_t> containers;
    std::vector<bool> waiting(p.nodes.size(), false);  // in `containers`
    auto improve = [&](std::uint32_t i, std::uint64_t cost) {
        if (cost >= node_cost_[i]) return;
        node_cost_[i] = cost;
        queue.emplace(cost, i);
    };
    auto hand_on = [&](std::uint32_t user, std::uint64_t cost) {
        const Op op = p.nodes[user].op;
        if (op == Op::alt)
            improve(user, cost);
        else if (op != Op::object && op != Op::array)
            improve(user, cost_from(user));
        else if (!waiting[user])
            waiting[user] = true, containers.push_back(user);
    };
    for (std::uint32_t i = 0; i < p.nodes.size(); ++i)
        if (p.nodes[i].op == Op::ret) improve(i, 0);
    while (true) {
        while (!queue.empty()) {
            const auto [cost, i] = queue.top();
            queue.pop();
            if (cost > node_cost_[i]) continue;
            for (std::uint32_t rule : uses.rules_at[i]) {
                rule_cost_[rule] = cost;
                for (std::uint32_t user : uses.of_rule[rule]) hand_on(user, impossible);
            }
            for (std::uint32_t user : uses.of_node[i]) hand_on(user, cost);
        }
        if (containers.empty()) return;
        std::vector<std::uint32_t> now;
        now.swap(containers);
        for (std::uint32_t i : now) waiting[i] = false;
        for (std::uint32_t i : now) improve(i, cost_from(i));
    }
}

// The cheapest members that make the condition true, as if each event took a member of its own.
std::uint64_t Completion::condition_cost(std::uint32_t condition, const ObjectSpec& spec) {
    if (engine_.conditions_.holds_now(condition)) return 0;
    if (condition == Conditions::never) return impossible;
    const std::uint32_t n = static_cast<std::uint32_t>(spec.properties.size());
    const std::uint64_t colon = lexemes_.min_bytes(engine_.program().punctuation.colon);
    auto event_cost = [&](std::uint32_t event) {
        if (event < n) return spec.properties[event].required ? 0 : member_cost(spec, event);
        std::uint64_t best = impossible;
        auto raising = [&](const Value& value) {
            std::uint64_t least = impossible;
            for (const Alternative& a : value)
                if (std::find(a.events.begin(), a.events.end(), event) != a.events.end()) least = std::min(least, rule_cost_[a.rule]);
            return least;
        };
        for (const Property& p : spec.properties) {
            const std::uint64_t value = raising(p.value);
            if (value == impossible) continue;
            // A required member is paid for already, with its cheapest value.
            best = std::min(best, p.required ? value - value_cost(p.value) : add(lexemes_.key_spelling(p.key).size(), colon, value));
        }
        for (const Group& g : spec.groups) best = std::min(best, add(lexemes_.min_bytes(g.lexeme), colon, raising(g.value)));
        return best;
    };
    std::unordered_map<std::uint32_t, std::uint64_t> known{{Conditions::never, impossible}, {Conditions::always, 0}};
    std::vector<std::uint32_t> todo{condition};
    while (!todo.empty()) {
        const std::uint32_t c = todo.back();
        if (known.count(c)) {
            todo.pop_back();
            continue;
        }
        const std::uint32_t event = engine_.conditions_.next_event(c);
        const std::uint32_t low = engine_.conditions_.restrict(c, event, false), high = engine_.conditions_.restrict(c, event, true);
        if (!known.count(low)) todo.push_back(low);
        if (!known.count(high)) todo.push_back(high);
        if (!known.count(low) || !known.count(high)) continue;
        todo.pop_back();
        known[c] = std::min(known[low], add(known[high], event_cost(event)));
    }
    return known[condition];
}

std::uint64_t Completion::object_rest(FrameId id, bool after_value) {
    ObjectFrames& frames = engine_.object_frames();
    const Program& p = engine_.program();
    const ObjectSpec& spec = frames.spec(id);
    std::uint64_t comma = lexemes_.min_bytes(p.punctuation.comma), colon = lexemes_.min_bytes(p.punctuation.colon);
    std::uint64_t close = lexemes_.min_bytes(after_value ? p.punctuation.object_close : p.punctuation.object_close_empty);
    std::vector<std::uint32_t> required;
    std::uint32_t keys = frames.keys_needed(id, required);
    std::uint64_t cost = 0;
    for (std::uint32_t i : required) cost = add(cost, member_cost(spec, i));
    std::uint32_t extra = keys - static_cast<std::uint32_t>(required.size());
    if (extra) {
        std::vector<std::uint64_t> options;
        for (std::uint32_t i = spec.any_order ? 0 : frames[id].position; i < spec.properties.size(); ++i)
            if (!spec.properties[i].required) options.push_back(member_cost(spec, i));
        for (const Group& g : spec.groups) {
            std::uint64_t c = add(lexemes_.min_bytes(g.lexeme), colon, value_cost(g.value));
            options.insert(options.end(), extra, c);
        }
        std::sort(options.begin(), options.end());
        for (std::uint32_t k = 0; k < extra; ++k) cost = k < options.size() ? add(cost, options[k]) : impossible;
    }
    std::uint64_t by_condition = condition_cost(frames[id].condition, spec);
    if (by_condition == impossible) return impossible;
    if (extra)
        cost = std::max(cost, by_condition);
    else if (by_condition)
        cost = add(cost, by_condition), keys = std::max(keys, 1u);
    if (keys == 0) return close;
    std::uint64_t commas = after_value ? keys : keys - 1;
    return add(add(cost, commas * comma), lexemes_.min_bytes(p.punctuation.object_close));
}

// From a member's value on to the closing brace.
std::uint64_t Completion::pending_cost(FrameId frame) {
    ObjectFrames& objects = engine_.object_frames();
    const Value& value = objects.pending_value(frame);
    std::uint64_t best = impossible;
    for (std::uint32_t k = 0; k < value.size(); ++k) {
        FrameId f = objects.with_value(frame, k);
        if (f != no_frame) best = std::min(best, add(rule_cost_[value[k].rule], object_rest(f, true)));
    }
    return best;
}

std::uint64_t Completion::array_rest(FrameId id, bool after_item) {
    ArrayFrames& frames = engine_.array_frames();
    const Program& p = engine_.program();
    const ArraySpec& spec = frames.spec(id);
    std::uint32_t items = frames.items_needed(id), at = frames[id].count;
    std::uint64_t comma = lexemes_.min_bytes(p.punctuation.comma);
    if (items == 0) return lexemes_.min_bytes(after_item ? p.punctuation.array_close : p.punctuation.array_close_empty);
    std::uint64_t cost = 0;
    std::uint32_t k = 0;
    for (; k < items && at + k < spec.prefix.size(); ++k) cost = add(cost, value_cost(spec.prefix[at + k]));
    if (k < items) {
        std::uint64_t each = value_cost(spec.rest);
        std::uint64_t rest = each == impossible ? impossible : each * (items - k);
        // Where counters are short, so many items at least must match an alternative that raises them.
        for (std::uint32_t c = 0; c < spec.counters.size(); ++c) {
            const std::uint32_t wanted = std::min(frames.counter_missing(id, c), items - k);
            std::uint64_t raising = impossible;
            for (const Alternative& a : spec.rest)
                if (std::find(a.events.begin(), a.events.end(), c) != a.events.end()) raising = std::min(raising, rule_cost_[a.rule]);
            if (wanted && raising != impossible && each != impossible) rest = std::max(rest, raising * wanted + each * (items - k - wanted));
        }
        cost = add(cost, rest);
    }
    return add(cost, (after_item ? items : items - 1) * comma, lexemes_.min_bytes(p.punctuation.array_close));
}

std::uint64_t Completion::item_cost(const Item& item) {
    const Program& p = engine_.program();
    ObjectFrames& objects = engine_.object_frames();
    ArrayFrames& arrays = engine_.array_frames();
    std::uint64_t parent = item.kind() == Resume::accept ? 0 : stack_cost_[item.parent];
    switch (item.kind()) {
        case Resume::accept: return 0;
        case Resume::node: return add(node_cost_[item.low()], parent);
        case Resume::budget:
        case Resume::budget_begun:
        case Resume::budget_until: return add(node_cost_[p.nodes[item.low()].b], parent);
        case Resume::repeat: {
            Repeat r = p.repeat_at(item.low());
            std::uint64_t left = r.low > item.data ? r.low - item.data : 0, body = rule_cost_[r.rule];
            return add(left ? (body == impossible ? impossible : left * body) : 0, node_cost_[p.nodes[item.low()].b], parent);
        }
        case Resume::object_open:
        case Resume::object_next: {
            bool first = item.kind() == Resume::object_open;
            if (first) return add(object_rest(item.data, false), parent);
            // A comma was read: one member at least must follow.
            std::uint64_t rest = object_rest(item.data, true), comma = lexemes_.min_bytes(p.punctuation.comma);
            std::vector<std::uint32_t> required;
            const ObjectSpec& spec = objects.spec(item.data);
            const bool wanting = objects.keys_needed(item.data, required) > 0 || !engine_.conditions_.holds_now(objects[item.data].condition);
            if (wanting) return rest == impossible ? impossible : add(rest - comma, parent);
            const auto found = objects.available(item.data);
            std::uint64_t best = impossible;
            for (std::uint32_t i : found.properties) best = std::min(best, member_cost(spec, i));
            for (std::uint32_t g : found.groups)
                best = std::min(best, add(lexemes_.min_bytes(spec.groups[g].lexeme), lexemes_.min_bytes(p.punctuation.colon), value_cost(spec.groups[g].value)));
            return add(best, rest, parent);
        }
        case Resume::object_key:
        case Resume::object_group: {
            std::uint64_t colon = lexemes_.min_bytes(p.punctuation.colon), best = impossible;
            if (item.kind() == Resume::object_group) {
                FrameId f = objects.with_group(item.data, item.low(), unknown_text);
                if (f != no_frame) best = pending_cost(f);
            } else {
                const auto found = objects.available(item.data);
                for (std::uint32_t i : found.properties) {
                    FrameId f = objects.with_property(item.data, i);
                    if (f != no_frame) best = std::min(best, pending_cost(f));
                }
            }
            return add(colon, best, parent);
        }
        case Resume::object_value: {
            return add(pending_cost(item.data), parent);
        }
        case Resume::object_after: {
            FrameId f = objects.with_value(item.data, item.low());
            return f == no_frame ? impossible : add(object_rest(f, true), parent);
        }
        case Resume::array_open: return add(array_rest(item.data, false), parent);
        case Resume::array_next: {
            std::uint64_t rest = array_rest(item.data, true), comma = lexemes_.min_bytes(p.punctuation.comma);
            if (arrays.items_needed(item.data) > 0) return add(rest == impossible ? impossible : rest - comma, parent);
            return add(value_cost(arrays.next_value(item.data)), rest, parent);
        }
        case Resume::array_after: {
            FrameId f = arrays.with_item(item.data, item.low());
            return f == no_frame ? impossible : add(array_rest(f, true), parent);
        }
    }
    return impossible;
}

std::uint64_t Completion::stack_cost(StackId root) {
    if (stack_cost_.size() < engine_.stack_count()) stack_cost_.resize(engine_.stack_count(), not_computed);
    if (stack_cost_[root] != not_computed) return stack_cost_[root];
    std::vector<StackId> todo{root};  // parents first, without recursion: stacks may be very deep
    while (!todo.empty()) {
        StackId s = todo.back();
        if (stack_cost_[s] != not_computed) {
            todo.pop_back();
            continue;
        }
        bool ready = true;
        for (const Item& i : engine_.items(s))
            if (i.kind() != Resume::accept && stack_cost_[i.parent] == not_computed) todo.push_back(i.parent), ready = false;
        if (!ready) continue;
        todo.pop_back();
        std::uint64_t best = impossible;
        for (const Item& i : engine_.items(s)) best = std::min(best, item_cost(i));
        stack_cost_[s] = best;
    }
    return stack_cost_[root];
}

std::uint64_t Completion::estimate(StateId state) {
    if (state == dead_state) return impossible;
    if (engine_.accepting(state)) return 0;
    prepare();
    if (state < state_cost_.size() && state_cost_[state] != not_computed) return state_cost_[state];
    std::uint64_t best = impossible;
    for (std::size_t i = 0; i < engine_.thread_count(state); ++i) {
        const Thread t = engine_.thread(state, i);
        std::uint64_t own = 1;
        if (!t.is_token()) {
            std::uint32_t bytes = lexemes_.min_bytes(t.lex);
            if (bytes == 0xffffffffu) continue;
            own = bytes;
            const KeyCursor at = lexemes_.in_keys(t.lex) ? lexemes_.cursor(t.lex) : KeyCursor{};
            if (at.count && at.count <= few_keys) {
                for (std::uint32_t k = 0; k < at.count; ++k)
                    best = std::min(best, add(lexemes_.key_spelling(at.keys[k]).size() - at.depth, estimate(engine_.after_key(t.stack, at.keys[k], 0))));
                continue;
            }
        }
        best = std::min(best, add(own, stack_cost(t.stack)));
    }
    if (state >= state_cost_.size()) state_cost_.resize(std::max<std::size_t>(engine_.state_count(), state + 1), not_computed);
    return state_cost_[state] = best;
}

bool Completion::shortest(StateId start, std::string& out, std::size_t limit) {
    // Exactly the shortest where few states need opening; else a short one, found by going for what is nearest its end.
    return best_first(start, out, limit) || descend(start, out, limit);
}

// Depth first, always towards what is nearest its end. What is bounded is how often that leads astray: long answers are not.
bool Completion::descend(StateId start, std::string& out, std::size_t limit) {
    struct Level {
        std::vector<std::pair<std::uint64_t, std::uint8_t>> ways;  // descending: the best is taken from the back
        StateId state;
    };
    std::unordered_set<StateId> seen{start};
    bool tracked = engine_.tracked(start);
    std::vector<Level> path;
    std::string bytes;
    auto open = [&](StateId s) {
        Level level{{}, s};
        engine_.for_each_class(s, [&](std::uint8_t byte) {
            StateId to = engine_.step(s, byte);
            std::uint64_t left = to == dead_state ? impossible : estimate(to);
            if (left != impossible) level.ways.emplace_back(left, byte);
        });
        std::stable_sort(level.ways.begin(), level.ways.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        path.push_back(std::move(level));
    };
    limit = std::min<std::uint64_t>(limit, add(estimate(start), estimate(start), search_limit / 20));
    open(start);
    while (!path.empty()) {
        if (engine_.accepting(path.back().state)) {
            out += bytes;
            return true;
        }
        if (path.back().ways.empty() || path.size() > limit) {
            path.pop_back();
            if (!bytes.empty()) bytes.pop_back();
            continue;
        }
        const std::uint8_t byte = path.back().ways.back().second;
        path.back().ways.pop_back();
        const StateId to = engine_.step(path.back().state, byte);
        if (!seen.insert(alike(to)).second) continue;
        tracked |= engine_.tracked(to);
        if (seen.size() - path.size() > (tracked ? search_limit / 20 : search_limit)) return false;
        bytes.push_back(static_cast<char>(byte));
        open(to);
    }
    return false;
}

bool Completion::best_first(StateId start, std::string& out, std::size_t limit) {
    struct Open {
        std::uint64_t total;
        std::uint32_t entry;
        bool operator<(const Open& o) const { return total != o.total ? total > o.total : entry < o.entry; }
    };
    struct Entry {
        StateId state;
        std::uint32_t parent, depth;
        std::uint8_t byte;
    };
    std::vector<Entry> entries{{start, 0, 0, 0}};
    std::priority_queue<Open> open;
    std::unordered_map<StateId, std::uint32_t> reached{{start, 0}};
    bool tracked = engine_.tracked(start);
    std::uint64_t first = estimate(start);
    if (first == impossible) return false;
    open.push({first, 0});
    while (!open.empty()) {
        Open top = open.top();
        open.pop();
        if (top.total > limit || entries.size() > (tracked ? exact_limit / 10 : exact_limit)) return false;
        Entry e = entries[top.entry];
        tracked |= engine_.tracked(e.state);  // states that remember texts are many and dear
        if (engine_.accepting(e.state)) {
            std::string bytes;
            for (std::uint32_t i = top.entry; i != 0; i = entries[i].parent) bytes.push_back(static_cast<char>(entries[i].byte));
            out.append(bytes.rbegin(), bytes.rend());
            return true;
        }
        engine_.for_each_class(e.state, [&](std::uint8_t byte) {
            StateId to = engine_.step(e.state, byte);
            if (to == dead_state) return;
            std::uint64_t left = estimate(to);
            if (left == impossible) return;
            auto [it, fresh] = reached.try_emplace(alike(to), e.depth + 1);
            if (!fresh && it->second <= e.depth + 1) return;
            it->second = e.depth + 1;
            open.push({e.depth + 1 + left, static_cast<std::uint32_t>(entries.size())});
            entries.push_back({to, top.entry, e.depth + 1, byte});
        });
    }
    return false;
}

}  // namespace scansion
