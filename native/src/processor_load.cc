#include "processor_load.h"

#include <algorithm>
#include <cstdint>
#include <thread>

#if defined(_WIN32)
#include <windows.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <time.h>
#include <unistd.h>
#else
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#endif

namespace mizuoto {

#if defined(_WIN32)

namespace {
double secondsOf(const FILETIME& time) {
    const uint64_t ticks = (static_cast<uint64_t>(time.dwHighDateTime) << 32) | time.dwLowDateTime;
    return static_cast<double>(ticks) * 1e-7;
}
}  // namespace

int usableProcessors() {
    DWORD_PTR process = 0;
    DWORD_PTR system = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &process, &system) || process == 0)
        return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    int count = 0;
    for (; process != 0; process &= process - 1) ++count;
    return count;
}

std::optional<ProcessorTimes> processorTimes() {
    // Times are the whole system's.
    if (usableProcessors() != static_cast<int>(GetActiveProcessorCount(ALL_PROCESSOR_GROUPS)))
        return std::nullopt;
    FILETIME idle, kernel, user, created, ended, ownKernel, ownUser;
    if (!GetSystemTimes(&idle, &kernel, &user)) return std::nullopt;
    if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &ownKernel, &ownUser)) return std::nullopt;
    // The kernel's time includes the idle time.
    return ProcessorTimes{secondsOf(idle), secondsOf(kernel) + secondsOf(user),
                          secondsOf(ownKernel) + secondsOf(ownUser)};
}

#else

namespace {
double ownSeconds() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double ticksPerSecond() {
    static const long ticks = sysconf(_SC_CLK_TCK);
    return ticks > 0 ? static_cast<double>(ticks) : 100;
}
}  // namespace

#if defined(__APPLE__)

int usableProcessors() {
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::optional<ProcessorTimes> processorTimes() {
    // The counters have 32 bits, so they are added up here.
    static thread_local natural_t last[CPU_STATE_MAX] = {};
    static thread_local double sums[CPU_STATE_MAX] = {};
    host_cpu_load_info_data_t load;
    mach_msg_type_number_t count = HOST_CPU_LOAD_INFO_COUNT;
    if (host_statistics(mach_host_self(), HOST_CPU_LOAD_INFO, reinterpret_cast<host_info_t>(&load), &count) !=
        KERN_SUCCESS)
        return std::nullopt;
    ProcessorTimes times;
    for (int state = 0; state < CPU_STATE_MAX; ++state) {
        sums[state] += static_cast<natural_t>(load.cpu_ticks[state] - last[state]) / ticksPerSecond();
        last[state] = load.cpu_ticks[state];
        times.total += sums[state];
    }
    times.idle = sums[CPU_STATE_IDLE];
    times.own = ownSeconds();
    return times;
}

#else

namespace {

/** Columns of a processor's line: user nice system idle iowait irq softirq steal, in ticks. */
void addLine(std::string_view line, ProcessorTimes& times) {
    const char* at = line.data() + std::min(line.find(' '), line.size());
    const char* const end = line.data() + line.size();
    for (int column = 0; column < 8; ++column) {
        while (at != end && *at == ' ') ++at;
        uint64_t ticks = 0;
        at = std::from_chars(at, end, ticks).ptr;
        const double seconds = static_cast<double>(ticks) / ticksPerSecond();
        times.total += seconds;
        if (column == 3 || column == 4) times.idle += seconds;
    }
}

}  // namespace

int usableProcessors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::optional<ProcessorTimes> processorTimes() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
    ProcessorTimes times;
    int found = 0;
    std::ifstream file("/proc/stat");
    std::string line;
    std::getline(file, line);
    if (CPU_COUNT(&allowed) == sysconf(_SC_NPROCESSORS_ONLN)) {
        // The first line is the sum of all: one rounding to ticks instead of one per processor.
        if (line.starts_with("cpu ")) {
            addLine(line, times);
            found = CPU_COUNT(&allowed);
        }
    } else {
        // Interrupts follow the processors: there may be very many.
        while (std::getline(file, line) && line.starts_with("cpu")) {
            int processor = -1;
            std::from_chars(line.data() + 3, line.data() + line.size(), processor);
            if (processor < 0 || processor >= CPU_SETSIZE || !CPU_ISSET(processor, &allowed)) continue;
            addLine(line, times);
            ++found;
        }
    }
    if (found != CPU_COUNT(&allowed)) return std::nullopt;
    times.own = ownSeconds();
    return times;
}

#endif
#endif

}  // namespace mizuoto
