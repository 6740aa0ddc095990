import type { FindingId, SaidCode } from '../contract/index.ts';
import { sentencesEn } from '../contract/sentences.en.ts';
import { sentencesZh } from '../contract/sentences.zh-CN.ts';

/** What `mizuoto doctor` found, and what to do about it. The English sentences are the host's own. */
export const zhFindings: Record<FindingId, { message: string; fix: string | null }> = {
  core_ok: { message: '本机计算核心正常（ggml {ggml}）。', fix: null },
  core_broken: { message: '本机计算核心不可用：{reason}', fix: '请重新构建本机计算核心：npm run setup。' },
  engine_ok: { message: '{name} 可以加载：{size_mb} MiB，用时 {seconds} 秒。', fix: null },
  engine_broken: {
    message: '{name} 不可用：{reason}',
    fix: '请恢复 {name} 的文件：重新安装它或整个 Mizuoto。',
  },
  settings_ok: { message: '设置没有问题，有 {changed} 项与默认值不同。', fix: null },
  settings_problem: {
    message: '设置文件有问题：{problem}',
    fix: '请改正设置：“mizuoto settings get”列出全部，“mizuoto settings reset 键”恢复默认值。',
  },
  settings_device_missing: {
    message: 'compute.device 是 {device}，而本机只有 {known}。',
    fix: '让 Mizuoto 自己选择设备：mizuoto settings reset compute.device。',
  },
  settings_allocator: {
    message: 'compute.gpu_allocator 是 {value}，但这里没有后端允许选择分配器，因此不起作用。',
    fix: '去掉不起作用的设置：mizuoto settings reset compute.gpu_allocator。',
  },
  settings_simulated: {
    message: '已设置 compute.simulate_vram_mb：由处理器模拟一块 {size_mb} MiB 的显卡。',
    fix: '改回真实设备：mizuoto settings reset compute.simulate_vram_mb。',
  },
  models_ok: { message: '已安装的模型从文件头和大小看都完整：{count} 个。', fix: null },
  model_damaged: {
    message: '{model} 不能使用：{reason}',
    fix: '请修复 {model}：重新下载它的文件，再用“mizuoto models check {model}”检查；或用“mizuoto models remove {model}”移除。',
  },
  model_changed: {
    message: '{model} 与公布的不同：这些文件的大小不一样：{files}。',
    fix: '请重新下载 {model} 的 {files}；如果它是您自己的模型，请用 --name 另取名称添加它的文件夹。',
  },
  voices_ok: { message: '已保存的音色都可以读取：{count} 个。', fix: null },
  voice_damaged: {
    message: '{path} 中保存的音色不能使用：{file} {why}。',
    fix: '请把 {file} 放回 {path}，或删除该文件夹后重新添加这个音色。',
  },
  file_problem: { message: '文件有问题：{problem}', fix: null },
  folder_ok: { message: '{path} 可以写入。', fix: null },
  folder_unwritable: {
    message: '{path} 无法写入（{reason}）：设置或测量结果在结束后会丢失。',
    fix: '请允许写入 {path}，或用 MIZUOTO_HOME 指定另一个文件夹。',
  },
  ram_ok: {
    message: '内存共 {total_mb} MiB，可用 {free_mb} MiB，其中 {reserve_mb} MiB 保留不用。',
    fix: null,
  },
  ram_short: {
    message:
      '内存共 {total_mb} MiB，只有 {free_mb} MiB 可用，低于应保留的 {reserve_mb} MiB：模型会提前卸载。',
    fix: '请关闭其他程序，或减小 compute.ram_reserve_mb。',
  },
  device_used: {
    message: '使用 {device}（{description}）：{why}。共 {total_mb} MiB，可用 {free_mb} MiB。',
    fix: null,
  },
  device_unused: {
    message: '不使用 {device}（{description}）：{why}。共 {total_mb} MiB，可用 {free_mb} MiB。',
    fix: null,
  },
  device_full: {
    message: '{device} 共 {total_mb} MiB，其他程序占用 {others_mb} MiB，可用 {free_mb} MiB。',
    fix: '请关闭占用 {device} 的其他程序，这样更多模型可以留在上面。',
  },
  no_graphics: {
    message: '没有可用的显卡：全部在处理器上计算。',
    fix: '如果本机有显卡，请安装支持 Vulkan 的新版驱动。',
  },
  self_test_ok: { message: '{device} 计算正确（{seconds} 秒）。', fix: null },
  self_test_wrong: {
    message: '{device} 计算有误：偏差 {difference} %，流式加载结果相同：{identical}。',
    fix: '请更新 {device} 的驱动，或换一个设备：mizuoto settings set compute.device=CPU。',
  },
  self_test_failed: {
    message: '{device} 没有通过自检：{reason}',
    fix: '请更新 {device} 的驱动，或换一个设备：mizuoto settings set compute.device=CPU。',
  },
  driver_crashed: {
    message: '{device} 的驱动在{step}时崩溃（{how}）。',
    fix: '请更新 {device} 的驱动，或换一个设备：mizuoto settings set compute.device=CPU。',
  },
  driver_hung: {
    message: '{device} 的驱动在{step}时 {seconds} 秒没有响应。',
    fix: '请更新 {device} 的驱动，或换一个设备：mizuoto settings set compute.device=CPU。',
  },
  no_overlap: { message: '{device} 计算时不能同时复制：流式加载的单元要等复制完成。', fix: null },
  no_pinned_memory: {
    message: '{device} 没有锁页内存：向它复制较慢，compute.max_pinned_mb 不起作用。',
    fix: null,
  },
  not_in_place: {
    message: '{device} 不能直接使用主机内存：权重要复制过去，compute.vram_mode=shared 等同于 high。',
    fix: null,
  },
  no_half_type: {
    message: '{device} 不能直接用 {dtypes} 做乘法：这些权重改用它支持的更宽类型。',
    fix: null,
  },
  drivers_broken: {
    message: '有显卡驱动一加载就出错（{how}）：连处理器也无法计算。',
    fix: '请更新或卸载显卡驱动；在此之前，可设环境变量 VK_LOADER_DRIVERS_DISABLE=* 来跳过 Vulkan 驱动。',
  },
};

/** What a driver was doing when it failed: see stepWords of the host. */
const zhSteps: Record<string, string> = {
  'its process started': '启动进程',
  'it was loaded': '加载',
  'the device was opened': '打开设备',
  'weights were uploaded': '上传权重',
  'it computed': '计算',
  'weights were streamed': '流式加载',
  'a text was spoken': '合成语音',
  'the device was closed': '关闭设备',
};
/** The host's English words of a step in Chinese; unknown ones as they are. */
export const zhStep = (step: string): string => zhSteps[step] ?? step;

/** Why a device is used or not: English sentences in Chinese. */
export const zhWhy: Record<string, string> = Object.fromEntries(
  (Object.keys(sentencesEn) as SaidCode[])
    .filter((code) => code.startsWith('device_'))
    .map((code) => [sentencesEn[code], sentencesZh[code]]),
);
