#include "engine.h"

#include <algorithm>

namespace scansion {

Engine::Engine(std::shared_ptr<const Program> program)
    : program_(std::move(program)),
      lexemes_(Lexemes::instance()),
      conditions_(program_->conditions),
      objects_(*program_, conditions_, texts_),
      arrays_(*program_),
      key_texts_inserted_(program_->objects.size(), false),
      key_nodes_(program_->objects.size()) {
    states_.push();  // dead
    State& dead = states_[0];
    dead.map = nullptr;
    intern_stack({});  // the empty stack: nothing continues from it
    StackId root = intern_stack({Item{point_of(Resume::accept), 0, 0}});
    Closure c;
    add_callers_of(c, program_->start, root);
    if (program_->nullable[program_->start]) c.accepting = true;
    start_ = finish(c);
}

std::size_t Engine::bytes() const {
    return states_.size() * sizeof(State) + threads_.capacity() * sizeof(Thread) + targets_.capacity() * 4 + stacks_.size() * sizeof(Stack) + stack_bytes_ +
           state_table_.bytes() + stack_table_.bytes() + tracked_steps_.bytes() + after_keys_.bytes() + after_texts_.bytes() + texts_.bytes() +
           conditions_.bytes() + objects_.bytes() + arrays_.bytes();
}

// ---- interning -------------------------------------------------------------------------------------------------

StackId Engine::intern_stack(std::vector<Item> items) {
    if (items.size() > 1) {
        std::sort(items.begin(), items.end());
        items.erase(std::unique(items.begin(), items.end()), items.end());
    }
    std::uint64_t h = items.size();
    for (const Item& i : items) h = combine(combine(h, (std::uint64_t{i.point} << 32) | i.data), i.parent);
    std::uint32_t found = stack_table_.find(h, [&](std::uint32_t s) { return stacks_[s].items == items; });
    if (found != IndexTable::none) return found;
    StackId id = static_cast<StackId>(stacks_.size());
    std::uint32_t depth = 0;
    for (const Item& i : items) depth = std::max(depth, stacks_[i.parent].depth + (i.kind() != Resume::accept));
    if (depth > limits_.depth) throw LimitExceeded("depth", limits_.depth, "the text nests deeper than " + std::to_string(limits_.depth) + " levels");
    Stack& s = stacks_.push();
    stack_bytes_ += items.size() * sizeof(Item);
    for (const Item& i : items)
        s.uses_keys |= stacks_[i.parent].uses_keys || (i.kind() >= Resume::object_open && i.kind() <= Resume::object_next && objects_[i.data].used != 0);
    s.items = std::move(items);
    s.depth = depth;
    stack_table_.insert(h, id);
    return id;
}

StateId Engine::intern_threads(std::vector<Thread>& threads, bool accepting) {
    if (threads.empty() && !accepting) return dead_state;
    if (threads.size() > 1) {
        std::sort(threads.begin(), threads.end());
        threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
        // Threads that differ in their stack alone become one thread over the union of the stacks.
        std::size_t out = 0;
        for (std::size_t i = 0; i < threads.size();) {
            std::size_t j = i + 1;
            while (j < threads.size() && threads[j].lex == threads[i].lex && threads[j].text == threads[i].text) ++j;
            if (j > i + 1) {
                std::vector<Item> items;
                for (std::size_t k = i; k < j; ++k) {
                    const auto& more = stacks_[threads[k].stack].items;
                    items.insert(items.end(), more.begin(), more.end());
                }
                threads[i].stack = intern_stack(std::move(items));
            }
            threads[out++] = threads[i];
            i = j;
        }
        threads.resize(out);
    }
    if (threads.size() > limits_.threads)
        throw LimitExceeded("width", limits_.threads, "more than " + std::to_string(limits_.threads) + " readings of the text are open at once");
    std::uint64_t h = combine(threads.size(), accepting);
    for (const Thread& t : threads) h = combine(combine(h, (std::uint64_t{t.lex} << 32) | t.text), t.stack);
    std::uint32_t found = state_table_.find(h, [&](std::uint32_t s) {
        const State& st = states_[s];
        return st.count == threads.size() && st.accepting == accepting && std::equal(threads.begin(), threads.end(), threads_.begin() + st.first);
    });
    if (found != IndexTable::none) return found;
    if ((states_.size() & 0x3ff) == 0 && bytes() > limits_.bytes)
        throw LimitExceeded("memory", limits_.bytes, "the states of this grammar take more than " + std::to_string(limits_.bytes >> 20) + " MiB");
    StateId id = static_cast<StateId>(states_.size());
    State& s = states_.push();
    s.first = static_cast<std::uint32_t>(threads_.size());
    s.count = static_cast<std::uint32_t>(threads.size());
    s.accepting = accepting;
    for (const Thread& t : threads) {
        s.token_edges |= t.is_token();
        s.tracked |= t.text != 0;
    }
    threads_.insert(threads_.end(), threads.begin(), threads.end());
    state_table_.insert(h, id);
    return id;
}

// ---- stepping --------------------------------------------------------------------------------------------------

void Engine::expand(StateId id) {
    State& s = states_[id];
    const ByteMap* map = nullptr;
    {
        std::unique_lock<std::recursive_mutex> lock(Languages::instance().mutex, std::defer_lock);
        for (std::uint32_t i = 0; i < s.count; ++i) {
            const Thread& t = threads_[s.first + i];
            if (t.is_token()) continue;
            const ByteMap* m = lexemes_.row(t.lex).map;
            if (map && map != m && !lock.owns_lock()) lock.lock();
            map = map ? lexemes_.maps.join(map, m) : m;
        }
        if (!map) map = lexemes_.row(dead_lex).map;
    }
    s.targets = static_cast<std::uint32_t>(targets_.size());
    targets_.resize(targets_.size() + map->count, dead_state);
    for (std::uint32_t i = 0; i < s.count; ++i) {
        const Thread& t = threads_[s.first + i];
        if (t.is_token()) continue;
        const LexRow& row = lexemes_.row(t.lex);
        for (std::uint16_t c = 0; c < map->count; ++c)
            if (row.step(map->representative[c]) != dead_lex) targets_[s.targets + c] = unknown_state;
    }
    s.map = map;
}

StateId Engine::step(StateId id, std::uint8_t byte) {
    if (id == dead_state) return dead_state;
    State& s = states_[id];
    if (!s.map) expand(id);
    const std::uint32_t slot = s.targets + s.map->cls[byte];
    StateId to = targets_[slot];
    if (to != unknown_state) return to;
    if (s.tracked) {  // the next state depends on the byte itself, not only on its class
        std::uint64_t key = std::uint64_t{id} << 8 | byte;
        if (std::uint32_t known = tracked_steps_.find(key); known != FlatMap::none) return known;
        to = compute_step(id, byte);
        tracked_steps_.insert(key, to);
        return to;
    }
    to = compute_step(id, byte);
    targets_[slot] = to;
    return to;
}

// How many bytes from the start keep every thread inside an unconstrained key, one character each.
std::size_t Engine::plain_run(StateId id, std::string_view bytes) const {
    const State& s = states_[id];
    if (!s.tracked || s.accepting) return 0;
    for (std::uint32_t i = 0; i < s.count; ++i) {
        const Thread& t = threads_[s.first + i];
        if (t.is_token() || !t.text) return 0;
        const LexKey& key = lexemes_[t.lex].key;
        if (key.mode != LexMode::body || key.lang != Languages::anything) return 0;
    }
    std::size_t n = 0;
    while (n < bytes.size() && static_cast<std::uint8_t>(bytes[n]) >= 0x20 && static_cast<std::uint8_t>(bytes[n]) < 0x80 && bytes[n] != '"' && bytes[n] != '\\') ++n;
    return n;
}

StateId Engine::step(StateId s, std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size() && s != dead_state;) {
        if (states_[s].tracked) {
            if (std::size_t run = plain_run(s, bytes.substr(i)); run > 1) {
                std::vector<Thread> threads(threads_.begin() + states_[s].first, threads_.begin() + states_[s].first + states_[s].count);
                for (Thread& t : threads)
                    for (std::size_t k = 0; k < run; ++k) t.text = texts_.insert(t.text - 1, static_cast<std::uint8_t>(bytes[i + k])) + 1;
                s = intern_threads(threads, false);
                i += run;
                continue;
            }
        }
        s = step(s, static_cast<std::uint8_t>(bytes[i++]));
    }
    return s;
}

