#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace mizuoto {

/** One thread that runs jobs in order. Jobs must not throw. */
class JobQueue {
  public:
    JobQueue();
    /** Runs what is queued, then ends the thread. Safe on the thread itself. */
    ~JobQueue();
    JobQueue(const JobQueue&) = delete;
    JobQueue& operator=(const JobQueue&) = delete;

    /** After `stop`, the job runs at once on the caller's thread: nothing else runs any more. */
    void post(std::function<void()> job);
    /** Let queued jobs end, then the thread. Idempotent. */
    void stop();

  private:
    struct State {
        std::mutex mutex;
        std::condition_variable wake;
        std::deque<std::function<void()>> jobs;
        bool stopping = false;
        bool ended = false;
    };

    static void loop(const std::shared_ptr<State>& state);

    std::shared_ptr<State> state_;
    std::thread thread_;
};

}  // namespace mizuoto
