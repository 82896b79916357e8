// What tokens know of a key before it is begun: in most vocabularies next to nothing.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scansion {

// How much of a text some token begins with, and the node of the vocabulary's trie there, its subtree being [node, end).
struct Seen {
    std::size_t bytes;
    std::uint32_t node, end;
};

struct KeyTails {
    static constexpr std::size_t limit = 256;
    // Of each token with a comma, white space and a quote in it: what follows the comma's white space, if it is more than the quote and a key
    // can be spelled so. Sorted.
    std::vector<std::string> texts;
    bool closed = false;  // one of them ends its key
    std::vector<std::string> after_space;  // the same of each token that begins with white space and a quote
    // The keys that tokens beginning with white space and a quote end, decoded. Sorted.
    std::vector<std::string> whole;
    bool known = true;   // false: more than `limit` of one kind
};
KeyTails find_key_tails(const std::vector<std::optional<std::string>>& tokens);

}  // namespace scansion
