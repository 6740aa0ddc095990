#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace mizuoto {

class WeightStore;

/** A unit that a call of a pass reads. */
struct StreamedUnit {
    std::shared_ptr<WeightStore> store;
    int unit = 0;
};

/** The same by number: keeps nothing alive. */
struct UnitKey {
    uint64_t store = 0;
    int unit = -1;

    auto operator<=>(const UnitKey&) const = default;
};

UnitKey keyOf(const StreamedUnit& unit);

/**
 * What is thought to be wanted after a pass: what came after such a pass last time (by its last unit, and by
 * how many passes in a row ended with that unit, so that the last of ten steps is told from the others), or
 * what was told. On the device's thread, except `tell`.
 */
class Forecast {
  public:
    /** Units that come next, in this order; takes the place of what was told before. Any thread. */
    void tell(const std::vector<StreamedUnit>& units);
    /** Takes what was told meanwhile; true where there is something new. */
    bool hear();

    /** A pass begins: what was thought to come is compared with what comes. `order` is not empty. */
    void begin(const std::vector<StreamedUnit>& order);
    /** A pass ended early, or went by unseen: it teaches nothing. */
    void lose();
    /** What was told is void: nobody will want it. */
    void forgetTold() { told_.clear(); }
    void forget(const WeightStore& store);

    struct Coming {
        /** Units to copy ahead. */
        std::vector<StreamedUnit> units;
        /** The whole pass that is thought to follow. */
        std::vector<UnitKey> pass;
    };
    /** After the pass of this order, which runs; of what was told, at most this many units. */
    Coming after(const std::vector<StreamedUnit>& order, size_t most);
    /** What was told, unless it misled before. */
    std::vector<StreamedUnit> told(size_t most) const;
    /** A copy of the first unit that was told has begun. */
    void noteTried() { tried_ = true; }
    /** `after` named this unit, and no pass has begun since. */
    bool awaits(const UnitKey& unit) const;

  private:
    struct WeakUnit {
        std::weak_ptr<WeightStore> store;
        UnitKey key;
    };
    /** Last unit of a pass, and the passes in a row that ended with it: 0 = however many. */
    using Ending = std::pair<UnitKey, int>;

    static std::vector<StreamedUnit> alive(const std::vector<WeakUnit>& units, size_t most);
    void compareWithTold(const std::vector<StreamedUnit>& order);
    std::optional<StreamedUnit> learned() const;

    std::map<Ending, WeakUnit> successors_;
    /** Passes by their first unit. */
    std::map<UnitKey, std::vector<UnitKey>> passes_;
    std::optional<UnitKey> last_;
    int inARow_ = 0;

    std::vector<WeakUnit> told_;
    bool tried_ = false;
    /** First units that were told, copied, and not wanted then. */
    std::set<UnitKey> misled_;
    std::vector<UnitKey> awaited_;

    std::mutex mailbox_;
    std::optional<std::vector<WeakUnit>> mail_;
};

}  // namespace mizuoto
