// Compiled with -O3 for the processor's widest registers, unlike the rest (CMakeLists.txt): each loop runs some thousand times.
#include "bits.h"

#include "arena.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDEST __attribute__((target_clones("avx2", "default")))
#else
#define WIDEST
#endif

namespace scansion {

WIDEST void join_bits(std::uint32_t* out, const std::uint32_t* bits, std::size_t words) {
    for (std::size_t w = 0; w < words; ++w) out[w] |= bits[w];
}

WIDEST std::uint64_t hash_of_bits(const std::uint32_t* bits, std::size_t words) {
    constexpr std::size_t width = 32;
    std::uint32_t lanes[width] = {};  // apart from each other, so that one instruction does many
    std::size_t at = 0;
    for (; at + width <= words; at += width)
        for (std::size_t k = 0; k < width; ++k) lanes[k] = (lanes[k] ^ bits[at + k]) * 0x9e3779b1u;
    std::uint64_t hash = words;
    for (; at < words; ++at) hash = combine(hash, bits[at]);
    for (std::uint32_t lane : lanes) hash = combine(hash, lane);
    return hash;
}

}  // namespace scansion
