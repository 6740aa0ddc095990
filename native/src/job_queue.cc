#include "job_queue.h"

namespace mizuoto {

JobQueue::JobQueue() : state_(std::make_shared<State>()), thread_([state = state_] { loop(state); }) {}

JobQueue::~JobQueue() {
    stop();
}

void JobQueue::post(std::function<void()> job) {
    {
        const std::lock_guard lock(state_->mutex);
        if (!state_->ended) {
            state_->jobs.push_back(std::move(job));
            state_->wake.notify_one();
            return;
        }
    }
    job();
}

void JobQueue::stop() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->stopping = true;
        state_->wake.notify_one();
    }
    if (!thread_.joinable()) return;
    // The last owner of a device may be a job of its own: the thread then ends by itself.
    if (thread_.get_id() == std::this_thread::get_id()) {
        thread_.detach();
    } else {
        thread_.join();
    }
}

void JobQueue::loop(const std::shared_ptr<State>& state) {
    std::unique_lock lock(state->mutex);
    for (;;) {
        state->wake.wait(lock, [&] { return state->stopping || !state->jobs.empty(); });
        if (state->jobs.empty()) break;
        std::function<void()> job = std::move(state->jobs.front());
        state->jobs.pop_front();
        lock.unlock();
        job();
        job = nullptr;
        lock.lock();
    }
    state->ended = true;
}

}  // namespace mizuoto
