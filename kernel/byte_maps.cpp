// Partitions of the byte values, interned, and their common refinements.
#include "lexeme.h"

#include <cstring>

namespace scansion {

const ByteMap* ByteMaps::intern(const std::array<std::uint8_t, 256>& cls, std::uint16_t count) {
    std::uint64_t words[32], lanes[4] = {count, 1, 2, 3};  // lanes apart from each other, so that the processor need not wait for any
    std::memcpy(words, cls.data(), sizeof(words));
    for (std::size_t i = 0; i < 32; i += 4)
        for (std::size_t k = 0; k < 4; ++k) lanes[k] = (lanes[k] ^ words[i + k]) * 0x9e3779b97f4a7c15ULL, lanes[k] ^= lanes[k] >> 29;
    const std::uint64_t h = combine(combine(lanes[0], lanes[1]), combine(lanes[2], lanes[3]));
    std::uint32_t found = table_.find(h, [&](std::uint32_t i) { return maps_[i]->cls == cls; });
    if (found != IndexTable::none) return maps_[found].get();
    auto map = std::make_unique<ByteMap>();
    map->cls = cls;
    map->count = count;
    map->id = static_cast<std::uint32_t>(maps_.size());
    for (int b = 255; b >= 0; --b) map->representative[cls[static_cast<std::size_t>(b)]] = static_cast<std::uint8_t>(b);
    map->begin.assign(count + 1u, 0);
    for (std::size_t b = 0; b < 256; ++b) map->begin[cls[b] + 1u]++;
    for (std::size_t c = 0; c < count; ++c) map->begin[c + 1] = static_cast<std::uint16_t>(map->begin[c + 1] + map->begin[c]);
    std::vector<std::uint16_t> place(map->begin.begin(), map->begin.end() - 1);
    for (std::size_t b = 0; b < 256; ++b) map->members[place[cls[b]]++] = static_cast<std::uint8_t>(b);
    table_.insert(h, map->id);
    maps_.push_back(std::move(map));
    return maps_.back().get();
}

const ByteMap* ByteMaps::few(std::span<const std::uint8_t> bytes) {
    std::uint64_t key = 0;
    for (std::uint8_t b : bytes) key = key << 8 | b;
    if (std::uint32_t known = few_.find(key); known != FlatMap::none) return maps_[known].get();
    std::array<std::uint8_t, 256> cls{};
    std::uint8_t count = 1;
    for (std::uint8_t b : bytes) cls[b] = count++;
    const ByteMap* map = intern(cls, count);
    few_.insert(key, map->id);
    return map;
}

const ByteMap* ByteMaps::join(const ByteMap* a, const ByteMap* b) {
    if (a == b || b->count == 1) return a;
    if (a->count == 1) return b;
    if (a->id > b->id) std::swap(a, b);
    std::uint64_t key = (std::uint64_t{a->id} << 32) | b->id;
    if (auto it = joins_.find(key); it != joins_.end()) return it->second;
    std::array<std::uint8_t, 256> cls;
    std::vector<std::uint16_t> number(std::size_t{a->count} * b->count, 0xffff);
    std::uint16_t count = 0;
    for (std::size_t i = 0; i < 256; ++i) {
        std::uint16_t& n = number[std::size_t{a->cls[i]} * b->count + b->cls[i]];
        if (n == 0xffff) n = count++;
        cls[i] = static_cast<std::uint8_t>(n);
    }
    return joins_[key] = intern(cls, count);
}

}  // namespace scansion
