// Frame data of JSON containers: interned records that say what has been read, and what may still be.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "conditions.h"
#include "program.h"
#include "text_trie.h"

namespace scansion {

std::uint32_t fold_count(std::uint32_t count, std::uint32_t floor, std::uint32_t low, std::uint32_t high, std::uint32_t longest);

using FrameId = std::uint32_t;
constexpr std::uint32_t no_pending = 0xffffffffu;
constexpr FrameId no_frame = 0xffffffffu;
constexpr std::uint32_t unknown_text = 0xfffffffeu;

struct ObjectFrame {
    std::uint32_t spec = 0;
    std::uint32_t position = 0;   // declared order: properties before it are past; properties.size() once a group key was read
    std::uint32_t seen = 0;       // any order: interned set of property indices
    std::uint32_t count = 0;      // keys read, saturated where it no longer matters
    std::uint32_t used = 0;       // interned set of additional keys used
    std::uint32_t condition = Conditions::always;
    std::uint32_t pending = no_pending;  // property index, or properties.size() + group, whose value comes next
    bool operator==(const ObjectFrame&) const = default;
};

class ObjectFrames {
  public:
    ObjectFrames(const Program& program, Conditions& conditions, const TextTrie& texts);

    FrameId initial(std::uint32_t spec);
    const ObjectFrame& operator[](FrameId f) const { return frames_[f]; }
    const ObjectSpec& spec(FrameId f) const { return program_.objects[frames_[f].spec]; }
    // What a member may begin with: properties, ascending by spelling, and groups.
    struct Available {
        std::span<const std::uint32_t> properties, groups;
        std::vector<std::uint32_t> own;  // what both are in, where it is too much to be kept
    };
    Available available(FrameId f);
    FrameId with_property(FrameId f, std::uint32_t property);  // no_frame: the object could not be finished
    FrameId with_group(FrameId f, std::uint32_t group, std::uint32_t text);
    FrameId with_value(FrameId f, std::uint32_t alternative);
    const Value& pending_value(FrameId f) const;
    bool may_close(FrameId f) const;
    bool is_used(FrameId f, std::uint32_t text) const;
    // The frame with what no token of `longest` bytes can tell apart folded together; used keys are dropped.
    FrameId fold(FrameId f, std::uint32_t longest);
    // Calls `visit(text)` for each additional key used.
    template <class Visit>
    void for_each_used(FrameId f, Visit visit) const {
        for (std::uint32_t u = frames_[f].used; u; u = used_[u].parent) visit(used_[u].text);
    }
    // Fewest further keys before the object may close; properties that must still come are listed.
    std::uint32_t keys_needed(FrameId f, std::vector<std::uint32_t>& required);
    std::size_t bytes() const { return frames_.size() * sizeof(ObjectFrame) * 2 + used_.size() * 24 + seen_bytes_ + lists_.bytes() + available_.size() * sizeof(available_[0]); }

  private:
    void find_available(FrameId f);
    bool has_seen(const ObjectFrame& frame, std::uint32_t property) const;
    std::uint32_t required_left(const ObjectFrame& frame) const;
    std::uint32_t possible_left(const ObjectFrame& frame) const;
    bool coverable(const ObjectFrame& frame, std::uint32_t condition, std::size_t& steps);
    std::uint32_t with_events(std::uint32_t condition, const Alternative& alternative);
    bool can_finish(ObjectFrame& frame);  // also drops from the condition what can no longer happen
    FrameId intern(const ObjectFrame& frame);
    std::uint32_t intern_seen(std::vector<std::uint64_t> bits);
    void count_one(ObjectFrame& frame) const;

    struct Used {
        std::uint32_t parent, text;
    };
    const Program& program_;
    Conditions& conditions_;
    const TextTrie& texts_;
    std::vector<ObjectFrame> frames_;
    IndexTable frame_table_;
    ListArena<std::uint32_t> lists_;
    std::vector<std::uint32_t> available_of_;  // by frame: index + 1 of `available_`
    static constexpr std::size_t kept_limit = 64;  // keys; longer lists are made anew each time
    std::vector<std::pair<std::span<const std::uint32_t>, std::span<const std::uint32_t>>> available_;
    std::vector<std::uint32_t> properties_, groups_;  // room for one of them
    std::vector<std::vector<std::uint64_t>> seen_;
    IndexTable seen_table_;
    std::size_t seen_bytes_ = 0;
    std::vector<Used> used_;
    std::unordered_map<std::uint64_t, std::uint32_t> used_table_;
};

struct ArrayFrame {
    std::uint32_t spec = 0;
    std::uint32_t count = 0;     // items read, saturated where it no longer matters
    std::uint32_t counters = 0;  // interned
    std::uint32_t seen = 0;      // unique items: interned chain of the values read
    std::uint32_t start = 0;     // unique items: text of the enclosing unique item where this item began
    bool operator==(const ArrayFrame&) const = default;
};

class ArrayFrames {
  public:
    explicit ArrayFrames(const Program& program);
    FrameId initial(std::uint32_t spec);
    const ArrayFrame& operator[](FrameId f) const { return frames_[f]; }
    const ArraySpec& spec(FrameId f) const { return program_.arrays[frames_[f].spec]; }
    bool may_close(FrameId f) const;
    const Value& next_value(FrameId f) const { return spec(f).at(frames_[f].count); }
    FrameId with_item(FrameId f, std::uint32_t alternative);  // no_frame: the array could not be finished
    FrameId with_start(FrameId f, std::uint32_t text);        // an item begins
    FrameId with_seen(FrameId f, std::uint32_t value);        // no_frame: the value was read before
    template <class Visit>
    void for_each_seen(FrameId f, Visit visit) const {
        for (std::uint32_t u = frames_[f].seen; u; u = seen_[u].parent) visit(seen_[u].value);
    }
    bool may_continue(FrameId f);
    FrameId fold(FrameId f, std::uint32_t longest);
    std::uint32_t items_needed(FrameId f) const;
    std::uint32_t counter_missing(FrameId f, std::uint32_t counter) const;  // items that must still raise it
    std::size_t bytes() const { return frames_.size() * sizeof(ArrayFrame) * 2 + counters_.size() * 48 + seen_.size() * 8 + seen_table_.bytes(); }

  private:
    FrameId intern(const ArrayFrame& frame);
    std::uint32_t intern_counters(std::vector<std::uint32_t> counters);
    const Program& program_;
    std::vector<ArrayFrame> frames_;
    IndexTable frame_table_;
    std::vector<std::vector<std::uint32_t>> counters_;
    IndexTable counter_table_;
    struct Seen {
        std::uint32_t parent, value;
    };
    std::vector<Seen> seen_;
    FlatMap seen_table_;
};

}  // namespace scansion
