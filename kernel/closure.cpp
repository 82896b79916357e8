#include "engine.h"

#include <algorithm>

namespace scansion {

// ---- closure ---------------------------------------------------------------------------------------------------

StateId Engine::after(StackId stack, std::uint32_t item) {
    if (!item && stacks_[stack].after != unknown_state) return stacks_[stack].after;
    const OpenClosure open(*this, item);
    Closure& c = *open;
    const std::span<const Item> items = stacks_[stack].items;
    for (const Item& i : items) resume(c, i);
    StateId id = finish(c);
    if (!item) stacks_[stack].after = id;
    return id;
}

Engine::OpenClosure::OpenClosure(Engine& engine, std::uint32_t item) : engine_(engine), at_(engine.open_closures_) {
    if (at_ == engine_.closures_.size()) engine_.closures_.push_back(std::make_unique<Closure>());
    ++engine_.open_closures_;
    Closure& c = **this;
    c.threads.clear();
    c.work.clear();
    c.seen.clear();
    if (!c.seen_many.empty()) c.seen_many = {};
    c.pending.clear();
    c.callers.clear();
    c.accepting = false;
    c.steps = 0;
    c.item = item;
}

StateId Engine::finish(Closure& c) {
    // Rules in topological order of entering one another here: when a rule runs, all its callers at this position are known.
    auto later = [](const Closure::Pending& a, const Closure::Pending& b) { return a.rank > b.rank; };
    while (true) {
        while (!c.work.empty()) {
            Item i = c.work.back();
            c.work.pop_back();
            resume(c, i);
        }
        if (c.pending.empty()) break;
        auto next = std::min_element(c.pending.begin(), c.pending.end(), [&](const auto& a, const auto& b) { return later(b, a); });
        const Closure::Pending p = *next;
        *next = c.pending.back();
        c.pending.pop_back();
        StackId callers;
        if (p.more) {
            std::vector<Item> items{p.caller};
            std::erase_if(c.callers, [&](const auto& other) {
                if (other.first != p.rule) return false;
                items.push_back(other.second);
                return true;
            });
            callers = intern_stack(std::move(items));
        } else {
            callers = stack_of(p.caller);
        }
        run(c, program_->rules[p.rule], callers, true);
    }
    return intern_threads(c.threads, c.accepting);
}

bool Engine::first_visit(Closure& c, std::uint64_t key) {
    if (c.seen_many.empty()) {
        for (const auto& [k, _] : c.seen)
            if (k == key) return false;
        c.seen.emplace_back(key, 0);
        if (c.seen.size() > 32)
            for (const auto& [k, _] : c.seen) c.seen_many.emplace(k, 0);
        return true;
    }
    return c.seen_many.emplace(key, 0).second;
}

void Engine::count_work(Closure& c, std::size_t items) const {
    c.steps += items;
    if (c.steps > limits_.work)
        throw LimitExceeded("width", limits_.work, "the text can be read in too many ways at once: following them takes more than " + std::to_string(limits_.work) + " steps a byte");
}

void Engine::push(Closure& c, LexId lex, std::uint32_t text, StackId stack) {
    c.threads.push_back({lex, text, stack, !stacks_[stack].records ? 0 : c.item ? c.item : TextTrie::root + 1});
}

void Engine::lexeme(Closure& c, LexId lex, StackId stack) {
    if (lex != dead_lex && lexemes_.row(lex).live_bytes) push(c, lex, 0, stack);
}

void Engine::add_caller(Closure& c, std::uint32_t rule, const Item& item) {
    for (auto& p : c.pending)
        if (p.rule == rule) {
            p.more = true;
            c.callers.emplace_back(rule, item);
            return;
        }
    c.pending.push_back({program_->rank[rule], rule, item, false});
}

void Engine::add_callers_of(Closure& c, std::uint32_t rule, StackId parent) {
    const std::span<const Item> items = stacks_[parent].items;
    count_work(c, items.size());
    for (const Item& i : items) add_caller(c, rule, i);
}

// The rule whose callers are `parent` is done.
void Engine::pop(Closure& c, StackId parent) {
    if (!first_visit(c, std::uint64_t{1} << 63 | parent)) return;
    const auto& items = stacks_[parent].items;
    count_work(c, items.size());
    c.work.insert(c.work.end(), items.begin(), items.end());
}

// `fresh`: the activation began at this position, so its end here is the empty match its callers already reckon with.
void Engine::run(Closure& c, std::uint32_t start, StackId parent, bool fresh) {
    std::vector<std::uint32_t>& stack = c.nodes;
    stack.assign(1, start);
    const auto& nodes = program_->nodes;
    while (!stack.empty()) {
        std::uint32_t at = stack.back();
        stack.pop_back();
        if (nodes[at].op != Op::ret && !first_visit(c, (std::uint64_t{fresh} << 62) | (std::uint64_t{at} << 32) | parent)) continue;
        const Node& n = nodes[at];
        auto continuation = [&] {
            return nodes[n.b].op == Op::ret ? parent : stack_of({point_of(Resume::node, n.b), 0, parent});
        };
        switch (n.op) {
            case Op::fail: break;
            case Op::ret:
                if (!fresh) pop(c, parent);
                break;
            case Op::lex: {
                LexId lex = program_->lexemes[n.a];
                if (lex == dead_lex) break;
                if (lexemes_.accepting(lex)) stack.push_back(n.b);
                if (lexemes_.row(lex).live_bytes) lexeme(c, lex, continuation());
                break;
            }
            case Op::call:
                if (nodes[n.b].op == Op::ret)
                    add_callers_of(c, n.a, parent);  // a tail call leaves no frame, so right recursion does not deepen the stack
                else
                    add_caller(c, n.a, {point_of(Resume::node, n.b), 0, parent});
                if (program_->nullable[n.a]) stack.push_back(n.b);
                break;
            case Op::alt:
                for (std::uint32_t k = n.b; k-- > 0;) stack.push_back(program_->targets[n.a + k]);
                break;
            case Op::token: push(c, token_thread | n.a, 0, continuation()); break;
            case Op::object: {
                FrameId f = objects_.initial(n.a);
                if (f != no_frame) lexeme(c, program_->punctuation.object_open, stack_of({point_of(Resume::object_open), f, continuation()}));
                break;
            }
            case Op::array:
                lexeme(c, program_->punctuation.array_open, stack_of({point_of(Resume::array_open), arrays_.initial(n.a), continuation()}));
                break;
            case Op::repeat: {
                Repeat r = program_->repeat_at(at);
                if (r.low == 0 || program_->nullable[r.rule]) stack.push_back(n.b);
                if (r.high > 0) add_caller(c, r.rule, {point_of(Resume::repeat, at), 1, parent});
                break;
            }
            case Op::budget: {
                const Budget budget = program_->budget_at(at);
                if (program_->nullable[budget.rule]) stack.push_back(n.b);
                if (stacks_[parent].allowance > budget.tokens)
                    add_caller(c, budget.rule, {point_of(Resume::budget, at), 0, parent});
                else if (nodes[n.b].op == Op::ret)  // what is around it is over before this could be
                    add_callers_of(c, budget.rule, parent);
                else
                    add_caller(c, budget.rule, {point_of(Resume::node, n.b), 0, parent});
                break;
            }
        }
    }
}

void Engine::resume(Closure& c, const Item& item) {
    switch (item.kind()) {
        case Resume::accept: c.accepting = true; break;
        case Resume::node: run(c, item.low(), item.parent, false); break;
        case Resume::budget:
        case Resume::budget_begun:
        case Resume::budget_until: run(c, program_->nodes[item.low()].b, item.parent, false); break;
        case Resume::repeat: {
            Repeat r = program_->repeat_at(item.low());
            std::uint32_t done = item.data;
            if (done >= r.low || program_->nullable[r.rule]) run(c, program_->nodes[item.low()].b, item.parent, false);
            if (r.high == no_limit || done < r.high) {
                std::uint32_t next = r.high == no_limit ? std::min(done + 1, std::max(r.low, 1u)) : done + 1;
                add_caller(c, r.rule, {item.point, next, item.parent});
            }
            break;
        }
        case Resume::object_open:
            object_keys(c, item.data, item.parent);
            if (objects_.may_close(item.data)) lexeme(c, program_->punctuation.object_close_empty, item.parent);
            break;
        case Resume::object_next: object_keys(c, item.data, item.parent); break;
        case Resume::object_value: {
            const Value& value = objects_.pending_value(item.data);
            for (std::uint32_t k = 0; k < value.size(); ++k)
                if ((value.size() == 1 && value[k].events.empty()) || objects_.with_value(item.data, k) != no_frame)
                    add_caller(c, value[k].rule, {point_of(Resume::object_after, k), item.data, item.parent});
            break;
        }
        case Resume::object_after: {
            FrameId f = objects_.with_value(item.data, item.low());
            if (f != no_frame) object_after(c, f, item.parent);
            break;
        }
        case Resume::array_open:
            array_item(c, item.data, item.parent);
            if (arrays_.may_close(item.data)) lexeme(c, program_->punctuation.array_close_empty, item.parent);
            break;
        case Resume::array_next: array_item(c, item.data, item.parent); break;
        case Resume::array_after: {
            FrameId f = arrays_.with_item(item.data, item.low());
            if (f != no_frame && arrays_.spec(f).unique) {
                item_ended = true;
                const std::uint32_t start = arrays_[item.data].start;
                f = c.item == foreign_text || start == foreign_text ? arrays_.with_start(f, 0) : arrays_.with_seen(f, values_.id_of(item_text(start, c.item)));
            }
            if (f != no_frame) array_after(c, f, item.parent);
            break;
        }
        case Resume::object_key:
        case Resume::object_group: break;  // resumed by after_key, which knows the key
    }
}

// ---- containers ------------------------------------------------------------------------------------------------

void Engine::insert_key_texts(std::uint32_t spec) {
    if (key_texts_inserted_[spec]) return;
    key_texts_inserted_[spec] = true;
    for (const Property& p : program_->objects[spec].properties) {
        std::uint32_t node = TextTrie::root;
        auto mark = [&] {
            if (declared_prefix_.size() <= node) declared_prefix_.resize(node + 64, false);
            declared_prefix_[node] = true;
        };
        mark();
        for (char c : lexemes_.key_text(p.key)) node = texts_.insert(node, static_cast<std::uint8_t>(c)), mark();
        key_of_text_.emplace(node, p.key);
        key_nodes_[spec].push_back(node);
    }
}

void Engine::object_keys(Closure& c, FrameId frame, StackId parent) {
    const auto found = objects_.available(frame);
    const auto properties = found.properties, groups = found.groups;
    const std::uint32_t spec_index = objects_[frame].spec;
    const ObjectSpec& spec = program_->objects[spec_index];
    if (!properties.empty()) {
        StackId stack = stack_of({point_of(Resume::object_key), frame, parent});
        std::vector<std::uint32_t> keys;
        for (std::uint32_t p : properties) keys.push_back(spec.properties[p].key);
        if (program_->canonical_keys) {
            push(c, lexemes_.key_set(keys), 0, stack);
        } else {
            insert_key_texts(spec_index);
            push(c, lexemes_.any_spelling(keys), TextTrie::root + 1, stack);
        }
    }
    if (groups.empty()) return;
    insert_key_texts(spec_index);
    for (std::uint32_t g : groups) {
        StackId stack = stack_of({point_of(Resume::object_group, g), frame, parent});
        if (tracked_live(spec.groups[g].lexeme, TextTrie::root, stack)) push(c, spec.groups[g].lexeme, TextTrie::root + 1, stack);
    }
}

void Engine::object_after(Closure& c, FrameId frame, StackId parent) {
    const auto found = objects_.available(frame);
    if (!found.properties.empty() || !found.groups.empty()) lexeme(c, program_->punctuation.comma, stack_of({point_of(Resume::object_next), frame, parent}));
    if (objects_.may_close(frame)) lexeme(c, program_->punctuation.object_close, parent);
}

void Engine::array_item(Closure& c, FrameId frame, StackId parent) {
    const ArraySpec& spec = arrays_.spec(frame);
    if (!spec.may_have(arrays_[frame].count)) return;
    const Value& value = arrays_.next_value(frame);
    const FrameId begun = spec.unique ? arrays_.with_start(frame, c.item) : frame;
    for (std::uint32_t k = 0; k < value.size(); ++k)
        if (arrays_.with_item(frame, k) != no_frame) add_caller(c, value[k].rule, {point_of(Resume::array_after, k), begun, parent});
}

void Engine::array_after(Closure& c, FrameId frame, StackId parent) {
    if (arrays_.may_continue(frame)) lexeme(c, program_->punctuation.comma, stack_of({point_of(Resume::array_next), frame, parent}));
    if (arrays_.may_close(frame)) lexeme(c, program_->punctuation.array_close, parent);
}

StateId Engine::after_key(StackId stack, std::uint32_t key, std::uint32_t text, std::uint32_t item) {
    auto& table = text ? after_texts_ : after_keys_;
    std::uint64_t slot = (std::uint64_t{stack} << 32) | (text ? text : key);
    if (std::uint32_t known = item ? FlatMap::none : table.find(slot); known != FlatMap::none) return known;
    if (text) {
        auto it = key_of_text_.find(text - 1);
        key = it == key_of_text_.end() ? no_key : it->second;
    }
    const OpenClosure open(*this, item);
    Closure& c = *open;
    const std::span<const Item> items = stacks_[stack].items;
    for (const Item& i : items) {
        const ObjectSpec& spec = objects_.spec(i.data);
        auto property = spec.index_of_key.find(key);
        FrameId f = no_frame;
        if (i.kind() == Resume::object_key) {
            if (property != spec.index_of_key.end()) f = objects_.with_property(i.data, property->second);
        } else if (property == spec.index_of_key.end() && !objects_.is_used(i.data, text - 1)) {
            f = objects_.with_group(i.data, i.low(), text - 1);
        }
        if (f != no_frame) lexeme(c, program_->punctuation.colon, stack_of({point_of(Resume::object_value), f, i.parent}));
    }
    StateId id = finish(c);
    if (!item) table.insert(slot, id);
    return id;
}

StateId Engine::after_new_key(StackId stack, std::uint32_t text, std::uint32_t item) {
    for (const Item& i : stacks_[stack].items)
        if (i.kind() != Resume::object_group || item_takes(i, text - 1)) return after_key(stack, no_key, text, item);
    return after_unknown_key(stack, item);
}

StateId Engine::after_unknown_key(StackId stack, std::uint32_t item) {
    if (!item && stacks_[stack].after_unknown_key != unknown_state) return stacks_[stack].after_unknown_key;
    const OpenClosure open(*this, item);
    Closure& c = *open;
    const std::span<const Item> items = stacks_[stack].items;
    for (const Item& i : items) {
        if (i.kind() != Resume::object_group) continue;
        FrameId f = objects_.with_group(i.data, i.low(), unknown_text);
        if (f != no_frame) lexeme(c, program_->punctuation.colon, stack_of({point_of(Resume::object_value), f, i.parent}));
    }
    StateId id = finish(c);
    if (!item) stacks_[stack].after_unknown_key = id;
    return id;
}

}  // namespace scansion
