// Languages that short texts cannot tell apart: counts far from their bounds, and patterns that any text may still come to match.
#include "language.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace scansion {

namespace {
constexpr std::size_t few_states = 24, some_states = 256;
}

Languages::Folded Languages::fold_counts(LangId a, std::uint32_t least) {
    auto slot = [&](LangId p) { return std::uint64_t{p} << 32 | least; };
    // A long text is a chain of concatenations: from its end, without recursion.
    std::vector<LangId> chain;
    for (LangId p = a; folded_table_.find(slot(p)) == FlatMap::none; p = nodes_[p].b) {
        chain.push_back(p);
        if (nodes_[p].op != LangOp::concat) break;
    }
    for (; !chain.empty(); chain.pop_back()) {
        const Folded folded = fold_parts(chain.back(), least);
        folded_table_.insert(slot(chain.back()), static_cast<std::uint32_t>(folded_.size()));
        folded_.push_back(folded);
    }
    return folded_[folded_table_.find(slot(a))];
}

Languages::Folded Languages::fold_parts(LangId a, std::uint32_t least) {
    Folded out{a, unbounded, false};
    auto part = [&](LangId p) {
        const Folded f = fold_counts(p, least);
        out.within = std::min(out.within, f.within);
        out.mixed |= f.mixed;
        return f.to;
    };
    const LangOp op = nodes_[a].op;
    const std::uint32_t fa = nodes_[a].a, fb = nodes_[a].b, fc = nodes_[a].c;
    switch (op) {
        case LangOp::nothing:
        case LangOp::empty:
        case LangOp::char_class:
        case LangOp::automaton: break;
        case LangOp::concat: {
            const LangId head = part(fa), tail = part(fb);
            if (head != fa || tail != fb) out.to = concat(head, tail);
            break;
        }
        case LangOp::repeat: {
            const LangId body = part(fa);
            std::uint32_t high = fc;
            // A word that goes round more often than `fc` times, and never in vain, is longer than this.
            const std::uint64_t word = (std::uint64_t{fc} + 1) * std::max(min_length(fa), 1u) - 1;
            if (fc != unbounded && word >= least) {
                out.within = static_cast<std::uint32_t>(std::min<std::uint64_t>(out.within, word));
                high = unbounded;
            }
            out.to = repeat(body, fb, high);
            break;
        }
        case LangOp::complement: {
            const LangId inner = part(fa);
            out.to = complement(inner);
            out.mixed |= inner != fa;
            break;
        }
        case LangOp::union_:
        case LangOp::intersection: {
            std::vector<LangId> parts = children(a);
            for (LangId& p : parts) p = part(p);
            out.to = op == LangOp::union_ ? union_(std::move(parts)) : intersection(std::move(parts));
            break;
        }
    }
    return out;
}

// False: there is more than one, or one where nothing is said of it.
bool Languages::look_for_counter(LangId a, bool inside, std::size_t& nodes, std::optional<Counter>& found) {
    constexpr std::size_t most = 64;
    for (;; a = nodes_[a].b) {  // the tail of a chain, without recursion
        if (++nodes > most) return false;
        const Node& n = nodes_[a];
        switch (n.op) {
            case LangOp::nothing:
            case LangOp::empty:
            case LangOp::char_class:
            case LangOp::automaton: return true;
            case LangOp::concat:
                if (!look_for_counter(n.a, inside, nodes, found)) return false;
                continue;
            case LangOp::repeat: {
                if (nodes_[n.a].op == LangOp::char_class) return true;
                if (n.c == unbounded) return look_for_counter(n.a, true, nodes, found);
                const Counter here{n.a, n.c};
                if (inside || n.b > 0 || (found && *found != here)) return false;
                found = here;
                return look_for_counter(n.a, true, nodes, found);
            }
            case LangOp::complement:
            case LangOp::intersection: return false;
            case LangOp::union_:
                for (LangId p : children(a))
                    if (!look_for_counter(p, inside, nodes, found)) return false;
                return true;
        }
    }
}

std::optional<Languages::Counter> Languages::counter(LangId a) {
    if (const std::uint32_t known = counters_.find(a); known != FlatMap::none) return known == 0 ? std::nullopt : std::optional(counters_found_[known - 1]);
    std::optional<Counter> found;
    std::size_t nodes = 0;
    // The same body without a bound beside it would be taken for the counter where that has none.
    if (!look_for_counter(a, false, nodes, found) || (found && set_counter(set_counter(a, found->body, unbounded), found->body, found->high) != a)) found.reset();
    if (found) counters_found_.push_back(*found);
    counters_.insert(a, found ? static_cast<std::uint32_t>(counters_found_.size()) : 0);
    return found;
}

LangId Languages::set_counter(LangId a, LangId body, std::uint32_t high) {
    const Node& n = nodes_[a];
    const std::uint32_t na = n.a, nb = n.b;
    switch (n.op) {
        case LangOp::repeat: return na == body ? repeat(body, nb, high) : a;
        case LangOp::concat: {
            const LangId head = set_counter(na, body, high), tail = set_counter(nb, body, high);
            return head == na && tail == nb ? a : concat(head, tail);
        }
        case LangOp::union_: {
            std::vector<LangId> parts = children(a);
            for (LangId& p : parts) p = set_counter(p, body, high);
            return union_(std::move(parts));
        }
        default: return a;
    }
}

