// Residual conditions of objects: ordered binary decision diagrams (Bryant 1986) that shrink as keys arrive.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "arena.h"
#include "program.h"

namespace scansion {

class Conditions {
  public:
    static constexpr std::uint32_t never = 0, always = 1;

    explicit Conditions(const std::vector<Condition>& given) {
        nodes_.assign({{0xffffffffu, 0, 0}, {0xffffffffu, 1, 1}});
        std::vector<std::uint32_t> place{never, always};
        for (std::size_t i = 2; i < given.size(); ++i) place.push_back(make(given[i].event, place[given[i].if_false], place[given[i].if_true]));
        given_ = std::move(place);
    }
    std::uint32_t given(std::uint32_t condition) const { return given_[condition]; }
    std::uint32_t restrict(std::uint32_t c, std::uint32_t event, bool value) {
        if (c <= always || nodes_[c].event > event) return c;
        if (nodes_[c].event == event) return value ? nodes_[c].if_true : nodes_[c].if_false;
        std::uint64_t key = (std::uint64_t{c} << 32) | (std::uint64_t{event} << 1) | value;
        if (auto it = restricted_.find(key); it != restricted_.end()) return it->second;
        const Condition n = nodes_[c];
        std::uint32_t low = restrict(n.if_false, event, value), high = restrict(n.if_true, event, value);
        return restricted_[key] = make(n.event, low, high);
    }
    bool trivial(std::uint32_t c) const { return c <= always; }
    // The condition with every event that has not happened taken as false.
    bool holds_now(std::uint32_t c) const {
        while (c > always) c = nodes_[c].if_false;
        return c == always;
    }
    // Fewest events below `weighted` that must become true; 0xffffffff where it cannot hold.
    std::uint32_t fewest(std::uint32_t c, std::uint32_t weighted) {
        if (c == always) return 0;
        if (c == never) return 0xffffffffu;
        std::uint64_t key = (std::uint64_t{c} << 32) | weighted;
        if (auto it = fewest_.find(key); it != fewest_.end()) return it->second;
        const Condition n = nodes_[c];
        std::uint32_t low = fewest(n.if_false, weighted), high = fewest(n.if_true, weighted);
        if (high != 0xffffffffu && n.event < weighted) ++high;
        return fewest_[key] = std::min(low, high);
    }
    std::uint32_t next_event(std::uint32_t c) const { return nodes_[c].event; }
    // The events it depends on.
    std::vector<bool> events(std::uint32_t c) const {
        std::vector<bool> out, seen(nodes_.size());
        for (std::vector<std::uint32_t> todo{c}; !todo.empty();) {
            const std::uint32_t at = todo.back();
            todo.pop_back();
            if (at <= always || seen[at]) continue;
            seen[at] = true;
            const Condition& n = nodes_[at];
            if (out.size() <= n.event) out.resize(n.event + 1u);
            out[n.event] = true;
            todo.insert(todo.end(), {n.if_false, n.if_true});
        }
        return out;
    }
    std::size_t bytes() const { return nodes_.size() * 64 + restricted_.size() * 40; }

  private:
    std::uint32_t make(std::uint32_t event, std::uint32_t low, std::uint32_t high) {
        if (low == high) return low;
        std::uint64_t h = combine(combine(event, low), high);
        std::uint32_t found = table_.find(h, [&](std::uint32_t i) { return nodes_[i].event == event && nodes_[i].if_false == low && nodes_[i].if_true == high; });
        if (found != IndexTable::none) return found;
        std::uint32_t id = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({event, low, high});
        table_.insert(h, id);
        return id;
    }
    std::vector<Condition> nodes_;
    std::vector<std::uint32_t> given_;
    IndexTable table_;
    std::unordered_map<std::uint64_t, std::uint32_t> restricted_, fewest_;
};

}  // namespace scansion
