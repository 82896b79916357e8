#include "trie.h"

#include <algorithm>

namespace scansion {

Trie build_trie(const std::vector<std::pair<std::string_view, std::uint32_t>>& entries) {
    Trie trie;
    trie.nodes.reserve(entries.size() * 2 + 2);
    trie.tokens.reserve(entries.size());
    std::vector<std::uint32_t> path{0};
    trie.nodes.push_back({0, 0, 0, 0});
    std::string_view previous;
    for (const auto& [text, id] : entries) {
        std::size_t common = 0, most = std::min(text.size(), previous.size());
        while (common < most && text[common] == previous[common]) ++common;
        while (path.size() > common + 1) {
            trie.nodes[path.back()].end = trie.size() + 1;
            path.pop_back();
        }
        for (std::size_t i = common; i < text.size(); ++i) {
            path.push_back(static_cast<std::uint32_t>(trie.nodes.size()));
            trie.nodes.push_back({0, static_cast<std::uint32_t>(trie.tokens.size()), 0, static_cast<std::uint8_t>(text[i])});
        }
        trie.nodes[path.back()].token_count++;
        trie.tokens.push_back(id);
        previous = text;
    }
    for (std::uint32_t n : path) trie.nodes[n].end = static_cast<std::uint32_t>(trie.nodes.size());
    trie.nodes.push_back({static_cast<std::uint32_t>(trie.nodes.size()) + 1, static_cast<std::uint32_t>(trie.tokens.size()), 0, 0});
    return trie;
}

namespace {
void merge_below(const Trie& trie, std::vector<std::uint32_t> roots, Trie& out) {
    // Children of all roots, grouped by byte; depth is at most a token's length.
    std::vector<std::uint32_t> children;
    for (std::uint32_t r : roots)
        for (std::uint32_t c = r + 1; c < trie.nodes[r].end; c = trie.nodes[c].end) children.push_back(c);
    std::stable_sort(children.begin(), children.end(), [&](std::uint32_t a, std::uint32_t b) { return trie.nodes[a].byte < trie.nodes[b].byte; });
    for (std::size_t i = 0; i < children.size();) {
        std::uint8_t byte = trie.nodes[children[i]].byte;
        std::uint32_t self = static_cast<std::uint32_t>(out.nodes.size());
        out.nodes.push_back({0, static_cast<std::uint32_t>(out.tokens.size()), 0, byte});
        std::vector<std::uint32_t> group;
        for (; i < children.size() && trie.nodes[children[i]].byte == byte; ++i) {
            const TrieNode& n = trie.nodes[children[i]];
            for (std::uint32_t t = 0; t < n.token_count; ++t) out.tokens.push_back(trie.tokens[n.first_token + t]), out.nodes[self].token_count++;
            group.push_back(children[i]);
        }
        merge_below(trie, std::move(group), out);
        out.nodes[self].end = static_cast<std::uint32_t>(out.nodes.size());
    }
}
}  // namespace

Trie merge_subtries(const Trie& trie, const std::vector<std::uint32_t>& roots) {
    Trie out;
    out.nodes.push_back({0, 0, 0, 0});
    merge_below(trie, roots, out);
    out.nodes[0].end = static_cast<std::uint32_t>(out.nodes.size());
    out.nodes.push_back({static_cast<std::uint32_t>(out.nodes.size()) + 1, static_cast<std::uint32_t>(out.tokens.size()), 0, 0});
    return out;
}

}  // namespace scansion
