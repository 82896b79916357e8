#include "matcher.h"

#include <algorithm>
#include <bit>

namespace scansion {

Matcher::Use::Use(Matcher& m) : matcher_(m) {
    if (m.in_use_.exchange(true)) throw std::logic_error("a matcher is used by two threads at once: fork() one for each");
    lock_ = std::unique_lock(m.tables_->mutex);
}
Matcher::Use::~Use() { matcher_.in_use_.store(false); }

Matcher::Matcher(std::shared_ptr<Constraint> constraint) : constraint_(std::move(constraint)), tables_(constraint_->tables()) {
    places_.push_back({tables_->engine.start(), 0});
}

void Matcher::reset() {
    if (in_use_.exchange(true)) throw std::logic_error("a matcher is used by two threads at once: fork() one for each");
    tables_ = constraint_->tables();
    places_.assign(1, {tables_->engine.start(), 0});
    in_use_.store(false);
}

void Matcher::fill(std::uint32_t* out) {
    Use use(*this);
    write_mask(out);
}

void Matcher::write_mask(std::uint32_t* out) const {
    if (ended())
        tables_->masks.fill_finished(out);
    else
        tables_->masks.fill(now(), out);
}

// The state after `token`, finished_state, or dead_state where it is not allowed.
StateId Matcher::next_state(std::uint32_t token) {
    const Vocabulary& v = *constraint_->vocabulary();
    if (token >= v.size()) return dead_state;
    StateId s = now();
    if (s == finished_state) return v.is_eos(token) ? finished_state : dead_state;
    Engine& engine = tables_->engine;
    if (v.is_eos(token) && engine.accepting(s)) return finished_state;
    StateId by_token = engine.step_token(s, token);
    const auto& text = v.text(token);
    if (!text) return by_token;
    return engine.merge(engine.step(s, *text), by_token);
}

bool Matcher::allows(std::uint32_t token) {
    Use use(*this);
    return next_state(token) != dead_state;
}

bool Matcher::accept(std::uint32_t token) {
    Use use(*this);
    return take(token);
}

bool Matcher::take(std::uint32_t token) {
    StateId s = next_state(token);
    if (s == dead_state) return false;
    const std::uint32_t time = places_.back().time;
    const Moment after = s == finished_state ? Moment{s, time} : tables_->engine.end_token({s, time});
    places_.push_back({after.state, after.time});
    return true;
}

std::vector<bool> Matcher::follow(const std::vector<std::uint32_t>& tokens, bool only_asked) {
    Use use(*this);
    std::vector<bool> taken;
    taken.reserve(tokens.size());
    const auto before = static_cast<std::ptrdiff_t>(places_.size());
    try {
        for (std::uint32_t token : tokens) {
            const bool alone = only_asked && only() == token;
            if (!take(token)) break;
            taken.push_back(alone);
        }
    } catch (...) {  // a limit was met: nobody would know how many were taken
        places_.erase(places_.begin() + before, places_.end());
        throw;
    }
    return taken;
}

bool Matcher::accept_bytes(std::string_view bytes) {
    Use use(*this);
    if (ended()) return false;
    StateId s = tables_->engine.step(now(), bytes);
    if (s == dead_state) return false;
    places_.push_back({s, places_.back().time});
    return true;
}

std::size_t Matcher::viable_prefix(std::string_view bytes) {
    Use use(*this);
    if (ended()) return 0;
    StateId s = now();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        s = tables_->engine.step(s, static_cast<std::uint8_t>(bytes[i]));
        if (s == dead_state) return i;
    }
    return bytes.size();
}

// Whether `bytes` lead from both states to one that lives.
bool Matcher::come_together(StateId one, StateId other, std::string_view bytes) const {
    Engine& engine = tables_->engine;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (one == other) return engine.step(one, bytes.substr(i)) != dead_state;
        one = engine.step(one, static_cast<std::uint8_t>(bytes[i]));
        if (one == dead_state) return false;
        other = engine.step(other, static_cast<std::uint8_t>(bytes[i]));
        if (other == dead_state) return false;
    }
    return one == other;
}

std::int64_t Matcher::bytes_replaced(std::string_view text) {
    Use use(*this);
    if (places_.size() < 2 || ended()) return -1;
    const Place& before = places_[places_.size() - 2];
    if (before.time != places_.back().time) return -1;
    StateId behind = before.state;
    for (std::size_t done = 0; done < std::min(text.size(), most_replaced); ++done) {
        if (come_together(now(), behind, text.substr(done, soon_together))) return static_cast<std::int64_t>(done);
        StateId next = tables_->engine.step(behind, static_cast<std::uint8_t>(text[done]));
        if (next != dead_state) behind = next;
    }
    return -1;
}

bool Matcher::complete() {
    Use use(*this);
    return ended() || tables_->engine.accepting(now());
}

bool Matcher::rollback(std::size_t tokens) {
    Use use(*this);
    if (tokens > places_.size() - 1) return false;
    places_.erase(places_.end() - static_cast<std::ptrdiff_t>(tokens), places_.end());
    return true;
}

bool Matcher::finished() {
    Use use(*this);
    return ended();
}

std::size_t Matcher::token_count() {
    Use use(*this);
    return places_.size() - 1;
}

std::uint64_t Matcher::state() {
    Use use(*this);
    return std::uint64_t{places_.back().time} << 32 | now();
}

Matcher Matcher::fork() {
    Use use(*this);
    return Matcher(*this);
}

