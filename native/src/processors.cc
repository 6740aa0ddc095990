#include "processors.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(_WIN32)
#include <windows.h>
// After windows.h.
#include <psapi.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
#else
#include <sched.h>
#include <unistd.h>
#endif

namespace mizuoto {

#if defined(_WIN32)

int physicalCores() {
    DWORD length = 0;
    GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &length);
    std::vector<unsigned char> buffer(length);
    auto* first = reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(buffer.data());
    if (length == 0 || !GetLogicalProcessorInformationEx(RelationProcessorCore, first, &length)) {
        return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    }
    int cores = 0;
    for (DWORD offset = 0; offset < length; ++cores) {
        offset += reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(buffer.data() + offset)->Size;
    }
    return std::max(1, cores);
}

HostMemory hostMemory() {
    HostMemory memory;
    MEMORYSTATUSEX status{};
    status.dwLength = sizeof status;
    if (GlobalMemoryStatusEx(&status)) {
        memory.totalBytes = status.ullTotalPhys;
        memory.availableBytes = status.ullAvailPhys;
    }
    PROCESS_MEMORY_COUNTERS counters{};
    if (K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters)) {
        memory.processBytes = counters.WorkingSetSize;
    }
    return memory;
}

#elif defined(__APPLE__)

namespace {
template <typename Number>
Number sysctlNumber(const char* name, Number fallback) {
    Number value = fallback;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : fallback;
}
}  // namespace

int physicalCores() {
    // Efficiency cores slow a graph down: every operation waits for its slowest thread.
    const int32_t performance = sysctlNumber<int32_t>("hw.perflevel0.physicalcpu", 0);
    return std::max(1, performance > 0 ? performance : sysctlNumber<int32_t>("hw.physicalcpu", 1));
}

HostMemory hostMemory() {
    HostMemory memory;
    memory.totalBytes = sysctlNumber<uint64_t>("hw.memsize", 0);
    vm_statistics64_data_t statistics;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&statistics),
                          &count) == KERN_SUCCESS) {
        memory.availableBytes = static_cast<uint64_t>(statistics.free_count + statistics.inactive_count +
                                                      statistics.purgeable_count) *
                                vm_page_size;
    }
    mach_task_basic_info info;
    count = MACH_TASK_BASIC_INFO_COUNT;
    if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) ==
        KERN_SUCCESS) {
        memory.processBytes = info.resident_size;
    }
    return memory;
}

#else

namespace {

/** Processors that a control group allows, or 0 where it sets no limit. */
int cgroupLimit() {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
    try {
        return std::max(1, static_cast<int>(std::stod(quota) / period + 0.5));
    } catch (const std::exception&) {
        return 0;
    }
}

}  // namespace

int physicalCores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    std::set<std::pair<int, int> > cores;
    int usable = 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (!CPU_ISSET(cpu, &allowed)) continue;
            ++usable;
            const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
            int core = -1;
            int package = -1;
            std::ifstream(folder + "core_id") >> core;
            std::ifstream(folder + "physical_package_id") >> package;
            if (core >= 0) cores.emplace(package, core);
        }
    }
    int count = static_cast<int>(cores.size());
    if (count == 0) count = usable > 0 ? usable : static_cast<int>(std::thread::hardware_concurrency());
    const int limit = cgroupLimit();
    if (limit > 0) count = std::min(count, limit);
    return std::max(1, count);
}

HostMemory hostMemory() {
    HostMemory memory;
    std::ifstream info("/proc/meminfo");
    std::string key;
    uint64_t kilobytes = 0;
    std::string unit;
    while (info >> key >> kilobytes) {
        std::getline(info, unit);
        if (key == "MemTotal:") memory.totalBytes = kilobytes * 1024;
        if (key == "MemAvailable:") memory.availableBytes = kilobytes * 1024;
    }
    std::ifstream statm("/proc/self/statm");
    uint64_t pages = 0;
    uint64_t resident = 0;
    if (statm >> pages >> resident)
        memory.processBytes = resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return memory;
}

#endif

}  // namespace mizuoto
