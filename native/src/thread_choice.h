#pragma once

namespace mizuoto {

/**
 * How many threads compute. ggml's threads wait for each other by spinning after every operation, so one of
 * them that another program keeps from running holds all of them up: with as many threads as processors are
 * free, none is. Down soon, up after a while of calm. Decides only; knows no clock and no system.
 */
class ThreadChoice {
  public:
    explicit ThreadChoice(int most) : most_(most), count_(most) {}

    int count() const { return count_; }

    /**
     * The number from now on. For the last `seconds`, `available` processors were idle or ran this process.
     * While it computed, its threads had `got` processors, if not more: what others use of those that nobody
     * else wants says nothing about what they take from us.
     */
    int next(double got, double available, double seconds);

  private:
    /** The most threads that so many processors carry, if others may take `slack` of what makes a thread too
     * many. */
    int fitting(double available, double slack) const;
    int lower(int count);
    int raise(int count, bool trial);

    static constexpr double kLeastPatience = 0.5;
    /** Bursts shorter than this pass by, and threads that begin on one processor are spread. */
    static constexpr double kPressed = 0.5;
    static constexpr double kMostPatience = 8;
    static constexpr double kLeastTrial = 20;
    static constexpr double kMostTrial = 240;
    /** Until the system has spread threads over processors that seem taken. */
    static constexpr double kSettling = 0.6;
    /** A raise that is taken back sooner was wrong; one that lasts was right. */
    static constexpr double kProven = 10;

    int most_;
    int count_;
    /** For how long there has been room for more threads, how many at least, and how long it has to last. */
    double calm_ = 0;
    int room_ = 0;
    double patience_ = kLeastPatience;
    /**
     * What gives way, such as a program of low priority, looks as busy as any other until more is asked for:
     * twice as many threads are tried after this long.
     */
    double held_ = 0;
    double trialAfter_ = kLeastTrial;
    /** For how long threads have not got what they wanted. */
    double pressed_ = 0;
    /** A raise that has not been proven yet, and its age. */
    bool raised_ = false;
    bool trial_ = false;
    double sinceRaise_ = 0;
};

}  // namespace mizuoto
