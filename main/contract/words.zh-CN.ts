/** Writing systems and parameters, by their English names. */
export const wordsZh: Partial<Record<string, string>> = {
  speed: '语速',
  pitch: '音高',
  Latin: '拉丁字母',
  Japanese: '日文',
  Chinese: '中文',
  Korean: '韩文',
  Cyrillic: '西里尔字母',
  Greek: '希腊字母',
  Arabic: '阿拉伯字母',
  Hebrew: '希伯来字母',
  'Hindi (Devanagari)': '天城文',
  Bengali: '孟加拉文',
  Tamil: '泰米尔文',
  Telugu: '泰卢固文',
  Thai: '泰文',
  Lao: '老挝文',
  Khmer: '高棉文',
  Burmese: '缅文',
  Tibetan: '藏文',
  Georgian: '格鲁吉亚文',
  Armenian: '亚美尼亚文',
  'Amharic (Ethiopic)': '阿姆哈拉文',
  Gujarati: '古吉拉特文',
  'Punjabi (Gurmukhi)': '旁遮普文',
  Kannada: '卡纳达文',
  Malayalam: '马拉雅拉姆文',
  Sinhala: '僧伽罗文',
  Mongolian: '蒙古文',
  unknown: '未知文字',
};

/**
 * Reasons that are English words inside an error or a warning, in Chinese. Of what is not here, an error says nothing
 * in Chinese; a warning says it in English.
 */
