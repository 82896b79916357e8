// Byte strings with ids in one depth-first array: the vocabulary, and the remainders of tokens that leave a lexeme.
#pragma once
#include <array>
#include <cstdint>
#include <span>
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
    // The children of a node side by side: those that a walk leaves out cost it no trip to memory.
    std::vector<std::uint8_t> child_bytes;
    std::vector<std::uint32_t> child_nodes, first_child;  // of node n: from first_child[n] to first_child[n + 1]
    struct Children {
        std::span<const std::uint8_t> bytes;  // ascending
        std::span<const std::uint32_t> nodes;
    };
    Children children(std::uint32_t node) const {
        const std::uint32_t first = first_child[node], count = first_child[node + 1] - first;
        return {{child_bytes.data() + first, count}, {child_nodes.data() + first, count}};
    }
    std::uint32_t child(std::uint32_t node, std::uint8_t byte) const;  // 0: there is none
    std::uint32_t size() const { return static_cast<std::uint32_t>(nodes.size() - 1); }
    std::size_t bytes() const {
        return nodes.capacity() * sizeof(TrieNode) + (tokens.capacity() + child_nodes.capacity() + first_child.capacity()) * 4 + child_bytes.capacity();
    }
    void index_children();  // once its nodes are all there
};

// Which kinds of bytes occur below a node: one bit for each kind, so that a subtree whose every byte loops in a lexeme state is taken whole.
// Bits 0..43: groups of ASCII (`byte_group`); 44..52: ranges of characters outside it (`wide_groups`), in UTF-8 that is right as far as it
// goes; `malformed`: anything else.
constexpr std::uint64_t malformed = std::uint64_t{1} << 53;
struct WideGroup {
    std::uint32_t first, last;         // characters
    std::uint8_t first_lead, last_lead;  // bytes they begin with
};
constexpr WideGroup wide_groups[] = {{0x80, 0xbf, 0xc2, 0xc2},         {0xc0, 0x7ff, 0xc3, 0xdf},        {0x800, 0xfff, 0xe0, 0xe0},
                                     {0x1000, 0x1fff, 0xe1, 0xe1},     {0x2000, 0x2fff, 0xe2, 0xe2},     {0x3000, 0x3fff, 0xe3, 0xe3},
                                     {0x4000, 0xd7ff, 0xe4, 0xed},     {0xe000, 0xffff, 0xee, 0xef},     {0x10000, 0x10ffff, 0xf0, 0xf4}};
constexpr int first_wide_bit = 44;
constexpr std::uint8_t byte_group(std::uint8_t b) {
    if (b == '\t') return 1;
    if (b == '\n') return 2;
    if (b == '\r') return 3;
    if (b < 0x20) return 0;
    if (b < '0') return static_cast<std::uint8_t>(4 + (b - ' '));   // 4..19
    if (b == '0') return 20;
    if (b <= '9') return 21;
    if (b < 'A') return static_cast<std::uint8_t>(22 + (b - ':'));  // 22..28
    if (b <= 'F') return 29;
    if (b <= 'Z') return 30;
    if (b < 'a') return static_cast<std::uint8_t>(31 + (b - '['));  // 31..36
    if (b <= 'f') return 37;
    if (b <= 'z') return 38;
    return static_cast<std::uint8_t>(39 + (b - '{'));               // 39..43
}
// The kind of each byte as a bit; none outside ASCII.
constexpr std::array<std::uint64_t, 256> byte_kind = [] {
    std::array<std::uint64_t, 256> kinds{};
    for (std::uint32_t b = 0; b < 0x80; ++b) kinds[b] = std::uint64_t{1} << byte_group(static_cast<std::uint8_t>(b));
    return kinds;
}();
constexpr std::uint64_t digit_kinds = byte_kind['0'] | byte_kind['9'];
struct SubtreeKinds {
    std::vector<std::uint64_t> below;    // by node, of what is below it, read from a character's beginning
    std::vector<std::uint64_t> through;  // by node: what it adds to `below` of its parent
};
SubtreeKinds subtree_kinds(const Trie& trie);

// What a walk over a large trie asks of every node, in little room, in the order of `child_nodes`.
struct Branch {
    std::uint64_t kinds;     // below the node; of a byte outside ASCII through it, the byte itself and the rest of its character with it
    std::uint32_t children;  // the first of them
    std::uint16_t child_count;
    std::uint8_t byte;
};
std::vector<Branch> find_branches(const Trie& trie, const SubtreeKinds& kinds);

// `entries` sorted by bytes.
Trie build_trie(const std::vector<std::pair<std::string_view, std::uint32_t>>& entries);
// The union of the subtries below `roots` (what is at the roots themselves is left out).
Trie merge_subtries(const Trie& trie, const std::vector<std::uint32_t>& roots);

}  // namespace scansion
