import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';

export interface StudioFolders {
  /** settings.json, and what a person would carry to another machine. */
  config: string;
  /** What can be made again: calibration, temporary audio. */
  cache: string;
}

/**
 * Where the studio keeps its files: XDG base directories on Linux, `Library` on macOS, `APPDATA` and `LOCALAPPDATA`
 * on Windows. `MIZUOTO_HOME` puts everything into one folder.
 */
export function studioFolders(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): StudioFolders {
  const { join, isAbsolute, resolve } = platform === 'win32' ? win32 : posix;
  if (env.MIZUOTO_HOME) {
    const own = resolve(env.MIZUOTO_HOME);
    return { config: own, cache: join(own, 'cache') };
  }
  // The XDG specification says that a relative path counts as unset.
  const base = (value: string | undefined, fallback: string) =>
    value && isAbsolute(value) ? value : fallback;
  if (platform === 'win32') {
    return {
      config: join(base(env.APPDATA, join(home, 'AppData', 'Roaming')), 'Mizuoto'),
      cache: join(base(env.LOCALAPPDATA, join(home, 'AppData', 'Local')), 'Mizuoto', 'Cache'),
    };
  }
  if (platform === 'darwin') {
    return {
      config: join(home, 'Library', 'Application Support', 'Mizuoto'),
      cache: join(home, 'Library', 'Caches', 'Mizuoto'),
    };
  }
  return {
    config: join(base(env.XDG_CONFIG_HOME, join(home, '.config')), 'mizuoto'),
    cache: join(base(env.XDG_CACHE_HOME, join(home, '.cache')), 'mizuoto'),
  };
}
