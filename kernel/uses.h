// Who uses what in a program, for fixpoints that hand each result on once.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "program.h"

namespace scansion {

// Lists of numbers by number, one after the other in one array.
class Lists {
  public:
    // `each(add)` calls `add(list, entry)` for every entry; it is called twice.
    template <class Each>
    Lists(std::size_t count, Each each) : begin_(count + 1, 0) {
        each([&](std::uint32_t list, std::uint32_t) { ++begin_[list + 1]; });
        for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
        entries_.resize(begin_.back());
        std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
        each([&](std::uint32_t list, std::uint32_t entry) { entries_[next[list]++] = entry; });
    }
    std::span<const std::uint32_t> operator[](std::uint32_t list) const { return {entries_.data() + begin_[list], entries_.data() + begin_[list + 1]}; }

  private:
    std::vector<std::uint32_t> begin_, entries_;
};

class Uses {
  public:
    explicit Uses(const Program& program)
        : of_node(program.nodes.size(), [&](auto add) { add_nodes(program, add); }),
          of_rule(program.rules.size(), [&](auto add) { add_rules(program, add); }),
          rules_at(program.nodes.size(), [&](auto add) {
              for (std::uint32_t r = 0; r < program.rules.size(); ++r) add(program.rules[r], r);
          }) {}

    Lists of_node;   // nodes that go on at a node, or are any of it
    Lists of_rule;   // nodes that match a rule, or have it as a container's value
    Lists rules_at;  // rules that begin at a node

  private:
    template <class Add>
    static void add_nodes(const Program& p, Add add) {
        for (std::uint32_t i = 0; i < p.nodes.size(); ++i) {
            const Node& n = p.nodes[i];
            if (n.op == Op::alt)
                for (std::uint32_t k = 0; k < n.b; ++k) add(p.targets[n.a + k], i);
            else if (n.op != Op::ret && n.op != Op::fail)
                add(n.b, i);
        }
    }
    template <class Add>
    static void add_rules(const Program& p, Add add) {
        for (std::uint32_t i = 0; i < p.nodes.size(); ++i) {
            const Node& n = p.nodes[i];
            auto add_value = [&](const Value& v) {
                for (const Alternative& a : v) add(a.rule, i);
            };
            if (n.op == Op::call) add(n.a, i);
            if (n.op == Op::repeat || n.op == Op::budget) add(p.targets[n.a], i);
            if (n.op == Op::object) {
                for (const Property& property : p.objects[n.a].properties) add_value(property.value);
                for (const Group& group : p.objects[n.a].groups) add_value(group.value);
            }
            if (n.op == Op::array) {
                for (const Value& v : p.arrays[n.a].prefix) add_value(v);
                add_value(p.arrays[n.a].rest);
            }
        }
    }
};

}  // namespace scansion
