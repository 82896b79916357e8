#include "program.h"

#include <algorithm>

#include "uses.h"

namespace scansion {

namespace {
[[noreturn]] void bad(const std::string& what) { throw Malformed("program: " + what); }

void check_value(const Value& value, std::size_t rules, std::uint32_t events, const std::string& where) {
    for (const Alternative& a : value) {
        if (a.rule >= rules) bad(where + " names rule " + std::to_string(a.rule) + " of " + std::to_string(rules));
        for (std::uint32_t e : a.events)
            if (e >= events) bad(where + " names event " + std::to_string(e) + " of " + std::to_string(events));
    }
}

void derive_object(ObjectSpec& o, std::size_t rules, const std::vector<Condition>& conditions) {
    std::uint32_t n = static_cast<std::uint32_t>(o.properties.size());
    o.events = n;
    auto count_events = [&](const Value& v) {
        for (const Alternative& a : v)
            for (std::uint32_t e : a.events) o.events = std::max(o.events, e + 1);
    };
    for (const Property& p : o.properties) count_events(p.value);
    for (const Group& g : o.groups) count_events(g.value);
    if (o.condition != no_condition) {
        if (o.condition >= conditions.size()) bad("an object's condition is out of range");
        std::vector<std::uint32_t> todo{o.condition};
        std::vector<bool> seen(conditions.size(), false);
        while (!todo.empty()) {
            const std::uint32_t c = todo.back();
            todo.pop_back();
            if (c < 2 || seen[c]) continue;
            seen[c] = true;
            if (conditions[c].event >= 0x7fffffffu) bad("a condition names an event out of range");
            o.events = std::max(o.events, conditions[c].event + 1);
            todo.push_back(conditions[c].if_false);
            todo.push_back(conditions[c].if_true);
        }
    }
    o.required_after.assign(n + 1, 0);
    o.possible_after.assign(n + 1, 0);
    for (std::uint32_t i = n; i-- > 0;) {
        const Property& p = o.properties[i];
        check_value(p.value, rules, o.events, "a property");
        o.required_after[i] = o.required_after[i + 1] + p.required;
        o.possible_after[i] = o.possible_after[i + 1] + !p.value.empty();
        if (!o.index_of_key.emplace(p.key, i).second) bad("an object lists a key twice");
    }
    for (std::uint32_t i = 0; i < n; ++i) o.by_spelling.push_back(i);
    const Lexemes& lex = Lexemes::instance();
    std::sort(o.by_spelling.begin(), o.by_spelling.end(),
              [&](std::uint32_t a, std::uint32_t b) { return lex.key_spelling(o.properties[a].key) < lex.key_spelling(o.properties[b].key); });
    o.setters.resize(o.events - n);
    auto note = [&](const Value& v, std::uint32_t who) {
        for (const Alternative& a : v)
            for (std::uint32_t e : a.events)
                if (e >= n && (o.setters[e - n].empty() || o.setters[e - n].back() != who)) o.setters[e - n].push_back(who);
    };
    for (std::uint32_t i = 0; i < n; ++i) note(o.properties[i].value, i);
    for (const Group& g : o.groups) check_value(g.value, rules, o.events, "a key group"), note(g.value, n);
}
}  // namespace

// A budget that ran out inside a container would leave what the container knows of the value behind.
void Program::refuse_budgets_in_containers() const {
    std::vector<bool> rule_seen(rules.size(), false), node_seen(nodes.size(), false);
    std::vector<std::uint32_t> todo;
    auto rule = [&](std::uint32_t r) {
        if (!rule_seen[r]) rule_seen[r] = true, todo.push_back(rules[r]);
    };
    auto value = [&](const Value& v) {
        for (const Alternative& a : v) rule(a.rule);
    };
    for (const ObjectSpec& o : objects) {
        for (const Property& p : o.properties) value(p.value);
        for (const Group& g : o.groups) value(g.value);
    }
    for (const ArraySpec& a : arrays) {
        for (const Value& v : a.prefix) value(v);
        value(a.rest);
    }
    while (!todo.empty()) {
        const std::uint32_t i = todo.back();
        todo.pop_back();
        if (node_seen[i]) continue;
        node_seen[i] = true;
        const Node& node = nodes[i];
        switch (node.op) {
            case Op::ret:
            case Op::fail: continue;
            case Op::budget: bad("a value inside a container has a budget of tokens");
            case Op::alt: todo.insert(todo.end(), targets.begin() + node.a, targets.begin() + node.a + node.b); continue;
            case Op::call: rule(node.a); break;
            case Op::repeat: rule(repeat_at(i).rule); break;
            default: break;
        }
        todo.push_back(node.b);
    }
}

// A rule is nullable if its end is reachable from its entry without consuming; each node of which that is found hands it on once.
void Program::find_nullable() {
    const Lexemes& lex = Lexemes::instance();
    const Uses uses(*this);
    nullable.assign(rules.size(), false);
    std::vector<bool> ends(nodes.size(), false);
    std::vector<std::uint32_t> todo;
    auto found = [&](std::uint32_t i) {
        if (!ends[i]) ends[i] = true, todo.push_back(i);
    };
    auto look_at = [&](std::uint32_t i) {
        const Node& n = nodes[i];
        bool passes = false;
        switch (n.op) {
            case Op::lex: passes = lexemes[n.a] != dead_lex && lex.accepting(lexemes[n.a]); break;
            case Op::call: passes = nullable[n.a]; break;
            case Op::budget: passes = nullable[budget_at(i).rule]; break;
            case Op::repeat: passes = repeat_at(i).low == 0 || nullable[repeat_at(i).rule]; break;
            case Op::alt: return found(i);  // asked where one of its nodes ends
            default: return;
        }
        if (passes && ends[n.b]) found(i);
    };
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
        if (nodes[i].op == Op::ret) found(i);
    while (!todo.empty()) {
        const std::uint32_t i = todo.back();
        todo.pop_back();
        for (std::uint32_t rule : uses.rules_at[i]) {
            nullable[rule] = true;
            for (std::uint32_t user : uses.of_rule[rule]) look_at(user);
        }
        for (std::uint32_t user : uses.of_node[i]) look_at(user);
    }
}

void Program::verify() {
    const std::size_t n = nodes.size();
    auto node_at = [&](std::uint32_t i, const char* what) {
        if (i >= n) bad(std::string(what) + " " + std::to_string(i) + " of " + std::to_string(n) + " nodes");
    };
    for (std::size_t i = 0; i < n; ++i) {
        const Node& node = nodes[i];
        auto range = [&](std::uint32_t index, std::size_t size, const char* what) {
            if (index >= size) bad("node " + std::to_string(i) + " names " + what + " " + std::to_string(index) + " of " + std::to_string(size));
        };
        switch (node.op) {
            case Op::ret:
            case Op::fail:
                break;
            case Op::lex: range(node.a, lexemes.size(), "lexeme"); node_at(node.b, "next node"); break;
            case Op::call: range(node.a, rules.size(), "rule"); node_at(node.b, "next node"); break;
            case Op::alt:
                if (std::uint64_t{node.a} + node.b > targets.size()) bad("node " + std::to_string(i) + " has targets out of range");
                for (std::uint32_t k = 0; k < node.b; ++k) node_at(targets[node.a + k], "alternative");
                break;
            case Op::token: range(node.a, token_sets.size(), "token set"); node_at(node.b, "next node"); break;
            case Op::object: range(node.a, objects.size(), "object"); node_at(node.b, "next node"); break;
            case Op::array: range(node.a, arrays.size(), "array"); node_at(node.b, "next node"); break;
            case Op::repeat: {
                if (std::uint64_t{node.a} + 3 > targets.size()) bad("node " + std::to_string(i) + " has a repetition out of range");
                Repeat r = repeat_at(static_cast<std::uint32_t>(i));
                range(r.rule, rules.size(), "rule");
                if (r.low > r.high) bad("node " + std::to_string(i) + " repeats at least " + std::to_string(r.low) + " and at most " + std::to_string(r.high));
                node_at(node.b, "next node");
                break;
            }
            case Op::budget: {
                if (std::uint64_t{node.a} + 2 > targets.size()) bad("node " + std::to_string(i) + " has a budget out of range");
                const Budget budget = budget_at(static_cast<std::uint32_t>(i));
                range(budget.rule, rules.size(), "rule");
                if (budget.tokens < 1 || budget.tokens > max_budget) bad("node " + std::to_string(i) + " has a budget of " + std::to_string(budget.tokens) + " tokens");
                node_at(node.b, "next node");
                has_budgets = true;
                break;
            }
            default: bad("node " + std::to_string(i) + " has an unknown operation");
        }
    }
    for (std::uint32_t r : rules) node_at(r, "rule entry");
    if (start >= rules.size()) bad("start rule out of range");
    for (std::size_t i = 2; i < conditions.size(); ++i)
        for (std::uint32_t child : {conditions[i].if_false, conditions[i].if_true})
            if (child >= i || (child > 1 && conditions[child].event <= conditions[i].event)) bad("condition " + std::to_string(i) + " is not ordered");
    for (ObjectSpec& o : objects) derive_object(o, rules.size(), conditions);
    for (ArraySpec& a : arrays) {
        for (const Value& v : a.prefix) check_value(v, rules.size(), static_cast<std::uint32_t>(a.counters.size()), "an array item");
        check_value(a.rest, rules.size(), static_cast<std::uint32_t>(a.counters.size()), "an array item");
    }

    if (has_budgets) refuse_budgets_in_containers();

    find_nullable();
    const Lexemes& lex = Lexemes::instance();
    std::vector<std::uint32_t> stack;
    std::vector<std::uint32_t> seen(n, 0);
    std::uint32_t round = 0;
    // Walks the nodes reachable from a rule's entry without consuming; calls `visit(callee)` for rules entered there.
    auto walk = [&](std::uint32_t rule, auto visit) {
        ++round;
        stack.assign(1, rules[rule]);
        while (!stack.empty()) {
            std::uint32_t i = stack.back();
            stack.pop_back();
            if (seen[i] == round) continue;
            seen[i] = round;
            const Node& node = nodes[i];
            switch (node.op) {
                case Op::lex:
                    if (lexemes[node.a] != dead_lex && lex.accepting(lexemes[node.a])) stack.push_back(node.b);
                    break;
                case Op::call:
                    visit(node.a);
                    if (nullable[node.a]) stack.push_back(node.b);
                    break;
                case Op::repeat: {
                    Repeat r = repeat_at(i);
                    if (r.high > 0) visit(r.rule);
                    if (r.low == 0 || nullable[r.rule]) stack.push_back(node.b);
                    break;
                }
                case Op::budget: {
                    const Budget budget = budget_at(i);
                    visit(budget.rule);
                    if (nullable[budget.rule]) stack.push_back(node.b);
                    break;
                }
                case Op::alt:
                    for (std::uint32_t k = 0; k < node.b; ++k) stack.push_back(targets[node.a + k]);
                    break;
                default: break;
            }
        }
    };
    // Topological order of "is entered at the same position": left recursion is a cycle here.
    rank.assign(rules.size(), 0);
    std::vector<std::uint8_t> state(rules.size(), 0);  // 0 new, 1 on the path, 2 done
    std::uint32_t next_rank = static_cast<std::uint32_t>(rules.size());
    struct Frame {
        std::uint32_t rule;
        std::vector<std::uint32_t> callees;
        std::size_t next = 0;
    };
    std::vector<Frame> path;
    auto enter = [&](std::uint32_t r) {
        state[r] = 1;
        Frame f{r, {}};
        walk(r, [&](std::uint32_t c) { f.callees.push_back(c); });
        path.push_back(std::move(f));
    };
    for (std::uint32_t r = 0; r < rules.size(); ++r) {
        if (state[r]) continue;
        enter(r);
        while (!path.empty()) {
            Frame& f = path.back();
            if (f.next < f.callees.size()) {
                std::uint32_t c = f.callees[f.next++];
                if (state[c] == 1) bad("rule " + std::to_string(c) + " is left recursive");
                if (state[c] == 0) enter(c);
            } else {
                state[f.rule] = 2;
                rank[f.rule] = --next_rank;
                path.pop_back();
            }
        }
    }
}

}  // namespace scansion
