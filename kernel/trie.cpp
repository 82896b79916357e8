#include "trie.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace scansion {

void Trie::index_children() {
    child_bytes.reserve(size());
    child_nodes.reserve(size());
    first_child.reserve(nodes.size());
    for (std::uint32_t n = 0; n < size(); ++n) {
        first_child.push_back(static_cast<std::uint32_t>(child_nodes.size()));
        for (std::uint32_t c = n + 1; c < nodes[n].end; c = nodes[c].end) {
            child_bytes.push_back(nodes[c].byte);
            child_nodes.push_back(c);
        }
    }
    first_child.push_back(static_cast<std::uint32_t>(child_nodes.size()));
}

std::uint32_t Trie::child(std::uint32_t node, std::uint8_t byte) const {
    const auto [bytes, below] = children(node);
    const void* found = bytes.empty() ? nullptr : std::memchr(bytes.data(), byte, bytes.size());
    return found ? below[static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes.data())] : 0;
}

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
    trie.index_children();
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
    out.index_children();
    return out;
}

namespace {
// What is below `node`, inside a UTF-8 sequence that still wants `left` bytes, the next of them in [low, high].
std::uint64_t sequence_kinds(const Trie& trie, const std::vector<std::uint64_t>& kinds, std::uint32_t node, int left, std::uint8_t low, std::uint8_t high) {
    if (left == 0) return kinds[node];
    std::uint64_t out = 0;
    for (std::uint32_t c = node + 1; c < trie.nodes[node].end; c = trie.nodes[c].end) {
        std::uint8_t b = trie.nodes[c].byte;
        out |= b < low || b > high ? malformed : sequence_kinds(trie, kinds, c, left - 1, 0x80, 0xbf);
    }
    return out;
}
}  // namespace

SubtreeKinds subtree_kinds(const Trie& trie) {
    SubtreeKinds kinds{std::vector<std::uint64_t>(trie.nodes.size(), 0), std::vector<std::uint64_t>(trie.nodes.size(), 0)};
    auto through = [&](std::uint32_t node) {
        const std::uint8_t b = trie.nodes[node].byte;
        if (b < 0x80) return kinds.below[node] | byte_kind[b];
        for (std::size_t g = 0; g < std::size(wide_groups); ++g) {
            if (b < wide_groups[g].first_lead || b > wide_groups[g].last_lead) continue;
            const int left = b < 0xe0 ? 1 : b < 0xf0 ? 2 : 3;
            const std::uint8_t low = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80, high = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
            return std::uint64_t{1} << (first_wide_bit + static_cast<int>(g)) | sequence_kinds(trie, kinds.below, node, left, low, high);
        }
        return malformed;
    };
    for (std::uint32_t n = trie.size(); n-- > 0;)
        for (std::uint32_t c = n + 1; c < trie.nodes[n].end; c = trie.nodes[c].end) kinds.below[n] |= kinds.through[c] = through(c);
    return kinds;
}

std::vector<Branch> find_branches(const Trie& trie, const SubtreeKinds& kinds) {
    std::vector<Branch> out;
    out.reserve(trie.child_nodes.size());
    for (std::uint32_t c : trie.child_nodes) {
        const std::uint8_t byte = trie.nodes[c].byte;
        const std::uint32_t first = trie.first_child[c];
        out.push_back({byte < 0x80 ? kinds.below[c] : kinds.through[c], first, static_cast<std::uint16_t>(trie.first_child[c + 1] - first), byte});
    }
    return out;
}

}  // namespace scansion
