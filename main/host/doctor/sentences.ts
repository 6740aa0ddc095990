import type { FindingId } from '../../contract/index.ts';

/** What was found, and what to do about it, in English; `{name}` is filled from the finding's params. */
export const findingSentences: Record<FindingId, { message: string; fix: string | null }> = {
  core_ok: { message: 'The native core works (ggml {ggml}).', fix: null },
  core_broken: {
    message: 'The native core does not work: {reason}',
    fix: 'Build the native core again: npm run setup.',
  },
  engine_ok: { message: '{name} loads: {size_mb} MiB in {seconds} s.', fix: null },
  engine_broken: {
    message: '{name} cannot be used: {reason}',
    fix: 'Restore the files of {name}: install it, or the studio, again.',
  },
  settings_ok: { message: 'The settings are in order; {changed} differ from the defaults.', fix: null },
  settings_problem: {
    message: '{problem}',
    fix: 'Correct the settings: "mizuoto settings get" lists them, "mizuoto settings reset KEY" gives a default back.',
  },
  settings_device_missing: {
    message: 'compute.device is {device}, and this computer has {known}.',
    fix: 'Let the studio choose the device: mizuoto settings reset compute.device.',
  },
  settings_allocator: {
    message:
      'compute.gpu_allocator is {value}, and no backend here lets its allocator be chosen: it has no effect.',
    fix: 'Clear what has no effect: mizuoto settings reset compute.gpu_allocator.',
  },
  settings_simulated: {
    message: 'compute.simulate_vram_mb is set: the processor plays a graphics device of {size_mb} MiB.',
    fix: 'Compute on a real device again: mizuoto settings reset compute.simulate_vram_mb.',
  },
  models_ok: {
    message: 'Installed models are whole, as far as their headers and sizes tell: {count}.',
    fix: null,
  },
  model_damaged: {
    message: '{model} cannot be used: {reason}',
    fix: 'Repair {model}: download its files again, then look with "mizuoto models check {model}"; or forget it with "mizuoto models remove {model}".',
  },
  model_changed: {
    message: '{model} is not as it was published: the sizes of these files differ: {files}.',
    fix: 'Download {files} of {model} again; or, if it is a model of your own, add its folder under a name of its own (--name).',
  },
  voices_ok: { message: 'Saved voices can be read: {count}.', fix: null },
  voice_damaged: {
    message: 'The saved voice in {path} cannot be used: {file} {why}.',
    fix: 'Put back {file} in {path}, or delete that folder and add the voice again.',
  },
  file_problem: { message: '{problem}', fix: null },
  folder_ok: { message: '{path} can be written.', fix: null },
  folder_unwritable: {
    message: '{path} cannot be written ({reason}): settings or measurements are lost at the end.',
    fix: 'Allow writing to {path}, or let MIZUOTO_HOME name another folder.',
  },
  ram_ok: { message: '{free_mb} of {total_mb} MiB of RAM are free; {reserve_mb} are kept free.', fix: null },
  ram_short: {
    message:
      'Only {free_mb} of {total_mb} MiB of RAM are free, less than the {reserve_mb} to be kept free: models are unloaded early.',
    fix: 'Close other programs, or lower compute.ram_reserve_mb.',
  },
  device_used: {
    message: '{device} ({description}) is used: {why}. {free_mb} of {total_mb} MiB are free.',
    fix: null,
  },
  device_unused: {
    message: '{device} ({description}) is not used: {why}. {free_mb} of {total_mb} MiB are free.',
    fix: null,
  },
  device_full: {
    message: 'Other programs hold {others_mb} of the {total_mb} MiB of {device}; {free_mb} are free.',
    fix: 'Close other programs that use {device}: more of each model then stays on it.',
  },
  no_graphics: {
    message: 'No graphics device can be used: everything is computed on the processor.',
    fix: 'If this computer has a graphics card, install its current driver (with Vulkan).',
  },
  self_test_ok: {
    message: '{device} computes correctly ({seconds} s).',
    fix: null,
  },
  self_test_wrong: {
    message: '{device} computes wrong numbers: {difference} % off, streamed the same: {identical}.',
    fix: 'Update the driver of {device}, or compute elsewhere: mizuoto settings set compute.device=CPU.',
  },
  self_test_failed: {
    message: '{device} failed its self-test: {reason}',
    fix: 'Update the driver of {device}, or compute elsewhere: mizuoto settings set compute.device=CPU.',
  },
  driver_crashed: {
    message: 'The driver of {device} crashed ({how}) while {step}.',
    fix: 'Update the driver of {device}, or compute elsewhere: mizuoto settings set compute.device=CPU.',
  },
  driver_hung: {
    message: 'The driver of {device} did not answer for {seconds} s while {step}.',
    fix: 'Update the driver of {device}, or compute elsewhere: mizuoto settings set compute.device=CPU.',
  },
  no_overlap: {
    message: '{device} does not copy while it computes: streamed units wait for their copies.',
    fix: null,
  },
  no_pinned_memory: {
    message:
      '{device} has no page-locked memory: copies to it are slower, and compute.max_pinned_mb has no effect.',
    fix: null,
  },
  not_in_place: {
    message:
      '{device} does not use host memory in place: weights are copied, and compute.vram_mode=shared is as high.',
    fix: null,
  },
  no_half_type: {
    message: '{device} does not multiply with {dtypes}: such weights take the next wider type that it has.',
    fix: null,
  },
  drivers_broken: {
    message:
      'A graphics driver does not survive being loaded ({how}): nothing can be computed, not even on the processor.',
    fix: 'Update or remove the graphics drivers; until then, the environment variable VK_LOADER_DRIVERS_DISABLE=* leaves those of Vulkan out.',
  },
};
