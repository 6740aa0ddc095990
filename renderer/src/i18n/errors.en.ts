import type { ErrorCode } from '../../../main/contract/errors.ts';

export interface ErrorText {
  /** What happened. */
  title: string;
  /** Why, the most precise first; one is used when every name in it is known. The last needs none. */
  why: readonly [...string[], string];
  /** What to do; of several, like `why`, the first of which every name is known. */
  fix: string | readonly [...string[], string];
}

export const errorsEn: Record<ErrorCode, ErrorText> = {
  invalid_request: {
    title: 'The request was not understood',
    why: [
      '{{field}} is {{value}}; the engine takes {{minimum}} to {{maximum}}.',
      '{{field}} cannot be {{value}} here.',
      'Part of it is outside what the engine can do.',
    ],
    fix: 'Reset the voice settings and try again.',
  },
  unknown_engine: {
    title: 'This engine is not installed',
    why: [
      'There is no engine “{{engine}}”. Known: {{known}}.',
      'There is no engine “{{engine}}”.',
      'The chosen engine does not exist.',
    ],
    fix: 'Choose another engine.',
  },
  unknown_voice: {
    title: 'This voice does not exist',
    why: [
      '“{{design}}” has no voices by name, so none called “{{voice}}”: describe the voice in words.',
      '“{{engine}}” has no voice “{{voice}}”. It has: {{known}}.',
      'There is no voice “{{voice}}”.',
      'The engine does not have the chosen voice.',
    ],
    fix: 'Choose another voice.',
  },
  unknown_model: {
    title: 'There is no such model',
    why: ['There is no model “{{model}}”. Known: {{known}}.', 'There is no model of that name.'],
    fix: 'Choose another model.',
  },
  unknown_language: {
    title: 'The model does not speak this language',
    why: [
      '“{{model}}” does not speak “{{language}}”. It speaks: {{known}}.',
      'No model speaks “{{language}}”, so it cannot be the language of a voice. Known are: {{known}}.',
      'The model does not know the chosen language.',
    ],
    fix: 'Choose another language or another model.',
  },
  not_supported: {
    title: 'The model cannot do this',
    why: [
      '“{{model}}” speaks with its own speakers only ({{speakers}}); the saved voice “{{voice}}” has to be cloned. These models clone: {{others}}.',
      '“{{model}}” speaks with its own speakers only ({{speakers}}); the saved voice “{{voice}}” has to be cloned. These could be installed: {{installable}}.',
      '“{{instruct}}” makes voices from words only; the saved voice “{{voice}}” has to be cloned. These models clone: {{others}}.',
      '“{{instruct}}” makes voices from words only; the saved voice “{{voice}}” has to be cloned. These could be installed: {{installable}}.',
      '“{{model}}” cannot clone, which the saved voice “{{voice}}” needs.',
      '“{{model}}” cannot do this: {{ability}}. These can: {{others}}.',
      '“{{model}}” cannot do this: {{ability}}.',
      'The request asks for something that the model was not made for.',
    ],
    fix: 'Choose another model, or leave that option out.',
  },
  name_taken: {
    title: 'This name is taken',
    why: ['“{{name}}” exists already.', 'Something else has this name.'],
    fix: 'Choose another name, or remove the other one first.',
  },
  unknown_setting: {
    title: 'This setting does not exist',
    why: [
      '“{{key}}” is not a setting; “{{nearest}}” is.',
      '“{{key}}” is not a setting.',
      'The name is not that of a setting.',
    ],
    fix: 'Check the spelling.',
  },
  invalid_setting: {
    title: 'The setting cannot have this value',
    why: [
      '“{{key}}” cannot be {{value}}: it takes {{expected}}.',
      '“{{key}}” cannot have this value here.',
      'The value is outside what the setting takes.',
    ],
    fix: 'Choose a value in its range.',
  },
  contradictory_settings: {
    title: 'Two settings contradict each other',
    why: ['{{settings}} cannot be in force together.', 'The memory settings leave no room to work in.'],
    fix: 'Change one of them.',
  },
  text_empty: {
    title: 'There is nothing to speak',
    why: ['The script holds no word.'],
    fix: 'Write at least one word.',
  },
  text_not_speakable: {
    title: 'This voice cannot speak the text',
    why: [
      '{{share}} of it is written in {{script}}. This voice speaks {{speaks}}.',
      '{{share}} of it is written in {{script}}.',
      'It holds nothing in a language that this voice knows.',
    ],
    fix: 'Change the text, or choose a voice for its language. Models with voices for it are listed by “mizuoto models” and added with “mizuoto models add FOLDER”.',
  },
  text_too_long: {
    title: 'The text is too long for one request',
    why: [
      'It has {{characters}} characters; {{limit}} is the most.',
      'At most {{limit}} characters are taken at once.',
      'It is above the limit of one request.',
    ],
    fix: 'Split it into parts.',
  },
  text_malformed: {
    title: 'The text is damaged',
    why: [
      'There is a broken character at position {{position}}.',
      'It holds characters that are not valid text.',
    ],
    fix: 'Paste it again, or delete the damaged place.',
  },
  reference_unusable: {
    title: 'This recording cannot be used as a reference',
    why: [
      'The {{format}} file holds more than {{seconds}} of audio, too much once it is decoded ({{limit}} MB at most).',
      'It lasts {{seconds}}; at least {{minimum}} s are needed.',
      'It lasts {{seconds}}; at most {{maximum}} s can be used.',
      'Nothing can be heard in it: its loudest sample is at {{level_db}} dBFS.',
      'It is clipped: {{share}} of its samples are at full scale.',
      'Its transcript has {{characters}} characters, more than anybody says in {{seconds}}.',
      'The recording does not hold usable speech.',
    ],
    fix: 'Choose another recording.',
  },
  file_not_found: {
    title: 'The file is not there',
    why: ['“{{path}}” does not exist.', 'It was moved, renamed or deleted.'],
    fix: 'Check the path.',
  },
  file_unreadable: {
    title: 'The file cannot be read',
    why: [
      'It is a {{convert}} file, which is not read directly. Convert it first: ffmpeg -i INPUT reference.wav',
      'The {{format}} file cannot be decoded: {{reason}}.',
      '“{{path}}” cannot be read: {{reason}}.',
      '“{{path}}” was refused by the system or is damaged.',
      'The system refused it, or it is damaged.',
    ],
    fix: 'Check its permissions and its format.',
  },
  file_not_text: {
    title: 'The file is not text',
    why: ['“{{path}}” is not readable as UTF-8 text.', 'It is not readable as UTF-8 text.'],
    fix: 'Save it as plain text in UTF-8.',
  },
  output_not_writable: {
    title: 'The audio could not be saved there',
    why: [
      '“{{path}}” cannot be written: {{reason}}.',
      '“{{path}}” cannot be written.',
      'The place cannot be written.',
    ],
    fix: 'Save to another folder.',
  },
  disk_full: {
    title: 'The disk is full',
    why: [
      '“{{path}}” needs {{needed_bytes}}; {{free_bytes}} are free.',
      'There is no room left for “{{path}}”.',
      'There is no room left for the file.',
    ],
    fix: 'Free some space, then try again.',
  },
  model_not_installed: {
    title: 'This model is not installed',
    why: [
      'The files of “{{model}}” are in the repository {{repository}}; they are not on this computer.',
      'Its files are not on this computer.',
    ],
    fix: 'Download its files, then add the folder under Models.',
  },
  model_not_recognised: {
    title: 'This folder is not a known model',
    why: [
      '“{{path}}” lacks “{{file}}”.',
      'No engine recognises “{{path}}”.',
      'No engine recognises the folder.',
    ],
    fix: 'Choose the folder that holds config.json and the weights.',
  },
  checkpoint_missing: {
    title: 'Model files are missing',
    why: ['“{{path}}” is not there.', 'The model’s weights are not where they should be.'],
    fix: 'Install the model again.',
  },
  checkpoint_invalid: {
    title: 'A model file is damaged',
    why: [
      '“{{path}}” is not a valid checkpoint: {{reason}}.',
      '“{{path}}” is not a valid checkpoint.',
      'It is truncated or of another format.',
    ],
    fix: 'Download or copy the model again.',
  },
  checkpoint_mismatch: {
    title: 'The model files belong to another model',
    why: [
      'The weights in “{{path}}” are not those that “{{configuration}}” describes: {{missing}} tensors are missing, {{unexpected}} unknown, {{misshaped}} of another shape, {{unusable}} of a type that cannot be used ({{examples}}).',
      'They do not fit the network “{{component}}”.',
      '“{{tensor}}” does not fit the network.',
      'Their tensors do not fit the network.',
    ],
    fix: 'Download all files of the model again, from one place.',
  },
  weights_not_finite: {
    title: 'The model’s weights are damaged',
    why: [
      'Tensor “{{tensor}}” holds a value that is not a number, at element {{element}}.',
      'They hold values that are not numbers.',
    ],
    fix: 'Download or copy the model again.',
  },
  device_not_found: {
    title: 'The device is not there',
    why: [
      'There is no device “{{device}}”. Found: {{known}}.',
      'There is no device “{{device}}”.',
      'The chosen device was not found.',
    ],
    fix: 'Set the device to “auto”, or connect it again.',
  },
  out_of_device_memory: {
    title: 'The device ran out of memory',
    why: [
      '{{component}} needs {{needed_bytes}} on {{device}}; {{free_bytes}} are free.',
      'The mode “{{mode}}” is in force, so the stage “{{stage}}” wants all {{weights_mb}} of weights at once and {{working_mb}} of working memory; {{device}} has {{total_mb}}. With compute.vram_mode “{{instead}}”, what does not fit streams, and the result is the same.',
      'The stage “{{stage}}” wants at least {{least_mb}} of its {{weights_mb}} of weights and {{working_mb}} of working memory; compute.simulate_vram_mb gives {{device}} only {{simulated_mb}}: raise it.',
      'The stage “{{stage}}” wants at least {{least_mb}} of its {{weights_mb}} of weights and {{working_mb}} of working memory; {{device}} has {{total_mb}}, of which other programs hold {{others_mb}}.',
      '{{needed_bytes}} were needed on {{device}}; {{free_bytes}} are free.',
      '{{needed_bytes}} were needed; {{free_bytes}} are free.',
      'Even the smallest part that must be on the device did not fit.',
    ],
    fix: 'Unload a model, close other programs that use the device, or try a shorter text.',
  },
  out_of_host_memory: {
    title: 'The computer ran out of memory',
    why: ['{{needed_bytes}} were needed; {{free_bytes}} are free.', 'There was not enough main memory.'],
    fix: 'Close other programs or unload a model.',
  },
  device_lost: {
    title: 'The device stopped responding',
    why: [
      '{{given_up}} was lost {{times}} times within {{minutes}} minutes and is not tried again.',
      '{{avoided}} was lost {{times}} times within {{minutes}} minutes and is not used any more.',
      'The driver of {{device}} crashed ({{how}}).',
      'The driver of {{device}} was reset or the device was removed.',
      'Its driver was reset, or it was removed.',
    ],
    fix: [
      'Update its driver, or choose another device than {{given_up}} in the settings. To try it again, start the studio again.',
      'Generate again, on another device than {{avoided}}. Update its driver; to use it again, start the studio again.',
      'Generate again: the engine was started again for {{replaced}}. If it happens again, update its driver or choose the processor (compute.device: CPU).',
      'Generate again: {{reopened}} is opened anew for it.',
      'Start the studio again, which opens the device anew. If it happens again, update its driver or choose the processor (compute.device: CPU).',
    ],
  },
  backend_missing: {
    title: 'The compute library is missing',
    why: ['“{{path}}” could not be loaded.', 'The part of the studio that computes could not be loaded.'],
    fix: 'Install the studio again.',
  },
  weight_not_placed: {
    title: 'A weight was not on the device',
    why: [
      '“{{parameter}}” of {{component}} was read in stage “{{stage}}” without being there.',
      'A part of the model was used before it was loaded.',
    ],
    fix: 'Please report this with the details below; trying again may help.',
  },
  wait_timeout: {
    title: 'Waiting took too long',
    why: [
      'The memory or file that was needed did not come free within {{seconds}}.',
      'What was needed did not come free in time.',
    ],
    fix: 'Wait for other jobs to end, then try again.',
  },
  job_not_found: {
    title: 'The job is gone',
    why: [
      'There is no job “{{job_id}}”. It may have ended with an earlier start of the studio.',
      'It may have ended with an earlier start of the studio.',
    ],
    fix: 'Generate it again.',
  },
  job_failed: {
    title: 'Generation failed',
    why: ['The stage “{{stage}}” did not finish.', 'The engine could not finish the job.'],
    fix: 'Try again; if it fails again, copy the details.',
  },
  cancelled: {
    title: 'Stopped',
    why: ['The job was stopped before it was finished.'],
    fix: 'What was finished until then is kept.',
  },
  host_unreachable: {
    title: 'The engine host does not answer',
    why: ['The studio’s engine was stopped, or the link to it broke off.'],
    fix: 'Start the studio again if it was closed; this window reconnects by itself.',
  },
  host_crashed: {
    title: 'The engine host ended unexpectedly',
    why: [
      'It ended {{crashes}} times within {{minutes}} minutes and is left alone for a while.',
      'It ended {{crashes}} times in a row; running jobs are lost.',
      'It ended ({{how}}) and was restarted; what it was working on is lost.',
      'It was restarted; running jobs are lost.',
    ],
    fix: [
      'Wait up to {{minutes}} minutes, or start the studio again. If it happens again, copy the details.',
      'Generate again. If it happens again, copy the details.',
    ],
  },
  forbidden: {
    title: 'This is not allowed here',
    why: ['The studio refused the request: the page’s key is missing or out of date.'],
    fix: 'Open the address that was printed where the studio was started.',
  },
  internal: {
    title: 'Something went wrong inside the studio',
    why: ['This should not happen, and it is not your text’s fault.'],
    fix: 'Try again; if it happens again, copy the details and report them.',
  },
};
