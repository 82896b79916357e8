// Slices: what a vocabulary makes of a lexeme state. Built on demand, shared by all grammars, kept within a budget.
#include <algorithm>
#include <bit>

#include "vocabulary.h"

namespace scansion {

std::shared_ptr<const Slice> Vocabulary::cached(std::uint64_t key) {
    std::lock_guard lock(mutex_);
    const std::uint32_t at = slice_of_.find(key);
    if (at == FlatMap::none) return nullptr;
    slices_[at].used = ++looks_;
    return slices_[at].slice;
}

std::shared_ptr<const Slice> Vocabulary::keep(std::uint64_t key, std::shared_ptr<const Slice> built) {
    std::lock_guard lock(mutex_);
    if (const std::uint32_t at = slice_of_.find(key); at != FlatMap::none) return slices_[at].slice;
    slice_bytes_ += built->bytes();
    if (slice_bytes_ > slice_budget) drop_oldest();
    slice_of_.insert(key, static_cast<std::uint32_t>(slices_.size()));
    slices_.push_back({key, ++looks_, built});
    return built;
}

// Down to seven eighths of the budget, as sorting them takes longer than dropping one.
void Vocabulary::drop_oldest() {
    std::sort(slices_.begin(), slices_.end(), [](const Cached& a, const Cached& b) { return a.used > b.used; });
    while (slice_bytes_ > slice_budget / 8 * 7 && !slices_.empty()) {
        slice_bytes_ -= slices_.back().slice->bytes();
        slices_.pop_back();
    }
    slice_of_ = {};
    for (std::size_t i = 0; i < slices_.size(); ++i) slice_of_.insert(slices_[i].key, static_cast<std::uint32_t>(i));
}

std::shared_ptr<const Slice> Vocabulary::slice(std::uint32_t node, LexId lex) {
    const std::uint64_t key = (std::uint64_t{node} << 32) | lex;
    if (auto known = cached(key)) return known;
    if (node == 0)
        if (auto difference = known_difference(lex)) return keep(key, lacking(*slice(0, difference->base), std::move(*difference)));
    std::uint32_t low = 0, high = 0;
    const LexId free = node == 0 ? Lexemes::instance().without_bounds(lex, low, high) : lex;
    if (free == lex || (low <= 1 && high == unbounded)) return keep(key, build_slice(node, lex, no_measure));
    auto whole = measured_slice(free, high < near_length ? 0 : near_length);
    // No token can reach the bounds: the strings might as well be unbounded.
    if (low == 0 && (whole->by_length.empty() || whole->by_length.back().first <= high) &&
        whole->most <= high)
        return keep(key, whole);
    return keep(key, bounded_slice(*whole, low, high));
}

std::shared_ptr<const Slice> Vocabulary::measured_slice(LexId free, std::uint32_t from) {
    const std::uint64_t key = (std::uint64_t{measured + from} << 32) | free;
    if (auto known = cached(key)) return known;
    return keep(key, build_slice(0, free, from));
}

void Vocabulary::Gaps::add(std::uint32_t first, std::uint32_t last) {
    if (first == last) return;
    count += last - first;
    if (!runs.empty() && runs.back().second == first)
        runs.back().second = last;
    else
        runs.emplace_back(first, last);
}

// Tokens in the trie's order from `begin` to `end`, but for the gaps.
void Vocabulary::keep_stay(Slice& slice, std::uint32_t begin, std::uint32_t end, const Gaps& gaps, std::size_t limit) const {
    const auto& tokens = trie_.tokens;
    const std::size_t count = end - begin - gaps.count;
    auto for_each_kept = [&](auto visit) {
        std::uint32_t from = begin;
        for (auto [first, last] : gaps.runs) {
            visit(from, first);
            from = last;
        }
        visit(from, end);
    };
    if (count <= limit) {
        slice.stay.reserve(count);
        for_each_kept([&](std::uint32_t first, std::uint32_t last) { slice.stay.insert(slice.stay.end(), tokens.begin() + first, tokens.begin() + last); });
    } else if (count * 2 < tokens.size()) {
        slice.bits.assign(words(), 0);
        for_each_kept([&](std::uint32_t first, std::uint32_t last) {
            for (std::uint32_t i = first; i < last; ++i) slice.bits[tokens[i] / 32] |= 1u << (tokens[i] % 32);
        });
    } else {
        slice.bits = all_text_;
        auto clear = [&](std::uint32_t first, std::uint32_t last) {
            for (std::uint32_t i = first; i < last; ++i) slice.bits[tokens[i] / 32] &= ~(1u << (tokens[i] % 32));
        };
        clear(0, begin);
        for (auto [first, last] : gaps.runs) clear(first, last);
        clear(end, static_cast<std::uint32_t>(tokens.size()));
    }
}

void Vocabulary::keep_exits(Slice& slice, const std::vector<std::uint32_t>& nodes) {
    std::vector<std::uint32_t> small;
    for (std::uint32_t n : nodes) (trie_.nodes[n].end - n > exit_limit ? slice.exits : small).push_back(n);
    slice.remainders = remainders_below(std::move(small));
}

std::shared_ptr<const Trie> Vocabulary::remainders_below(std::vector<std::uint32_t> nodes) {
    std::uint64_t hash = nodes.size();
    for (std::uint32_t n : nodes) hash = combine(hash, n);
    auto same = [&](std::uint32_t i) { return remainders_[i].nodes == nodes; };
    {
        std::lock_guard lock(mutex_);
        if (std::uint32_t known = remainder_table_.find(hash, same); known != IndexTable::none) return remainders_[known].trie;
    }
    auto trie = std::make_shared<const Trie>(merge_subtries(trie_, nodes));
    std::lock_guard lock(mutex_);
    if (std::uint32_t known = remainder_table_.find(hash, same); known != IndexTable::none) return remainders_[known].trie;
    if (remainder_bytes_ > remainder_budget) {
        remainders_.clear();
        remainder_table_.clear();
        remainder_bytes_ = 0;
    }
    remainder_bytes_ += trie->bytes() + nodes.capacity() * 4 + sizeof(Trie) + sizeof(Remainders);
    remainder_table_.insert(hash, static_cast<std::uint32_t>(remainders_.size()));
    remainders_.push_back({std::move(nodes), std::move(trie)});
    return remainders_.back().trie;
}

namespace {
// What a walk over the vocabulary must know of a lexeme state, looked up once; states and their steps are numbered as they are met.
struct WalkedState {
    LexId lex;
    const LexRow* row;
    std::uint64_t loops;       // kinds of bytes that lead back here
    std::uint32_t still;       // characters a string must still get, where that is measured
    bool closed, accepts, in_body;
    const std::uint8_t* classes;  // of bytes, and where the steps of class 0 are
    std::uint32_t next;
    std::uint32_t rounds;         // of the counter, where they are counted
    std::uint32_t onward;         // the state to which most bytes lead, once it was asked for
    std::uint64_t alike;          // kinds of bytes that all lead there
};
class WalkedStates {
  public:
    static constexpr std::uint32_t dead = 0xffffffffu, unknown = 0xfffffffeu;
    explicit WalkedStates(bool measured, const Rounds* rounds) : measured_(measured), rounds_(rounds) { states_.reserve(64), steps_.reserve(1024); }
    std::uint32_t number(LexId lex) {
        for (std::size_t i = states_.size(); i-- > 0 && i + near > states_.size();)
            if (states_[i].lex == lex) return static_cast<std::uint32_t>(i);
        if (states_.size() > near) {
            for (; indexed_ < states_.size(); ++indexed_) index_.insert(states_[indexed_].lex, static_cast<std::uint32_t>(indexed_));
            if (std::uint32_t known = index_.find(lex); known != FlatMap::none) return known;
        }
        const LexRow& row = lexemes_.row(lex);
        const LexState& state = lexemes_[lex];
        const std::uint32_t still = measured_ ? lexemes_.min_characters(lex) : 0;
        farthest = std::max(farthest, still);
        const std::uint32_t rounds = rounds_ ? lexemes_.rounds(lex, rounds_->body, rounds_->from).value_or(Rounds::unknown) : 0;
        states_.push_back({lex, &row, lexemes_.looping_kinds(lex), still, state.key.mode == LexMode::end, state.accepting, state.key.mode == LexMode::body,
                           row.map->cls.data(), static_cast<std::uint32_t>(steps_.size()), rounds, unknown, 0});
        for (LexId to : row.targets) steps_.push_back(to == dead_lex ? dead : unknown);
        return static_cast<std::uint32_t>(states_.size() - 1);
    }
    // `slot`: the state's `next` and the byte's class.
    std::uint32_t step(std::uint32_t state, std::uint32_t slot, std::uint8_t byte) {
        if (steps_[slot] != unknown) return steps_[slot];
        const std::uint32_t to = number(states_[state].row->step(byte));
        return steps_[slot] = to;
    }
    const WalkedState& operator[](std::uint32_t i) const { return states_[i]; }
    // Whether any `depth` bytes of these kinds stay inside the lexeme: a class of characters, and it may be counted.
    bool stays(std::uint32_t state, std::uint64_t kinds, std::uint32_t depth) {
        if (kinds >> first_wide_bit) return false;
        for (; depth > 0; --depth) {
            if (states_[state].onward == unknown) find_onward(state);
            const WalkedState& s = states_[state];
            if (kinds & ~s.alike || states_[s.onward].closed) return false;
            if (s.onward == state) return true;
            state = s.onward;
        }
        return true;
    }
    std::uint32_t farthest = 0;

