#include "vocabulary.h"

#include <algorithm>
#include <cstring>

namespace scansion {

Vocabulary::Vocabulary(std::vector<std::optional<std::string>> tokens, std::vector<std::uint32_t> eos, std::vector<std::uint32_t> special)
    : tokens_(std::move(tokens)), eos_(std::move(eos)) {
    kind_.assign(tokens_.size(), Kind::text);
    for (std::uint32_t id : special) {
        if (id >= size()) throw Malformed("special token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(size()));
        kind_[id] = Kind::special;
    }
    sort_unique(eos_);
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
    all_text_.assign(words(), 0);
    for (std::uint32_t id : trie_.tokens) all_text_[id / 32] |= 1u << (id % 32);
    branches_ = find_branches(trie_, subtree_kinds(trie_));
    most_below_.assign(trie_.nodes.size(), 0);
    for (std::uint32_t n = trie_.size(); n-- > 0;)
        for (std::uint32_t c = n + 1; c < trie_.nodes[n].end; c = trie_.nodes[c].end)
            most_below_[n] = std::max(most_below_[n], most_below_[c] + 1);
    characters_.assign(size(), 0);
    for (const auto& [text, id] : entries)
        characters_[id] = static_cast<std::uint16_t>(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<std::uint8_t>(c) & 0xc0) != 0x80; }));
    find_long_tokens();
    for (std::uint32_t n = 0; n < trie_.size(); ++n) {
        const auto [bytes, nodes] = trie_.children(n);
        if (n && nodes.size() < wide_limit) continue;
        wide_.insert(n, static_cast<std::uint32_t>(wide_children_.size()));
        auto& table = wide_children_.emplace_back();
        table.fill(0);
        for (std::size_t i = 0; i < nodes.size(); ++i) table[bytes[i]] = nodes[i];
    }
    key_tails_ = find_key_tails(tokens_);
    // Nearly every schema has a string of any text, or bounded in length alone.
    Lexemes& lexemes = Lexemes::instance();
    const LexId inside = lexemes.step(lexemes.start(Languages::anything, Encoding::json_string), '"');
    const std::shared_ptr<const Slice> any_text = slice(0, inside);
    for (const Slice::End& e : *any_text->ends) {
        string_ends_.push_back({e.node, static_cast<std::uint32_t>(spelled_.size()), e.depth, 0});
        spelled_.append(*tokens_[trie_.tokens[trie_.nodes[e.node].first_token]], 0, e.depth);
    }
    measured_slice(inside, 0);
}

void Vocabulary::find_long_tokens() {
    std::vector<std::size_t> of_length;  // how many tokens have so many characters
    for (std::uint32_t id : trie_.tokens) {
        if (of_length.size() <= characters_[id]) of_length.resize(characters_[id] + 1u);
        ++of_length[characters_[id]];
    }
    std::size_t count = 0, least = of_length.size();
    while (least > 0 && count + of_length[least - 1] <= long_limit) count += of_length[--least];
    most_short_ = static_cast<std::uint32_t>(least) - (least > 0);
    long_tokens_.reserve(count);
    for (std::uint32_t id : trie_.tokens) {
        if (characters_[id] < least) continue;
        long_tokens_.push_back({id, static_cast<std::uint32_t>(spelled_.size()), static_cast<std::uint32_t>(tokens_[id]->size()), characters_[id]});
        spelled_ += *tokens_[id];
    }
}

// States with few ways on are walked, down to those with many.
void Vocabulary::rehearse_below(std::uint32_t node, LexId lex) {
    Lexemes& lexemes = Lexemes::instance();
    const auto [bytes, nodes] = trie_.children(node);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::uint32_t child = nodes[i];
        const LexId to = lexemes.row(lex).step(bytes[i]);
        if (to == dead_lex || trie_.nodes[child].end - child <= slice_nodes) continue;
        if (lexemes.dense(to))
            slice(child, lexemes.fold_lengths(to, longest_));
        else
            rehearse_below(child, to);
    }
}

void Vocabulary::rehearse_string(LangId language, std::string_view text) {
    Lexemes& lexemes = Lexemes::instance();
    try {
        LexId lex = lexemes.step(lexemes.start(language, Encoding::json_string), '"');
        for (std::size_t i = 0; lexemes.goes_on(lex); ++i) {
            const LexId shared = shared_state(lex);
            slice(0, shared);
            if (!lexemes.dense(shared)) rehearse_below(0, shared);
            if (i == text.size()) break;
            lex = lexemes.step(lex, static_cast<std::uint8_t>(text[i]));
        }
    } catch (const LimitExceeded&) {
        // Whoever comes to such a state will be told.
    }
}

std::uint32_t Vocabulary::depth(std::uint32_t node) const {
    std::uint32_t depth = 0;
    for (std::uint32_t at = 0; at != node; ++depth) {
        std::uint32_t c = at + 1;
        while (trie_.nodes[c].end <= node) c = trie_.nodes[c].end;
        at = c;
    }
    return depth;
}

std::vector<std::uint32_t> Vocabulary::take_buffer() {
    std::lock_guard lock(mutex_);
    if (buffers_.empty()) return {};
    std::vector<std::uint32_t> buffer = std::move(buffers_.back());
    buffers_.pop_back();
    return buffer;
}

void Vocabulary::give_back(std::vector<std::uint32_t> buffer) {
    std::lock_guard lock(mutex_);
    if (buffers_.size() < buffer_limit) buffers_.push_back(std::move(buffer));
}

Seen Vocabulary::seen(std::string_view text) const {
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::uint32_t next = trie_.child(at, static_cast<std::uint8_t>(text[i]));
        if (!next) return {i, at, trie_.nodes[at].end};
        at = next;
    }
    return {text.size(), at, trie_.nodes[at].end};
}

}  // namespace scansion
