/** The shell's own words: menu and dialogs. The page has its own catalogue. */
const en = {
  file: 'File',
  edit: 'Edit',
  view: 'View',
  window: 'Window',
  help: 'Help',
  quit: 'Quit Mizuoto Studio',
  close: 'Close window',
  undo: 'Undo',
  redo: 'Redo',
  cut: 'Cut',
  copy: 'Copy',
  paste: 'Paste',
  selectAll: 'Select all',
  zoomIn: 'Larger',
  zoomOut: 'Smaller',
  zoomReset: 'Actual size',
  fullScreen: 'Full screen',
  minimise: 'Minimise',
  about: 'About Mizuoto Studio',
  saveTitle: 'Save audio',
  waveFiles: 'WAV audio',
  saveTraceTitle: 'Export memory trace',
  jsonFiles: 'JSON',
  busyTitle: 'A voice is still being generated.',
  busyDetail: 'Quitting now stops it. What is finished can no longer be saved.',
  busyQuit: 'Quit',
  busyStay: 'Keep working',
};

export type Messages = typeof en;

const zhCN: Messages = {
  file: '文件',
  edit: '编辑',
  view: '显示',
  window: '窗口',
  help: '帮助',
  quit: '退出 Mizuoto Studio',
  close: '关闭窗口',
  undo: '撤销',
  redo: '重做',
  cut: '剪切',
  copy: '复制',
  paste: '粘贴',
  selectAll: '全选',
  zoomIn: '放大',
  zoomOut: '缩小',
  zoomReset: '实际大小',
  fullScreen: '全屏',
  minimise: '最小化',
  about: '关于 Mizuoto Studio',
  saveTitle: '保存音频',
  waveFiles: 'WAV 音频',
  saveTraceTitle: '导出内存记录',
  jsonFiles: 'JSON',
  busyTitle: '语音仍在生成。',
  busyDetail: '现在退出会停止生成，已完成的部分将无法再保存。',
  busyQuit: '退出',
  busyStay: '继续',
};

export const catalogues = { en, 'zh-CN': zhCN };

/** The chosen language, or the system's: every Chinese locale reads Simplified Chinese, all others English. */
export function messagesFor(choice: 'system' | 'en' | 'zh-CN', systemLocale: string): Messages {
  if (choice !== 'system') return catalogues[choice];
  return systemLocale.toLowerCase().startsWith('zh') ? zhCN : en;
}
