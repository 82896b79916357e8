// The shortest way to finish: an estimate of the bytes left per state, and a best-first search that follows it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine.h"

namespace scansion {

class Completion {
  public:
    static constexpr std::uint64_t impossible = ~std::uint64_t{0};
    static constexpr std::size_t exact_limit = 20000;    // states opened to prove a completion the shortest
    static constexpr std::size_t search_limit = 200000;  // and to find one at all
    static constexpr std::uint32_t few_keys = 64;        // keys one of which is being read: each is reckoned with as itself

    explicit Completion(Engine& engine) : engine_(engine) {}
    // Bytes of the shortest completion; a lower bound where conditions or repeated additional keys interact.
    std::uint64_t estimate(StateId state);
    // Appends the shortest completion, or a short one where proving it shortest would open too many states; false where none was found
    // with at most `limit` bytes.
    bool shortest(StateId state, std::string& out, std::size_t limit);

  private:
    // One state for all that differ in the spelling of a value read so far.
    StateId alike(StateId state) { return engine_.tracked(state) ? engine_.without_idle_zeros(state) : state; }
    bool best_first(StateId start, std::string& out, std::size_t limit);
    bool descend(StateId start, std::string& out, std::size_t limit);
    std::uint64_t cost_from(std::uint32_t node);
    void prepare();
    std::uint64_t stack_cost(StackId stack);
    std::uint64_t item_cost(const Item& item);
    std::uint64_t value_cost(const Value& value) const;
    std::uint64_t object_rest(FrameId frame, bool after_value);  // from between members to the closing brace, included
    std::uint64_t pending_cost(FrameId frame);
    std::uint64_t array_rest(FrameId frame, bool after_item);
    std::uint64_t condition_cost(std::uint32_t condition, const ObjectSpec& spec);
    std::uint64_t member_cost(const ObjectSpec& spec, std::uint32_t property) const;

    Engine& engine_;
    Lexemes& lexemes_ = Lexemes::instance();
    bool ready_ = false;
    std::vector<std::uint64_t> node_cost_, rule_cost_;
    std::vector<std::uint64_t> stack_cost_;
    std::vector<std::uint64_t> state_cost_;
};

}  // namespace scansion
