// Over whole masks, of some ten thousand words at most.
#pragma once
#include <cstddef>
#include <cstdint>

namespace scansion {

void join_bits(std::uint32_t* out, const std::uint32_t* bits, std::size_t words);  // out |= bits
std::uint64_t hash_of_bits(const std::uint32_t* bits, std::size_t words);

}  // namespace scansion
