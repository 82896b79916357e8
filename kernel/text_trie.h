// Texts that must be remembered (keys used, items seen), as nodes of one trie: equal texts have equal ids.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "arena.h"

namespace scansion {

class TextTrie {
  public:
    static constexpr std::uint32_t root = 0, none = 0xffffffffu;
    TextTrie() { nodes_.push_back({none, 0, 0}); }
    std::uint32_t child(std::uint32_t node, std::uint8_t byte) const {
        if (nodes_[node].children == 0) return none;
        return table_.find(combine(node, byte), [&](std::uint32_t i) { return nodes_[i].parent == node && nodes_[i].byte == byte; });
    }
    std::uint32_t insert(std::uint32_t node, std::uint8_t byte) {
        std::uint64_t hash = combine(node, byte);
        std::uint32_t found = table_.find(hash, [&](std::uint32_t i) { return nodes_[i].parent == node && nodes_[i].byte == byte; });
        if (found != none) return found;
        found = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({node, 0, byte});
        nodes_[node].children++;
        table_.insert(hash, found);
        return found;
    }
    std::uint32_t insert(std::uint32_t node, const std::string& bytes) {
        for (char c : bytes) node = insert(node, static_cast<std::uint8_t>(c));
        return node;
    }
    std::string text(std::uint32_t node) const {
        std::string out;
        for (; node != root; node = nodes_[node].parent) out.push_back(static_cast<char>(nodes_[node].byte));
        return {out.rbegin(), out.rend()};
    }
    std::size_t depth(std::uint32_t node) const {  // bytes
        std::size_t depth = 0;
        for (; node != root; node = nodes_[node].parent) ++depth;
        return depth;
    }
    // True where `prefix` is `node` or an ancestor of it.
    bool starts_with(std::uint32_t node, std::uint32_t prefix) const {
        while (node > prefix) node = nodes_[node].parent;  // ancestors have smaller ids
        return node == prefix;
    }
    std::uint32_t parent(std::uint32_t node) const { return nodes_[node].parent; }
    std::uint8_t byte(std::uint32_t node) const { return nodes_[node].byte; }
    std::size_t size() const { return nodes_.size(); }
    std::size_t bytes() const { return nodes_.size() * sizeof(Node) + table_.bytes(); }

  private:
    struct Node {
        std::uint32_t parent;
        std::uint32_t children;
        std::uint8_t byte;
    };
    std::vector<Node> nodes_;
    IndexTable table_;
};

}  // namespace scansion
