#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samples.h"

namespace fuzz {

using samples::Bytes;

/** splitmix64: small, and the same numbers everywhere. */
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next();
    /** 0 .. limit - 1; limit at least 1. */
    uint64_t below(uint64_t limit) { return next() % limit; }
    bool oneIn(uint64_t n) { return below(n) == 0; }
    template <typename T, size_t N>
    const T& pick(const T (&items)[N]) {
        return items[below(N)];
    }

  private:
    uint64_t state_;
};

/** Numbers at which sizes and offsets go wrong. */
uint64_t interestingNumber(Random& random);

/** A checkpoint made from its grammar: mostly sound, with a few parts that are not. */
Bytes randomSafetensors(Random& random);
Bytes randomGguf(Random& random);
/** The text of an index over the named shards. */
Bytes randomIndex(Random& random, const std::vector<std::string>& shards);

/** Changes bytes without knowing what they mean: flips, numbers, cuts, copies, splices with `other`. */
void mutateBytes(Random& random, Bytes& bytes, const Bytes& other);

/** Changes tokens of the JSON header and writes the length that fits it again. */
void mutateSafetensorsHeader(Random& random, Bytes& bytes);
/** Changes tokens of JSON text between `begin` and `end`. */
void mutateJson(Random& random, std::string& json);

}  // namespace fuzz