StateId Engine::compute_step(StateId id, std::uint8_t byte) {
    std::vector<Thread> out;
    bool accepting = false;
    const std::uint32_t first = states_[id].first, count = states_[id].count;
    for (std::uint32_t i = 0; i < count; ++i) {
        const Thread t = threads_[first + i];
        if (t.is_token()) continue;
        LexId lex = lexemes_.step(t.lex, byte);
        if (lex == dead_lex) continue;
        std::uint32_t text = t.text;
        if (text) {
            std::uint8_t decoded[4];
            std::uint32_t n = lexemes_.decoded(t.lex, byte, decoded);
            for (std::uint32_t k = 0; k < n; ++k) text = texts_.insert(text - 1, decoded[k]) + 1;
        }
        if (lexemes_.accepting(lex)) add_lexeme_end(out, accepting, t, lex, text);
        if (lexemes_.row(lex).live_bytes && (!text || tracked_live(lex, text - 1, t.stack))) out.push_back({lex, text, t.stack});
    }
    return intern_threads(out, accepting);
}

void Engine::add_lexeme_end(std::vector<Thread>& out, bool& accepting, const Thread& thread, LexId lex, std::uint32_t text) {
    std::uint32_t key = lexemes_[lex].accepted_key;
    add_state(out, accepting, key == no_key && !text ? after(thread.stack) : after_key(thread.stack, key, text));
}

