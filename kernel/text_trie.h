// Texts that must be remembered (keys used, items seen), as nodes of one trie: equal texts have equal ids.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace scansion {

class TextTrie {
  public:
    static constexpr std::uint32_t root = 0, none = 0xffffffffu;
    TextTrie() { nodes_.push_back({none, 0, 0}); }
    std::uint32_t child(std::uint32_t node, std::uint8_t byte) const {
        auto it = children_.find(std::uint64_t{node} << 8 | byte);
        return it == children_.end() ? none : it->second;
    }
    std::uint32_t insert(std::uint32_t node, std::uint8_t byte) {
        auto [it, fresh] = children_.try_emplace(std::uint64_t{node} << 8 | byte, static_cast<std::uint32_t>(nodes_.size()));
        if (fresh) {
            nodes_.push_back({node, 0, byte});
            nodes_[node].children++;
        }
        return it->second;
    }
    std::uint32_t insert(std::uint32_t node, const std::string& bytes) {
        for (char c : bytes) node = insert(node, static_cast<std::uint8_t>(c));
        return node;
    }
    bool is_leaf(std::uint32_t node) const { return nodes_[node].children == 0; }
    std::string text(std::uint32_t node) const {
        std::string out;
        for (; node != root; node = nodes_[node].parent) out.push_back(static_cast<char>(nodes_[node].byte));
        return {out.rbegin(), out.rend()};
    }
    // True where `prefix` is `node` or an ancestor of it.
    bool starts_with(std::uint32_t node, std::uint32_t prefix) const {
        while (node > prefix) node = nodes_[node].parent;  // ancestors have smaller ids
        return node == prefix;
    }
    std::size_t size() const { return nodes_.size(); }
    std::size_t bytes() const { return nodes_.size() * (sizeof(Node) + 40); }

  private:
    struct Node {
        std::uint32_t parent;
        std::uint32_t children;
        std::uint8_t byte;
    };
    std::vector<Node> nodes_;
    std::unordered_map<std::uint64_t, std::uint32_t> children_;
};

}  // namespace scansion
