// Append-only storage whose elements never move, so readers need no lock for what was published before.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "errors.h"

namespace scansion {

inline std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    return x;
}

template <class T>
void sort_unique(std::vector<T>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
}

inline std::uint64_t combine(std::uint64_t seed, std::uint64_t value) { return mix(seed * 0x9e3779b97f4a7c15ULL + value); }

// A table of chunks that never moves either.
template <class T, std::size_t ChunkSize, std::size_t MaxChunks>
class FixedTable {
  public:
    std::unique_ptr<T[]>& operator[](std::size_t i) const { return chunks_[i]; }
    void push_back(std::unique_ptr<T[]> chunk) {
        if (count_ >= MaxChunks) throw LimitExceeded("arena", MaxChunks * ChunkSize, "too many automaton states for one process");
        if (!chunks_) chunks_ = std::make_unique<std::unique_ptr<T[]>[]>(MaxChunks);
        chunks_[count_++] = std::move(chunk);
    }

  private:
    std::unique_ptr<std::unique_ptr<T[]>[]> chunks_;
    std::size_t count_ = 0;
};

template <class T, unsigned ChunkBits, class Table>
class ChunkedVector {
  public:
    static constexpr std::size_t chunk_size = std::size_t{1} << ChunkBits;
    T& operator[](std::size_t i) { return chunks_[i >> ChunkBits][i & (chunk_size - 1)]; }
    const T& operator[](std::size_t i) const { return chunks_[i >> ChunkBits][i & (chunk_size - 1)]; }
    std::size_t size() const { return size_; }
    T& push() {
        if ((size_ & (chunk_size - 1)) == 0) chunks_.push_back(std::make_unique<T[]>(chunk_size));
        return (*this)[size_++];
    }

  private:
    Table chunks_;
    std::size_t size_ = 0;
};

template <class T>
using StableVector = ChunkedVector<T, 10, FixedTable<T, std::size_t{1} << 10, std::size_t{1} << 14>>;
// For one thread at a time: small while it holds little.
template <class T>
using SteadyVector = ChunkedVector<T, 7, std::vector<std::unique_ptr<T[]>>>;

// Short lists, kept as long as the arena is, in blocks that never move.
template <class T>
class ListArena {
  public:
    std::span<const T> keep(std::span<const T> list) {
        if (list.empty()) return {};
        if (list.size() > left_) {
            const std::size_t size = std::max(block_size, list.size());
            blocks_.push_back(std::make_unique<T[]>(size));
            free_ = blocks_.back().get();
            left_ = size;
            bytes_ += size * sizeof(T);
        }
        T* to = free_;
        std::copy(list.begin(), list.end(), to);
        free_ += list.size();
        left_ -= list.size();
        return {to, list.size()};
    }
    std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t block_size = 256;
    std::vector<std::unique_ptr<T[]>> blocks_;
    T* free_ = nullptr;
    std::size_t left_ = 0, bytes_ = 0;
};

// Slots of a hash table after so many: small ones, of which every constraint has some, grow in longer steps.
constexpr std::size_t grown(std::size_t slots) { return slots == 0 ? 64 : slots * (slots < 4096 ? 4 : 2); }

// Open-addressing map from a hash to an index; the caller compares contents through `equal(index)`.
class IndexTable {
  public:
    static constexpr std::uint32_t none = 0xffffffffu;
    template <class Equal>
    std::uint32_t find(std::uint64_t hash, Equal equal) const {
        if (slots_ == nullptr) return none;
        std::uint32_t tag = static_cast<std::uint32_t>(hash >> 32);
        for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
            const Slot& slot = slots_[i];
            if (slot.index == none) return none;
            if (slot.tag == tag && equal(slot.index)) return slot.index;
        }
    }
    void insert(std::uint64_t hash, std::uint32_t index) {
        if (slots_ == nullptr || (count_ + 1) * 2 > mask_ + 1) grow();
        place(hash, index);
        ++count_;
    }
    void clear() {
        slots_.reset();
        mask_ = 0;
        count_ = 0;
    }
    std::size_t bytes() const { return slots_ ? (mask_ + 1) * sizeof(Slot) : 0; }

  private:
    struct Slot {
        std::uint32_t tag;
        std::uint32_t index;
        std::uint32_t low;
    };
    void place(std::uint64_t hash, std::uint32_t index) {
        std::size_t i = hash & mask_;
        while (slots_[i].index != none) i = (i + 1) & mask_;
        slots_[i] = {static_cast<std::uint32_t>(hash >> 32), index, static_cast<std::uint32_t>(hash)};
    }
    void grow() {
        std::size_t old_size = slots_ ? mask_ + 1 : 0;
        auto old = std::move(slots_);
        std::size_t size = grown(old_size);
        slots_ = std::make_unique<Slot[]>(size);
        for (std::size_t i = 0; i < size; ++i) slots_[i].index = none;
        mask_ = size - 1;
        for (std::size_t i = 0; i < old_size; ++i)
            if (old[i].index != none) place((static_cast<std::uint64_t>(old[i].tag) << 32) | old[i].low, old[i].index);
    }
    std::unique_ptr<Slot[]> slots_;
    std::size_t mask_ = 0;
    std::size_t count_ = 0;
};

// Open-addressing map from a 64-bit key (not ~0) to a 32-bit value.
class FlatMap {
  public:
    static constexpr std::uint32_t none = 0xffffffffu;
    std::uint32_t find(std::uint64_t key) const {
        if (!slots_) return none;
        for (std::size_t i = mix(key) & mask_;; i = (i + 1) & mask_) {
            if (slots_[i].key == key) return slots_[i].value;
            if (slots_[i].key == empty) return none;
        }
    }
    void insert(std::uint64_t key, std::uint32_t value) {
        if (!slots_ || (count_ + 1) * 2 > mask_ + 1) grow();
        place(key, value);
        ++count_;
    }
    std::size_t bytes() const { return slots_ ? (mask_ + 1) * sizeof(Slot) : 0; }

  private:
    static constexpr std::uint64_t empty = ~std::uint64_t{0};
    struct Slot {
        std::uint64_t key;
        std::uint32_t value;
    };
    void place(std::uint64_t key, std::uint32_t value) {
        std::size_t i = mix(key) & mask_;
        while (slots_[i].key != empty) i = (i + 1) & mask_;
        slots_[i] = {key, value};
    }
    void grow() {
        std::size_t old_size = slots_ ? mask_ + 1 : 0;
        auto old = std::move(slots_);
        std::size_t size = grown(old_size);
        slots_ = std::make_unique<Slot[]>(size);
        for (std::size_t i = 0; i < size; ++i) slots_[i].key = empty;
        mask_ = size - 1;
        for (std::size_t i = 0; i < old_size; ++i)
            if (old[i].key != empty) place(old[i].key, old[i].value);
    }
    std::unique_ptr<Slot[]> slots_;
    std::size_t mask_ = 0, count_ = 0;
};

}  // namespace scansion
