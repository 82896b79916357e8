// Byte strings with ids in one depth-first array: the vocabulary, and the remainders of tokens that leave a lexeme.
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace scansion {

struct TrieNode {
    std::uint32_t end;          // one past the last node of the subtree; children of n are n+1, then each child's end, while < end
    std::uint32_t first_token;  // tokens at this node: tokens[first_token, token_end); of the subtree: tokens[first_token, nodes[end].first_token)
    std::uint16_t token_count;
    std::uint8_t byte;
};

struct Trie {
    std::vector<TrieNode> nodes;  // nodes[0] is the root; one sentinel at the end
    std::vector<std::uint32_t> tokens;
    std::uint32_t size() const { return static_cast<std::uint32_t>(nodes.size() - 1); }
    std::uint32_t subtree_tokens(std::uint32_t n) const { return nodes[nodes[n].end].first_token - nodes[n].first_token; }
};

// `entries` sorted by bytes.
Trie build_trie(const std::vector<std::pair<std::string_view, std::uint32_t>>& entries);
// The union of the subtries below `roots` (what is at the roots themselves is left out).
Trie merge_subtries(const Trie& trie, const std::vector<std::uint32_t>& roots);

}  // namespace scansion
