// Folding: one state for all that no single token tells apart.
#include <algorithm>
#include <bit>

#include "engine.h"

namespace scansion {

// ---- what an object's item leads to -----------------------------------------------------------------------------

namespace {
enum Tag : std::uint32_t { exact, members, value, keys, group, next_members, text };  // what a description is of
constexpr std::uint32_t nothing = 0xffffffffu, no_description = 0xfffffffeu;
constexpr std::uint32_t key_limit = 32;  // keys that may still be read, where they are described one by one
constexpr std::uint32_t few_keys = 3;     // the same, where they are not described at all
}  // namespace

// Separators as JSON has them: white space about one comma or one colon, so that `KeyTails` speaks of them.
Engine::Separators Engine::find_separators() {
    Separators found;
    auto space = [](std::uint32_t b) { return b == ' ' || b == '\t' || b == '\n' || b == '\r'; };
    auto explore = [&](LexId start, std::uint8_t mark, std::vector<LexId>& before) {
        std::vector<std::pair<LexId, bool>> todo{{start, false}};  // and whether the mark has been read
        for (std::size_t i = 0; i < todo.size(); ++i) {
            const auto [lex, read] = todo[i];
            if (todo.size() > 64 || (!read && lexemes_.accepting(lex))) return false;
            if (!read) before.push_back(lex);
            const LexRow& row = lexemes_.row(lex);
            for (std::uint32_t w = 0; w < 4; ++w)
                for (std::uint64_t bits = row.live[w]; bits; bits &= bits - 1) {
                    const std::uint32_t b = w * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
                    if (!space(b) && b != mark) return false;
                    const std::pair<LexId, bool> next{row.step(static_cast<std::uint8_t>(b)), read || b == mark};
                    if (std::find(todo.begin(), todo.end(), next) == todo.end()) todo.push_back(next);
                }
        }
        return true;
    };
    std::vector<LexId> before_colon;
    found.plain = program_->canonical_keys && explore(program_->punctuation.comma, ',', found.before_comma) && explore(program_->punctuation.colon, ':', before_colon);
    return found;
}

bool Engine::before_comma(LexId lex) const {
    const auto& before = separators_.before_comma;
    return std::find(before.begin(), before.end(), lex) != before.end();
}

// What no token shows of an object's declared keys.
const Engine::Unseen& Engine::unseen(std::uint32_t spec, const KeyTails& tails) {
    Unseen& u = unseen_[spec];
    if (u.known) return u;
    u.known = true;
    u.behind_comma = u.behind_space = u.whole = separators_.plain && tails.known;
    for (const Property& p : program_->objects[spec].properties) {
        const std::string& spelled = lexemes_.key_spelling(p.key);
        auto goes_on = [&](const std::string& tail) {
            if (tail[1] != spelled[1]) return false;  // both are more than a quote
            const std::size_t n = std::min(spelled.size(), tail.size());
            return spelled.compare(0, n, tail, 0, n) == 0;
        };
        if (std::any_of(tails.texts.begin(), tails.texts.end(), goes_on)) u.behind_comma = false;
        if (std::any_of(tails.after_space.begin(), tails.after_space.end(), goes_on)) u.behind_space = false;
        if (std::binary_search(tails.whole.begin(), tails.whole.end(), lexemes_.key_text(p.key))) u.whole = false;
    }
    return u;
}

// `leaves`: a token may go on to what follows the object.
std::uint32_t Engine::described(std::span<const std::uint32_t> description, bool leaves) {
    std::uint64_t h = description.size();
    for (std::uint32_t d : description) h = combine(h, d);
    std::uint32_t id = description_table_.find(h, [&](std::uint32_t d) { return std::ranges::equal(descriptions_[d], description); });
    if (id != IndexTable::none) return id;
    id = static_cast<std::uint32_t>(descriptions_.size());
    descriptions_.push_back(description_lists_.keep(description));
    leaves_.push_back(leaves);
    description_table_.insert(h, id);
    return id;
}

bool Engine::leaves(std::uint32_t what) const { return what != nothing && leaves_[what]; }

// What may follow in an object between two members.
std::uint32_t Engine::members_from(FrameId frame, const TokenView& tokens) {
    const auto found = objects_.available(frame);
    const auto properties = found.properties, groups = found.groups;
    const std::uint32_t spec = objects_[frame].spec;
    if (!unseen(spec, tokens.tails).behind_comma || (!groups.empty() && tokens.tails.closed)) return described({exact, frame}, true);
    const bool closes = objects_.may_close(frame);
    std::vector<std::uint32_t> what{members, closes, !properties.empty()};
    if (!groups.empty()) {
        what.push_back(spec);
        what.insert(what.end(), groups.begin(), groups.end());
    }
    return described(what, closes);
}

// What follows the pending value, where it matched its alternative `k`.
std::uint32_t Engine::after_value(FrameId frame, std::uint32_t k, const TokenView& tokens) {
    const std::uint64_t slot = std::uint64_t{frame} << 32 | k;
    if (std::uint32_t known = after_values_.find(slot); known != FlatMap::none) return known == no_description ? nothing : known;
    const FrameId after = objects_.with_value(frame, k);
    const std::uint32_t what = after == no_frame ? no_description : members_from(objects_.fold(after, tokens.longest), tokens);
    after_values_.insert(slot, what);
    return what == no_description ? nothing : what;
}

// The value of the member whose key has been read, and what follows it.
std::uint32_t Engine::value_from(FrameId frame, StackId parent, const TokenView& tokens) {
    if (frame == no_frame) return nothing;
    const StackId stack = stack_of({point_of(Resume::object_value), objects_.fold(frame, tokens.longest), parent});
    if (std::uint32_t known = values_from_.find(stack); known != FlatMap::none) return known;
    bool far = false;
    for (std::uint32_t k = 0; k < objects_.pending_value(frame).size() && !far; ++k) far = leaves(after_value(frame, k, tokens));
    const std::uint32_t id = described({value, fold(after(stack), tokens)}, far);
    values_from_.insert(stack, id);
    return id;
}

// The next key, once the comma has been read and before its quote. Where an object takes any key, what it declares makes no difference as
// long as no token holds a whole key.
std::uint32_t Engine::next_members_from(FrameId frame, StackId parent, const TokenView& tokens) {
    const std::uint32_t spec = objects_[frame].spec;
    const auto found = objects_.available(frame);
    const auto properties = found.properties, groups = found.groups;
    if (groups.empty()) return unseen(spec, tokens.tails).behind_space ? described({next_members, !properties.empty()}, false) : nothing;
    if (!unseen(spec, tokens.tails).whole) return nothing;
    std::vector<std::uint32_t> what{next_members, spec};
    bool any = false, far = false;
    for (std::uint32_t g : groups) {
        any |= lexemes_[program_->objects[spec].groups[g].lexeme].key.lang == Languages::anything;
        what.push_back(g);
        what.push_back(value_from(objects_.with_group(frame, g, unknown_text), parent, tokens));
        far |= leaves(what.back());
    }
    return any ? described(what, far) : nothing;
}

// The first item met that no token tells apart from this one, its lexeme being `lex`.
Item Engine::fold_object_item(Item item, LexId lex, const TokenView& tokens) {
    item.data = objects_.fold(item.data, tokens.longest);
    const std::uint32_t spec = objects_[item.data].spec;
    if (stacks_[item.parent].records) return item;
    std::uint32_t what = nothing;
    switch (item.kind()) {
        case Resume::object_after: what = after_value(item.data, item.low(), tokens); break;
        case Resume::object_value: what = value_from(item.data, item.parent, tokens); break;
        case Resume::object_next: {
            if (!unseen(spec, tokens.tails).behind_comma) return item;
            what = before_comma(lex) ? members_from(item.data, tokens) : next_members_from(item.data, item.parent, tokens);
            break;
        }
        case Resume::object_group: {
            const std::uint32_t from = value_from(objects_.with_group(item.data, item.low(), unknown_text), item.parent, tokens);
            what = described({group, spec, item.low(), from}, leaves(from));
            break;
        }
        default: return item;
    }
    return what == nothing ? item : first_item(item, what);
}

Item Engine::first_item(const Item& item, std::uint32_t what) {
    const std::uint64_t slot = std::uint64_t{static_cast<std::uint32_t>(item.kind())} << 32 | what;
    std::uint32_t at = first_of_.find(slot);
    if (at == FlatMap::none) {
        at = static_cast<std::uint32_t>(first_items_.size());
        first_items_.push_back(item);
        first_of_.insert(slot, at);
    }
    Item first = first_items_[at];
    if (leaves_[what] || stacks_[item.parent].uses_values || stacks_[first.parent].uses_values) first.parent = item.parent;
    return first;
}

std::uint32_t Engine::first_told(std::uint32_t what, std::uint32_t one) {
    const std::uint64_t slot = std::uint64_t{static_cast<std::uint32_t>(Resume::accept)} << 32 | what;
    if (std::uint32_t known = first_of_.find(slot); known != FlatMap::none) return known;
    first_of_.insert(slot, one);
    return one;
}

// Declared keys being read: what tokens see of each, and where one can end it, what follows.
void Engine::fold_key(Thread& t, const TokenView& tokens) {
    const KeyCursor at = lexemes_.cursor(t.lex);
    Item item = stacks_[t.stack].items[0];
    if (at.count > key_limit || stacks_[item.parent].records) return;
    item.data = objects_.fold(item.data, tokens.longest);
    const ObjectSpec& spec = objects_.spec(item.data);
    std::vector<std::pair<Seen, std::uint32_t>> parts;
    parts.reserve(at.count);
    bool far = false;
    for (std::uint32_t i = 0; i < at.count; ++i) {
        const std::string_view left = std::string_view(lexemes_.key_spelling(at.keys[i])).substr(at.depth);
        const Seen seen = tokens.seen(left);
        std::uint32_t from = nothing;
        if (seen.bytes == left.size()) {
            auto property = spec.index_of_key.find(at.keys[i]);
            if (property == spec.index_of_key.end()) return;
            from = value_from(objects_.with_property(item.data, property->second), item.parent, tokens);
            far |= leaves(from);
        }
        parts.emplace_back(seen, from);
    }
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first.node < b.first.node; });
    std::vector<std::uint32_t> what;
    what.reserve(1 + 2 * parts.size());
    what.push_back(keys);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        // A way into the vocabulary that another key goes as well adds nothing.
        if (parts[i].second == nothing && i + 1 < parts.size() && parts[i + 1].first.node < parts[i].first.end) continue;
        what.push_back(parts[i].first.node);
        what.push_back(parts[i].second);
    }
    const std::uint32_t id = described(what, far);
    t.stack = stack_of(first_item(item, id));
    t.lex = first_told(id, t.lex);
}

