import type { ErrorCode } from '../contract/index.ts';

/** What is lacking or wrong in a request, by the option that gives it. */
export const wordsOfOptions: Partial<Record<string, Partial<Record<string, string>>>> = {
  needs: {
    reference: '一个可克隆的音色（--reference 参考音频，或 --voice 已保存的音色）',
    'reference.text': '参考音频中说的话（--reference-text）',
    instruct: '对音色的描述（--instruct）',
  },
  field: { instruct: '描述（--instruct）', transcript: '录音的逐字文本（--text）' },
};

/**
 * Sentences per error code, the most telling first: the first whose names an error knows is used, else the English
 * one is shown. See messages.ts.
 */
export const zhErrors: Record<ErrorCode, string | readonly string[]> = {
  invalid_request: [
    '{field} 不能是 {value}：这个引擎接受 {minimum} 到 {maximum}。',
    '{field} 不能是 {value}，可以是：{expected}。',
    '“{beside}”不是引擎的参数：请用 --{beside}。引擎“{engine}”的参数有：{known}。',
    '引擎“{engine}”没有参数“{parameter}”。可用的有：{known}。',
    '模型“{model}”还需要{needs}。请一并给出。',
    '引擎“{engine}”不能改变 {field}，请去掉该选项。',
    '没有名为“{model}”的模型。可用的有：{known}。',
    '这个请求不行（{field}）：{why}。',
    '请求无效（{call} {field}）：{reason}。',
  ],
  unknown_engine: '没有名为“{engine}”的引擎。可用的有：{known}。',
  unknown_voice: [
    '模型“{design}”没有可按名称选择的音色（如“{voice}”）：请用 --instruct 描述音色。',
    '模型“{clones}”没有自己的音色，也没有名为“{voice}”的已保存音色。已保存的有：{known}。请用 --reference 给出参考音频，或先用“mizuoto voices add”保存一个音色。',
    '“{engine}”没有名为“{voice}”的音色。可用的有：{known}。',
    '没有名为“{saved}”的已保存音色。已保存的有：{known}。',
    '没有名为“{voice}”的音色：已安装的模型没有，保存的音色中也没有。可用的有：{known}。',
  ],
  unknown_model: '没有名为“{model}”的模型。可用的有：{known}。',
  unknown_language: [
    '模型“{model}”不会说“{language}”。它会说：{known}。',
    '没有模型会说“{language}”，因此它不能作为音色的语言。可用的有：{known}。请从中选择，或不填语言。',
  ],
  not_supported: [
    '模型“{model}”不能使用已保存的音色“{voice}”：它只有自己的音色（{speakers}），而已保存的音色需要克隆。这些已安装的模型可以：{others}。',
    '模型“{model}”不能使用已保存的音色“{voice}”：它只有自己的音色（{speakers}），而已保存的音色需要克隆。可以安装：{installable}。',
    '模型“{instruct}”不能使用已保存的音色“{voice}”：它只按描述（--instruct）设计音色，而已保存的音色需要克隆。这些已安装的模型可以：{others}。',
    '模型“{instruct}”不能使用已保存的音色“{voice}”：它只按描述（--instruct）设计音色，而已保存的音色需要克隆。可以安装：{installable}。',
    '模型“{model}”不能使用已保存的音色“{voice}”，已保存的音色需要克隆。请换一个能克隆音色的模型。',
    '模型“{model}”做不到（{ability}）。这些已安装的模型可以：{others}。',
    '模型“{model}”做不到（{ability}）。请换一个模型，或去掉该选项。',
  ],
  name_taken: [
    '名称“{name}”已用于“{path}”。请用 --name 另取一个名称，或先移除原来的。',
    '名称“{name}”已被使用。请另取一个名称，或先移除原来的。',
  ],
  unknown_setting: [
    '没有名为“{key}”的设置。您是不是想用“{nearest}”？',
    '没有名为“{key}”的设置。用“mizuoto settings get”查看全部设置。',
  ],
  invalid_setting: [
    '{key} 不能是 {value}，可以是：{expected}。',
    '{window} 属于窗口，不能只为一次请求设置。请用“mizuoto settings set”修改它。',
  ],
  contradictory_settings: [
    '模拟设备在处理器上计算，而 compute.device 是 {device}。请把它设为 auto，或清除 compute.simulate_vram_mb。',
    '{limit} MiB 的上限超过了模拟设备的 {simulate} MiB。请减小或清除 compute.vram_limit_mb。',
    'compute.vram_mode 为 high 时模型要完整加载，而 compute.vram_limit_mb（{limit} MiB）减去 compute.vram_reserve_mb（{reserve} MiB）后什么也不剩。请提高上限、减小预留，或换一种模式。',
    '保留 {reserve} MiB 内存后，本机的 {ram} MiB 就什么也不剩。请减小或清除 compute.ram_reserve_mb。',
    '{pinned} MiB 锁页内存会占用本机的全部 {ram} MiB 内存。请减小或清除 compute.max_pinned_mb。',
    '这些设置互相矛盾或与本机不符，请修改其中一项：{settings}。',
  ],
  text_empty: '没有可朗读的文本，请至少给出一个词。',
  text_not_speakable: [
    '{unspoken}，没有可以读出的内容。请至少写一个词。',
    '文本中有 {share}% 是{script}，{voice} 读不了，它只会读{speaks}。请改写文本，或换一个会说这种语言的模型：“mizuoto models”列出可以安装的，下载后用“mizuoto models add 文件夹”添加。',
    '这个音色读不了这段文本（文字：{script}）。请换一个音色或引擎，或改写文本。',
    '这个音色读不了这段文本。请换一个音色或引擎，或改写文本。',
  ],
  text_too_long: ['{field}超过 {limit} 个字符，请写短一些。', '文本超过 {limit} 个字符，请分成几次请求。'],
  text_malformed: '文本第 {position} 个字符处有损坏的内容（{kind}）。请另存为 UTF-8 文本后再试。',
  reference_unusable: [
    '这个 {format} 文件有 {seconds} 秒以上的音频，解码后超过 {limit} MiB。请截取其中一段。',
    '参考音频只有 {sound} 秒有声音，至少需要 {minimum} 秒。请录一段人声。',
    '参考音频里没有人声：音量只变化 {variation_db} dB，像是单音或噪声。请换一段人声录音。',
    '参考音频太短：只有 {seconds} 秒，至少需要 {minimum} 秒。请换一段更长的录音。',
    '参考音频太长：有 {seconds} 秒，最多 {maximum} 秒。请截取其中一段。',
    '参考音频没有可听的声音（最响 {level_db} dBFS）。请换一段录音。',
    '参考音频削波严重（{share}% 的采样达到满幅）。请降低音量重新录制。',
    '参考文本不可能是这段音频说的话：{seconds} 秒里有 {characters} 个字符。请逐字写下音频中的话，或不提供参考文本。',
    '这个文件不能用作参考音频。请换一段录音。',
  ],
  file_not_found: '文件“{path}”不存在，请检查文件名。',
  file_unreadable: [
    '这是 {convert} 文件，不能直接读取。请先转换：ffmpeg -i 原文件 reference.wav',
    '这个 {format} 文件已损坏或无法解码。请重新导出，或先转换：ffmpeg -i 原文件 reference.wav',
    '“{path}”无法读取：{why}。',
    '文件“{path}”无法读取。请检查权限，或换一个文件。',
  ],
  file_not_text: '“{path}”不是文本文件。请另存为 UTF-8 文本后再试。',
  output_not_writable: [
    '无法写入“{path}”：{why}。请换一个位置。',
    '无法写入“{path}”。请检查权限，或换一个位置。',
  ],
  disk_full: '没有空间写入“{path}”。请腾出一些空间后再试。',
  model_not_installed: [
    '模型“{model}”还没有安装。请从 ModelScope 或 Hugging Face 下载“{repository}”的全部文件（“mizuoto models”写明了下载方法），再运行：mizuoto models add 文件夹',
    '引擎“{engine}”还没有安装任何模型。请看“mizuoto models”。',
  ],
  model_not_recognised: [
    '“{path}”里有 {count} 个模型，请逐个添加：{known}。',
    '“{path}”里已不是模型“{changed}”。请在它现在的位置重新添加。',
    '“{path}”不是已知的模型文件夹：缺少“{file}”。',
    '没有引擎认识“{path}”中的模型。请选择含有 config.json 和权重文件的文件夹。',
  ],
  checkpoint_missing: [
    '“{gone}”不见了。请接上它所在的磁盘，或在新位置重新添加模型“{model}”。',
    '“{path}”中缺少模型文件“{file}”（共缺少或损坏：{files}）。请重新下载。',
    '“{path}”中缺少模型文件“{file}”。请重新下载。',
    '缺少模型文件“{file}”。请重新安装该模型。',
    '缺少模型文件“{path}”。请重新安装该模型。',
  ],
  checkpoint_invalid: [
    '“{path}”中的“{wrong_part}”不是 {index} 所说的那一部分：缺少其中 {wanted} 个张量中的 {lacks} 个（{examples}）。请重新下载。',
    '“{path}”中的文件“{wrong_size}”有 {size} 字节，应为 {whole} 字节。请重新下载；如果这是您自己的模型，请另取名称添加。',
    '“{path}”中的文件“{wrong_hash}”与公布的哈希不符。请重新下载；如果这是您自己的模型，请另取名称添加。',
    '“{path}”中的文件“{lfs_pointer}”是 Git LFS 指针，不是文件本身。请在那里运行“git lfs pull”。',
    '“{path}”中的文件“{web_page}”是网页，说明下载失败了。请重新下载。',
    '“{path}”中的文件“{empty}”是空的，说明下载失败了。请重新下载。',
    '“{path}”中的文件“{cut}”不完整：只有 {size} 字节，应有 {whole} 字节。请重新下载。',
    '“{path}”只有 {tokens} 个词元，编号却到 {highest}，其中没有 {gap}：缺少一部分。请放回该模型自己的文件。',
    '“{path}”有 {tokens} 个词元，而 tokenizer_config.json 的附加词元从 {begin} 开始：两者不属于同一个模型。请放回该模型自己的文件。',
    '模型文件“{file}”已损坏或不是权重文件。请重新安装该模型。',
    '模型文件“{path}”已损坏或不是权重文件。请重新安装该模型。',
  ],
  checkpoint_mismatch: [
    '“{path}”中的权重“{file}”与“{configuration}”的描述不符：缺少 {missing} 个张量，多出 {unexpected} 个，形状不同 {misshaped} 个，类型不能用 {unusable} 个（{examples}）。这些文件不属于同一个模型，或已被改动，请从同一处全部重新下载。',
    '模型文件“{file}”与引擎不符。请重新安装该模型。',
    '模型文件“{path}”与引擎不符。请重新安装该模型。',
  ],
  weights_not_finite: '模型权重“{tensor}”中含有无效数字。请重新安装该模型。',
  device_not_found: '没有设备“{device}”。可用的有：{known}。',
  out_of_device_memory: [
    '{device}（共 {total_mb} MiB）在“{stage}”阶段内存不足：正在采用的模式是 {mode}，因此 {weights_mb} MiB 权重要一次全部放入，另需工作内存 {working_mb} MiB。请将 compute.vram_mode 设为 {instead}：放不下的部分会流式加载，结果不变。',
    '{device} 在“{stage}”阶段内存不足（已试 {attempts} 次）：compute.simulate_vram_mb 只给了 {simulated_mb} MiB，而 {weights_mb} MiB 权重中至少要放入 {least_mb} MiB，另需工作内存 {working_mb} MiB。请增大 compute.simulate_vram_mb、缩短文本，或用 compute.device=CPU。',
    '{device} 在“{stage}”阶段内存不足（已试 {attempts} 次）：共 {total_mb} MiB，其他程序占用 {others_mb} MiB；{weights_mb} MiB 权重中至少要放入 {least_mb} MiB，另需工作内存 {working_mb} MiB。请缩短文本、关闭其他程序，或用 compute.device=CPU。',
    '设备内存不足：需要 {needed} 字节，可用 {available} 字节。请关闭其他程序，或用 compute.vram_mode=low。',
  ],
  out_of_host_memory: '本机内存不足：需要 {needed} 字节，可用 {available} 字节。请关闭其他程序后再试。',
  device_lost: [
    '“{device}”的驱动崩溃（{how}）。请更新驱动，或换一个设备：mizuoto settings set compute.device=CPU。',
    '“{device}”的驱动 {seconds} 秒没有响应。请更新驱动，或换一个设备：mizuoto settings set compute.device=CPU。',
    '设备“{device}”失去响应。请重新启动 Mizuoto；如仍失败，请更新驱动，或换一个设备：mizuoto settings set compute.device=CPU。',
  ],
  backend_missing: '缺少本机计算核心。请运行“npm run setup”后再试。',
  weight_not_placed: '计算时权重“{tensor}”不在设备上。请附日志报告这个问题。',
  wait_timeout: '等待超过 {seconds} 秒仍未得到“{path}”。请关闭其他 Mizuoto 后再试。',
  job_not_found: '没有任务 {job_id}：它不在这里启动，或已太久远。',
  job_failed: '引擎“{engine}”算出的结果不是音频。请换一个设备；如仍失败，模型文件可能已损坏。',
  cancelled: '已取消，没有保存任何内容。',
  host_unreachable: '引擎主机没有响应。请重新启动 Mizuoto。',
  host_crashed: '引擎主机在工作时崩溃了，请再试一次。',
  forbidden: '不允许这样做。',
  internal: 'Mizuoto 内部出错。加 --verbose 可看详情；再试一次也许有用。',
};