void Engine::add_state(std::vector<Thread>& out, bool& accepting, StateId id) {
    const State& s = states_[id];
    accepting |= s.accepting;
    for (std::uint32_t i = 0; i < s.count; ++i) {
        Thread t = threads_[s.first + i];
        out.push_back(t);
    }
}

StateId Engine::step_token(StateId id, std::uint32_t token) {
    if (!states_[id].token_edges) return dead_state;
    std::vector<Thread> out;
    bool accepting = false;
    for (std::uint32_t i = 0; i < states_[id].count; ++i) {
        const Thread t = threads_[states_[id].first + i];
        if (!t.is_token()) continue;
        for (auto [low, high] : program_->token_sets[t.token_set()])
            if (token >= low && token <= high) {
                add_state(out, accepting, after(t.stack));
                break;
            }
    }
    return intern_threads(out, accepting);
}

StateId Engine::merge(StateId a, StateId b) {
    if (a == b || b == dead_state) return a;
    if (a == dead_state) return b;
    std::vector<Thread> out;
    bool accepting = false;
    add_state(out, accepting, a);
    add_state(out, accepting, b);
    return intern_threads(out, accepting);
}

void Engine::live_bytes(StateId id, std::uint64_t out[4]) {
    out[0] = out[1] = out[2] = out[3] = 0;
    if (id == dead_state) return;
    if (!states_[id].map) expand(id);
    const State& s = states_[id];
    for (std::uint32_t b = 0; b < 256; ++b)
        if (targets_[s.targets + s.map->cls[b]] != dead_state && step(id, static_cast<std::uint8_t>(b)) != dead_state) out[b / 64] |= std::uint64_t{1} << (b % 64);
}

// ---- closure ---------------------------------------------------------------------------------------------------

StateId Engine::after(StackId stack) {
    if (stacks_[stack].after != unknown_state) return stacks_[stack].after;
    Closure c;
    const std::vector<Item> items = stacks_[stack].items;
    for (const Item& i : items) resume(c, i);
    StateId id = finish(c);
    return stacks_[stack].after = id;
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
        Closure::Pending p = std::move(*next);
        *next = std::move(c.pending.back());
        c.pending.pop_back();
        StackId callers = intern_stack(std::move(p.callers));
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

void Engine::lexeme(Closure& c, LexId lex, StackId stack) {
    if (lex != dead_lex && lexemes_.row(lex).live_bytes) c.threads.push_back({lex, 0, stack});
}

void Engine::add_caller(Closure& c, std::uint32_t rule, const Item& item) {
    for (auto& p : c.pending)
        if (p.rule == rule) {
            p.callers.push_back(item);
            return;
        }
    c.pending.push_back({program_->rank[rule], rule, {item}});
}

void Engine::add_callers_of(Closure& c, std::uint32_t rule, StackId parent) {
    const std::vector<Item> items = stacks_[parent].items;
    for (const Item& i : items) add_caller(c, rule, i);
}

// The rule whose callers are `parent` is done.
void Engine::pop(Closure& c, StackId parent) {
    if (!first_visit(c, std::uint64_t{1} << 63 | parent)) return;
    const auto& items = stacks_[parent].items;
    c.work.insert(c.work.end(), items.begin(), items.end());
}

// `fresh`: the activation began at this position, so its end here is the empty match its callers already reckon with.
void Engine::run(Closure& c, std::uint32_t start, StackId parent, bool fresh) {
    std::vector<std::uint32_t> stack{start};
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
            case Op::token: c.threads.push_back({token_thread | n.a, 0, continuation()}); break;
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
        }
    }
}

