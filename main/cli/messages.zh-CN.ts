import type { MessageKey } from './messages.en.ts';

export const zhCN: Record<MessageKey, string> = {
  didYouMean: '您是不是想用“{near}”？',
  seeHelp: '请看“mizuoto help”。',
  unknownCommand: '没有“{name}”这个命令。',
  unknownTopic: '没有关于“{name}”的帮助。',
  unknownOption: '命令“{command}”没有选项 {option}。',
  textWithDash: '以短横线开头的文本请放在“--”之后：mizuoto say -- "{text}"。',
  optionNeedsValue: '选项 {option} 需要一个值。',
  optionTakesNoValue: '选项 {option} 不带值。',
  optionTwice: '选项 {option} 给了两次。',
  optionNotNumber: '选项 {option} 需要数字，“{value}”不是数字。',
  optionNotWhole: '选项 {option} 需要 {low} 到 {high} 之间的整数，“{value}”不符合。',
  optionNotPositive: '选项 {option} 需要大于 0 的数字，“{value}”不符合。',
  optionNotOneOf: '选项 {option} 只能是 {known} 之一，“{value}”不在其中。',
  settingNeedsEquals: '“{value}”不是设置：请写成 键=值，例如 compute.vram_mode=low。',
  parameterNeedsEquals: '“{value}”不是参数：请写成 键=值，例如 temperature=0.8。',
  referenceTextAlone: '--reference-text 说明 --reference 文件中说了什么，但没有给出该文件。',
  audioNotFound: '音频文件“{path}”不存在，请检查文件名。',
  audioIsFolder: '“{path}”是文件夹，不是音频文件。请指定其中的文件。',
  audioUnreadable: '音频文件“{path}”无法读取（{reason}），请检查权限。',
  audioTooLarge: '“{path}”有 {bytes} MiB；音频文件最多 {limit} MiB。请截取其中一段。',
  audioNoFile: '“{path}”不是能读到末尾的文件。请指定音频文件。',
  unknownAction: '命令“{command}”不能“{action}”。可以：{actions}。',
  actionNeedsArgument: '缺少内容：{usage}。',
  optionOnlyFor: '选项 {option} 只用于：{commands}。',
  nothingToChange: '请说明要修改什么：--name、--text 或 --language。',
  tooManyArguments: '命令“{command}”不接受“{argument}”。',
  settingsNeedsAction: '请说明要对设置做什么：get、set 或 reset。',
  settingsNeedsKeys: '请至少写一项设置：mizuoto settings {action} {usage}。',
  twoTexts: '文本给了两次：一次是参数，一次是 --file。请只用一种。',
  jsonAndStdout: '--json 和 --out - 都要用标准输出。请把音频写入文件，或去掉 --json。',
  streamNeedsStdout: '--stream 写到标准输出，不能与 --out {path} 同用。',
  wavToTerminal: '在终端上输出 WAV 只会是乱码。请交给程序或文件：mizuoto say ... --out - | aplay',
  noText: '没有可朗读的文本。请用参数、--file 或管道给出文本。',
  fileNotFound: '文本文件“{path}”不存在，请检查文件名。',
  fileIsFolder: '“{path}”是文件夹，不是文本文件。请指定其中的一个文件。',
  fileUnreadable: '文本文件“{path}”无法读取（{reason}），请检查权限。',
  fileNotText: '“{path}”不是 UTF-8 文本：第 {position} 个字节无法解读。请另存为 UTF-8 后再试。',
  inputNotText: '标准输入不是 UTF-8 文本：第 {position} 个字节无法解读。请改用 UTF-8 后再试。',
  fileTooLong: '“{path}”超过 {limit} MiB，一次请求放不下。请分成几个文件。',
  inputTooLong: '标准输入超过 {limit} MiB，一次请求放不下。请分几次输入。',
  argumentNotText: '文本中有无法解读的部分（第 {position} 个字符是 U+FFFD）：终端的编码是 UTF-8 吗？',
  warning: '警告：{message}',
  hintCode: ' ({code})',
  cancelling: '正在停止……（再按一次 Ctrl-C 立即结束）',
  saved: '{file}：{seconds} 秒语音，{rate} Hz，{speed} 倍实时速度，种子 {seed}。',
  otherFormat: '{file} 的内容将是 WAV，与扩展名无关：这里只写 WAV 文件。',
  savedStdout: '{seconds} 秒语音，{rate} Hz，{speed} 倍实时速度，种子 {seed}。',
  stateWaiting: '排队中',
  stateLoading: '加载中',
  stateRunning: '生成中',
  stateStopping: '停止中',
  progressParts: '第 {done}/{total} 段',
  progressLeft: '剩余 {time}',
  builtIn: '内置',
  sizeBuiltIn: '{size}（内置）',
  kindCpu: '处理器',
  kindGpu: '显卡',
  kindIgpu: '核显',
  kindAccel: '加速器',
  kindSimulated: '模拟设备',
  modelInstalled: '已安装',
  modelNotInstalled: '未安装',
  modelDamaged: '已损坏',
  modelUnknownEngine: '未知引擎',
  fileVerified: '正常，哈希一致',
  filePresent: '正常',
  fileMissing: '缺失',
  fileDamaged: '已损坏',
  modelProblem: '{model}：{problem}',
  modelsHowToAdd:
    '未安装的模型：把其页面上的全部文件下载到一个文件夹，再运行“mizuoto models add 文件夹”。可以用两个网站各自的工具下载，例如：',
  modelsMirror:
    '无法访问 Hugging Face 时，请先把环境变量 HF_ENDPOINT 设为它的镜像，例如 https://hf-mirror.com。',
  modelsFound: '用“mizuoto models add 文件夹”添加，就在原处使用。',
  modelsNoneFound: 'Hugging Face 和 ModelScope 的缓存中没有其他模型。',
  modelAdded: '{name} 已安装为 {model}：{path} 中的 {size}，就在原处使用。',
  modelForgotten: '已移除 {model}，其文件仍留在 {path}。',
  modelDeleted: '已移除 {model}，并删除了 {path} 中的文件（{size}）。',
  modelSound: '{model} 没有问题。',
  modelBroken: '{model} 有问题。',
  savedVoice: '（已保存）',
  savedVoiceLength: '{seconds} 秒参考音频',
  savedVoiceText: '{seconds} 秒参考音频，附逐字文本',
  voiceSaved: '{name} 已保存为 {voice}：{seconds} 秒参考音频。',
  voiceChanged: '已修改 {name}（{voice}）。',
  voiceRemoved: '已删除 {name}（{voice}）及由它计算出的内容。',
  columnFile: '文件',
  columnWhere: '位置',
  columnEngine: '引擎',
  columnName: '名称',
  columnLanguages: '语言',
  columnVoices: '音色数',
  columnSize: '大小',
  columnLicence: '许可证',
  columnVoice: '音色',
  columnLanguage: '语言',
  columnDescription: '说明',
  columnDevice: '设备',
  columnKind: '类型',
  columnFree: '可用',
  columnTotal: '总量',
  columnUsed: '使用',
  columnWhy: '原因',
  yes: '是',
  no: '否',
  runtimeStudio: '这是正在运行的 Mizuoto：进程 {pid}，自 {since} 起。',
  runtimeNoStudio: '没有正在运行的 Mizuoto；以下是新启动一个时的情况。',
  runtimeModels: '模型',
  runtimeNoModels: '没有已加载的模型。',
  runtimeDevices: '设备',
  runtimeIncidents: '发生过的问题',
  runtimeHost: '本机内存：共 {total}，可用 {free}；Mizuoto 占用 {process}，其中锁页 {pinned}。',
  runtimeJobs: '请求：{running} 个进行中，{waiting} 个排队。',
  columnModel: '模型',
  columnState: '状态',
  columnLoaded: '设备上',
  columnStreamed: '流式加载',
  columnHost: '主机内存',
  columnUnits: '单元',
  columnRun: '方式',
  columnResident: '常驻',
  columnSeconds: '秒',
  columnRetries: '重试',
  columnIdentical: '相同',
  modelLoading: '加载中 {percent} %',
  modelInUse: '使用中',
  modelIdle: '空闲',
  modelUnloading: '卸载中',
  modelFailed: '失败',
  modelPinned: '固定',
  partialBudget:
    '{component}：共 {size} MiB，设备上 {loaded} MiB，其余流式加载：当时可用 {free} MiB，其中 {working} MiB 用于计算，{reserve} MiB 保留不用。',
  partialLow: '{component}：共 {size} MiB，设备上 {loaded} MiB，因为 compute.vram_mode 是 low。',
  partialNone: '{component}：共 {size} MiB，设备上 {loaded} MiB，因为 compute.vram_mode 是 none。',
  partialCapped: '{component}：共 {size} MiB，设备上 {loaded} MiB：之前内存不足，现在最多使用原来的一半。',
  partialGaveUp: '{component}：共 {size} MiB，设备上 {loaded} MiB；它为 {other} 让出了显存。',
  calibrationNotNeeded: '{name}：在处理器上不需要校准。',
  calibrationNone: '{name}：工作内存暂为估计值，朗读时会测量。',
  calibrationDone: '{name}：工作内存已测量 {runs} 次，为估计值的 {ratio} 倍。',
  calibrationStale: '{name}：测量结果属于另一个驱动，将重新校准。',
  runPlain: '普通',
  runStreamed: '全部流式加载',
  runHalfway: '一半',
  runWhole: '完整加载',
  runShared: '原处使用',
  runOutOfMemory: '在 {stage} 阶段内存不足',
  runAsSet: '按设置',
  runResident: '常驻',
  runPartly: '尽量加载',
  verdictFailed: '失败',
  verdictUnfit: '未能运行',
  verdictNoSound: '否：没有声音',
  verdictNo:
    '否：与 {against} 相比有 {count} 个采样不同，共 {samples} 个，第一个是第 {first} 个；最大相差 {largest}',
  verdictOtherDevice: '-（舍入方式不同：与 {against} 最大相差 {largest}）',
  verifySame: '完全相同：共 {runs} 种方式，没有一个采样取决于权重放在哪里。',
  verifyReason: '{engine} 的“{run}”（{device}）：{reason}',
  verifyUnfit:
    '{runs} 种方式中有 {unfit} 种因上述原因未能运行。这不是软件的故障，也不说明采样有问题：请按上面的提示修改后再验证。',
  verifyDiffers: '{runs} 种方式中有 {bad} 种不同或失败。请附上表格报告这个问题。',
  doctorVersions: 'Mizuoto {mizuoto}，ggml {ggml}，Node {node}，{platform}',
  statusOk: '正常',
  statusNote: '提示',
  statusWarning: '警告',
  statusFailed: '故障',
  doctorCopyRate: '{device}：权重上传速度为 {rate} MiB/s。',
  doctorSound: '没有发现故障。',
  doctorBroken: '发现了故障。',
  doctorFixes: '最有用的做法：',
  doctorOffers: '各设备提供的能力',
  doctorOffer:
    '{device}：异步执行：{async}；锁页内存：{host_buffers}；直接使用主机内存：{host_pointer}；事件：{events}；权重类型：{dtypes}。',
  runtimePolicy: '显存策略',
  policyNone: '无',
  policyOn: '开',
  policyOff: '关',
  policyDevice: '在哪个设备上计算',
  policySimulate: '由处理器模拟的显卡大小',
  policyMode: '模型有多少留在设备上',
  policyReserve: '设备上保留不用',
  policyLimit: '最多占用设备多少',
  policyRamReserve: '内存中保留不用：低于它时先放弃主机副本，再卸载空闲模型',
  policyHostCopies: '已在设备上的权重是否在内存中留副本',
  policyPinned: '锁页内存的上限',
  policyCopyStreams: '提前复制多少个单元',
  policyResidency: '放不下时留下哪些：按节省的时间（cost）或按规则（rule）',
  policyCache: '注意力缓存：按需增长，或原地加倍（static）',
  policyAllocator: '设备的分配器；这里没有后端允许选择',
  policyJobs: '一个设备上同时处理的请求数',
  policyRetry: '显存不足的阶段会重做，结果不变',
  policyFallback: '之后改用引擎更省显存的做法，结果会变',
  policyModels: '最多保留多少个已加载的模型',
  policyIdle: '空闲多少分钟后卸载模型',
  settingChanged: '{key} = {value}',
  settingsPath: '带 * 的是已更改的设置。修改方法见“mizuoto help settings”。',
  httpType: '请求应为 application/json，而不是 {type}。',
  httpNoType: '请求应为 application/json，而这个请求没有写明类型。',
  httpNotJson: '请求不是 JSON。',
  httpTooLarge: '请求超过 {limit} 字节。请减少文本，或缩短音频。',
  httpNoPage: '这里不是网页。',
  httpToken: '缺少令牌，或令牌不对。',
  httpTokenOfPage: '缺少令牌，或令牌不对。请打开 Mizuoto 启动时显示的地址。',
  httpOnly: '只接受 {method}。',
  httpNothing: '这里什么也没有。',
  httpNoCall: '没有这个调用。',
  httpNoFiles: '网页不能指定本机的文件。',
  httpNotOurs: '这个地址不是 Mizuoto。',
  httpOtherSite: '其他网站不能访问 Mizuoto。',
  httpMalformed: '地址的格式不对。',
  httpLeaves: '地址超出了 Mizuoto 的范围。',
  httpNoFile: '没有这个文件。',
  httpUsed: '这个地址已经用过，或已过期。请重新保存。',
  serverPageMissing: '{folder} 中没有页面文件。请运行“npm run setup”后再试。',
  serverPort:
    '--port 需要 0 到 65535 之间的数字，“{value}”不符合。可用的选项有：--no-open、--port N、--renderer 文件夹。',
  serverOption: '没有选项“{option}”，或它缺少值。可用的选项有：--no-open、--port N、--renderer 文件夹。',
  serverHidden: '其他程序找不到这个 Mizuoto：{reason}',
  serverEnds: '只有本机可以打开。按 Ctrl-C 结束。',
  serverCloses: '正在关闭 Mizuoto。再按一次 Ctrl-C 立即结束。',
  error: '错误：{message}',
  helpMain: `mizuoto {version}：在本机把文本变成语音。

  mizuoto say 文本            朗读并保存为 WAV 文件
  mizuoto engines             可用的引擎
  mizuoto voices              引擎的音色和您自己的音色
  mizuoto models              已安装和可以安装的模型
  mizuoto devices             可用于计算的设备
  mizuoto runtime             设备、已加载的模型和显存策略
  mizuoto verify              检查显存管理没有改变任何采样
  mizuoto doctor              检查安装情况并给出建议
  mizuoto settings            查看和修改设置
  mizuoto help 主题           某个命令的详情，或：exit-codes
  mizuoto version             各部分的版本

所有命令都可加 --json（供程序使用）和 --quiet（不输出旁注）。`,
  helpSay: `mizuoto say 文本            朗读文本并保存为 WAV 文件
mizuoto say --file book.txt --out book.wav
echo "Good morning." | mizuoto say --out - | aplay

  -f, --file 文件         文本在此文件中（UTF-8）；- 表示标准输入
  -o, --out 文件          保存到哪里；- 表示标准输出；默认在当前文件夹用新文件名
  -e, --engine 引擎       默认：第一个能完成请求的引擎，先试 mini
  -m, --model 模型        已安装的模型；默认：该引擎中第一个能完成请求的模型
  -v, --voice 音色        模型自带的音色或已保存的音色；默认：模型的第一个音色
  -l, --language 语言     auto，或 zh、Chinese 这样的标记或名称；默认由音色或模型决定
  -i, --instruct 文字     怎样朗读；设计音色时，说明是谁在说话
  -r, --reference 文件    克隆这个文件中的音色：WAV、FLAC、MP3、Ogg Vorbis 或 Opus
      --reference-text T  其中逐字说了什么；有了它，许多模型克隆得更好
      --set 键=值         引擎的参数，例如 temperature=0.8；可重复
      --seed N            种子相同则结果逐字节相同；默认取新种子并显示
      --speed X           1 为音色本来的速度，2 为两倍
      --pitch X           1 为音色本来的音高
  -s, --setting 键=值     只对本次请求有效的设置；可重复
      --encoding E        pcm16（默认）、pcm24、pcm32 或 float32
      --stream            一有音频就写到标准输出，WAV 头不含长度
      --json              在标准输出打印一个 JSON 对象：file、seconds、sample_rate、seed、rtf、engine、
                          applied、meta、warnings；或 error
  -q, --quiet             不显示进度、摘要和警告
      --verbose           显示日志和错误详情

文本再长，占用的内存也不变。按 Ctrl-C 停止，不会留下写了一半的文件。`,
  helpEngines: `mizuoto engines [--json]

列出可用的引擎：标识、语言、音色数、大小和许可证。`,
  helpVoices: `mizuoto voices [--engine 引擎]         全部音色：先是引擎自带的，后是您保存的
mizuoto voices add 名称 文件          保存文件（WAV、FLAC、MP3、Ogg Vorbis、Opus）中的音色，供能克隆的模型使用
mizuoto voices change 名称            修改名称、逐字文本或语言
mizuoto voices remove 名称            删除录音及由它计算出的内容

  -e, --engine 引擎       只列出该引擎的音色
      --text 文字         录音中逐字说了什么；有的模型必须有它
  -l, --language 语言     录音的语言：en、zh 等
      --name 名称         新名称
      --json              voices 和 saved；或 voice

然后：mizuoto say 文本 --model 模型 --voice 名称。最好是同一个人 5 到 15 秒、没有噪声的录音。`,
  helpModels: `mizuoto models                        模型目录：哪些已安装、大小、许可证和所在文件夹
mizuoto models find                   查找 Hugging Face、ModelScope 工具已下载的模型
mizuoto models add 文件夹             安装文件夹中的模型，就在原处使用，不复制
mizuoto models remove 模型            移除模型，其文件保留
mizuoto models check 模型             检查每个文件，并在已知哈希时进行比对

      --name 名称         用于“add”：把它叫作 qwen3-tts:名称，适合第二个同类模型
      --json              models；或 found；或 model；或 files 和 problems

文件夹可以是下载好的文件所在的文件夹，也可以是 Hugging Face 或 ModelScope 缓存中的模型。
有文件缺失或损坏时，“check”的退出码为 11。`,
  helpDevices: `mizuoto devices [--json]

列出可用于计算的设备、它们的内存，以及是否使用和原因。`,
  helpRuntime: `mizuoto runtime [--watch] [--json]

显示正在运行的 Mizuoto 的设备、已加载的模型及其组件（设备上、流式加载和主机内存的字节数，以及只有部分在设备上的原因）
和显存策略；没有正在运行的，就显示新启动一个时的情况。

  -w, --watch   每次变化都重新显示，直到按 Ctrl-C；加 --json 时每行一个对象`,
  helpVerify: `mizuoto verify [--engine 引擎] [--setting 键=值]... [--text 文本] [--json]

用每一种管理显存的方式朗读同样的词，并逐位比较采样：在处理器上普通运行；在模拟设备上全部流式加载、一半、完整加载、原处使用，
并让每个阶段都遇到内存不足；在每块显卡上常驻和流式加载，与处理器共享内存的还要原处使用。显卡的舍入方式与处理器不同，
与处理器的差异只作说明，不算错误；同一设备上则必须完全相同。

  -e, --engine 引擎       默认：all
  -s, --setting 键=值     对所有运行有效；可重复。compute.device 选择显卡（CPU 表示不用显卡），
                          compute.simulate_vram_mb 增加一次该大小的模拟设备上的运行
      --text 文本         要朗读的文本；默认只有几个词
      --json              一个对象：ok、runs

有任何不同时，退出码为 11。`,
  helpDoctor: `mizuoto doctor [--json]

检查本机计算核心、内置音色、设置、文件夹、内存及其策略，并让每个设备做一次已知答案的计算。最后列出最有用的做法。
有故障时，退出码为 11。`,
  helpSettings: `mizuoto settings get [键]            全部设置，或其中一项
mizuoto settings set 键=值...        修改；要么全部生效，要么都不变
mizuoto settings reset 键...         恢复默认值

  --json    以 JSON 对象输出

值可以是 JSON 或普通文本：compute.threads=2、compute.vram_mode=low、compute.vram_limit_mb=null。
只对一次请求有效：mizuoto say ... --setting 键=值。`,
  helpHelp: `mizuoto help [命令 | exit-codes]

说明一个命令，或列出退出码。`,
  helpVersion: `mizuoto version [--json]

显示 Mizuoto、ggml 和 Node 的版本。`,
  helpExitCodes: `退出码，以及对应的错误代码（--json 里的“code”）：

{table}

其他：

    0  成功
   11  “verify”发现不同或故障，或“doctor”“models check”发现故障
  129  被 SIGHUP 结束
  141  读取我们输出的程序已关闭
  143  被 SIGTERM 结束`,
};
