#include <algorithm>
#include <deque>
#include <numeric>
#include <span>

#include "engine.h"
#include "uses.h"

namespace scansion {

// ---- keys told by their text -----------------------------------------------------------------------------------

bool Engine::uses_key(StackId stack, std::uint32_t text) const {
    return any_object_outside(stack, [&](FrameId frame) { return objects_.is_used(frame, text); });
}

bool Engine::item_takes(const Item& i, std::uint32_t text) const {
    auto it = key_of_text_.find(text);
    return (it != key_of_text_.end() && objects_.spec(i.data).index_of_key.count(it->second)) || objects_.is_used(i.data, text);
}

bool Engine::endless_key(LexId lex, std::uint32_t longest) const {
    const LexKey& key = lexemes_[lex].key;
    if (key.lang == Languages::anything && key.mode != LexMode::keys && key.mode != LexMode::key_tail) return true;
    if (key.mode != LexMode::body && key.mode != LexMode::quote) return false;
    std::lock_guard lock(Languages::instance().mutex);
    return Languages::instance().is_plentiful(key.lang, longest);
}

Engine::Scarce Engine::scarce_after_comma(StackId stack, std::uint32_t longest) {
    if (stacks_[stack].scarce.known) return stacks_[stack].scarce;
    Scarce s{true, false, false};
    for (const Item& i : stacks_[stack].items) {
        s.items |= i.kind() == Resume::array_next && arrays_.spec(i.data).unique;
        if (i.kind() == Resume::object_next)
            for (const Group& g : objects_.spec(i.data).groups) s.keys |= !endless_key(g.lexeme, longest);
    }
    return stacks_[stack].scarce = s;
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
    const LexKey& key = lexemes_[lex].key;
    if (key.lang == Languages::anything) return true;
    if (key.mode != LexMode::body && key.mode != LexMode::quote) {
        std::size_t steps = 0;
        return tracked_live_inside(lex, text, stack, steps);
    }
    std::vector<std::uint32_t> endings;
    few_endings(lex, text, endings);
    if (endings.empty()) return true;
    for (const Item& i : stacks_[stack].items) {
        if (i.kind() != Resume::object_group) return true;
        for (std::uint32_t e : endings)
            if (!item_takes(i, e)) return true;
    }
    return false;
}

// Inside a character: each way to complete it that the language knows.
bool Engine::tracked_live_inside(LexId lex, std::uint32_t text, StackId stack, std::size_t& steps) {
    const LexKey& key = lexemes_[lex].key;
    if (key.mode == LexMode::body) return tracked_live(lex, text, stack);
    if (key.mode == LexMode::keys || key.mode == LexMode::key_tail || key.mode == LexMode::end) return true;
    {
        std::lock_guard lock(Languages::instance().mutex);
        if (Languages::instance().is_plentiful(key.lang, 1)) return true;
    }
    const LexRow& row = lexemes_.row(lex);
    for (std::uint32_t b = 0; b < 256; ++b) {
        const LexId to = row.step(static_cast<std::uint8_t>(b));
        if (to == dead_lex) continue;
        if (++steps > 2000) return true;
        std::uint8_t decoded[4];
        std::uint32_t n = lexemes_.decoded(lex, static_cast<std::uint8_t>(b), decoded), at = text;
        for (std::uint32_t k = 0; k < n; ++k) at = texts_.insert(at, decoded[k]);
        if (tracked_live_inside(to, at, stack, steps)) return true;
    }
    return false;
}

// ---- items of unique arrays ------------------------------------------------------------------------------------

std::uint32_t Engine::extend_item(std::uint32_t item, LexId lex, std::uint8_t byte) {
    if (item == foreign_text) return item;
    const bool space = byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
    if (space && lexemes_[lex].key.mode == LexMode::text) return item;
    return texts_.insert(item - 1, byte) + 1;
}

std::string Engine::item_text(std::uint32_t start, std::uint32_t item) const {
    const std::uint32_t from = start ? start - 1 : TextTrie::root;
    std::string out;
    for (std::uint32_t n = item ? item - 1 : from; n != from; n = texts_.parent(n)) out.push_back(static_cast<char>(texts_.byte(n)));
    return {out.rbegin(), out.rend()};
}

bool Engine::many_endings(LexId lex) {
    const LexKey& key = lexemes_[lex].key;
    const bool text = key.mode == LexMode::text;
    if (!text && key.mode != LexMode::body && key.mode != LexMode::quote) return false;
    if (text && !(lexemes_.row(lex).live[0] >> '1' & 1)) return false;  // not a number: marks and white space make no new values
    if (!text) {
        if (key.lang == Languages::anything || many_words_.find(key.lang) != FlatMap::none) return true;
        std::lock_guard lock(Languages::instance().mutex);
        if (Languages::instance().count(key.lang, 257) <= 256) return false;
        many_words_.insert(key.lang, 1);
        return true;
    }
    // One number has endless spellings: those that do not end in a zero are told apart by their values.
    if (std::uint32_t known = many_numbers_.find(key.lang); known != FlatMap::none) return known;
    std::lock_guard lock(Languages::instance().mutex);
    Languages& languages = Languages::instance();
    const LangId ends_in_zero = languages.concat(Languages::anything, languages.literal({'0'}));
    const bool many = languages.count(languages.intersection({key.lang, languages.complement(ends_in_zero)}), 257) > 256;
    many_numbers_.insert(key.lang, many);
    return many;
}

// Whether an item of a unique array ends so far in the exponent of a zero: whatever digits follow, it is zero. `power` is set to the `e`.
bool Engine::zero_with_exponent(std::uint32_t item, std::uint32_t& power) const {
    if (item <= TextTrie::root + 1 || item == foreign_text) return false;
    auto digit = [&](std::uint32_t node) { return node != TextTrie::root && texts_.byte(node) >= '0' && texts_.byte(node) <= '9'; };
    std::uint32_t node = item - 1;
    while (digit(node)) node = texts_.parent(node);
    if (node != TextTrie::root && (texts_.byte(node) == '+' || texts_.byte(node) == '-')) node = texts_.parent(node);
    if (node == TextTrie::root || (texts_.byte(node) | 0x20) != 'e') return false;
    power = node;
    node = texts_.parent(node);
    if (!digit(node)) return false;
    while (node != TextTrie::root && (texts_.byte(node) == '0' || texts_.byte(node) == '.')) node = texts_.parent(node);
    return !digit(node);
}

// Rules that have some value at all, and those that have more values than can have been read: least fixpoints over the program's nodes.
void Engine::find_plentiful_rules() {
    const Program& p = *program_;
    std::vector<bool> node_lives(p.nodes.size()), rule_lives(p.rules.size()), node_plenty(p.nodes.size());
    plentiful_rules_.assign(p.rules.size(), false);
    auto any = [](const Value& value, const std::vector<bool>& rules) { return std::any_of(value.begin(), value.end(), [&](const Alternative& a) { return rules[a.rule]; }); };
    auto lex_lives = [&](std::uint32_t i) { return p.lexemes[i] != dead_lex && lexemes_.min_bytes(p.lexemes[i]) != 0xffffffffu; };
    auto object_lives = [&](std::uint32_t i) {
        const auto& properties = p.objects[i].properties;
        return std::all_of(properties.begin(), properties.end(), [&](const Property& o) { return !o.required || any(o.value, rule_lives); }) && objects_.initial(i) != no_frame;
    };
    // Nothing but its own keys and values bounds the object, and some value of it has plenty.
    auto object_plenty = [&](std::uint32_t i) {
        const ObjectSpec& o = p.objects[i];
        return o.condition == no_condition && o.max_properties == no_limit &&
               std::any_of(o.properties.begin(), o.properties.end(), [&](const Property& q) { return any(q.value, plentiful_rules_); });
    };
    auto array_lives = [&](std::uint32_t i) {
        const ArraySpec& a = p.arrays[i];
        for (std::uint32_t k = 0; k < a.min_items; ++k) {
            if (!any(a.at(k), rule_lives)) return false;
            if (k >= a.prefix.size()) break;
        }
        return true;
    };
    // Each node is looked at again when something it is made of has changed; first come, first looked at, so that an object waits for its values.
    const Uses uses(p);
    std::deque<std::uint32_t> todo(p.nodes.size());
    std::iota(todo.rbegin(), todo.rend(), 0u);
    std::vector<bool> waits(p.nodes.size(), true);
    auto again = [&](std::span<const std::uint32_t> nodes) {
        for (std::uint32_t node : nodes)
            if (!waits[node]) waits[node] = true, todo.push_back(node);
    };
    while (!todo.empty()) {
        const std::uint32_t i = todo.front();
        todo.pop_front();
        waits[i] = false;
        const Node& n = p.nodes[i];
        bool lives = false, plenty = false;
        // A part and what follows it: both must live, one must have plenty.
        auto then = [&](bool part_lives, bool part_plenty, std::uint32_t next) {
            lives = part_lives && node_lives[next];
            plenty = lives && (part_plenty || node_plenty[next]);
        };
        switch (n.op) {
            case Op::ret: lives = true; break;
            case Op::fail: break;
            case Op::lex: then(lex_lives(n.a), many_endings(p.lexemes[n.a]), n.b); break;
            case Op::call: then(rule_lives[n.a], plentiful_rules_[n.a], n.b); break;
            case Op::budget: {
                const std::uint32_t rule = p.budget_at(i).rule;
                then(rule_lives[rule], plentiful_rules_[rule], n.b);
                break;
            }
            case Op::alt:
                for (std::uint32_t k = 0; k < n.b; ++k) lives = lives || node_lives[p.targets[n.a + k]], plenty = plenty || node_plenty[p.targets[n.a + k]];
                break;
            case Op::token: then(true, false, n.b); break;
            case Op::object: then(object_lives(n.a), object_plenty(n.a), n.b); break;
            case Op::array: then(array_lives(n.a), false, n.b); break;
            case Op::repeat: {
                const Repeat r = p.repeat_at(i);
                then(r.low == 0 || rule_lives[r.rule], false, n.b);
                break;
            }
        }
        if (lives <= node_lives[i] && plenty <= node_plenty[i]) continue;
        node_lives[i] = node_lives[i] || lives;
        node_plenty[i] = node_plenty[i] || plenty;
        again(uses.of_node[i]);
        for (std::uint32_t r : uses.rules_at[i]) {
            rule_lives[r] = node_lives[i];
            plentiful_rules_[r] = node_plenty[i];
            again(uses.of_rule[r]);
        }
    }
}

// Whether a member of many values may still come whose key and value are nothing to the object's condition.
bool Engine::object_grows(FrameId frame) {
    const ObjectSpec& spec = objects_.spec(frame);
    if (spec.max_properties != no_limit) return false;
    const auto found = objects_.available(frame);
    const auto properties = found.properties;
    const std::vector<bool> asked = conditions_.events(objects_[frame].condition);
    auto free = [&](std::uint32_t event) { return event >= asked.size() || !asked[event]; };
    return std::any_of(properties.begin(), properties.end(), [&](std::uint32_t p) {
        const Value& value = spec.properties[p].value;
        return free(p) && std::any_of(value.begin(), value.end(), [&](const Alternative& a) { return plentiful_rules_[a.rule] && std::all_of(a.events.begin(), a.events.end(), free); });
    });
}

// Whether the item being read can still become any of many values: an object it is in takes another member of many.
bool Engine::item_grows(StackId stack) {
    if (plentiful_rules_.empty()) find_plentiful_rules();
    std::vector<StackId> todo{stack};
    for (std::size_t n = 0; !todo.empty() && n < 64; ++n) {
        const StackId s = todo.back();
        todo.pop_back();
        for (const Item& i : stacks_[s].items) {
            if (i.kind() >= Resume::object_open && i.kind() <= Resume::object_next) {
                if (object_grows_.size() <= i.data) object_grows_.resize(i.data + 64, 2);
                if (object_grows_[i.data] == 2) object_grows_[i.data] = object_grows(i.data);
                if (object_grows_[i.data]) return true;
            }
            // Beyond an array whose items must differ from those it has, growing helps no more.
            if (i.kind() == Resume::array_after && arrays_.spec(i.data).unique && arrays_[i.data].seen) continue;
            if (i.kind() != Resume::accept) todo.push_back(i.parent);
        }
    }
    return false;
}

// Whether a string that is an item itself can still become one that its array has not read, and the array end after it.
bool Engine::new_string_left(const Thread& t) {
    const LexKey& key = lexemes_[t.lex].key;
    if (key.mode != LexMode::body || t.item <= TextTrie::root + 1 || t.item == foreign_text) return false;
    for (const Item& i : stacks_[t.stack].items) {
        if (i.kind() != Resume::array_after || !arrays_.spec(i.data).unique || stacks_[i.parent].uses_values) continue;
        const FrameId after = arrays_.with_item(i.data, i.low());
        const std::string begun = item_text(arrays_[i.data].start, t.item);
        if (after == no_frame || !arrays_.may_close(after) || begun.empty() || begun[0] != '"') continue;
        std::lock_guard lock(Languages::instance().mutex);
        const auto words = Languages::instance().words(key.lang, 256);
        if (!words) continue;
        for (const auto& word : *words) {
            std::string text = begun;
            for (CodePoint c : word) append_json_character(text, c);
            const std::uint32_t value = values_.id_of(text + '"');
            bool seen = false;
            arrays_.for_each_seen(i.data, [&](std::uint32_t known) { seen |= known == value; });
            if (!seen) return true;
        }
    }
    return false;
}

// Only where values have been read may a text run into a dead end, and then only where few texts are left to it.
bool Engine::surely_live(StateId id) {
    const State& s = states_[id];
    if (s.accepting || s.token_edges) return true;
    for (std::uint32_t i = 0; i < s.count; ++i) {
        const Thread& t = threads_[s.first + i];
        if (!stacks_[t.stack].uses_values) return true;
        std::uint32_t power;
        if (many_endings(t.lex) && !zero_with_exponent(t.item, power)) return true;
        if (item_grows(t.stack) || new_string_left(t)) return true;
    }
    return false;
}

// Whether some string being read can go on by a character that JSON spells by an escape only.
bool Engine::needs_escape(StateId id) {
    for (std::uint32_t i = 0; i < states_[id].count; ++i) {
        const LexId lex = threads_[states_[id].first + i].lex;
        if (lexemes_[lex].key.mode != LexMode::body) continue;
        const LexId escape = lexemes_.step(lex, '\\');
        if (escape == dead_lex) continue;
        for (char c : {'"', '\\', 'b', 'f', 'n', 'r', 't'})
            if (lexemes_.step(escape, static_cast<std::uint8_t>(c)) != dead_lex) return true;
        LexId control = escape;
        for (char c : {'u', '0', '0'}) control = lexemes_.step(control, static_cast<std::uint8_t>(c));
        if (lexemes_.step(control, '0') != dead_lex || lexemes_.step(control, '1') != dead_lex) return true;
    }
    return false;
}

// The state with items read so far stripped of zeros that end a fraction, and of what a zero's exponent is. Two states that are one then are alike to `explore`: what is left of a
// lexeme that is the same after more zeros can only be zeros, or it had endless endings.
StateId Engine::without_idle_zeros(StateId id) {
    std::vector<Thread> threads(threads_.begin() + states_[id].first, threads_.begin() + states_[id].first + states_[id].count);
    for (Thread& t : threads) {
        if (t.item <= TextTrie::root + 1 || t.item == foreign_text) continue;
        std::uint32_t end = t.item - 1;
        if (std::uint32_t power; zero_with_exponent(t.item, power)) {
            const std::uint8_t last = texts_.byte(end);
            if (end != power) t.item = texts_.insert(power, last == '+' || last == '-' ? '+' : '0') + 1;
            continue;
        }
        while (end != TextTrie::root && texts_.byte(end) == '0') end = texts_.parent(end);
        std::uint32_t point = end;
        auto is_digit = [&](std::uint32_t node) { return texts_.byte(node) >= '0' && texts_.byte(node) <= '9'; };
        while (point != TextTrie::root && is_digit(point)) point = texts_.parent(point);
        if (point == TextTrie::root || texts_.byte(point) != '.') continue;
        const std::uint32_t before = texts_.parent(point);
        if (before != TextTrie::root && is_digit(before) && end + 1 != t.item) t.item = texts_.insert(end, '0') + 1;  // one zero stays: 1. is no number
    }
    return intern_threads(threads, states_[id].accepting);
}

// Breadth first from a state with few texts left: true where one gets past the items already read, or the search is not exhausted. Other
// spellings of the same value, by white space or escapes, lead nowhere else and are left out.
bool Engine::explore(StateId start) {
    constexpr std::size_t most = 400;
    std::vector<StateId> order{start}, alike{without_idle_zeros(start)};
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i > 0 && surely_live(order[i])) return true;
        if (order.size() > most) return true;
        std::vector<std::uint8_t> bytes;
        bool other_than_space = false;
        for_each_candidate(order[i], [&](std::uint8_t b) {
            bytes.push_back(b);
            other_than_space |= b != ' ' && b != '\n' && b != '\t' && b != '\r';
        });
        if (other_than_space) std::erase_if(bytes, [](std::uint8_t b) { return b == ' ' || b == '\n' || b == '\t' || b == '\r'; });
        if (bytes.size() > 1 && !needs_escape(order[i])) std::erase(bytes, '\\');
        for (std::uint8_t b : bytes) {
            StateId to = compute_step(order[i], b);
            if (to == dead_state || std::find(order.begin(), order.end(), to) != order.end()) continue;
            const StateId value = without_idle_zeros(to);
            if (std::find(alike.begin(), alike.end(), value) != alike.end()) continue;
            alike.push_back(value);
            order.push_back(to);
        }
    }
    return false;
}

}  // namespace scansion