void Engine::resume(Closure& c, const Item& item) {
    switch (item.kind()) {
        case Resume::accept: c.accepting = true; break;
        case Resume::node: run(c, item.low(), item.parent, false); break;
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
                if (value.size() == 1 || objects_.with_value(item.data, k) != no_frame)
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
        std::uint32_t node = texts_.insert(TextTrie::root, lexemes_.key_text(p.key));
        key_of_text_.emplace(node, p.key);
        key_nodes_[spec].push_back(node);
    }
}

void Engine::object_keys(Closure& c, FrameId frame, StackId parent) {
    std::vector<std::uint32_t> properties, groups;
    objects_.available(frame, properties, groups);
    const std::uint32_t spec_index = objects_[frame].spec;
    const ObjectSpec& spec = program_->objects[spec_index];
    if (!properties.empty()) {
        StackId stack = stack_of({point_of(Resume::object_key), frame, parent});
        std::vector<std::uint32_t> keys;
        for (std::uint32_t p : properties) keys.push_back(spec.properties[p].key);
        if (program_->canonical_keys) {
            c.threads.push_back({lexemes_.key_set(keys), 0, stack});
        } else {
            insert_key_texts(spec_index);
            c.threads.push_back({lexemes_.any_spelling(keys), TextTrie::root + 1, stack});
        }
    }
    if (groups.empty()) return;
    insert_key_texts(spec_index);
    for (std::uint32_t g : groups) {
        StackId stack = stack_of({point_of(Resume::object_group, g), frame, parent});
        if (tracked_live(spec.groups[g].lexeme, TextTrie::root, stack)) c.threads.push_back({spec.groups[g].lexeme, TextTrie::root + 1, stack});
    }
}

void Engine::object_after(Closure& c, FrameId frame, StackId parent) {
    std::vector<std::uint32_t> properties, groups;
    objects_.available(frame, properties, groups);
    if (!properties.empty() || !groups.empty()) lexeme(c, program_->punctuation.comma, stack_of({point_of(Resume::object_next), frame, parent}));
    if (objects_.may_close(frame)) lexeme(c, program_->punctuation.object_close, parent);
}

void Engine::array_item(Closure& c, FrameId frame, StackId parent) {
    const ArraySpec& spec = arrays_.spec(frame);
    if (!spec.may_have(arrays_[frame].count)) return;
    const Value& value = arrays_.next_value(frame);
    for (std::uint32_t k = 0; k < value.size(); ++k)
        if (arrays_.with_item(frame, k) != no_frame) add_caller(c, value[k].rule, {point_of(Resume::array_after, k), frame, parent});
}

void Engine::array_after(Closure& c, FrameId frame, StackId parent) {
    if (arrays_.may_continue(frame)) lexeme(c, program_->punctuation.comma, stack_of({point_of(Resume::array_next), frame, parent}));
    if (arrays_.may_close(frame)) lexeme(c, program_->punctuation.array_close, parent);
}

StateId Engine::after_key(StackId stack, std::uint32_t key, std::uint32_t text) {
    auto& table = text ? after_texts_ : after_keys_;
    std::uint64_t slot = (std::uint64_t{stack} << 32) | (text ? text : key);
    if (std::uint32_t known = table.find(slot); known != FlatMap::none) return known;
    if (text) {
        auto it = key_of_text_.find(text - 1);
        key = it == key_of_text_.end() ? no_key : it->second;
    }
    Closure c;
    const std::vector<Item> items = stacks_[stack].items;
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
    table.insert(slot, id);
    return id;
}

StateId Engine::after_unknown_key(StackId stack) {
    if (stacks_[stack].after_unknown_key != unknown_state) return stacks_[stack].after_unknown_key;
    Closure c;
    const std::vector<Item> items = stacks_[stack].items;
    for (const Item& i : items) {
        if (i.kind() != Resume::object_group) continue;
        FrameId f = objects_.with_group(i.data, i.low(), unknown_text);
        if (f != no_frame) lexeme(c, program_->punctuation.colon, stack_of({point_of(Resume::object_value), f, i.parent}));
    }
    StateId id = finish(c);
    return stacks_[stack].after_unknown_key = id;
}

// ---- mask keys -------------------------------------------------------------------------------------------------

