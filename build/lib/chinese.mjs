/** What the scripts say to whoever sets the studio up or starts it, in Chinese. Runs before any package is there. */
const sentences = [
  [/^installing packages \(npm ci\)\.\.\.$/, '正在安装依赖（npm ci）……'],
  [/^fetching ggml's headers \((.+)\)\.\.\.$/, '正在获取 ggml 的头文件（$1）……'],
  [/^building the native core \(a few minutes\)\.\.\.$/, '正在编译本机计算核心（需要几分钟）……'],
  [/^bundling the main process\.\.\.$/, '正在打包主进程……'],
  [/^bundling the shell\.\.\.$/, '正在打包窗口程序……'],
  [/^bundling the renderer\.\.\.$/, '正在打包界面……'],
  [/^ready\.$/, '已就绪。'],
  [/^looking for Electron \(its binary is downloaded once\)\.\.\.$/, '正在查找 Electron（只需下载一次）……'],
  [/^serving the studio as a page\.$/, '以网页方式提供界面。'],
  [
    /^Electron's binary cannot be had here; serving the same studio as a page in your browser instead\.$/,
    '这里无法取得 Electron，改为在浏览器中以网页方式提供同一界面。',
  ],
  [
    /^Node (\S+) is too old: Mizuoto needs Node (\S+) or newer\.$/,
    'Node $1 太旧：Mizuoto 需要 Node $2 或更新版本。',
  ],
  [
    /^(.+) is not installed\. Install a C\+\+20 compiler and cmake .*$/,
    '没有安装 $1。请安装支持 C++20 的编译器和 cmake（Debian：apt-get install g++ cmake；macOS：xcode-select --install；Windows：Visual Studio Build Tools）。',
  ],
  [/^(.+) is not installed\. npm comes with Node\.$/, '没有安装 $1。它随 Node 一起安装。'],
  [/^(.+) is not installed\. Install (.+) and try again\.$/, '没有安装 $1。请安装后再试。'],
  [/^(.+) failed \(exit (.+)\)\.$/, '“$1”失败（退出码 $2）。'],
  [
    /^(.+) does not match its pinned hash: (.+)\. Is the registry's copy altered\?$/,
    '$1 与预期的哈希不符：$2。软件源上的文件是否被改动过？',
  ],
  [
    /^There is no ggml package for (.+)\. Supported: (.+)\.$/,
    (_, platform, known) =>
      `没有适用于 ${platform} 的 ggml 软件包。支持的有：${known.replaceAll(', ', '、')}。`,
  ],
  [
    /^The platform package (.+) is missing\. Run "npm ci" without --omit=optional\.$/,
    '缺少平台软件包 $1。请运行“npm ci”，不要带 --omit=optional。',
  ],
];

/** As the command line chooses: by `LC_ALL`, `LC_MESSAGES` or `LANG`, else by the system. */
const chinese = /^zh\b|^zh[_-]/i.test(
  process.env.LC_ALL ||
    process.env.LC_MESSAGES ||
    process.env.LANG ||
    Intl.DateTimeFormat().resolvedOptions().locale,
);

/** Null where there is no sentence for it. */
export function inChinese(message) {
  for (const [pattern, words] of sentences) {
    if (pattern.test(message)) return message.replace(pattern, words);
  }
  return null;
}

export const worded = (message) => (chinese ? (inChinese(message) ?? message) : message);
