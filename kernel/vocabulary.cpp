#include "vocabulary.h"

#include <algorithm>

namespace scansion {

Vocabulary::Vocabulary(std::vector<std::optional<std::string>> tokens, std::vector<std::uint32_t> eos, std::vector<std::uint32_t> special)
    : tokens_(std::move(tokens)), eos_(std::move(eos)) {
    kind_.assign(tokens_.size(), Kind::text);
    for (std::uint32_t id : special) {
        if (id >= size()) throw Malformed("special token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(size()));
        kind_[id] = Kind::special;
    }
    std::sort(eos_.begin(), eos_.end());
    eos_.erase(std::unique(eos_.begin(), eos_.end()), eos_.end());
    for (std::uint32_t id : eos_) {
        if (id >= size()) throw Malformed("end token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(size()));
        kind_[id] = Kind::eos;
    }
    std::vector<std::pair<std::string_view, std::uint32_t>> entries;
    entries.reserve(tokens_.size());
    for (std::uint32_t id = 0; id < size(); ++id) {
        if (kind_[id] != Kind::text) tokens_[id].reset();
        // An empty piece would let a model stand still for ever.
        if (!tokens_[id] || tokens_[id]->empty()) {
            tokens_[id].reset();
            if (kind_[id] == Kind::text) kind_[id] = Kind::none;
            continue;
        }
        entries.emplace_back(*tokens_[id], id);
        longest_ = std::max(longest_, static_cast<std::uint32_t>(tokens_[id]->size()));
    }
    std::sort(entries.begin(), entries.end());
    trie_ = build_trie(entries);
    for (std::uint32_t c = 1; c < trie_.size(); c = trie_.nodes[c].end) root_children_[trie_.nodes[c].byte] = c;
}

std::shared_ptr<const Slice> Vocabulary::slice(std::uint32_t node, LexId lex) {
    std::uint64_t key = (std::uint64_t{node} << 32) | lex;
    {
        std::lock_guard lock(mutex_);
        if (auto it = slices_.find(key); it != slices_.end()) {
            if (it->second.use != recent_.begin()) recent_.splice(recent_.begin(), recent_, it->second.use);
            return it->second.slice;
        }
    }
    std::shared_ptr<const Slice> built = build_slice(node, lex);
    std::lock_guard lock(mutex_);
    if (auto it = slices_.find(key); it != slices_.end()) return it->second.slice;
    recent_.push_front(key);
    slices_[key] = {built, recent_.begin()};
    slice_bytes_ += built->bytes();
    while (slice_bytes_ > slice_budget && recent_.size() > 1) {
        auto old = slices_.find(recent_.back());
        slice_bytes_ -= old->second.slice->bytes();
        slices_.erase(old);
        recent_.pop_back();
    }
    return built;
}

std::unique_ptr<Slice> Vocabulary::build_slice(std::uint32_t node, LexId lex) const {
    auto slice = std::make_unique<Slice>();
    Lexemes& lexemes = Lexemes::instance();
    std::vector<std::uint32_t> stay;
    std::vector<std::uint32_t> small_exits;
    struct Level {
        std::uint32_t end;
        const LexRow* row;
    };
    std::vector<Level> path{{trie_.nodes[node].end, &lexemes.row(lex)}};
    for (std::uint32_t n = node + 1; n < trie_.nodes[node].end;) {
        while (path.back().end <= n) path.pop_back();
        const TrieNode& t = trie_.nodes[n];
        LexId to = path.back().row->step(t.byte);
        if (to == dead_lex) {
            n = t.end;
            continue;
        }
        for (std::uint32_t i = 0; i < t.token_count; ++i) stay.push_back(trie_.tokens[t.first_token + i]);
        if (lexemes[to].key.mode == LexMode::end) slice->ends.push_back({n, static_cast<std::uint32_t>(path.size())});
        if (t.end == n + 1) {
            ++n;
            continue;
        }
        if (lexemes.accepting(to)) (t.end - n > exit_limit ? slice->exits : small_exits).push_back(n);
        const LexRow& row = lexemes.row(to);
        if (row.live_bytes == 0) {
            n = t.end;
            continue;
        }
        path.push_back({t.end, &row});
        ++n;
    }
    if (stay.size() > dense_limit) {
        slice->bits.assign(words(), 0);
        for (std::uint32_t id : stay) slice->bits[id / 32] |= 1u << (id % 32);
    } else {
        slice->stay = std::move(stay);
        slice->stay.shrink_to_fit();
    }
    slice->remainders = merge_subtries(trie_, small_exits);
    return slice;
}

}  // namespace scansion