StackId Engine::fold_stack(StackId root, std::uint32_t longest) {
    if (stacks_[root].folded != unknown_state) return stacks_[root].folded;
    std::vector<StackId> todo{root};  // parents first, without recursion: stacks may be very deep
    while (!todo.empty()) {
        StackId id = todo.back();
        if (stacks_[id].folded != unknown_state) {
            todo.pop_back();
            continue;
        }
        bool ready = true;
        for (const Item& i : stacks_[id].items)
            if (i.kind() != Resume::accept && stacks_[i.parent].folded == unknown_state) todo.push_back(i.parent), ready = false;
        if (!ready) continue;
        todo.pop_back();
        std::vector<Item> items = stacks_[id].items;
        for (Item& i : items) {
            switch (i.kind()) {
                case Resume::accept: continue;
                case Resume::node: break;
                case Resume::repeat: {
                    Repeat r = program_->repeat_at(i.low());
                    i.data = fold_count(i.data, 1, r.low, r.high, longest);
                    break;
                }
                case Resume::array_open:
                case Resume::array_after:
                case Resume::array_next: i.data = arrays_.fold(i.data, longest); break;
                default: i.data = objects_.fold(i.data, longest);
            }
            i.parent = stacks_[i.parent].folded;
        }
        StackId folded = intern_stack(std::move(items));
        stacks_[id].folded = folded;
        stacks_[folded].folded = folded;
    }
    return stacks_[root].folded;
}

StateId Engine::fold(StateId id, std::uint32_t longest) {
    if (id < folded_.size() && folded_[id] != unknown_state) return folded_[id];
    std::vector<Thread> threads(threads_.begin() + states_[id].first, threads_.begin() + states_[id].first + states_[id].count);
    for (Thread& t : threads) {
        if (!t.is_token()) t.lex = lexemes_.fold_lengths(t.lex, longest);
        if (t.text) {
            const auto& items = stacks_[t.stack].items;
            // A declared key spelled freely is known by its text; only additional keys can be told apart by nothing but what is used.
            if (std::all_of(items.begin(), items.end(), [](const Item& i) { return i.kind() == Resume::object_group; })) t.text = foreign_text;
        }
        t.stack = fold_stack(t.stack, longest);
    }
    StateId folded = intern_threads(threads, states_[id].accepting);
    if (folded_.size() < states_.size()) folded_.resize(states_.size() + states_.size() / 2, unknown_state);
    folded_[folded] = folded;
    return folded_[id] = folded;
}

bool Engine::uses_key(StackId root, std::uint32_t text) const {
    std::vector<StackId> todo{root};
    std::vector<StackId> seen;
    while (!todo.empty()) {
        StackId s = todo.back();
        todo.pop_back();
        if (!stacks_[s].uses_keys || std::find(seen.begin(), seen.end(), s) != seen.end()) continue;
        if (seen.size() < 64) seen.push_back(s);
        for (const Item& i : stacks_[s].items) {
            if (i.kind() >= Resume::object_open && i.kind() <= Resume::object_next && objects_.is_used(i.data, text)) return true;
            todo.push_back(i.parent);
        }
    }
    return false;
}

bool Engine::item_takes(const Item& i, std::uint32_t text) const {
    auto it = key_of_text_.find(text);
    return (it != key_of_text_.end() && objects_.spec(i.data).index_of_key.count(it->second)) || objects_.is_used(i.data, text);
}

void Engine::few_endings(LexId lex, std::uint32_t text, std::vector<std::uint32_t>& out) {
    const LexKey& key = lexemes_[lex].key;
    if ((key.mode != LexMode::body && key.mode != LexMode::quote) || key.lang == Languages::anything) return;
    constexpr std::size_t few = 256;
    if (many_words_.find(key.lang) != FlatMap::none) return;
    std::lock_guard lock(Languages::instance().mutex);
    auto words = Languages::instance().words(key.lang, few);
    if (!words) {
        many_words_.insert(key.lang, 1);
        return;
    }
    for (const auto& w : *words) {
        std::uint32_t node = text;
        for (CodePoint c : w) {
            std::uint8_t bytes[4];
            std::uint32_t n = encode_utf8(c, bytes);
            for (std::uint32_t k = 0; k < n; ++k) node = texts_.insert(node, bytes[k]);
        }
        out.push_back(node);
    }
}

// A key being read in a group must still be able to become one that is neither declared nor used.
bool Engine::tracked_live(LexId lex, std::uint32_t text, StackId stack) {
    std::vector<std::uint32_t> endings;
    const LexKey& key = lexemes_[lex].key;
    if (key.lang == Languages::anything) return true;
    few_endings(lex, text, endings);
    if (endings.empty()) return true;
    for (const Item& i : stacks_[stack].items) {
        if (i.kind() != Resume::object_group) return true;
        for (std::uint32_t e : endings)
            if (!item_takes(i, e)) return true;
    }
    return false;
}

}  // namespace scansion
