#include "frames.h"

#include <algorithm>
#include <bit>

namespace scansion {

// ---- objects ---------------------------------------------------------------------------------------------------

ObjectFrames::ObjectFrames(const Program& program, Conditions& conditions, const TextTrie& texts)
    : program_(program), conditions_(conditions), texts_(texts) {
    seen_.emplace_back();
    used_.push_back({0, TextTrie::none});
}

FrameId ObjectFrames::intern(const ObjectFrame& f) {
    std::uint64_t h = combine(combine(combine(f.spec, f.position), (std::uint64_t{f.seen} << 32) | f.count), (std::uint64_t{f.used} << 32) | f.condition);
    h = combine(h, f.pending);
    std::uint32_t found = frame_table_.find(h, [&](std::uint32_t i) { return frames_[i] == f; });
    if (found != IndexTable::none) return found;
    FrameId id = static_cast<FrameId>(frames_.size());
    frames_.push_back(f);
    frame_table_.insert(h, id);
    return id;
}

std::uint32_t ObjectFrames::intern_seen(std::vector<std::uint64_t> bits) {
    std::uint64_t h = bits.size();
    for (std::uint64_t w : bits) h = combine(h, w);
    std::uint32_t found = seen_table_.find(h, [&](std::uint32_t i) { return seen_[i] == bits; });
    if (found != IndexTable::none) return found;
    seen_bytes_ += bits.size() * 8 + 32;
    seen_.push_back(std::move(bits));
    std::uint32_t id = static_cast<std::uint32_t>(seen_.size() - 1);
    seen_table_.insert(h, id);
    return id;
}

FrameId ObjectFrames::initial(std::uint32_t spec) {
    ObjectFrame f;
    f.spec = spec;
    const ObjectSpec& o = program_.objects[spec];
    if (o.condition != no_condition) f.condition = conditions_.given(o.condition);
    return can_finish(f) ? intern(f) : no_frame;
}

bool ObjectFrames::has_seen(const ObjectFrame& f, std::uint32_t property) const {
    const auto& bits = seen_[f.seen];
    return property / 64 < bits.size() && (bits[property / 64] >> (property % 64) & 1);
}

std::uint32_t ObjectFrames::required_left(const ObjectFrame& f) const {
    const ObjectSpec& o = program_.objects[f.spec];
    if (!o.any_order) return o.required_after[f.position];
    std::uint32_t left = o.required_after[0];
    const auto& bits = seen_[f.seen];
    for (std::size_t w = 0; w < bits.size(); ++w)
        for (std::uint64_t b = bits[w]; b; b &= b - 1) left -= o.properties[w * 64 + static_cast<std::size_t>(std::countr_zero(b))].required;
    return left;
}

std::uint32_t ObjectFrames::possible_left(const ObjectFrame& f) const {
    const ObjectSpec& o = program_.objects[f.spec];
    if (!o.groups.empty()) return no_limit;
    if (!o.any_order) return o.possible_after[f.position];
    std::uint32_t seen = 0;
    for (std::uint64_t w : seen_[f.seen]) seen += static_cast<std::uint32_t>(std::popcount(w));
    return o.possible_after[0] - seen;
}

bool ObjectFrames::can_finish(ObjectFrame& f) {
    const ObjectSpec& o = program_.objects[f.spec];
    std::uint32_t need = required_left(f);
    if (o.max_properties != no_limit && f.count + need > o.max_properties) return false;
    if (f.count < o.min_properties) {
        std::uint32_t possible = possible_left(f);
        if (possible != no_limit && f.count + possible < o.min_properties) return false;
    }
    if (f.condition == Conditions::never) return false;
    if (f.condition == Conditions::always) return true;
    const std::uint32_t n = static_cast<std::uint32_t>(o.properties.size());
    // Events that can no longer happen are false; required keys will be there. Groups can supply events above n.
    std::uint32_t condition = f.condition;
    auto gone = [&](std::uint32_t property) {
        if (o.properties[property].value.empty()) return true;
        return o.any_order ? has_seen(f, property) && f.pending != property : property < f.position && f.pending != property;
    };
    for (std::uint32_t i = 0; i < n && !conditions_.trivial(condition); ++i) {
        bool past = o.any_order ? has_seen(f, i) : i < f.position;
        if (past || o.properties[i].value.empty()) {
            // A key that came was made true when it came.
            condition = conditions_.restrict(condition, i, false);
        }
    }
    for (std::uint32_t e = n; e < o.events && !conditions_.trivial(condition); ++e) {
        bool possible = false;
        for (std::uint32_t who : o.setters[e - n]) possible |= who == n ? (!o.groups.empty()) : !gone(who);
        if (!possible) condition = conditions_.restrict(condition, e, false);
    }
    f.condition = condition;
    std::uint32_t assumed = condition;
    if (need)
        for (std::uint32_t i = 0; i < n && !conditions_.trivial(assumed); ++i)
            if (o.properties[i].required) assumed = conditions_.restrict(assumed, i, true);
    if (assumed == Conditions::never) return false;
    if (o.max_properties != no_limit && f.count + need + conditions_.fewest(assumed, n) > o.max_properties) return false;
    if (o.events == n && o.max_properties == no_limit && f.count >= o.min_properties) return true;  // keys alone, as many as it takes
    // Each member pays with one alternative only, may owe in turn, and there are bounds on how many: a covering problem, small or given up on.
    std::size_t steps = 0;
    if (f.pending == no_pending) return coverable(f, condition, steps);
    const Value& value = f.pending < n ? o.properties[f.pending].value : o.groups[f.pending - n].value;
    for (const Alternative& a : value)
        if (coverable(f, with_events(condition, a), steps)) return true;
    return false;
}

std::uint32_t ObjectFrames::with_events(std::uint32_t condition, const Alternative& a) {
    for (std::uint32_t e : a.events) condition = conditions_.restrict(condition, e, true);
    return condition;
}

// Whether further members can make the condition true within the bounds. `f.seen` holds what is taken in either order here.
bool ObjectFrames::coverable(const ObjectFrame& f, std::uint32_t condition, std::size_t& steps) {
    if (condition == Conditions::never) return false;
    if (++steps > 5000) return true;
    const ObjectSpec& o = program_.objects[f.spec];
    const std::uint32_t n = static_cast<std::uint32_t>(o.properties.size());
    auto open = [&](std::uint32_t i) { return !has_seen(f, i) && (o.any_order || i >= f.position); };
    auto take = [&](const Value& value, std::uint32_t property, std::uint32_t wanted) {  // wanted: an event the alternative must raise
        if (o.max_properties != no_limit && f.count >= o.max_properties) return false;
        ObjectFrame next = f;
        ++next.count;
        std::uint32_t with_key = condition;
        if (property < n) {
            with_key = conditions_.restrict(condition, property, true);
            std::vector<std::uint64_t> bits = seen_[f.seen];
            if (bits.size() <= property / 64) bits.resize(property / 64 + 1);
            bits[property / 64] |= std::uint64_t{1} << (property % 64);
            next.seen = intern_seen(std::move(bits));
        }
        for (const Alternative& a : value)
            if (wanted == no_pending || wanted == property || std::find(a.events.begin(), a.events.end(), wanted) != a.events.end())
                if (coverable(next, with_events(with_key, a), steps)) return true;
        return false;
    };
    for (std::uint32_t i = 0; i < n; ++i)
        if (o.properties[i].required && open(i)) return take(o.properties[i].value, i, no_pending);
    if (conditions_.holds_now(condition)) {
        if (f.count >= o.min_properties) return true;
        for (std::uint32_t i = 0; i < n; ++i)
            if (open(i) && take(o.properties[i].value, i, no_pending)) return true;
        for (const Group& g : o.groups)
            if (take(g.value, n, no_pending)) return true;
        return false;
    }
    const std::uint32_t event = conditions_.next_event(condition);
    if (event < n) {
        if (open(event) && take(o.properties[event].value, event, event)) return true;
    } else {
        for (std::uint32_t who : o.setters[event - n]) {
            if (who < n && open(who) && take(o.properties[who].value, who, event)) return true;
            if (who == n)
                for (const Group& g : o.groups)
                    if (take(g.value, n, event)) return true;
        }
    }
    return coverable(f, conditions_.restrict(condition, event, false), steps);
}

void ObjectFrames::count_one(ObjectFrame& f) const {
    const ObjectSpec& o = program_.objects[f.spec];
    std::uint32_t top = o.max_properties != no_limit ? o.max_properties : o.min_properties;
    f.count = std::min(f.count + 1, top);
}

FrameId ObjectFrames::with_property(FrameId id, std::uint32_t property) {
    ObjectFrame f = frames_[id];
    const ObjectSpec& o = program_.objects[f.spec];
    if (o.max_properties != no_limit && f.count >= o.max_properties) return no_frame;
    count_one(f);
    f.pending = property;
    if (f.condition > Conditions::always) f.condition = conditions_.restrict(f.condition, property, true);
    if (o.any_order) {
        std::vector<std::uint64_t> bits = seen_[f.seen];
        if (bits.size() <= property / 64) bits.resize(property / 64 + 1);
        bits[property / 64] |= std::uint64_t{1} << (property % 64);
        f.seen = intern_seen(std::move(bits));
    } else {
        f.position = property + 1;
    }
    return can_finish(f) ? intern(f) : no_frame;
}

FrameId ObjectFrames::with_group(FrameId id, std::uint32_t group, std::uint32_t text) {
    ObjectFrame f = frames_[id];
    const ObjectSpec& o = program_.objects[f.spec];
    const std::uint32_t n = static_cast<std::uint32_t>(o.properties.size());
    if (o.max_properties != no_limit && f.count >= o.max_properties) return no_frame;
    count_one(f);
    f.pending = n + group;
    if (!o.any_order) f.position = n;
    if (text != unknown_text) {
        auto [it, fresh] = used_table_.try_emplace((std::uint64_t{f.used} << 32) | text, static_cast<std::uint32_t>(used_.size()));
        if (fresh) used_.push_back({f.used, text});
        f.used = it->second;
    }
    return can_finish(f) ? intern(f) : no_frame;
}

FrameId ObjectFrames::with_value(FrameId id, std::uint32_t alternative) {
    ObjectFrame f = frames_[id];
    const Value& value = pending_value(id);
    for (std::uint32_t e : value[alternative].events)
        if (f.condition > Conditions::always) f.condition = conditions_.restrict(f.condition, e, true);
    f.pending = no_pending;
    return can_finish(f) ? intern(f) : no_frame;
}

const Value& ObjectFrames::pending_value(FrameId id) const {
    const ObjectFrame& f = frames_[id];
    const ObjectSpec& o = program_.objects[f.spec];
    return f.pending < o.properties.size() ? o.properties[f.pending].value : o.groups[f.pending - o.properties.size()].value;
}

bool ObjectFrames::may_close(FrameId id) const {
    const ObjectFrame& f = frames_[id];
    const ObjectSpec& o = program_.objects[f.spec];
    return f.count >= o.min_properties && required_left(f) == 0 && conditions_.holds_now(f.condition);
}

ObjectFrames::Available ObjectFrames::available(FrameId id) {
    if (id < available_of_.size() && available_of_[id]) {
        const auto& [properties, groups] = available_[available_of_[id] - 1];
        return {properties, groups, {}};
    }
    properties_.clear();
    groups_.clear();
    find_available(id);
    if (properties_.size() + groups_.size() > kept_limit) {
        Available found;
        found.own = properties_;
        found.own.insert(found.own.end(), groups_.begin(), groups_.end());
        found.properties = {found.own.data(), properties_.size()};  // a move leaves the list where it is
        found.groups = {found.own.data() + properties_.size(), groups_.size()};
        return found;
    }
    if (available_of_.size() < frames_.size()) available_of_.resize(std::max(frames_.size(), available_of_.size() * 2), 0);
    available_.emplace_back(lists_.keep(properties_), lists_.keep(groups_));
    available_of_[id] = static_cast<std::uint32_t>(available_.size());
    return {available_.back().first, available_.back().second, {}};
}

void ObjectFrames::find_available(FrameId id) {
    const ObjectFrame f = frames_[id];
    const ObjectSpec& o = program_.objects[f.spec];
    const std::uint32_t n = static_cast<std::uint32_t>(o.properties.size());
    if (o.max_properties != no_limit && f.count >= o.max_properties) return;
    std::uint32_t first = 0, last = n;  // the span that may come next
    if (!o.any_order) {
        first = f.position;
        for (last = first; last < n && !o.properties[last].required;) ++last;
        last = std::min(n, last + 1);
    }
    // Without conditions and bounds any key in the span leaves the object finishable.
    bool simple = f.condition == Conditions::always && o.max_properties == no_limit && f.count >= o.min_properties;
    auto consider = [&](std::uint32_t i) {
        if (o.properties[i].value.empty() || (o.any_order && has_seen(f, i))) return;
        if (simple || with_property(id, i) != no_frame) properties_.push_back(i);
    };
    if (last - first == 1)
        consider(first);
    else if (last > first)
        for (std::uint32_t i : o.by_spelling)
            if (i >= first && i < last) consider(i);
    if (o.groups.empty() || (!o.any_order && o.required_after[f.position] > 0)) return;
    for (std::uint32_t g = 0; g < o.groups.size(); ++g)
        if (!o.groups[g].value.empty() && (simple || with_group(id, g, unknown_text) != no_frame)) groups_.push_back(g);
}

bool ObjectFrames::is_used(FrameId id, std::uint32_t text) const {
    for (std::uint32_t u = frames_[id].used; u; u = used_[u].parent)
        if (used_[u].text == text) return true;
    return false;
}

std::uint32_t ObjectFrames::keys_needed(FrameId id, std::vector<std::uint32_t>& required) {
    const ObjectFrame& f = frames_[id];
    const ObjectSpec& o = program_.objects[f.spec];
    required.clear();
    for (std::uint32_t i = o.any_order ? 0 : f.position; i < o.properties.size(); ++i)
        if (o.properties[i].required && !(o.any_order && has_seen(f, i))) required.push_back(i);
    std::uint32_t need = static_cast<std::uint32_t>(required.size());
    return std::max(need, o.min_properties > f.count ? o.min_properties - f.count : 0);
}

// A counter between bounds: what matters to the next `longest` steps. Members and items take two bytes at least, so this is generous.
std::uint32_t fold_count(std::uint32_t count, std::uint32_t floor, std::uint32_t low, std::uint32_t high, std::uint32_t longest) {
    if (count < floor) return count;
    if (count < low) {
        if (low - count <= longest + 1 || low < longest + 1 + floor) return count;
        return low - longest - 1;
    }
    if (high == no_limit || high - count <= longest + 1 || high < longest + 1 + std::max(floor, low)) return count;
    return high - longest - 1;
}

FrameId ObjectFrames::fold(FrameId id, std::uint32_t longest) {
    ObjectFrame f = frames_[id];
    const ObjectSpec& o = program_.objects[f.spec];
    f.used = 0;
    if (o.condition == no_condition) {
        std::uint32_t floor = static_cast<std::uint32_t>(o.properties.size());
        f.count = fold_count(f.count, floor, o.min_properties, o.max_properties, longest);
    }
    return f == frames_[id] ? id : intern(f);
}

// ---- arrays ----------------------------------------------------------------------------------------------------

ArrayFrames::ArrayFrames(const Program& program) : program_(program) {
    counters_.emplace_back();
    seen_.push_back({0, 0});
}

FrameId ArrayFrames::intern(const ArrayFrame& f) {
    std::uint64_t h = combine(combine(combine(f.spec, f.count), f.counters), (std::uint64_t{f.seen} << 32) | f.start);
    std::uint32_t found = frame_table_.find(h, [&](std::uint32_t i) { return frames_[i] == f; });
    if (found != IndexTable::none) return found;
    FrameId id = static_cast<FrameId>(frames_.size());
    frames_.push_back(f);
    frame_table_.insert(h, id);
    return id;
}

std::uint32_t ArrayFrames::intern_counters(std::vector<std::uint32_t> c) {
    while (!c.empty() && c.back() == 0) c.pop_back();
    if (c.empty()) return 0;
    std::uint64_t h = c.size();
    for (std::uint32_t v : c) h = combine(h, v);
    std::uint32_t found = counter_table_.find(h, [&](std::uint32_t i) { return counters_[i] == c; });
    if (found != IndexTable::none) return found;
    counters_.push_back(std::move(c));
    std::uint32_t id = static_cast<std::uint32_t>(counters_.size() - 1);
    counter_table_.insert(h, id);
    return id;
}

FrameId ArrayFrames::initial(std::uint32_t spec) {
    ArrayFrame f;
    f.spec = spec;
    return intern(f);
}

std::uint32_t ArrayFrames::items_needed(FrameId id) const {
    const ArrayFrame& f = frames_[id];
    const ArraySpec& a = program_.arrays[f.spec];
    const auto& c = counters_[f.counters];
    std::uint32_t need = a.min_items > f.count ? a.min_items - f.count : 0;
    for (std::size_t j = 0; j < a.counters.size(); ++j) {
        std::uint32_t have = j < c.size() ? c[j] : 0;
        if (a.counters[j].first > have) need = std::max(need, a.counters[j].first - have);
    }
    return need;
}

std::uint32_t ArrayFrames::counter_missing(FrameId id, std::uint32_t counter) const {
    const auto& have = counters_[frames_[id].counters];
    const std::uint32_t low = program_.arrays[frames_[id].spec].counters[counter].first, count = counter < have.size() ? have[counter] : 0;
    return low > count ? low - count : 0;
}

bool ArrayFrames::may_close(FrameId id) const { return items_needed(id) == 0; }

FrameId ArrayFrames::with_start(FrameId id, std::uint32_t text) {
    ArrayFrame f = frames_[id];
    f.start = text;
    return intern(f);
}

FrameId ArrayFrames::with_seen(FrameId id, std::uint32_t value) {
    ArrayFrame f = frames_[id];
    for (std::uint32_t u = f.seen; u; u = seen_[u].parent)
        if (seen_[u].value == value) return no_frame;
    std::uint64_t key = (std::uint64_t{f.seen} << 32) | value;
    std::uint32_t next = seen_table_.find(key);
    if (next == FlatMap::none) {
        next = static_cast<std::uint32_t>(seen_.size());
        seen_.push_back({f.seen, value});
        seen_table_.insert(key, next);
    }
    f.seen = next;
    f.start = 0;
    return intern(f);
}

FrameId ArrayFrames::with_item(FrameId id, std::uint32_t alternative) {
    ArrayFrame f = frames_[id];
    const ArraySpec& a = program_.arrays[f.spec];
    if (f.count >= a.max_items) return no_frame;
    const auto& events = a.at(f.count)[alternative].events;
    if (!events.empty()) {
        std::vector<std::uint32_t> c = counters_[f.counters];
        c.resize(a.counters.size());
        for (std::uint32_t e : events) {
            auto [low, high] = a.counters[e];
            if (high != no_limit && c[e] + 1 > high) return no_frame;
            c[e] = high == no_limit ? std::min(c[e] + 1, low) : c[e] + 1;
        }
        f.counters = intern_counters(std::move(c));
    }
    std::uint32_t top = std::max<std::uint32_t>(static_cast<std::uint32_t>(a.prefix.size()), a.max_items != no_limit ? a.max_items : a.min_items);
    f.count = std::min(f.count + 1, top);
    FrameId next = intern(f);
    std::uint32_t need = items_needed(next);
    if (need == 0) return next;
    // Enough places must be left, and each counter that is short needs items that can raise it.
    std::uint64_t places = 0;
    std::vector<std::uint32_t> reach(a.counters.size(), 0);
    std::uint32_t i = f.count;
    for (; i < a.prefix.size() && a.may_have(i); ++i) {
        ++places;
        for (std::size_t j = 0; j < reach.size(); ++j)
            for (const Alternative& alt : a.prefix[i])
                if (std::find(alt.events.begin(), alt.events.end(), j) != alt.events.end()) {
                    ++reach[j];
                    break;
                }
    }
    if (i >= a.prefix.size() && a.may_have(i)) {
        std::uint64_t more = a.max_items == no_limit ? 0xffffffffu : a.max_items - i;
        places += more;
        for (std::size_t j = 0; j < reach.size(); ++j)
            for (const Alternative& alt : a.rest)
                if (std::find(alt.events.begin(), alt.events.end(), j) != alt.events.end()) {
                    reach[j] = static_cast<std::uint32_t>(std::min<std::uint64_t>(0xffffffffu, reach[j] + more));
                    break;
                }
    }
    if (places < need) return no_frame;
    const auto& c = counters_[frames_[next].counters];
    for (std::size_t j = 0; j < reach.size(); ++j) {
        std::uint32_t have = j < c.size() ? c[j] : 0;
        if (a.counters[j].first > have && a.counters[j].first - have > reach[j]) return no_frame;
    }
    return next;
}

bool ArrayFrames::may_continue(FrameId id) {
    const ArrayFrame f = frames_[id];
    const ArraySpec& a = program_.arrays[f.spec];
    if (!a.may_have(f.count)) return false;
    for (std::uint32_t k = 0; k < a.at(f.count).size(); ++k)
        if (with_item(id, k) != no_frame) return true;
    return false;
}

}  // namespace scansion

namespace scansion {

FrameId ArrayFrames::fold(FrameId id, std::uint32_t longest) {
    ArrayFrame f = frames_[id];
    const ArraySpec& a = program_.arrays[f.spec];
    f.seen = f.start = 0;
    if (a.counters.empty()) f.count = fold_count(f.count, static_cast<std::uint32_t>(a.prefix.size()), a.min_items, a.max_items, longest);
    return f == frames_[id] ? id : intern(f);
}

}  // namespace scansion
