/** Everything that the command line says, in English. Errors carry their own English sentence; see messages.ts. */
export const en = {
  didYouMean: 'Did you mean "{near}"?',
  seeHelp: 'See "mizuoto help".',
  unknownCommand: 'There is no command "{name}".',
  unknownTopic: 'There is no help on "{name}".',
  unknownOption: 'The command "{command}" has no option {option}.',
  textWithDash: 'Text that begins with a dash goes after "--": mizuoto say -- "{text}".',
  optionNeedsValue: 'The option {option} needs a value.',
  optionTakesNoValue: 'The option {option} takes no value.',
  optionTwice: 'The option {option} is given twice.',
  optionNotNumber: 'The option {option} takes a number; "{value}" is none.',
  optionNotWhole: 'The option {option} takes a whole number from {low} to {high}; "{value}" is none.',
  optionNotPositive: 'The option {option} takes a number above 0; "{value}" is none.',
  optionNotOneOf: 'The option {option} takes one of {known}; "{value}" is none of them.',
  settingNeedsEquals: '"{value}" is not a setting: write key=value, for example compute.vram_mode=low.',
  parameterNeedsEquals: '"{value}" is not a parameter: write key=value, for example temperature=0.8.',
  referenceTextAlone: '--reference-text says what is spoken in --reference FILE, which is not given.',
  audioNotFound: 'The audio file "{path}" does not exist. Check the name.',
  audioIsFolder: '"{path}" is a folder, not an audio file. Name a file in it.',
  audioUnreadable: 'The audio file "{path}" cannot be read ({reason}). Check its permissions.',
  audioTooLarge:
    '"{path}" holds {bytes} MiB; an audio file of at most {limit} MiB can be used. Cut out a passage.',
  audioNoFile: '"{path}" is not a file that can be read to its end. Name an audio file.',
  unknownAction: 'The command "{command}" cannot "{action}". It can: {actions}.',
  actionNeedsArgument: 'Something is missing: {usage}.',
  optionOnlyFor: 'The option {option} is only for: {commands}.',
  nothingToChange: 'Say what to change: --name, --text or --language.',
  tooManyArguments: 'The command "{command}" does not take "{argument}".',
  settingsNeedsAction: 'Say what to do with the settings: get, set or reset.',
  settingsNeedsKeys: 'Name at least one setting: mizuoto settings {action} {usage}.',
  twoTexts: 'The text is given twice: as an argument and by --file. Choose one.',
  jsonAndStdout:
    '--json and --out - both want the standard output. Write the audio to a file, or leave --json out.',
  streamNeedsStdout: '--stream writes to the standard output and cannot be used with --out {path}.',
  wavToTerminal:
    'A WAV file on a terminal is only noise. Send it to a program or a file: mizuoto say ... --out - | aplay',
  noText: 'There is no text to speak. Give it as an argument, with --file, or through a pipe.',
  fileNotFound: 'The text file "{path}" does not exist. Check the name.',
  fileIsFolder: '"{path}" is a folder, not a text file. Name a file in it.',
  fileUnreadable: 'The text file "{path}" cannot be read ({reason}). Check its permissions.',
  fileNotText: '"{path}" is not UTF-8 text: byte {position} cannot be read. Save it as UTF-8 and try again.',
  inputNotText:
    'The standard input is not UTF-8 text: byte {position} cannot be read. Send UTF-8 and try again.',
  fileTooLong: '"{path}" holds more than {limit} MiB, too much for one request. Split it into several files.',
  inputTooLong:
    'The standard input holds more than {limit} MiB, too much for one request. Send it in several parts.',
  argumentNotText:
    'A part of the text cannot be read (U+FFFD at position {position}): is the terminal set to UTF-8?',
  warning: 'warning: {message}',
  hintCode: ' ({code})',
  cancelling: 'Stopping... (Ctrl-C again ends at once)',
  saved: '{file}: {seconds} s of speech at {rate} Hz, {speed}x real time, seed {seed}.',
  otherFormat: '{file} will be a WAV file whatever its name says: nothing else is written here.',
  savedStdout: '{seconds} s of speech at {rate} Hz, {speed}x real time, seed {seed}.',
  stateWaiting: 'waiting',
  stateLoading: 'loading',
  stateRunning: 'speaking',
  stateStopping: 'stopping',
  progressParts: '{done}/{total} parts',
  progressLeft: '{time} left',
  builtIn: 'built in',
  sizeBuiltIn: '{size} (built in)',
  kindCpu: 'processor',
  kindGpu: 'graphics',
  kindIgpu: 'integrated graphics',
  kindAccel: 'accelerator',
  kindSimulated: 'simulated',
  modelInstalled: 'installed',
  modelNotInstalled: 'not installed',
  modelDamaged: 'DAMAGED',
  modelUnknownEngine: 'unknown engine',
  fileVerified: 'ok, same hash',
  filePresent: 'ok',
  fileMissing: 'MISSING',
  fileDamaged: 'DAMAGED',
  modelProblem: '{model}: {problem}',
  modelsHowToAdd:
    'A model that is not installed: download all files of its page into one folder, then "mizuoto models add FOLDER". Either site\'s own tool does it, for example:',
  modelsMirror:
    'Where Hugging Face cannot be reached, set HF_ENDPOINT to a mirror of it first, such as https://hf-mirror.com.',
  modelsFound: 'Add one with "mizuoto models add FOLDER"; it is used where it lies.',
  modelsNoneFound: 'There is no other model in the caches of Hugging Face and ModelScope.',
  modelAdded: '{name} is installed as {model}: {size} in {path}, which is used where it lies.',
  modelForgotten: '{model} is forgotten. Its files stay in {path}.',
  modelDeleted: '{model} is removed, and its files in {path} ({size}) are deleted.',
  modelSound: 'Nothing is wrong with {model}.',
  modelBroken: 'Something is wrong with {model}.',
  savedVoice: '(saved)',
  savedVoiceLength: '{seconds} s of reference audio',
  savedVoiceText: '{seconds} s of reference audio with its words',
  voiceSaved: '{name} is saved as {voice}: {seconds} s of reference audio.',
  voiceChanged: '{name} ({voice}) is changed.',
  voiceRemoved: '{name} ({voice}) is removed, and what was computed from it.',
  columnFile: 'FILE',
  columnWhere: 'WHERE',
  columnEngine: 'ENGINE',
  columnName: 'NAME',
  columnLanguages: 'LANGUAGES',
  columnVoices: 'VOICES',
  columnSize: 'SIZE',
  columnLicence: 'LICENCE',
  columnVoice: 'VOICE',
  columnLanguage: 'LANGUAGE',
  columnDescription: 'DESCRIPTION',
  columnDevice: 'DEVICE',
  columnKind: 'KIND',
  columnFree: 'FREE',
  columnTotal: 'TOTAL',
  columnUsed: 'USED',
  columnWhy: 'WHY',
  yes: 'yes',
  no: 'no',
  runtimeStudio: 'This is the studio that runs: process {pid}, since {since}.',
  runtimeNoStudio: 'No studio is running; this is what a new one would see.',
  runtimeModels: 'Models',
  runtimeNoModels: 'No model is loaded.',
  runtimeDevices: 'Devices',
  runtimeIncidents: 'What happened',
  runtimeHost:
    'Memory of this computer: {free} of {total} free; Mizuoto holds {process}, {pinned} of it pinned.',
  runtimeJobs: 'Requests: {running} running, {waiting} waiting.',
  columnModel: 'MODEL',
  columnState: 'STATE',
  columnLoaded: 'ON DEVICE',
  columnStreamed: 'STREAMED',
  columnHost: 'ON HOST',
  columnUnits: 'UNITS',
  columnRun: 'RUN',
  columnResident: 'RESIDENT',
  columnSeconds: 'SECONDS',
  columnRetries: 'RETRIES',
  columnIdentical: 'IDENTICAL',
  modelLoading: 'loading, {percent} %',
  modelInUse: 'in use',
  modelIdle: 'idle',
  modelUnloading: 'unloading',
  modelFailed: 'failed',
  modelPinned: 'pinned',
  partialBudget:
    '{component}: {loaded} of {size} MiB are on the device and the rest streams: {free} MiB were free, of which {working} are for computing and {reserve} are kept free.',
  partialLow: '{component}: {loaded} of {size} MiB are on the device, because compute.vram_mode is low.',
  partialNone: '{component}: {loaded} of {size} MiB are on the device, because compute.vram_mode is none.',
  partialCapped:
    '{component}: {loaded} of {size} MiB are on the device: memory ran out before, and it keeps to half of what it had.',
  partialGaveUp: '{component}: {loaded} of {size} MiB are on the device; it gave up memory for {other}.',
  calibrationNotNeeded: '{name}: the processor needs no calibration.',
  calibrationNone: '{name}: working memory is estimated; it is measured as it speaks.',
  calibrationDone: '{name}: working memory was measured in {runs} runs, {ratio} times the estimate.',
  calibrationStale: '{name}: its measurements are of another driver and are made anew.',
  runPlain: 'plain',
  runStreamed: 'all streamed',
  runHalfway: 'halfway',
  runWhole: 'whole',
  runShared: 'in place',
  runOutOfMemory: 'out of memory in {stage}',
  runAsSet: 'as set',
  runResident: 'resident',
  runPartly: 'as much as fits',
  verdictFailed: 'failed',
  verdictUnfit: 'not made',
  verdictNoSound: 'no: there is no sound',
  verdictNo:
    'no: {count} samples differ from {against}, the first is number {first} of {samples}; by up to {largest}',
  verdictOtherDevice: '- (rounds otherwise: up to {largest} from {against})',
  verifySame: 'Identical: {runs} runs, and no sample depends on where the weights were.',
  verifyReason: '{engine}, {run} ({device}): {reason}',
  verifyUnfit:
    '{unfit} of {runs} runs could not be made, for the reason above. That is no fault of the studio and says nothing about its samples: change what is named there, and verify again.',
  verifyDiffers: '{bad} of {runs} runs differ or failed. Please report this with the table above.',
  doctorVersions: 'Mizuoto {mizuoto}, ggml {ggml}, Node {node}, {platform}',
  statusOk: 'ok',
  statusNote: 'note',
  statusWarning: 'warning',
  statusFailed: 'FAILED',
  doctorCopyRate: '{device}: weights are uploaded at {rate} MiB/s.',
  doctorSound: 'Nothing is broken.',
  doctorBroken: 'Something is broken.',
  doctorFixes: 'What would help most:',
  doctorOffers: 'What the devices offer',
  doctorOffer:
    '{device}: works beside the program: {async}; page-locked memory: {host_buffers}; host memory in place: {host_pointer}; events: {events}; types of weights: {dtypes}.',
  runtimePolicy: 'Memory policy',
  policyNone: 'none',
  policyOn: 'on',
  policyOff: 'off',
  policyDevice: 'where models compute',
  policySimulate: 'size of a device that the processor plays',
  policyMode: 'how much of a model stays on the device',
  policyReserve: 'left free on the device',
  policyLimit: 'most that the studio takes of the device',
  policyRamReserve: 'left free of RAM: below it, host copies go first, then idle models',
  policyHostCopies: 'copies in RAM of weights that are on the device',
  policyPinned: 'most page-locked memory',
  policyCopyStreams: 'units copied ahead of the one that computes',
  policyResidency: 'what stays when not all fits: by time saved (cost), or by rule',
  policyCache: 'cache of attention: grows, or doubles in place (static)',
  policyAllocator: 'allocator of the device; no backend here lets it be chosen',
  policyJobs: 'requests at once on one device',
  policyRetry: 'a stage that ran out of memory is repeated, with the same result',
  policyFallback: "then an engine's cheaper way is taken, which changes the result",
  policyModels: 'most models that stay loaded',
  policyIdle: 'minutes after which an idle model is unloaded',
  settingChanged: '{key} = {value}',
  settingsPath: 'Changed settings are marked with *. "mizuoto help settings" says how to change them.',
  httpType: 'A request is application/json, not {type}.',
  httpNoType: 'A request is application/json; this one has no type.',
  httpNotJson: 'The request is not JSON.',
  httpTooLarge: 'The request is larger than {limit} bytes. Send less text, or a shorter passage of audio.',
  httpNoPage: 'This is no page.',
  httpToken: 'The token is missing or wrong.',
  httpTokenOfPage: 'The token is missing or wrong. Open the address that the studio printed.',
  httpOnly: 'Only {method}.',
  httpNothing: 'There is nothing here.',
  httpNoCall: 'There is no such call.',
  httpNoFiles: 'A page cannot name files of this computer.',
  httpNotOurs: 'This address is not the studio.',
  httpOtherSite: 'Another site may not speak to the studio.',
  httpMalformed: 'The address is malformed.',
  httpLeaves: 'The address leaves the studio.',
  httpNoFile: 'No such file.',
  httpUsed: 'This address was used or is too old. Save again.',
  serverPageMissing: 'The page is missing in {folder}. Run "npm run setup" and try again.',
  serverPort:
    '--port takes a number from 0 to 65535; "{value}" is none. Known are: --no-open, --port N, --renderer FOLDER.',
  serverOption:
    '"{option}" is not known, or lacks its value. Known are: --no-open, --port N, --renderer FOLDER.',
  serverHidden: 'other programs cannot find this studio: {reason}',
  serverEnds: 'Only this computer can open it. Press Ctrl-C to end.',
  serverCloses: 'Closing the studio. Ctrl-C again ends it at once.',
  error: 'error: {message}',
  helpMain: `mizuoto {version}: turns text into speech on this computer.

  mizuoto say TEXT            speak, and save a WAV file
  mizuoto engines             engines that can speak
  mizuoto voices              their voices, and your own
  mizuoto models              models that are installed or can be
  mizuoto devices             devices that can compute
  mizuoto runtime             devices, loaded models and the memory policy
  mizuoto verify              check that memory management changes no sample
  mizuoto doctor              check this installation and say what to do
  mizuoto settings            read and change settings
  mizuoto help TOPIC          more on a command, or: exit-codes
  mizuoto version             versions of the parts

All take --json for programs and --quiet for silence on the side.`,
  helpSay: `mizuoto say TEXT            speak a text and save it as a WAV file
mizuoto say --file book.txt --out book.wav
echo "Good morning." | mizuoto say --out - | aplay

  -f, --file FILE         the text is in this file (UTF-8); - is the standard input
  -o, --out FILE          where to save; - is the standard output; default: a new name in this folder
  -e, --engine ENGINE     default: the first that can do what is asked; mini comes first
  -m, --model MODEL       an installed model; default: the engine's first that can do what is asked
  -v, --voice VOICE       a speaker of the model or a saved voice; default: the model's first speaker
  -l, --language L        auto, or a tag or name such as zh or Chinese; default: as voice or model decide
  -i, --instruct WORDS    how to speak; for voice design, who speaks
  -r, --reference FILE    clone the voice in this file: WAV, FLAC, MP3, Ogg Vorbis or Opus
      --reference-text T  what is said in it, word by word; many models clone better with it
      --set KEY=VALUE     a parameter of the engine, such as temperature=0.8; may be repeated
      --seed N            same seed, same bytes; default: a new one, which is printed
      --speed X           1 is as the voice speaks, 2 twice as fast
      --pitch X           1 is as the voice speaks
  -s, --setting KEY=VALUE a setting for this request alone; may be repeated
      --encoding E        pcm16 (default), pcm24, pcm32 or float32
      --stream            audio to the standard output as soon as it exists, in a WAV without a length
      --json              one JSON object on the standard output: file, seconds, sample_rate, seed, rtf, engine,
                          applied, meta, warnings; or error
  -q, --quiet             no progress, no summary, no warnings
      --verbose           the log, and the details of errors

Any length of text takes the same memory. Ctrl-C stops and leaves no half-written file.`,
  helpEngines: `mizuoto engines [--json]

Lists the engines that can speak here: id, languages, number of voices, size and licence.`,
  helpVoices: `mizuoto voices [--engine ENGINE]      all voices: those of the engines, then your own
mizuoto voices add NAME FILE          keep the voice in a file (WAV, FLAC, MP3, Ogg Vorbis, Opus), for models that clone
mizuoto voices change NAME            a new name, transcript or language
mizuoto voices remove NAME            delete the recording and what was computed from it

  -e, --engine ENGINE     only the voices of this engine
      --text WORDS        what is said in the recording, word by word; some models need it
  -l, --language L        the language of the recording: en, zh, ...
      --name NAME         the new name
      --json              voices and saved; or voice

Then: mizuoto say TEXT --model MODEL --voice NAME. Best are 5 to 15 seconds of one person speaking, without noise.`,
  helpModels: `mizuoto models                        the catalog: what is installed, its size, licence and folder
mizuoto models find                   models that Hugging Face's or ModelScope's own tools have downloaded
mizuoto models add FOLDER             install the model in a folder, where it lies; nothing is copied
mizuoto models remove MODEL           forget it; its files stay
mizuoto models check MODEL            look at every file, and compare it with its hash where that is known

      --name NAME         for "add": call it engine:NAME, for a second model of the same kind
      --json              models; or found; or model; or files and problems

FOLDER may be a folder of downloaded files, or a model in the cache of Hugging Face or ModelScope. The exit code of
"check" is 11 where something is missing or damaged.`,
  helpDevices: `mizuoto devices [--json]

Lists the devices that can compute, their memory, and which are used, with the reason.`,
  helpRuntime: `mizuoto runtime [--watch] [--json]

Shows devices, loaded models and their components (bytes on the device, streamed and on the host, and the reason where
a component is only partly on its device), and the memory policy: of the studio that runs, or, where none runs, what a
new one would see.

  -w, --watch   again with every change, until Ctrl-C; with --json one object a line`,
  helpVerify: `mizuoto verify [--engine ENGINE] [--setting KEY=VALUE]... [--text TEXT] [--json]

Speaks the same words in every way that memory can be managed and compares the samples, bit by bit: plain on the
processor; on simulated devices all streamed, halfway, whole, in place, and with memory that runs out in each stage; on
each graphics device resident and streamed, and in place where it shares the processor's memory. A graphics device
rounds otherwise than the processor: how far its audio lies from it is told, not judged; from itself it may not differ.

  -e, --engine ENGINE     default: all
  -s, --setting KEY=VALUE for all runs; may be repeated. compute.device chooses the graphics device (CPU: none),
                          compute.simulate_vram_mb adds a run on a device of that size
      --text TEXT         what to speak; default: a few words
      --json              one object: ok, runs

The exit code is 11 where anything differs.`,
  helpDoctor: `mizuoto doctor [--json]

Checks the native core, the built-in voice, settings, folders, memory and its policy, and each device with a computation
whose answer is known. Ends with what would help most. The exit code is 11 where something is broken.`,
  helpSettings: `mizuoto settings get [KEY]           all settings, or one
mizuoto settings set KEY=VALUE...    change; all or nothing
mizuoto settings reset KEY...        back to the default

  --json    as a JSON object

Values are JSON or plain text: compute.threads=2, compute.vram_mode=low, compute.vram_limit_mb=null.
For one request alone: mizuoto say ... --setting KEY=VALUE.`,
  helpHelp: `mizuoto help [COMMAND | exit-codes]

Explains a command, or lists the exit codes.`,
  helpVersion: `mizuoto version [--json]

Prints the versions of Mizuoto, ggml and Node.`,
  helpExitCodes: `Exit codes, and the error codes behind them ("code" in --json):

{table}

Others:

    0  success
   11  "verify" found a difference or a fault, or "doctor" or "models check" something broken
  129  ended by SIGHUP
  141  the program that read our output closed it
  143  ended by SIGTERM`,
} as const;

export type MessageKey = keyof typeof en;
