import { Menu, type MenuItemConstructorOptions } from 'electron';
import type { Messages } from './messages.ts';

/**
 * The application menu. It leaves the page's own shortcuts (Ctrl/Cmd+M, Esc, ...) alone: minimise keeps its menu
 * entry without the accelerator.
 */
export function setMenu(words: Messages, platform: NodeJS.Platform): void {
  const mac = platform === 'darwin';
  const template: MenuItemConstructorOptions[] = [
    ...(mac ? [{ role: 'appMenu' as const }] : []),
    {
      label: words.file,
      submenu: [mac ? { role: 'close', label: words.close } : { role: 'quit', label: words.quit }],
    },
    {
      label: words.edit,
      submenu: [
        { role: 'undo', label: words.undo },
        { role: 'redo', label: words.redo },
        { type: 'separator' },
        { role: 'cut', label: words.cut },
        { role: 'copy', label: words.copy },
        { role: 'paste', label: words.paste },
        { role: 'selectAll', label: words.selectAll },
      ],
    },
    {
      label: words.view,
      submenu: [
        { role: 'resetZoom', label: words.zoomReset },
        { role: 'zoomIn', label: words.zoomIn },
        { role: 'zoomOut', label: words.zoomOut },
        { type: 'separator' },
        { role: 'togglefullscreen', label: words.fullScreen },
      ],
    },
    { label: words.window, submenu: [{ role: 'minimize', label: words.minimise, accelerator: '' }] },
    ...(mac ? [] : [{ label: words.help, submenu: [{ role: 'about' as const, label: words.about }] }]),
  ];
  Menu.setApplicationMenu(Menu.buildFromTemplate(template));
}