export const reasons: readonly (readonly [RegExp, string])[] = [
  // Audio files
  [/^it is empty$/, '它是空的'],
  [/^it is a web page.*$/, '它是网页，说明下载失败了'],
  [/^it is a ZIP archive$/, '它是 ZIP 压缩包'],
  [/^it is a Git LFS pointer.*$/, '它是 Git LFS 指针，不是音频本身'],
  [/^it is a RIFF container with no WAVE audio$/, '它是 RIFF 文件，但不含 WAVE 音频'],
  [/^it has only (\d+) bytes, fewer than a WAV header$/, '它只有 $1 字节，比 WAV 文件头还短'],
  [/^it does not start with a RIFF\/WAVE header$/, '它不是 WAV、FLAC、MP3、Ogg Vorbis 或 Opus 文件'],
  [/^its "fmt " chunk, which .* is missing$/, '缺少说明采样格式的“fmt ”块'],
  [/^it holds no "data" chunk.*$/, '没有“data”块，也就没有音频'],
  [/^its "fmt " chunk has (\d+) bytes instead of at least 16$/, '“fmt ”块只有 $1 字节，至少应有 16 字节'],
  [/^its extensible format is cut short$/, '扩展格式的说明不完整'],
  [/^it claims (\d+) channels; 1 to (\d+) can be read$/, '它自称有 $1 个声道，只能读取 1 到 $2 个'],
  [/^it claims a sample rate of (\d+) Hz$/, '它自称采样率为 $1 Hz'],
  [/^it claims (\d+)-bit (?:float|PCM) samples$/, '它自称每个采样有 $1 位'],
  [
    /^its audio is coded as (.+); only PCM and float can be read\. Convert it first$/,
    '其中的音频是 $1 编码，只能读取 PCM 和浮点，请先转换：ffmpeg -i 原文件 reference.wav',
  ],
  [/^it became shorter while it was read$/, '读取时文件变短了'],
  // What was repaired
  [/^The header does not say how long the audio is;.*$/, '文件头没有写明长度，已读到文件末尾。'],
  [
    /^The header announces (\d+) bytes of audio, but only (\d+) are there;.*$/,
    '文件头说有 $1 字节音频，实际只有 $2 字节，已读取这些。',
  ],
  [/^The header was never completed .*$/, '文件头没有写完，已读到文件末尾。'],
  [/^The last (\d+) bytes are a part of a sample.*$/, '末尾 $1 字节不是完整的采样，已略去。'],
  [
    /^The header says (\d+) bytes per sample frame; (\d+) follow from its other fields\.$/,
    '文件头说每个采样帧有 $1 字节，按其他字段应为 $2 字节。',
  ],
  [/^(\d+) samples were not numbers .*$/, '有 $1 个采样不是数字，已改为静音。'],
  [
    /^The (\w+) file is damaged after ([\d.]+) s .*what comes before was read\.$/,
    '这个 $1 文件在 $2 秒之后已损坏，只读取了之前的部分。',
  ],
  [
    /^The (\w+) file ends before its last page, or is damaged there;.*$/,
    '这个 $1 文件不完整或末尾已损坏，只读取了之前的部分。',
  ],
  // Names and requests
  [/^it has more than (\d+) characters$/, '它超过 $1 个字符'],
  [/^it holds characters that cannot be shown$/, '其中有无法显示的字符'],
  [/^it begins with "saved:".*$/, '不能以“saved:”开头，它另有含义'],
  [/^it is not the tag of a language$/, '这不是语言标签，请写成 en、zh 或 pt-BR 这样'],
  [/^there are (\d+) voices already$/, '已有 $1 个音色，请先移除一些'],
  [/^a name has 1 to 80 printable characters$/, '名称应有 1 到 80 个可显示的字符'],
  [/^it is part of the studio$/, '它是 Mizuoto 自带的，不能移除'],
  [/^it is not installed$/, '它还没有安装'],
  [/^there is reference audio as well$/, '音色和参考音频只能给出一个，请去掉其中之一'],
  [/^it is not the engine of (.+)$/, '模型“$1”不属于这个引擎，请去掉 --engine'],
  [/^too big: expected string to have <=(\d+) characters$/, '超过 $1 个字符，请写短一些'],
  [/^too small: expected string to have >=(\d+) characters$/, '至少要有 $1 个字符'],
  [/^its audio is not kept here$/, '这里没有保留它的音频'],
  [/^it is not finished yet$/, '它还没有完成'],
  [/^it ended as \w+ before the first sound$/, '它在发出声音之前就结束了'],
  [/^it holds NUL characters$/, '其中有 NUL 字符，可能是二进制文件，或是按其他编码读取的 UTF-16'],
  [/^it holds characters that cannot be decoded$/, '其中有无法解码的字符，说明读取时用错了编码'],
  // How a process ended, why a studio does not answer
  [/^exit code (\d+)$/, '退出码 $1'],
  [/^without a code$/, '没有退出码'],
  [/^the studio is closing$/, 'Mizuoto 正在关闭，不再开始新的任务'],
  [/^the studio ended or does not answer$/, '正在运行的 Mizuoto 已结束，或没有响应'],
  // Files of the studio's own
  [/^it is not JSON$|^is not JSON$/, '不是 JSON'],
  [/^it is not a JSON object$/, '不是 JSON 对象'],
  [/^it holds no list "models"$/, '其中没有“models”列表'],
  [/^it is larger than (\d+) MiB$/, '超过 $1 MiB'],
  [/^there is no permission to read it$/, '没有读取权限'],
  [/^reading it failed$/, '读取失败'],
  [/^the disk is full$/, '磁盘已满'],
  [/^is missing$/, '缺失'],
  [/^is too large$/, '太大'],
  [/^is no file$/, '不是文件'],
  [/^is damaged$/, '已损坏'],
  [/^cannot be read$/, '无法读取'],
  [/^lacks a part of the record$/, '缺少部分内容'],
  [/^is not the recording that was saved$/, '不是保存时的那段录音'],
  // Files and folders
  [/^its links (?:lead|go) in a circle$/, '链接互相指向，成了循环'],
  [/^neither a folder nor a file$/, '它既不是文件夹也不是文件'],
  [/^the folder does not exist$|^ENOENT$/, '文件夹不存在'],
  [/^there is no permission to write there$|^EACCES$|^EPERM$/, '没有权限'],
  [/^that disk is read-only$|^EROFS$/, '该磁盘是只读的'],
  [/^a part of the path is a file, not a folder$|^ENOTDIR$/, '路径中有一段是文件，不是文件夹'],
  [/^that is a folder, not a file$|^EISDIR$/, '那是文件夹，不是文件'],
  [/^the name is too long$|^ENAMETOOLONG$/, '名称太长'],
  [/^another program is using that file$|^EBUSY$|^ETXTBSY$/, '另一个程序正在使用该文件'],
  [/^the name holds characters that no file name can have$/, '名称中有文件名不允许的字符'],
  [/^the system answered (.+)$/, '系统返回 $1'],
];

