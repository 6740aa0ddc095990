import type { ErrorCode } from '../../../main/contract/errors.ts';
import type { ErrorText } from './errors.en.ts';

export const errorsZh: Record<ErrorCode, ErrorText> = {
  invalid_request: {
    title: '无法处理这个请求',
    why: [
      '{{field}} 为 {{value}}，引擎只接受 {{minimum}} 到 {{maximum}}。',
      '这里的 {{field}} 不能是 {{value}}。',
      '其中有引擎做不到的内容。',
    ],
    fix: '请将语音设置恢复默认后重试。',
  },
  unknown_engine: {
    title: '没有安装这个引擎',
    why: ['找不到引擎“{{engine}}”。可用的有：{{known}}。', '找不到引擎“{{engine}}”。', '所选的引擎不存在。'],
    fix: '请选择其他引擎。',
  },
  unknown_voice: {
    title: '没有这个音色',
    why: [
      '“{{design}}”没有可按名称选择的音色（如“{{voice}}”）：请用文字描述音色。',
      '“{{engine}}”没有音色“{{voice}}”。可用的有：{{known}}。',
      '找不到音色“{{voice}}”。',
      '引擎没有所选的音色。',
    ],
    fix: '请选择其他音色。',
  },
  unknown_model: {
    title: '没有这个模型',
    why: ['找不到模型“{{model}}”。可用的有：{{known}}。', '找不到所选的模型。'],
    fix: '请选择其他模型。',
  },
  unknown_language: {
    title: '模型不会说这种语言',
    why: [
      '“{{model}}”不会说“{{language}}”。它会说：{{known}}。',
      '没有模型会说“{{language}}”，因此它不能作为音色的语言。可用的有：{{known}}。',
      '模型不认识所选的语言。',
    ],
    fix: '请选择其他语言或其他模型。',
  },
  not_supported: {
    title: '模型做不到这件事',
    why: [
      '“{{model}}”只有自己的音色（{{speakers}}），而已保存的音色“{{voice}}”需要克隆。这些模型可以克隆：{{others}}。',
      '“{{model}}”只有自己的音色（{{speakers}}），而已保存的音色“{{voice}}”需要克隆。可以安装：{{installable}}。',
      '“{{instruct}}”只按描述设计音色，而已保存的音色“{{voice}}”需要克隆。这些模型可以克隆：{{others}}。',
      '“{{instruct}}”只按描述设计音色，而已保存的音色“{{voice}}”需要克隆。可以安装：{{installable}}。',
      '“{{model}}”不能克隆，而已保存的音色“{{voice}}”需要克隆。',
      '“{{model}}”做不到：{{ability}}。这些模型可以：{{others}}。',
      '“{{model}}”做不到：{{ability}}。',
      '请求中有模型不具备的功能。',
    ],
    fix: '请选择其他模型，或去掉该选项。',
  },
  name_taken: {
    title: '名称已被使用',
    why: ['“{{name}}”已经存在。', '另有一项使用这个名称。'],
    fix: '请另取一个名称，或先移除原来的。',
  },
  unknown_setting: {
    title: '没有这个设置项',
    why: [
      '没有名为“{{key}}”的设置，您要找的可能是“{{nearest}}”。',
      '没有名为“{{key}}”的设置。',
      '设置项的名称不对。',
    ],
    fix: '请检查拼写。',
  },
  invalid_setting: {
    title: '设置不能取这个值',
    why: [
      '“{{key}}”不能是 {{value}}，可用的取值：{{expected}}。',
      '“{{key}}”在这里不能取这个值。',
      '取值超出了范围。',
    ],
    fix: '请在允许的范围内取值。',
  },
  contradictory_settings: {
    title: '两项设置互相矛盾',
    why: ['{{settings}} 不能同时生效。', '按当前的内存设置，没有留下可用的空间。'],
    fix: '请修改其中一项。',
  },
  text_empty: {
    title: '没有可朗读的内容',
    why: ['文稿里没有任何词语。'],
    fix: '请至少输入一个词。',
  },
  text_not_speakable: {
    title: '这个音色读不了这段文字',
    why: ['其中 {{share}} 的文字是{{script}}，这个音色不会说。', '其中没有这个音色会说的语言。'],
    fix: '请修改文字，或选择会说这种语言的音色。会说其他语言的模型可用 “mizuoto models” 查看，下载后用 “mizuoto models add 文件夹” 添加。',
  },
  text_too_long: {
    title: '文字太长，无法一次生成',
    why: [
      '共有 {{characters}} 个字符，一次最多 {{limit}} 个。',
      '一次最多接受 {{limit}} 个字符。',
      '超出了一次请求的上限。',
    ],
    fix: '请分成几段。',
  },
  text_malformed: {
    title: '文字已损坏',
    why: ['第 {{position}} 个位置有损坏的字符。', '其中有不是有效文字的字符。'],
    fix: '请重新粘贴，或删去损坏的部分。',
  },
  reference_unusable: {
    title: '这段录音不能用作参考',
    why: [
      '这个 {{format}} 文件有 {{seconds}}以上的音频，解码后超过 {{limit}} MB。',
      '它只有 {{seconds}}，至少需要 {{minimum}} 秒。',
      '它有 {{seconds}}，最多可用 {{maximum}} 秒。',
      '其中听不到声音：最响处为 {{level_db}} dBFS。',
      '它有削波：{{share}} 的采样达到满幅。',
      '参考文本有 {{characters}} 个字符，{{seconds}}里说不完。',
      '录音中没有可用的语音。',
    ],
    fix: '请换一段录音。',
  },
  file_not_found: {
    title: '找不到文件',
    why: ['“{{path}}”不存在。', '它可能被移动、改名或删除了。'],
    fix: '请检查路径。',
  },
  file_unreadable: {
    title: '无法读取文件',
    why: [
      '这是 {{convert}} 文件，不能直接读取。请先转换：ffmpeg -i 原文件 reference.wav',
      '这个 {{format}} 文件已损坏或无法解码。',
      '“{{path}}”被系统拒绝访问，或者已损坏。',
      '系统拒绝访问，或者文件已损坏。',
    ],
    fix: '请检查文件的权限和格式。',
  },
  file_not_text: {
    title: '这不是文本文件',
    why: ['“{{path}}”不能按 UTF-8 文本读取。', '它不能按 UTF-8 文本读取。'],
    fix: '请另存为 UTF-8 编码的纯文本。',
  },
  output_not_writable: {
    title: '音频无法保存到那里',
    why: ['“{{path}}”无法写入。', '那个位置无法写入。'],
    fix: '请保存到其他文件夹。',
  },
  disk_full: {
    title: '磁盘已满',
    why: [
      '“{{path}}”需要 {{needed_bytes}}，只剩 {{free_bytes}}。',
      '没有空间写入“{{path}}”。',
      '没有空间写入文件。',
    ],
    fix: '请腾出一些空间后重试。',
  },
  model_not_installed: {
    title: '模型还没有安装',
    why: ['“{{model}}”的文件在仓库 {{repository}} 中，本机上没有。', '本机上没有它的文件。'],
    fix: '请下载文件，然后在“模型”中添加该文件夹。',
  },
  model_not_recognised: {
    title: '不是已知的模型文件夹',
    why: ['“{{path}}”中缺少“{{file}}”。', '没有引擎认识“{{path}}”。', '没有引擎认识这个文件夹。'],
    fix: '请选择含有 config.json 和权重文件的文件夹。',
  },
  checkpoint_missing: {
    title: '缺少模型文件',
    why: ['“{{path}}”不存在。', '模型权重不在应有的位置。'],
    fix: '请重新安装模型。',
  },
  checkpoint_invalid: {
    title: '模型文件已损坏',
    why: ['“{{path}}”不是有效的模型文件。', '文件不完整，或者是其他格式。'],
    fix: '请重新下载或复制模型。',
  },
  checkpoint_mismatch: {
    title: '模型文件属于另一个模型',
    why: [
      '“{{path}}”中的权重与“{{configuration}}”的描述不符：缺少 {{missing}} 个张量，多出 {{unexpected}} 个，形状不同 {{misshaped}} 个，类型不能用 {{unusable}} 个（{{examples}}）。',
      '文件与网络“{{component}}”不符。',
      '“{{tensor}}”与网络不符。',
      '文件中的张量与网络不符。',
    ],
    fix: '请从同一处重新下载该模型的全部文件。',
  },
  weights_not_finite: {
    title: '模型权重已损坏',
    why: ['张量“{{tensor}}”的第 {{element}} 个元素不是有效数值。', '权重中有无效数值。'],
    fix: '请重新下载或复制模型。',
  },
  device_not_found: {
    title: '找不到设备',
    why: ['没有设备“{{device}}”。已找到：{{known}}。', '没有设备“{{device}}”。', '找不到所选的设备。'],
    fix: '请将设备设为“auto”，或重新连接设备。',
  },
  out_of_device_memory: {
    title: '显存不足',
    why: [
      '{{component}} 在 {{device}} 上需要 {{needed_bytes}}，只剩 {{free_bytes}}。',
      '正在采用的模式是“{{mode}}”，因此阶段“{{stage}}”要一次放入全部 {{weights_mb}} 权重，另需 {{working_mb}} 工作内存；{{device}} 共有 {{total_mb}}。将 compute.vram_mode 设为“{{instead}}”后，放不下的部分会流式加载，结果不变。',
      '阶段“{{stage}}”至少要放入 {{weights_mb}} 权重中的 {{least_mb}}，另需 {{working_mb}} 工作内存；compute.simulate_vram_mb 只给了 {{device}} {{simulated_mb}}，请增大它。',
      '阶段“{{stage}}”至少要放入 {{weights_mb}} 权重中的 {{least_mb}}，另需 {{working_mb}} 工作内存；{{device}} 共有 {{total_mb}}，其他程序占用 {{others_mb}}。',
      '在 {{device}} 上需要 {{needed_bytes}}，只剩 {{free_bytes}}。',
      '需要 {{needed_bytes}}，只剩 {{free_bytes}}。',
      '连必须放在设备上的最小部分也放不下。',
    ],
    fix: '请卸载模型、关闭占用显存的其他程序，或缩短文字。',
  },
  out_of_host_memory: {
    title: '内存不足',
    why: ['需要 {{needed_bytes}}，只剩 {{free_bytes}}。', '电脑的内存不够用。'],
    fix: '请关闭其他程序，或卸载模型。',
  },
  device_lost: {
    title: '设备停止响应',
    why: [
      '{{given_up}} 在 {{minutes}} 分钟内失去响应 {{times}} 次，不再尝试。',
      '{{avoided}} 在 {{minutes}} 分钟内失去响应 {{times}} 次，不再使用。',
      '{{device}} 的驱动程序崩溃（{{how}}）。',
      '{{device}} 的驱动程序被重置，或设备已移除。',
      '驱动程序被重置，或设备已移除。',
    ],
    fix: [
      '请更新驱动程序，或在设置中选择 {{given_up}} 以外的设备。如要再试，请重新启动本软件。',
      '请重新生成，这次不会使用 {{avoided}}。请更新它的驱动程序；如要再次使用，请重新启动本软件。',
      '请重新生成：引擎已为 {{replaced}} 重新启动。如果再次发生，请更新驱动程序，或改用处理器（compute.device 设为 CPU）。',
      '请重新生成：{{reopened}} 会重新打开。',
      '请重新启动本软件，设备会重新打开。如果再次发生，请更新驱动程序，或改用处理器（compute.device 设为 CPU）。',
    ],
  },
  backend_missing: {
    title: '缺少计算库',
    why: ['无法加载“{{path}}”。', '负责计算的部分无法加载。'],
    fix: '请重新安装本软件。',
  },
  weight_not_placed: {
    title: '有权重不在设备上',
    why: [
      '阶段“{{stage}}”读取了 {{component}} 的“{{parameter}}”，但它不在设备上。',
      '模型的一部分在加载之前就被使用了。',
    ],
    fix: '请连同下方的详细信息一起反馈；重试可能有用。',
  },
  wait_timeout: {
    title: '等待超时',
    why: ['所需的内存或文件在 {{seconds}}内没有空出来。', '所需的资源没有及时空出来。'],
    fix: '请等其他任务结束后重试。',
  },
  job_not_found: {
    title: '任务已不存在',
    why: ['没有任务“{{job_id}}”，它可能属于上一次启动。', '它可能属于上一次启动。'],
    fix: '请重新生成。',
  },
  job_failed: {
    title: '生成失败',
    why: ['阶段“{{stage}}”没有完成。', '引擎没能完成这个任务。'],
    fix: '请重试；如果再次失败，请复制详细信息。',
  },
  cancelled: {
    title: '已停止',
    why: ['任务在完成之前被停止。'],
    fix: '此前完成的部分已保留。',
  },
  host_unreachable: {
    title: '引擎没有响应',
    why: ['引擎已停止，或连接中断。'],
    fix: '如果已关闭，请重新启动本软件；窗口会自动重新连接。',
  },
  host_crashed: {
    title: '引擎意外退出',
    why: [
      '引擎在 {{minutes}} 分钟内退出了 {{crashes}} 次，暂时不再启动。',
      '引擎连续退出了 {{crashes}} 次，正在运行的任务已丢失。',
      '引擎退出（{{how}}）并已重新启动，正在处理的任务已丢失。',
      '引擎已重新启动，正在运行的任务已丢失。',
    ],
    fix: [
      '请稍候（最多 {{minutes}} 分钟），或重新启动本软件。如果再次发生，请复制详细信息。',
      '请重新生成。如果再次发生，请复制详细信息。',
    ],
  },
  forbidden: {
    title: '这里不允许这样做',
    why: ['请求被拒绝：页面的密钥缺失或已过期。'],
    fix: '请打开启动时显示的地址。',
  },
  internal: {
    title: '软件内部出错',
    why: ['这不应该发生，也不是文字的问题。'],
    fix: '请重试；如果再次发生，请复制详细信息并反馈。',
  },
};