  private:
    static constexpr std::size_t near = 16;
    void find_onward(std::uint32_t state) {
        const LexRow& row = *states_[state].row;
        std::vector<std::uint32_t> bytes(row.targets.size(), 0);
        for (std::uint32_t b = 0; b < 0x80; ++b) ++bytes[row.map->cls[b]];
        std::size_t most = 0;
        for (std::size_t c = 1; c < bytes.size(); ++c)
            if (row.targets[most] == dead_lex || (row.targets[c] != dead_lex && bytes[c] > bytes[most])) most = c;
        if (row.targets[most] == dead_lex) {
            states_[state].onward = state;  // and of no kind
            return;
        }
        std::uint64_t broken = 0;
        for (std::uint32_t b = 0; b < 0x80; ++b)
            if (row.map->cls[b] != most) broken |= byte_kind[b];
        const std::uint32_t to = number(row.targets[most]);
        states_[state].onward = to;
        states_[state].alike = ((std::uint64_t{1} << first_wide_bit) - 1) & ~broken;
    }
    Lexemes& lexemes_ = Lexemes::instance();
    bool measured_;
    const Rounds* rounds_;
    std::vector<WalkedState> states_;
    std::vector<std::uint32_t> steps_;
    FlatMap index_;
    std::size_t indexed_ = 0;
};
}  // namespace

std::unique_ptr<Slice> Vocabulary::build_slice(std::uint32_t node, LexId lex, std::uint32_t from, Wanted wanted) {
    const bool measure = from != no_measure;
    Rounds* const rounds = wanted.rounds;
    auto slice = std::make_unique<Slice>();
    WalkedStates states(measure || wanted.far, rounds);
    std::vector<std::uint32_t> exits;
    Slice::Ends ends;
    Gaps gaps;  // most of what is walked stays in: what does not is fewer to write down
    gaps.runs.reserve(1024);
    if (measure && from == 0) slice->by_length.reserve(trie_.tokens.size());
    slice->measured_from = measure ? from : 0;
    auto measure_token = [&](std::uint32_t length, std::uint32_t id) {
        if (length >= from) slice->by_length.emplace_back(length, id);
    };
    struct Level {
        const Branch *at, *end;
        std::uint32_t state, next;
        const std::uint8_t* classes;
        std::uint64_t loops;       // kinds of bytes that lead back to the state
        std::uint32_t characters;  // begun so far; an escape is begun by its backslash
        std::uint32_t sequences;   // UTF-8 sequences begun so far: the same but for escapes
        std::uint32_t rounds = 0;
    };
    auto level = [&](std::uint32_t children, std::uint32_t count, std::uint32_t state, std::uint32_t characters, std::uint32_t sequences) {
        const Branch* at = branches_.data() + children;
        const WalkedState& s = states[state];
        return Level{at, at + count, state, s.next, s.classes, s.loops, characters, sequences};
    };
    auto node_of = [&](const Branch& b) { return trie_.child_nodes[static_cast<std::size_t>(&b - branches_.data())]; };
    // Tokens from `first` on at or below a node, all of which stay in the state that has been reached with so many characters.
    auto measure_whole = [&](std::uint32_t n, std::uint32_t first, std::uint32_t characters, std::uint32_t sequences, std::uint32_t still) {
        if (from > 0 && characters + most_below_[n] + 1 + still < from) return;
        for (std::uint32_t i = first, last = trie_.nodes[trie_.nodes[n].end].first_token; i < last; ++i) measure_token(characters + (characters_[trie_.tokens[i]] - sequences) + still, trie_.tokens[i]);
    };
    // Tokens from `first` on at or below a node, all of which stay in a state that is met after so many rounds.
    auto count_rounds = [&](std::uint32_t n, std::uint32_t first, std::uint32_t made) {
        if (made < 2) return;
        for (std::uint32_t i = first, last = trie_.nodes[trie_.nodes[n].end].first_token; i < last; ++i) rounds->add(rounds->tokens, made, trie_.tokens[i]);
    };
    auto leave = [&](const Branch& b) { (b.kinds & ~digit_kinds ? exits : slice->digit_exits).push_back(node_of(b)); };
    std::vector<Level> path;
    path.reserve(longest_ + 2);
    const std::uint32_t first_child = trie_.first_child[node];
    Level here = level(first_child, trie_.first_child[node + 1] - first_child, states.number(lex), 0, 0);
    while (true) {
        while (here.at == here.end && !path.empty()) here = path.back(), path.pop_back();
        if (here.at == here.end) break;
        const Branch& b = *here.at++;
        if (!((b.kinds | byte_kind[b.byte]) & ~here.loops)) {
            if (measure) measure_whole(node_of(b), trie_.nodes[node_of(b)].first_token, here.characters, here.sequences, states[here.state].still);
            if (rounds) count_rounds(node_of(b), trie_.nodes[node_of(b)].first_token, here.rounds);
            continue;
        }
        const std::uint32_t to = states.step(here.state, here.next + here.classes[b.byte], b.byte);
        if (to == WalkedStates::dead) {
            const TrieNode& t = trie_.nodes[node_of(b)];
            gaps.add(t.first_token, trie_.nodes[t.end].first_token);
            continue;
        }
        const WalkedState& s = states[to];
        const std::uint32_t characters = here.characters + (measure && !s.closed && states[here.state].in_body);
        const std::uint32_t made = std::max(here.rounds, s.rounds);
        const std::uint32_t sequences = here.sequences + ((b.byte & 0xc0) != 0x80);
        if (rounds && s.closed)
            rounds->add(rounds->ends, here.rounds, static_cast<std::uint32_t>(ends.size()));
        else if (rounds)
            for (std::uint32_t i = 0, id = trie_.nodes[node_of(b)].first_token; i < trie_.nodes[node_of(b)].token_count; ++i) rounds->add(rounds->tokens, made, trie_.tokens[id + i]);
        if (s.closed) ends.push_back({node_of(b), static_cast<std::uint32_t>(path.size()) + 1, characters});
        if (measure && !s.closed) {
            const TrieNode& t = trie_.nodes[node_of(b)];
            for (std::uint32_t i = 0; i < t.token_count; ++i) measure_token(characters + s.still, trie_.tokens[t.first_token + i]);
        }
        if (b.child_count == 0) continue;
        // Every byte below leads back here, or on among characters of one class: the subtree is taken whole, and no token of it need leave the lexeme.
        const bool loops = s.loops && !(b.kinds & ~s.loops), accepts = s.accepts, last = s.row->live_bytes == 0;  // `stays` may move the states
        if (loops && measure) measure_whole(node_of(b), trie_.nodes[node_of(b)].first_token + trie_.nodes[node_of(b)].token_count, characters, sequences, s.still);
        if (loops && rounds) count_rounds(node_of(b), trie_.nodes[node_of(b)].first_token + trie_.nodes[node_of(b)].token_count, made);
        if (loops || (!measure && !rounds && b.child_count > 1 && states.stays(to, b.kinds, most_below_[node_of(b)]))) continue;
        if (accepts) leave(b);
        if (last) {
            const TrieNode& t = trie_.nodes[node_of(b)];
            gaps.add(t.first_token + t.token_count, trie_.nodes[t.end].first_token);
            continue;
        }
        path.push_back(here);
        here = level(b.children, b.child_count, to, characters, sequences);
        here.rounds = made;
    }
    const TrieNode& root = trie_.nodes[node];
    keep_stay(*slice, root.first_token + root.token_count, trie_.nodes[root.end].first_token, gaps, node ? dense_limit : Lexemes::instance().common(lex) ? 0 : base_limit);
    keep_exits(*slice, exits);
    if (!ends.empty()) {
        const auto [fewest, most] = std::minmax_element(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.characters < b.characters; });
        slice->fewest = fewest->characters;
        slice->most = most->characters;
        slice->ends = std::make_shared<const Slice::Ends>(std::move(ends));
    }
    if (wanted.far) *wanted.far = states.farthest;
    if (rounds)
        for (Rounds::List* list : {&rounds->tokens, &rounds->ends})
            std::stable_sort(list->begin(), list->end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    if (measure) {  // counting sort: lengths are small, tokens many
        std::uint32_t most = 0;
        for (const auto& [length, id] : slice->by_length) most = std::max(most, length);
        std::vector<std::uint32_t> place(most + 2, 0);
        for (const auto& [length, id] : slice->by_length) ++place[length + 1];
        for (std::size_t i = 1; i < place.size(); ++i) place[i] += place[i - 1];
        std::vector<std::pair<std::uint32_t, std::uint32_t>> sorted(slice->by_length.size());
        for (const auto& entry : slice->by_length) sorted[place[entry.first]++] = entry;
        slice->by_length = std::move(sorted);
    }
    return slice;
}

// Of the measured slice of a string without bounds, what strings of `low` to `high` characters leave.
std::unique_ptr<Slice> Vocabulary::bounded_slice(const Slice& free, std::uint32_t low, std::uint32_t high) {
    auto last = std::upper_bound(free.by_length.begin(), free.by_length.end(), std::pair{high, 0u}, [](const auto& a, const auto& b) { return a.first < b.first; });
    auto within = [&](const Slice::End& e) { return e.characters >= low && e.characters <= high; };
    const bool most = !free.bits.empty() && static_cast<std::size_t>(last - free.by_length.begin()) * 2 > free.by_length.size();
    if (free.measured_from > 0 || most) {
        Difference lacks;
        for (auto it = last; it != free.by_length.end(); ++it) lacks.tokens.push_back(it->second);
        if (free.fewest < low || free.most > high)
            for (const Slice::End& e : *free.ends)
                if (!within(e)) lacks.ends.push_back(e.node);
        return lacking(free, std::move(lacks));
    }
    auto out = std::make_unique<Slice>();
    Slice::Ends ends;
    std::vector<std::uint32_t> exits;
    std::copy_if(free.ends->begin(), free.ends->end(), std::back_inserter(ends), within);
    std::size_t count = static_cast<std::size_t>(last - free.by_length.begin());
    for (const Slice::End& e : ends) {
        exits.push_back(e.node);
        count += trie_.nodes[e.node].token_count;
    }
    if (count > base_limit) out->bits.assign(words(), 0);
    auto set = [&](std::uint32_t id) {
        if (count > base_limit)
            out->bits[id / 32] |= 1u << (id % 32);
        else
            out->stay.push_back(id);
    };
    for (auto it = free.by_length.begin(); it != last; ++it) set(it->second);
    for (const Slice::End& e : ends)
        for (std::uint32_t i = 0; i < trie_.nodes[e.node].token_count; ++i) set(trie_.tokens[trie_.nodes[e.node].first_token + i]);
    out->ends = std::make_shared<const Slice::Ends>(std::move(ends));
    keep_exits(*out, exits);
    return out;
}

}  // namespace scansion
