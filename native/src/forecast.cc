#include "forecast.h"

#include <algorithm>

#include "weight_store.h"

namespace mizuoto {
namespace {

/** More passes in a row are not told apart. */
constexpr int kMostInARow = 64;
/** Beyond this, learning starts anew: models came and went. */
constexpr size_t kMostLearned = 4096;

std::vector<UnitKey> keysOf(const std::vector<StreamedUnit>& units) {
    std::vector<UnitKey> keys;
    keys.reserve(units.size());
    for (const StreamedUnit& unit : units) keys.push_back(keyOf(unit));
    return keys;
}

template <typename Map, typename Key, typename Value>
void learn(Map& map, const Key& key, Value value) {
    if (map.size() >= kMostLearned) map.clear();
    map.insert_or_assign(key, std::move(value));
}

}  // namespace

UnitKey keyOf(const StreamedUnit& unit) {
    return {unit.store->id(), unit.unit};
}

void Forecast::tell(const std::vector<StreamedUnit>& units) {
    std::vector<WeakUnit> mail;
    mail.reserve(units.size());
    for (const StreamedUnit& unit : units) mail.push_back({unit.store, keyOf(unit)});
    const std::lock_guard lock(mailbox_);
    mail_ = std::move(mail);
}

bool Forecast::hear() {
    const std::lock_guard lock(mailbox_);
    if (!mail_) return false;
    told_ = std::move(*mail_);
    mail_.reset();
    tried_ = false;
    return true;
}

void Forecast::begin(const std::vector<StreamedUnit>& order) {
    hear();
    awaited_.clear();
    const UnitKey first = keyOf(order.front());
    const UnitKey last = keyOf(order.back());
    if (last_) {
        const WeakUnit successor{order.front().store, first};
        learn(successors_, Ending{*last_, inARow_}, successor);
        learn(successors_, Ending{*last_, 0}, successor);
    }
    inARow_ = last_ == last ? std::min(inARow_ + 1, kMostInARow) : 1;
    last_ = last;
    std::vector<UnitKey> keys = keysOf(order);
    if (!told_.empty()) compareWithTold(order);
    learn(passes_, first, std::move(keys));
}

void Forecast::compareWithTold(const std::vector<StreamedUnit>& order) {
    const std::vector<UnitKey> keys = keysOf(order);
    const std::set<UnitKey> wanted(keys.begin(), keys.end());
    const UnitKey first = told_.front().key;
    if (wanted.contains(first)) {
        misled_.erase(first);
    } else if (tried_) {
        misled_.insert(first);
    }
    std::erase_if(told_, [&](const WeakUnit& unit) { return wanted.contains(unit.key); });
    tried_ = false;
}

void Forecast::lose() {
    last_.reset();
    inARow_ = 0;
    awaited_.clear();
}

void Forecast::forget(const WeightStore& store) {
    const uint64_t id = store.id();
    std::erase_if(successors_, [&](const auto& entry) {
        return entry.first.first.store == id || entry.second.key.store == id;
    });
    std::erase_if(passes_, [&](const auto& entry) { return entry.first.store == id; });
    std::erase_if(told_, [&](const WeakUnit& unit) { return unit.key.store == id; });
    std::erase_if(misled_, [&](const UnitKey& unit) { return unit.store == id; });
    std::erase_if(awaited_, [&](const UnitKey& unit) { return unit.store == id; });
    if (last_ && last_->store == id) lose();
}

std::optional<StreamedUnit> Forecast::learned() const {
    for (const int inARow : {inARow_, 0}) {
        const auto found = successors_.find({*last_, inARow});
        if (found == successors_.end()) continue;
        if (auto store = found->second.store.lock()) return StreamedUnit{store, found->second.key.unit};
    }
    return std::nullopt;
}

Forecast::Coming Forecast::after(const std::vector<StreamedUnit>& order, size_t most) {
    Coming coming;
    const std::optional<StreamedUnit> next = learned();
    // What was told is of other components: passes of this one come first where that was learned.
    const bool stays = next && std::any_of(order.begin(), order.end(),
                                           [&](const StreamedUnit& use) { return use.store == next->store; });
    if (!stays) coming.units = told(1);
    // Only what was learned as well is worth more than one copy.
    if (next && !coming.units.empty() && keyOf(*next) == keyOf(coming.units.front()))
        coming.units = told(most);
    if (coming.units.empty()) {
        // Where nothing is known, passes are taken to repeat.
        coming.units = {next ? *next : order.front()};
        const auto known = passes_.find(keyOf(coming.units.front()));
        if (known != passes_.end()) coming.pass = known->second;
    }
    awaited_ = keysOf(coming.units);
    if (coming.pass.empty()) coming.pass = awaited_;
    return coming;
}

std::vector<StreamedUnit> Forecast::told(size_t most) const {
    if (told_.empty() || misled_.contains(told_.front().key)) return {};
    return alive(told_, most);
}

std::vector<StreamedUnit> Forecast::alive(const std::vector<WeakUnit>& units, size_t most) {
    std::vector<StreamedUnit> result;
    for (const WeakUnit& unit : units) {
        if (result.size() == most) break;
        if (auto store = unit.store.lock()) result.push_back({std::move(store), unit.key.unit});
    }
    return result;
}

bool Forecast::awaits(const UnitKey& unit) const {
    return std::find(awaited_.begin(), awaited_.end(), unit) != awaited_.end();
}

}  // namespace mizuoto
