/** What the studio says of devices that were lost, and of what it did about it. Part of sentences.en.ts. */
export const recoveryEn = {
  // What happened, on the Memory screen and in `mizuoto runtime`.
  device_replaced:
    '{device} stopped responding: its driver was reset, or it was removed. The engine was started again in a fresh process.',
  device_reopened: '{device} stopped responding and was opened anew.',
  driver_crashed: 'The driver of {device} crashed ({how}). The engine was started again in a fresh process.',
  engine_crashed: 'The engine crashed ({how}) and was started again.',
  engine_left_alone:
    'The engine crashed {times} times within {minutes} minutes, the last time with {how}. It is started again a few minutes from now, or with the studio.',
  device_given_up:
    '{device} was lost {times} times within {minutes} minutes and is not used any more. Update its driver; to try it again, choose it as compute.device or start the studio again.',
  engine_in_host:
    'The engine cannot run in a process of its own here ({how}): a device that is lost, or a driver that crashes, ends with the studio.',
  // Warnings of a result.
  request_repeated: '{device} was lost before the first sound; the request was repeated from its beginning.',
  device_passed_over:
    'Computed on {other}: {device} was lost {times} times within {minutes} minutes and is not used any more.',
  // Why a device is not used.
  device_lost_often: 'lost again and again; choose it as compute.device to try it again',
} as const;