// ---- stacks and states ------------------------------------------------------------------------------------------

Item Engine::fold_item(Item item, LexId lex, const TokenView& tokens) {
    switch (item.kind()) {
        case Resume::accept:
        case Resume::node: return item;
        case Resume::budget:
        case Resume::budget_begun:
        case Resume::budget_until: return {point_of(Resume::budget, item.low()), 0, item.parent};  // nothing ends within a token
        case Resume::repeat: {
            const Repeat r = program_->repeat_at(item.low());
            item.data = fold_count(item.data, 1, r.low, r.high, tokens.longest);
            return item;
        }
        case Resume::array_open:
        case Resume::array_after:
        case Resume::array_next: item.data = arrays_.fold(item.data, tokens.longest); return item;
        default: return fold_object_item(item, lex, tokens);
    }
}

// Of a stack below the one a thread goes on with.
StackId Engine::fold_stack(StackId root, const TokenView& tokens) {
    return from_outside(root, [&](StackId s) { return stacks_[s].folded; }, [&](StackId id) {
        const StackId folded = rewritten(id, [&](Item i) {
            i.parent = stacks_[i.parent].folded;
            return fold_item(i, dead_lex, tokens);
        });
        stacks_[id].folded = folded;
        stacks_[folded].folded = folded;
    });
}