// No fewer characters than a word still needs anywhere in the automaton; `unbounded` where its states are many.
std::uint32_t Languages::farthest_state(LangId a) {
    if (const std::uint32_t known = farthest_state_.find(a); known != FlatMap::none) return known - 1;
    std::uint32_t far = unbounded;
    if (const auto states = reachable(a, some_states)) {
        far = 0;
        for (LangId s : *states)
            if (!is_nothing(s)) far = std::max(far, min_length(s));
        for (LangId s : *states)  // none of them has farther to go
            if (s != a && farthest_state_.find(s) == FlatMap::none) farthest_state_.insert(s, far + 1);
    }
    farthest_state_.insert(a, far + 1);
    return far;
}

LangId Languages::fold_far_counts(LangId a, std::uint32_t longest) {
    const std::uint64_t key = std::uint64_t{a} << 32 | longest;
    if (std::uint32_t known = far_folded_.find(key); known != FlatMap::none) return known;
    constexpr std::uint32_t some = 32;  // characters to the nearest end, mostly
    const Folded f = fold_counts(a, longest + some);
    LangId to = a;
    if (f.to != a && f.within >= longest && (!f.mixed || any_prefix(f.to)) && saturating_add(farthest_state(f.to), longest) <= f.within) to = f.to;
    far_folded_.insert(key, to);
    return to;
}

std::optional<std::uint32_t> Languages::any_prefix(LangId a) {
    if (std::uint32_t known = any_prefix_.find(a); known != FlatMap::none) return known == 0 ? std::nullopt : std::optional(known - 1);
    std::optional<std::uint32_t> out;
    const Node& n = nodes_[a];
    if (a == anything) {
        out = 0;
    } else if (n.op == LangOp::concat && n.a == anything) {
        if (!is_nothing(n.b)) out = min_length(n.b);
    } else if (n.op == LangOp::union_ && n.plain) {
        for (LangId p : children(a))
            if (auto far = any_prefix(p); far && (!out || *far < *out)) out = far;
    } else if (!n.plain) {
        out = any_prefix_by_states(a);
    }
    any_prefix_.insert(a, out ? *out + 1 : 0);
    return out;
}

// Every state of the automaton goes on by every character, and every state leads to the end.
std::optional<std::uint32_t> Languages::any_prefix_by_states(LangId a) {
    std::uint32_t farthest = 0;
    std::vector<LangId> states{a};
    for (std::size_t i = 0; i < states.size(); ++i) {
        const DerivativeTable& table = derivatives(states[i]);
        for (std::size_t k = 0; k < table.targets.size(); ++k) {
            const LangId to = table.targets[k];
            if (to == nothing) {
                const CodePoint last = k + 1 < table.starts.size() ? table.starts[k + 1] - 1 : max_code_point;
                if (table.starts[k] < surrogate_first || last > surrogate_last) return std::nullopt;
            } else if (std::find(states.begin(), states.end(), to) == states.end()) {
                if (states.size() == few_states) return std::nullopt;
                states.push_back(to);
            }
        }
        const std::uint32_t left = min_length(states[i]);
        if (left == unbounded) return std::nullopt;
        farthest = std::max(farthest, left);
    }
    return farthest;
}

// The states of the automaton but `nothing`; nullopt where they are more than `most`.
std::optional<std::vector<LangId>> Languages::reachable(LangId a, std::size_t most) {
    std::vector<LangId> order;
    const std::uint32_t search = ++searches_;
    auto add = [&](LangId s) {
        if (s >= reached_in_.size()) reached_in_.resize(nodes_.size(), 0);
        if (std::exchange(reached_in_[s], search) != search) order.push_back(s);
    };
    add(a);
    for (std::size_t i = 0; i < order.size(); ++i)
        for (LangId t : derivatives(order[i]).targets) {
            if (t != nothing) add(t);
            if (order.size() > most) return std::nullopt;
        }
    return order;
}

bool Languages::has_many_words(LangId a, std::uint32_t more) {
    constexpr double many = 257;
    const std::uint32_t least = min_length(a);
    if (least == unbounded) return false;
    std::unordered_map<LangId, double> level{{a, 1.0}};
    double words = 0;
    for (std::uint32_t length = 0; length <= least + more && !level.empty() && level.size() < 200; ++length) {
        std::unordered_map<LangId, double> next;
        for (auto [s, ways] : level) {
            if (nodes_[s].nullable) words += ways;
            const DerivativeTable& table = derivatives(s);
            for (std::size_t k = 0; k < table.targets.size(); ++k) {
                if (table.targets[k] == nothing) continue;
                const CodePoint last = k + 1 < table.starts.size() ? table.starts[k + 1] - 1 : max_code_point;
                double& to = next[table.targets[k]];
                to = std::min(1e9, to + ways * (last - table.starts[k] + 1));
            }
        }
        if (words >= many) return true;
        level = std::move(next);
    }
    return false;
}

bool Languages::is_plentiful(LangId a, std::uint32_t longest) {
    const std::uint64_t key = std::uint64_t{a} << 32 | longest;
    if (std::uint32_t known = plentiful_.find(key); known != FlatMap::none) return known;
    constexpr std::uint32_t more = 8;
    const Folded f = fold_counts(a, far_count);
    bool plentiful = f.to != a && f.within != unbounded && is_endless(f.to) && (!f.mixed || any_prefix(f.to));
    if (plentiful) {
        const auto states = reachable(f.to, few_states);
        plentiful = states && std::all_of(states->begin(), states->end(), [&](LangId s) {
            const std::uint64_t least = min_length(s);
            return is_nothing(s) || (longest + least + more <= f.within && has_many_words(s, more));
        });
    }
    plentiful = plentiful || is_endless(a);
    plentiful_.insert(key, plentiful);
    return plentiful;
}

}  // namespace scansion