/** Null where the reason is not known. */
export function reasonInChinese(reason: string): string | null {
  for (const [pattern, words] of reasons) {
    if (pattern.test(reason)) return reason.replace(pattern, words);
  }
  return null;
}

/** Words of the studio's own that stand for the value of a place of an error, by the name of the place. */
const values: Record<string, Record<string, string>> = {
  kind: { NUL: 'NUL 字节', 'lone surrogate': '残缺的半个字符', transcript: '录音的逐字文本' },
  script: { 'a script it does not know': '它不认识的文字' },
  speaks: {
    'English text (letters a to z, digits and common signs)': '英语文本（字母、数字和常用符号）',
  },
  convert: {
    'MP4 or M4A': 'MP4 或 M4A',
    'WebM or Matroska': 'WebM 或 Matroska',
    'Sun/NeXT audio': 'Sun/NeXT 音频',
  },
};

/** Places that hold names, joined by `, `; `-` where there is none. */
const lists = new Set([
  'known',
  'others',
  'installable',
  'speakers',
  'files',
  'settings',
  'actions',
  'commands',
  'dtypes',
]);

/** What a setting or a parameter takes: `integer 1..512 | null`, `a number`, or names, which stay. */
function expectedInChinese(expected: string): string {
  return expected
    .split(/ \| |, (?!\.\.\.)/)
    .map((part) =>
      part
        .replace(/^\[(.+), \.\.\.\]$/, (_, item: string) => `${expectedInChinese(item)}的列表`)
        .replace(/^a whole number$|^integer$/, '整数')
        .replace(/^a number$|^number$/, '数字')
        .replace(/^text$|^string$/, '文字')
        .replace(/^integer (\S+?)\.\.(\S+)$/, '$1 到 $2 的整数')
        .replace(/^number (\S+?)\.\.(\S+)$/, '$1 到 $2 的数字')
        .replace(/^integer >= (\S+)$/, '不小于 $1 的整数')
        .replace(/^number >= (\S+)$/, '不小于 $1 的数字')
        .replace(/^integer > (\S+)$/, '大于 $1 的整数')
        .replace(/^number > (\S+)$/, '大于 $1 的数字'),
    )
    .join('、');
}

export function listInChinese(names: string): string {
  if (names === '-') return '无';
  return names
    .split(', ')
    .map((name) => name.replace(/^"(.+)"$/, '“$1”'))
    .join('、');
}

/** Names of the studio's own, joined by `, `; what is not known stays as it is. */
export function wordsInChinese(english: string): string {
  return english
    .split(', ')
    .map((word) => wordsZh[word] ?? word)
    .join('、');
}

/** The value of an error's place in Chinese; names stay as they are. */
export function valueInChinese(place: string, value: string): string {
  if (place === 'script' && Object.hasOwn(wordsZh, value)) return wordsZh[value]!;
  if (place === 'description') return value.replace(/^Simulated device on (.+)$/, '由 $1 模拟');
  if (place === 'how') return reasonInChinese(value) ?? value;
  if (place === 'expected') return expectedInChinese(value);
  if (lists.has(place)) return listInChinese(value);
  const known = values[place];
  return known !== undefined && Object.hasOwn(known, value) ? known[value]! : value;
}