StackId Engine::fold_top(StackId stack, LexId lex, const TokenView& tokens) {
    if (unseen_.size() < program_->objects.size()) {
        separators_ = find_separators();
        unseen_.resize(program_->objects.size());
    }
    StackId& known = stacks_[stack].folded_top[before_comma(lex)];
    if (known != unknown_state) return known;
    return known = rewritten(stack, [&](Item i) {
        i.parent = fold_stack(i.parent, tokens);
        return fold_item(i, lex, tokens);
    });
}

bool Engine::reads_keys(const Thread& t) const {
    if (t.is_token() || t.text || t.item || !lexemes_.in_keys(t.lex) || lexemes_.accepting(t.lex)) return false;
    return stacks_[t.stack].items.size() == 1 && stacks_[t.stack].items[0].kind() == Resume::object_key;
}

bool Engine::reads_few_keys(StateId id) const {
    const State& s = states_[id];
    if (s.count != 1 || s.accepting) return false;
    const Thread& t = threads_[s.first];
    if (!reads_keys(t)) return false;
    const KeyCursor at = lexemes_.cursor(t.lex);
    return at.depth > 0 && at.count <= few_keys;
}

// Where any key may come, a declared one being read matters to tokens that end it alone.
void Engine::fold_keys(std::vector<Thread>& threads, const TokenView& tokens) {
    for (std::size_t g = 0; g < threads.size(); ++g) {
        const Thread any = threads[g];
        if (!any.text || any.text == foreign_text || any.item || stacks_[any.stack].items.size() != 1) continue;
        const Item item = stacks_[any.stack].items[0];
        const LexKey& lex = lexemes_[any.lex].key;
        if (item.kind() != Resume::object_group || lex.lang != Languages::anything || (lex.mode != LexMode::body && lex.mode != LexMode::quote)) continue;
        if (begins_declared(any.text - 1)) {
            const std::string begun = (lex.mode == LexMode::body ? "\"" : "") + texts_.text(any.text - 1);
            std::size_t out = 0;
            for (Thread t : threads) {
                if (reads_keys(t) && spec_of(stacks_[t.stack].items[0]) == spec_of(item)) {
                    const KeyCursor at = lexemes_.cursor(t.lex);
                    if (std::string_view(lexemes_.key_spelling(at.keys[0])).substr(0, at.depth) == begun) {
                        std::vector<std::uint32_t> ending;
                        for (std::uint32_t i = 0; i < at.count; ++i)
                            if (const std::string_view left = std::string_view(lexemes_.key_spelling(at.keys[i])).substr(at.depth); tokens.seen(left).bytes == left.size()) ending.push_back(at.keys[i]);
                        if (ending.empty()) continue;
                        if (ending.size() < at.count) {
                            t.lex = lexemes_.key_set(ending);
                            for (char c : begun) t.lex = lexemes_.step(t.lex, static_cast<std::uint8_t>(c));
                        }
                    }
                }
                threads[out++] = t;
            }
            threads.resize(out);
        }
        // Of the text, only where a token would end a declared key.
        std::vector<std::uint32_t> what{text, spec_of(item), any.lex};
        for (auto [node, declared] : tokens.declared_ends(any, item)) what.push_back(node);
        const std::uint32_t first = what.size() == 3 ? foreign_text : first_told(described(what, false), any.text);
        for (Thread& t : threads)
            if (t == any) t.text = first;
    }
}

