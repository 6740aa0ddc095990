import type { recoveryEn } from './recovery.en.ts';

/** The same in Simplified Chinese. */
export const recoveryZh: Record<keyof typeof recoveryEn, string> = {
  device_replaced: '{device} 停止响应：驱动程序被重置，或设备已移除。引擎已在新进程中重新启动。',
  device_reopened: '{device} 停止响应，已重新打开。',
  driver_crashed: '{device} 的驱动程序崩溃（{how}）。引擎已在新进程中重新启动。',
  engine_crashed: '引擎崩溃（{how}），已重新启动。',
  engine_left_alone:
    '引擎在 {minutes} 分钟内崩溃了 {times} 次，最近一次是 {how}。几分钟后才会再次启动，也可以重新启动本软件。',
  device_given_up:
    '{device} 在 {minutes} 分钟内失去响应 {times} 次，不再使用。请更新驱动程序；如要再试，请在 compute.device 中选择它，或重新启动本软件。',
  engine_in_host: '引擎无法在单独的进程中运行（{how}）：设备失去响应或驱动程序崩溃时，需要重新启动本软件。',
  request_repeated: '{device} 在发出声音之前失去响应，请求已从头重新执行。',
  device_passed_over: '改用 {other} 计算：{device} 在 {minutes} 分钟内失去响应 {times} 次，不再使用。',
  device_lost_often: '多次失去响应；如要再试，请在 compute.device 中选择它',
};
