// One sequence: a stack of states, one a token, so fork, rollback and compare cost nothing.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "completion.h"
#include "engine.h"
#include "masks.h"
#include "rehearsal.h"
#include "vocabulary.h"

namespace scansion {

// What grows while texts are read. Matchers made at one time share it under one lock.
struct Tables {
    Tables(std::shared_ptr<const Program> program, Vocabulary& vocabulary)
        : engine(std::move(program)), masks(engine, vocabulary), completion(engine) {}
    Engine engine;
    Masks masks;
    Completion completion;
    std::mutex mutex;
    std::size_t bytes() const { return engine.bytes() + masks.bytes(); }
};

// A program over a vocabulary. Tables that have grown past the budget are left to the matchers that use them, and go with the last of those;
// new matchers begin with fresh ones.
class Constraint {
  public:
    static constexpr std::size_t table_budget = std::size_t{192} << 20;  // bytes

    Constraint(std::shared_ptr<const Program> program, std::shared_ptr<Vocabulary> vocabulary)
        : program_(std::move(program)), vocabulary_(std::move(vocabulary)), tables_(std::make_shared<Tables>(program_, *vocabulary_)) {
        Rehearsal(tables_->engine, tables_->masks).run();
    }
    const std::shared_ptr<Vocabulary>& vocabulary() const { return vocabulary_; }
    std::shared_ptr<Tables> tables() {
        std::lock_guard lock(mutex_);
        std::size_t bytes;
        {
            std::lock_guard inner(tables_->mutex);
            bytes = tables_->bytes();
        }
        if (bytes > table_budget) tables_ = std::make_shared<Tables>(program_, *vocabulary_);
        return tables_;
    }

  private:
    std::shared_ptr<const Program> program_;
    std::shared_ptr<Vocabulary> vocabulary_;
    std::mutex mutex_;
    std::shared_ptr<Tables> tables_;
};

struct Expectation {
    std::uint32_t point_kind;  // Resume
    std::int64_t node_or_spec;
    std::uint32_t detail;
};

class Matcher {
  public:
    explicit Matcher(std::shared_ptr<Constraint> constraint);
    Matcher(const Matcher& other) : constraint_(other.constraint_), tables_(other.tables_), places_(other.places_) {}

    void fill(std::uint32_t* out);  // vocabulary.words() words
    // The masks of many matchers (nullptr: none), row by row, those of different constraints on all processors where enough
    // of them are new. A matcher may come twice.
    static void fill_all(const std::vector<Matcher*>& matchers, const std::function<std::uint32_t*(std::size_t)>& row);
    bool allows(std::uint32_t token);
    bool accept(std::uint32_t token);
    bool accept_bytes(std::string_view bytes);
    std::size_t viable_prefix(std::string_view bytes);
    // Of a text that could follow before the last token: how many of its first bytes the token stands for, fewer than `most_replaced`,
    // so that the others may follow it. Seen where both ways have come together `soon_together` bytes later; -1 where they have not.
    std::int64_t bytes_replaced(std::string_view text);
    bool complete();
    bool finished();
    std::size_t token_count();
    bool counts_tokens() const { return tables_->engine.program().has_budgets; }
    Matcher fork();
    bool rollback(std::size_t tokens);
    void reset();
    std::string forced_bytes(std::size_t limit);
    std::int64_t forced_token();  // -1: none
    std::string next_bytes();
    std::int64_t only_token();  // -1: there are several, or none
    // Accepts tokens as far as they are allowed; for each of them whether it was the only one, where that is asked.
    std::vector<bool> follow(const std::vector<std::uint32_t>& tokens, bool only);
    // The bytes that must come, and where there are none those that may come next.
    struct Outlook {
        std::string forced, next;
        bool complete;
    };
    Outlook outlook(std::size_t limit);
    std::int64_t shortest_cost();  // -1: nothing completes
    bool shortest_completion(std::string& out, std::size_t limit);
    std::vector<Expectation> expected();
    std::uint64_t state();
    const std::shared_ptr<Constraint>& constraint() const { return constraint_; }

    static constexpr StateId finished_state = 0xfffffffeu;
    static constexpr std::size_t most_replaced = 4, soon_together = 4;

  private:
    struct Place {
        StateId state;
        std::uint32_t time;  // 0 where the program has no budgets
    };
    struct Batch;
    // Refuses a second thread instead of corrupting the sequence.
    class Use {
      public:
        explicit Use(Matcher& m);
        ~Use();

      private:
        Matcher& matcher_;
        std::unique_lock<std::mutex> lock_;
    };
    StateId next_state(std::uint32_t token);
    // Under the tables' lock, as their namesakes without it.
    bool take(std::uint32_t token);
    std::int64_t only() const;
    std::string forced(std::size_t limit) const;
    std::string next() const;
    bool come_together(StateId one, StateId other, std::string_view bytes) const;
    void write_mask(std::uint32_t* out) const;  // under the tables' lock
    StateId now() const { return places_.back().state; }
    bool ended() const { return now() == finished_state; }

    std::shared_ptr<Constraint> constraint_;
    std::shared_ptr<Tables> tables_;
    std::vector<Place> places_;
    std::atomic<bool> in_use_{false};
};

}  // namespace scansion
