#include "rehearsal.h"

#include <algorithm>

namespace scansion {

StateId Rehearsal::see(StateId state) {
    if (state == dead_state || done()) return state;
    ++states_;
    masks_.prepare(state);
    return state;
}

std::string_view Rehearsal::next_key(StateId at) {
    for (std::size_t i = 0; i < engine_.thread_count(at); ++i) {
        const Thread t = engine_.thread(at, i);
        if (t.is_token() || engine_.items(t.stack).empty()) continue;
        const Item item = engine_.items(t.stack)[0];
        if (item.kind() != Resume::object_key) continue;
        const auto found = engine_.object_frames().available(item.data);
        const auto properties = found.properties;
        if (properties.empty()) continue;
        const ObjectSpec& spec = engine_.object_frames().spec(item.data);
        return lexemes_.key_spelling(spec.properties[*std::min_element(properties.begin(), properties.end())].key);
    }
    return {};
}

StateId Rehearsal::value(StateId at) {
    ++states_;
    StateId next = dead_state;
    bool text = false, number = false;
    for (std::size_t i = 0; i < engine_.thread_count(at); ++i) {
        const Thread t = engine_.thread(at, i);
        if (t.is_token() || engine_.items(t.stack).empty()) continue;
        const Item item = engine_.items(t.stack)[0];
        StackId below = t.stack;
        if (item.kind() == Resume::object_open) {
            if (StateId open = engine_.step(at, '{'); open != dead_state) objects_.push_back(open);
            below = item.parent;
        } else if (item.kind() == Resume::array_open) {
            if (StateId open = engine_.step(at, '['); open != dead_state) arrays_.push_back(open);
            below = item.parent;
        } else if (item.kind() == Resume::object_value || lexemes_.in_keys(t.lex) || t.text) {
            continue;
        }
        const LexRow& row = lexemes_.row(t.lex);
        text |= row.step('"') != dead_lex;
        number |= row.step('1') != dead_lex;
        if (next == dead_state && !t.item) next = engine_.after(below);  // inside an item of a unique array what follows depends on its text
    }
    if (text) see(engine_.step(at, '"'));
    if (number) {
        see(at);
        see(engine_.step(at, '1'));
    }
    return next;
}

void Rehearsal::array(StateId open) {
    const StateId next = value(open);
    if (next != dead_state) see(engine_.step(next, ','));
}

void Rehearsal::object(StateId open) {
    for (StateId at = open; at != dead_state && !done();) {
        std::string_view key = next_key(at);
        if (key.size() < 2 && at != open) return;
        if (key.size() < 2) key = "\"a\"";  // an object of any keys
        const StateId quote = between(engine_.step(at, at == open ? "\"" : " \""));
        const StateId spelled = see(engine_.step(quote, key.substr(1, key.size() - 2)));
        const StateId colon = see(engine_.step(spelled, "\":"));
        const StateId space = engine_.step(colon, ' ');
        const StateId after = value(space != dead_state ? space : colon);
        at = between(engine_.step(after, ','));
    }
}

void Rehearsal::run() {
    try {
        see(engine_.start());
        value(engine_.start());
        while (!done() && !(objects_.empty() && arrays_.empty())) {
            auto& from = objects_.empty() ? arrays_ : objects_;
            const StateId open = from.front();
            from.pop_front();
            &from == &objects_ ? object(open) : array(open);
        }
    } catch (const LimitExceeded&) {
        // Whoever comes to such a state will be told.
    }
}

}  // namespace scansion