std::string Matcher::forced_bytes(std::size_t limit) {
    Use use(*this);
    return forced(limit);
}

namespace {
// The one byte that may follow in a state; -1: several may, or none.
int only_byte(Engine& engine, StateId s) {
    std::uint64_t live[4];
    engine.live_bytes(s, live);
    int only = -1;
    for (int w = 0; w < 4; ++w) {
        if (!live[w]) continue;
        if (only >= 0 || !std::has_single_bit(live[w])) return -1;
        only = w * 64 + std::countr_zero(live[w]);
    }
    return only;
}
}  // namespace

std::string Matcher::forced(std::size_t limit) const {
    std::string out;
    if (ended()) return out;
    Engine& engine = tables_->engine;
    StateId s = now();
    Moment moment{s, places_.back().time};
    while (out.size() < limit && !engine.accepting(s) && !engine.has_token_edges(s)) {
        const int only = only_byte(engine, s);
        if (only < 0) break;
        out.push_back(static_cast<char>(only));
        s = engine.step(s, static_cast<std::uint8_t>(only));
        moment = engine.end_token({s, moment.time});
        if (moment.ended) break;  // however the bytes are cut into tokens, no budget is over before as many of them
        s = moment.state;
    }
    return out;
}

std::int64_t Matcher::forced_token() {
    Use use(*this);
    if (ended()) return -1;
    Engine& engine = tables_->engine;
    StateId s = now();
    if (!engine.has_token_edges(s) || engine.accepting(s)) return -1;
    std::uint64_t live[4];
    engine.live_bytes(s, live);
    if (live[0] | live[1] | live[2] | live[3]) return -1;
    std::int64_t only = -1;
    for (std::size_t i = 0; i < engine.thread_count(s); ++i)
        for (auto [low, high] : engine.program().token_sets[engine.thread(s, i).token_set()]) {
            if (low != high || (only >= 0 && only != static_cast<std::int64_t>(low))) return -1;
            only = low;
        }
    return only;
}

std::int64_t Matcher::only_token() {
    Use use(*this);
    return only();
}

std::int64_t Matcher::only() const {
    const Vocabulary& v = *constraint_->vocabulary();
    if (ended()) return v.eos().size() == 1 ? v.eos()[0] : -1;
    Engine& engine = tables_->engine;
    const Trie& trie = v.trie();
    // Along forced text two tokens are soon found (one writes a byte, another more), or the trie ends with one: no mask is needed.
    std::uint32_t node = 0, found = 0, token = 0;
    StateId s = now();
    for (int byte; (byte = only_byte(engine, s)) >= 0;) {
        node = trie.child(node, static_cast<std::uint8_t>(byte));
        if (!node) {
            if (engine.accepting(now()) || engine.has_token_edges(now())) break;
            return found ? std::int64_t{token} : -1;
        }
        const TrieNode& n = trie.nodes[node];
        if (n.token_count) token = trie.tokens[n.first_token];
        if ((found += n.token_count) > 1) return -1;
        s = engine.step(s, static_cast<std::uint8_t>(byte));
    }
    return tables_->masks.only(now());
}

Matcher::Outlook Matcher::outlook(std::size_t limit) {
    Use use(*this);
    Outlook out{forced(limit), {}, ended() || tables_->engine.accepting(now())};
    if (out.forced.empty()) out.next = next();
    return out;
}

std::string Matcher::next_bytes() {
    Use use(*this);
    return next();
}

std::string Matcher::next() const {
    std::string out;
    if (ended()) return out;
    std::uint64_t live[4];
    tables_->engine.live_bytes(now(), live);
    for (std::uint32_t b = 0; b < 256; ++b)
        if (live[b / 64] >> (b % 64) & 1) out.push_back(static_cast<char>(b));
    return out;
}

std::int64_t Matcher::shortest_cost() {
    Use use(*this);
    if (ended()) return 0;
    std::uint64_t cost = tables_->completion.estimate(now());
    return cost == Completion::impossible ? -1 : static_cast<std::int64_t>(cost);
}

bool Matcher::shortest_completion(std::string& out, std::size_t limit) {
    Use use(*this);
    if (ended()) return true;
    return tables_->completion.shortest(now(), out, limit);
}

std::vector<Expectation> Matcher::expected() {
    Use use(*this);
    std::vector<Expectation> out;
    if (ended()) return out;
    Engine& engine = tables_->engine;
    StateId s = now();
    for (std::size_t i = 0; i < engine.thread_count(s); ++i) {
        const Thread& t = engine.thread(s, i);
        for (const Item& item : engine.items(t.stack)) {
            Resume kind = item.kind();
            if (kind == Resume::budget_begun || kind == Resume::budget_until) kind = Resume::budget;
            std::int64_t where = -1;
            if (kind == Resume::node || kind == Resume::repeat || kind == Resume::budget)
                where = item.low();
            else if (kind >= Resume::object_open && kind <= Resume::object_next)
                where = engine.object_frames()[item.data].spec;
            else if (kind >= Resume::array_open && kind <= Resume::array_next)
                where = engine.array_frames()[item.data].spec;
            std::uint32_t detail = item.low();
            if (kind == Resume::object_value || kind == Resume::object_after) detail = engine.object_frames()[item.data].pending;
            if (kind == Resume::array_after) detail = engine.array_frames()[item.data].count;
            out.push_back({static_cast<std::uint32_t>(kind), where, detail});
        }
    }
    return out;
}

}  // namespace scansion
