import { recoveryEn } from './recovery.en.ts';

/**
 * Everything the studio says beside errors and findings, once per language: decisions of the memory manager, warnings of
 * a result and of the studio's own files, why a device is used. Names in braces are places for
 * values, which are written with their unit.
 */
export const sentencesEn = {
  // Decisions of the memory manager.
  whole_fits:
    '{component} is whole on {device}: {size} of weights and {working} of working memory fit into {free}.',
  whole_high: '{component} is placed whole because the mode is {mode}.',
  partial_budget:
    '{component} has {loaded} of {size} on {device}; {streamed} stream, because {free} are free and {working} are needed for working, {slots} for copies in flight and {reserve} as reserve.',
  partial_low:
    '{component} keeps only its fixed part and its hot units ({loaded} of {size}) on {device}, because the mode is low.',
  partial_none:
    '{component} keeps only its fixed part ({loaded} of {size}) on {device}, because the mode is none.',
  partial_capped:
    '{component} has at most {cap} of {size} on {device} until it leaves, because a stage ran out of memory there.',
  gives_up: '{component} gives up {bytes} (units: {units}) for {name}: short by {short}.',
  gives_up_whole: '{component} leaves {device} ({bytes}) for {name}: short by {short}.',
  gives_up_oom: '{component} leaves {device} ({bytes}), because {name} ran out of memory.',
  gives_up_desktop: '{component} gives up {bytes}, because another program took {short} of {device}.',
  over_budget:
    '{name} needs at least {needed} on {device} and {free} are free beside the reserve; it is tried all the same.',
  working_too_large:
    '{name} needs {needed} of working memory and at most {possible} are possible on {device}; the longest length that fits is {largest}. Split it into {parts} parts of {part}.',
  working_impossible:
    '{name} needs {needed} of working memory and at most {possible} are possible on {device}.',
  residency_cost:
    '{component}: {resident} of {total} units are resident, chosen by time saved per byte: one pass takes {time}; by rule it would take {rule}, with everything resident {compute}.',
  weights_in_place:
    '{component}: {mapped} of its weights are used where they lie in the checkpoint; {copied} were copied.',
  weights_refused:
    '{device} does not take {bytes} of {component} where they lie in the checkpoint: they were copied.',
  waiting: '{name} waits for {holder}, which holds {held} on {device}.',
  wait_over: '{name} waited {seconds} for {holder}; it is tried all the same.',
  retry:
    '{name} ran out of memory on {device}; attempt {attempt} of {attempts} with at most {cap} of its weights there.',
  fallback: '{name} ran out of memory {attempts} times; {what} is used instead.',
  calibrated:
    '{name} took {bytes} of working memory where {estimate} were estimated; the next reservation grows.',
  refused:
    '{device} refused memory to {name}, for which {reserved} were reserved; the next request reserves {next}.',
  spilled:
    '{bytes} that should be on {device} lie in system memory, which is slow: other programs fill the device. Close them, or set compute.vram_limit_mb.',
  unexpected: 'Watching the devices failed: {reason}',
  // Where the memory policy in force is not what is set.
  policy_processor:
    '{device} is the processor: weights are used where they lie, nothing streams and nothing is kept free (compute.vram_* have no effect).',
  policy_auto: 'compute.vram_mode is auto, and {device} has memory of its own: {mode} is in force.',
  policy_auto_unified:
    'compute.vram_mode is auto, and {device} shares the memory of the processor: {mode} is in force.',
  policy_not_shared:
    'compute.vram_mode is shared, but {device} has memory of its own: {mode} is in force, so that components are copied there whole.',
  policy_reserve:
    'compute.vram_reserve_mb is {set}, but at most a quarter of the {usable} that may be used of {device} is kept free: {reserve}.',
  // Warnings of a result.
  parameter_untested:
    'The voice was tried at a {parameter} from {low} to {high}; at {value} it may sound unnatural.',
  text_controls: 'Control characters in the text were removed: {count}.',
  text_surrogates: 'Halves of character pairs (lone surrogates) in the text were removed: {count}.',
  text_undecodable: 'Characters that could not be decoded were skipped: {count}.',
  text_skipped: '{voice} skipped characters that it cannot speak ({scripts}): {count}.',
  speech_cut:
    'The model did not come to an end by itself and was cut off after {seconds}. Shorten or reword the text, or try another seed.',
  // About reference audio.
  voice_language:
    'The saved voice {voice} speaks {language}, which {model} never learned (it knows {known}): its clone may sound unlike it.',
  reference_quiet: 'The reference audio is quiet: its speech is at {level} dBFS. Louder is cloned better.',
  reference_clipped:
    'The reference audio is clipped: {share}% of it is at full scale, which the clone will copy.',
  reference_pauses: 'Only {seconds} of the reference audio hold sound; the rest is silent.',
  reference_rate:
    'The reference audio has {rate} samples per second, so that it holds no sound above {top} Hz; the clone will sound dull.',
  reference_channels:
    'The channels of the reference audio cancel each other, so that only channel {channel} was used.',
  reference_level: 'The reference audio goes beyond full scale (by {level} dB) and was made quieter.',
  reference_repaired: 'The reference audio was repaired as it was read: {reason}',
  // Files of the studio's own that are not as they should be.
  settings_unknown_key: '{path}: {key} is not a setting; it is ignored.',
  settings_near_key: '{path}: {key} is not a setting (did you mean {near}?); it is ignored.',
  settings_bad_value: '{path}: {reason} Its default is used.',
  settings_contradict: '{path}: {reason} The default memory policy is used.',
  settings_unreadable:
    '{path} cannot be read ({reason}). The default settings are used. Check its permissions, or move it away.',
  settings_kept_aside:
    '{path} could not be used ({reason}). It is kept as {aside}; the default settings are used.',
  models_newer:
    '{path} was written by a newer version of Mizuoto. What this version knows of it is used, and nothing in it is lost.',
  models_left_out: '{path}: entries that cannot be read are left out and kept in the file: {count}.',
  models_unreadable:
    '{path} cannot be read ({reason}); no added model is known until it can. Check its permissions, or move it away.',
  models_kept_aside:
    '{path} cannot be read as a list of models ({reason}). It is kept as {aside}; add the models again.',
  voice_left_out: '{path} is no voice ({file} {why}); it is left out and left alone.',
  calibration_unreadable: 'Memory measurements in {path} cannot be read ({reason}); they are made again.',
  calibration_damaged:
    'Memory measurements in {path} are damaged or of another version; they are made again.',
  calibration_unsaved: 'Memory measurements could not be saved in {path}: {reason}.',
  settings_not_applied: 'The settings were kept but not applied: {reason}',
  model_not_reloaded: '{model} was not loaded again: {reason}',
  ...recoveryEn,
  /** What an engine or the log says in its own words. */
  note: '{text}',
  // Why a device is used or not.
  device_simulated: 'compute.simulate_vram_mb is set',
  device_chosen: 'chosen in the settings',
  device_asked_for: 'asked for',
  device_most_memory: 'the discrete device with the most memory',
  device_no_graphics: 'there is no discrete graphics device',
  device_simulated_instead: 'a simulated device is used instead',
  device_software: 'a graphics driver in software, slower than the processor itself',
  device_integrated: 'integrated graphics, kept for the display',
  device_graphics_faster: 'the graphics device is faster',
  device_other_used: '{device} is used instead',
  device_missing: '{device} is not there',
  device_for_request: 'a request asked for it',
} as const;
