// Masks made before the first token: of the states that a text with every member of every object would come through.
#pragma once
#include <cstddef>
#include <deque>
#include <string_view>

#include "engine.h"
#include "masks.h"

namespace scansion {

class Rehearsal {
  public:
    static constexpr std::size_t mask_limit = 64;    // masks made
    static constexpr std::size_t full_limit = 20;    // from then on without those between two members, which are the cheapest
    static constexpr std::size_t state_limit = 288;  // states looked at

    Rehearsal(Engine& engine, Masks& masks) : engine_(engine), masks_(masks) {}
    void run();

  private:
    bool done() const { return states_ >= state_limit || masks_.count() >= mask_limit; }
    StateId see(StateId state);  // its mask is made; returns it
    StateId between(StateId state) { return masks_.count() < full_limit ? see(state) : state; }
    StateId value(StateId at);   // `at`: a value comes next; what follows it
    void object(StateId open);
    void array(StateId open);
    // The declared key that comes first by its place in the schema, spelled, or nothing.
    std::string_view next_key(StateId at);

    Engine& engine_;
    Masks& masks_;
    Lexemes& lexemes_ = Lexemes::instance();
    std::deque<StateId> objects_, arrays_;
    std::size_t states_ = 0;
};

}  // namespace scansion
