// On Windows, Node-API's functions are imported from "node.exe", but the executable that loads the addon may
// have another name (electron.exe, a renamed node.exe): the import is bound to whichever executable runs.
#ifdef _WIN32

// windows.h comes first.
#include <delayimp.h>
#include <string.h>
#include <windows.h>

static FARPROC WINAPI bindToHost(unsigned event, DelayLoadInfo* info) {
    if (event != dliNotePreLoadLibrary || _stricmp(info->szDll, "node.exe") != 0) return nullptr;
    return reinterpret_cast<FARPROC>(GetModuleHandleW(nullptr));
}

decltype(__pfnDliNotifyHook2) __pfnDliNotifyHook2 = bindToHost;

#endif
