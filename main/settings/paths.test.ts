import { describe, expect, it } from 'vitest';
import { studioFolders } from './paths.ts';

describe('folders of the studio', () => {
  it('follow each platform', () => {
    expect(studioFolders({}, 'linux', '/home/a')).toEqual({
      config: '/home/a/.config/mizuoto',
      cache: '/home/a/.cache/mizuoto',
    });
    expect(studioFolders({ XDG_CONFIG_HOME: '/c', XDG_CACHE_HOME: 'relative' }, 'linux', '/home/a')).toEqual({
      config: '/c/mizuoto',
      cache: '/home/a/.cache/mizuoto',
    });
    expect(studioFolders({}, 'darwin', '/Users/a').config).toBe(
      '/Users/a/Library/Application Support/Mizuoto',
    );
    expect(studioFolders({ APPDATA: 'C:\\Users\\a\\AppData\\Roaming' }, 'win32', 'C:\\Users\\a')).toEqual({
      config: 'C:\\Users\\a\\AppData\\Roaming\\Mizuoto',
      cache: 'C:\\Users\\a\\AppData\\Local\\Mizuoto\\Cache',
    });
  });

  it('can be moved as a whole', () => {
    expect(studioFolders({ MIZUOTO_HOME: '/x', XDG_CONFIG_HOME: '/c' }, 'linux', '/home/a')).toEqual({
      config: '/x',
      cache: '/x/cache',
    });
  });
});
