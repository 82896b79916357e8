#include "engine.h"

#include <algorithm>
#include <tuple>

namespace scansion {

Engine::Engine(std::shared_ptr<const Program> program)
    : program_(std::move(program)),
      lexemes_(Lexemes::instance()),
      conditions_(program_->conditions),
      objects_(*program_, conditions_, texts_),
      arrays_(*program_),
      key_texts_inserted_(program_->objects.size(), false),
      key_nodes_(program_->objects.size()) {
    for (const ObjectSpec& o : program_->objects) ordered_ &= !o.any_order;
    states_.push();  // dead
    State& dead = states_[0];
    dead.map = nullptr;
    intern_stack({});  // the empty stack: nothing continues from it
    StackId root = intern_stack({Item{point_of(Resume::accept), 0, 0}});
    const OpenClosure open(*this, 0);
    Closure& c = *open;
    add_callers_of(c, program_->start, root);
    if (program_->nullable[program_->start]) c.accepting = true;
    start_ = finish(c);
}

std::size_t Engine::bytes() const {
    return states_.size() * sizeof(State) + threads_.capacity() * sizeof(Thread) + targets_.capacity() * 4 + stacks_.size() * sizeof(Stack) + stack_items_.bytes() +
           state_table_.bytes() + stack_table_.bytes() + tracked_steps_.bytes() + after_keys_.bytes() + after_texts_.bytes() + texts_.bytes() +
           conditions_.bytes() + objects_.bytes() + arrays_.bytes() + values_.bytes() + begun_.bytes() +
           token_ends_.bytes() + folded_.capacity() * 4 + description_lists_.bytes() + descriptions_.size() * sizeof(descriptions_[0]) + description_table_.bytes() + first_items_.size() * sizeof(Item) +
           first_of_.bytes() + after_values_.bytes() + values_from_.bytes();
}

// ---- interning -------------------------------------------------------------------------------------------------

namespace {
std::uint64_t hash_of(const Item* items, std::size_t count) {
    std::uint64_t h = count;
    for (const Item* i = items; i != items + count; ++i) h = combine(combine(h, (std::uint64_t{i->point} << 32) | i->data), i->parent);
    return h;
}
}  // namespace

StackId Engine::stack_of(const Item& item) {
    const std::uint64_t h = hash_of(&item, 1);
    const std::uint32_t found = stack_table_.find(h, [&](std::uint32_t s) { return stacks_[s].items.size() == 1 && stacks_[s].items[0] == item; });
    return found != IndexTable::none ? found : add_stack({&item, 1}, h);
}

StackId Engine::intern_stack(std::vector<Item> items) {
    if (items.size() > 1) sort_unique(items);
    const std::uint64_t h = hash_of(items.data(), items.size());
    const std::uint32_t found = stack_table_.find(h, [&](std::uint32_t s) { return std::ranges::equal(stacks_[s].items, items); });
    return found != IndexTable::none ? found : add_stack(items, h);
}

StackId Engine::add_stack(std::span<const Item> items, std::uint64_t h) {
    StackId id = static_cast<StackId>(stacks_.size());
    std::uint32_t depth = 0;
    for (const Item& i : items) depth = std::max(depth, stacks_[i.parent].depth + (i.kind() != Resume::accept));
    if (depth > limits_.depth) throw LimitExceeded("depth", limits_.depth, "the text nests deeper than " + std::to_string(limits_.depth) + " levels");
    Stack& s = stacks_.push();
    s.items = stack_items_.keep(items);
    if (stack_items_.bytes() - stack_bytes_checked_ > (std::size_t{16} << 20)) {
        stack_bytes_checked_ = stack_items_.bytes();
        check_memory();
    }
    for (const Item& i : items) {
        const Stack& parent = stacks_[i.parent];
        const bool object = i.kind() >= Resume::object_open && i.kind() <= Resume::object_next;
        const bool array = i.kind() >= Resume::array_open && i.kind() <= Resume::array_next;
        s.uses_keys |= parent.uses_keys || (object && objects_[i.data].used != 0);
        s.uses_values |= parent.uses_values || (array && arrays_[i.data].seen != 0);
        s.records |= parent.records || (i.kind() == Resume::array_after && arrays_.spec(i.data).unique);
    }
    if (program_->has_budgets) note_budgets(s, items);
    s.depth = depth;
    stack_table_.insert(h, id);
    return id;
}

void Engine::check_memory() const {
    if (bytes() > limits_.bytes)
        throw LimitExceeded("memory", limits_.bytes, "the states of this grammar take more than " + std::to_string(limits_.bytes >> 20) + " MiB");
}

StateId Engine::intern_threads(std::vector<Thread>& threads, bool accepting) {
    if (threads.empty() && !accepting) return dead_state;
    if (threads.size() > 1) {
        std::sort(threads.begin(), threads.end(), [](const Thread& a, const Thread& b) {
            return std::tie(a.lex, a.text, a.item, a.stack) < std::tie(b.lex, b.text, b.item, b.stack);
        });
        threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
        // Threads that differ in their stack alone become one thread over the union of the stacks.
        std::size_t out = 0;
        for (std::size_t i = 0; i < threads.size();) {
            std::size_t j = i + 1;
            while (j < threads.size() && threads[j].lex == threads[i].lex && threads[j].text == threads[i].text && threads[j].item == threads[i].item) ++j;
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
    for (const Thread& t : threads) h = combine(combine(h, (std::uint64_t{t.lex} << 32) | t.text), (std::uint64_t{t.item} << 32) | t.stack);
    std::uint32_t found = state_table_.find(h, [&](std::uint32_t s) {
        const State& st = states_[s];
        return st.count == threads.size() && st.accepting == accepting && std::equal(threads.begin(), threads.end(), threads_.begin() + st.first);
    });
    if (found != IndexTable::none) return found;
    if ((states_.size() & 0x3ff) == 0) check_memory();
    StateId id = static_cast<StateId>(states_.size());
    State& s = states_.push();
    s.first = static_cast<std::uint32_t>(threads_.size());
    s.count = static_cast<std::uint32_t>(threads.size());
    s.accepting = accepting;
    for (const Thread& t : threads) {
        s.token_edges |= t.is_token();
        s.tracked |= t.text != 0 || t.item != 0;
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
        std::unique_lock<Languages::Mutex> lock(Languages::instance().mutex, std::defer_lock);
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
    StateId to = targets_[s.targets + s.map->cls[byte]];
    if (to != unknown_state) return to;
    if (s.tracked) {  // the next state depends on the byte itself, not only on its class
        std::uint64_t key = std::uint64_t{id} << 8 | byte;
        if (std::uint32_t known = tracked_steps_.find(key); known != FlatMap::none) return known;
        to = compute_step(id, byte);
        if (to != dead_state && !surely_live(to) && !explore(to)) to = dead_state;
        tracked_steps_.insert(key, to);
        return to;
    }
    to = compute_step(id, byte);
    if (to != dead_state && !surely_live(to) && !explore(to)) to = dead_state;
    targets_[states_[id].targets + states_[id].map->cls[byte]] = to;
    return to;
}

// How many bytes from the start keep every thread inside a key, a list of words or, in a state nobody has asked about, a string, one character each,
// and surely alive.
std::size_t Engine::plain_run(StateId id, std::string_view bytes) {
    const State& s = states_[id];
    if (s.accepting) return 0;
    std::size_t most = std::min(bytes.size(), run_limit);
    for (std::uint32_t i = 0; i < s.count; ++i) {
        const Thread& t = threads_[s.first + i];
        if (t.is_token() || t.item) return 0;
        if (!t.text && lexemes_.in_keys(t.lex) && lexemes_.cursor(t.lex).depth) continue;
        if (!t.text && !stacks_[t.stack].uses_values) {
            if (lexemes_[t.lex].words) {
                most = lexemes_.word_run(t.lex, bytes.substr(0, most));
                continue;
            }
            // A string whose state each character changes; of others the steps are soon known.
            if (!s.map && lexemes_[t.lex].key.mode == LexMode::body && lexemes_.step_once(t.lex, static_cast<std::uint8_t>(bytes[0])) != t.lex) continue;
        }
        if (!t.text) return 0;
        const LexKey& key = lexemes_[t.lex].key;
        if (key.mode != LexMode::body || key.lang != Languages::anything) return 0;
    }
    std::size_t n = 0;
    while (n < most && static_cast<std::uint8_t>(bytes[n]) >= 0x20 && static_cast<std::uint8_t>(bytes[n]) < 0x80 && bytes[n] != '"' && bytes[n] != '\\') ++n;
    return n;
}

StateId Engine::step(StateId s, std::string_view bytes) {
    for (std::size_t i = 0; i < bytes.size() && s != dead_state;) {
        if (std::size_t run = plain_run(s, bytes.substr(i)); run > 1) {
            s = step_run(s, bytes.substr(i, run));
            i += run;
        } else {
            s = step(s, static_cast<std::uint8_t>(bytes[i++]));
        }
    }
    return s;
}

// The states between the bytes of a run are not made.
StateId Engine::step_run(StateId s, std::string_view run) {
    std::vector<Thread> threads;
    for (std::uint32_t i = 0; i < states_[s].count; ++i) {
        Thread t = threads_[states_[s].first + i];
        t.stack = begin_budgets(t.stack);
        if (t.text)
            for (char c : run) t.text = texts_.insert(t.text - 1, static_cast<std::uint8_t>(c)) + 1;
        else if (lexemes_[t.lex].key.mode == LexMode::body)
            for (char c : run) t.lex = lexemes_.step_once(t.lex, static_cast<std::uint8_t>(c));
        else
            t.lex = lexemes_[t.lex].words ? lexemes_.inside_word(t.lex, run) : lexemes_.inside_key(t.lex, run);
        if (t.lex == dead_lex) continue;
        threads.push_back(t);
    }
    return intern_threads(threads, false);
}

StateId Engine::compute_step(StateId id, std::uint8_t byte) {
    std::vector<Thread> out = std::move(stepped_);
    out.clear();
    bool accepting = false;
    const std::uint32_t first = states_[id].first, count = states_[id].count;
    for (std::uint32_t i = 0; i < count; ++i) {
        Thread t = threads_[first + i];
        if (t.is_token()) continue;
        LexId lex = lexemes_.step(t.lex, byte);
        if (lex == dead_lex) continue;
        t.stack = begin_budgets(t.stack);
        std::uint32_t text = t.text;
        if (text) {
            std::uint8_t decoded[4];
            std::uint32_t n = lexemes_.decoded(t.lex, byte, decoded);
            for (std::uint32_t k = 0; k < n; ++k) text = texts_.insert(text - 1, decoded[k]) + 1;
        }
        const std::uint32_t item = t.item ? extend_item(t.item, t.lex, byte) : 0;
        if (lexemes_.accepting(lex)) add_lexeme_end(out, accepting, t, lex, text, item);
        if (lexemes_.goes_on(lex) && (!text || tracked_live(lex, text - 1, t.stack))) out.push_back({lex, text, t.stack, item});
    }
    const StateId to = intern_threads(out, accepting);
    stepped_ = std::move(out);
    return to;
}

void Engine::add_lexeme_end(std::vector<Thread>& out, bool& accepting, const Thread& thread, LexId lex, std::uint32_t text, std::uint32_t item) {
    std::uint32_t key = lexemes_[lex].accepted_key;
    add_state(out, accepting, key == no_key && !text ? after(thread.stack, item) : after_key(thread.stack, key, text, item));
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
                add_state(out, accepting, after(begin_budgets(t.stack), t.item));
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

}  // namespace scansion