StateId Engine::fold(StateId id, const TokenView& tokens) {
    if (id < folded_.size() && folded_[id] != unknown_state) return folded_[id];
    std::vector<Thread> threads = std::move(folding_);
    threads.assign(threads_.begin() + states_[id].first, threads_.begin() + states_[id].first + states_[id].count);
    fold_keys(threads, tokens);
    for (Thread& t : threads) {
        if (t.text && t.text != foreign_text) {
            const auto& items = stacks_[t.stack].items;
            // A declared key is known by its text; other keys can be told apart by nothing but what is used.
            if (!begins_declared(t.text - 1) && std::all_of(items.begin(), items.end(), [](const Item& i) { return i.kind() == Resume::object_group; })) t.text = foreign_text;
        }
        const bool declared = reads_keys(t);
        t.stack = fold_top(t.stack, t.lex, tokens);
        if (declared) fold_key(t, tokens);
        // The words of a key or an item that is told by its text must stay the same.
        if (!t.is_token()) t.lex = t.item || (t.text && t.text != foreign_text) ? lexemes_.fold_lengths(t.lex, tokens.longest) : tokens.share(t.lex);
        if (t.item > TextTrie::root + 1) t.item = foreign_text;
    }
    const StateId folded = intern_threads(threads, states_[id].accepting);
    folding_ = std::move(threads);
    if (folded_.size() < states_.size()) folded_.resize(states_.size() + states_.size() / 2, unknown_state);
    folded_[folded] = folded;
    return folded_[id] = folded;
}

}  // namespace scansion
