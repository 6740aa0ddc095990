/**
 * The one description of what the native addon exports: mechanism only, no policy.
 *
 * Shapes are in PyTorch order everywhere (`[batch, channels, frames]`, last dimension contiguous); the addon
 * turns them into ggml's `ne`. Sizes are bytes. Every failure is a `NativeError` with a stable `code`; no call
 * with bad arguments may reach an assertion of ggml, because that would end the process.
 *
 * Threads: all objects belong to the JavaScript thread that made them. Long work (`run`, `place`, `open`) happens
 * on the device's own thread and settles a promise; nothing else blocks for more than a few milliseconds.
 */

/** Types that a tensor can have on a device; the names are ggml's. */
export type DType =
  | 'f32'
  | 'f16'
  | 'bf16'
  | 'f64'
  | 'i8'
  | 'i16'
  | 'i32'
  | 'i64'
  | 'q4_0'
  | 'q4_1'
  | 'q5_0'
  | 'q5_1'
  | 'q8_0'
  | 'q2_K'
  | 'q3_K'
  | 'q4_K'
  | 'q5_K'
  | 'q6_K'
  | 'iq4_nl'
  | 'iq4_xs';

/** Types that a checkpoint can hold: the above, and those that are widened exactly when read (fp8, bool, u8). */
export type CheckpointDType = DType | 'f8_e4m3' | 'f8_e5m2' | 'u8' | 'bool' | 'other';

export type NativeErrorCode =
  | 'OutOfDeviceMemory'
  | 'OutOfHostMemory'
  | 'DeviceLost'
  | 'DeviceNotFound'
  | 'BackendMissing'
  | 'Cancelled'
  | 'ShapeMismatch'
  | 'UnsupportedOp'
  | 'UnsupportedDType'
  | 'InvalidArgument'
  | 'Disposed'
  | 'WeightNotPlaced'
  | 'UnitOutsideForward'
  | 'FileNotFound'
  | 'FileUnreadable'
  | 'FileTruncated'
  | 'FileNotACheckpoint'
  | 'FileIsLfsPointer'
  | 'FileIsHtml'
  | 'FileIsPickle'
  | 'HeaderInvalid'
  | 'HeaderTooLarge'
  | 'TensorOutOfBounds'
  | 'TensorOverlap'
  | 'TensorCountAbsurd'
  | 'ShardMissing'
  | 'Internal';

/** What the addon throws or rejects with. `message` says what happened and why, with the numbers. */
export interface NativeError extends Error {
  code: NativeErrorCode;
  /** Numbers and names behind the message: file, tensor, needed, available, component, unit... */
  details?: Record<string, string | number>;
}

export interface DeviceInfo {
  /** ggml's name: `CPU`, `Vulkan0`, `CUDA0`, `MTL0`. */
  name: string;
  description: string;
  kind: 'cpu' | 'gpu' | 'igpu' | 'accel';
  backend: string;
  freeBytes: number;
  totalBytes: number;
  caps: { async: boolean; hostBuffer: boolean; bufferFromHostPtr: boolean; events: boolean };
}

export interface OpenDeviceOptions {
  name: string;
  /**
   * CPU backend only; default: number of physical cores, at least 1. Fewer compute while other programs use the
   * processors; results have the same bits.
   */
  threads?: number;
  /** That many threads compute at all times. */
  fixedThreads?: boolean;
  /** The CPU plays a device of this many bytes: every allocation counts against it and fails beyond it. */
  simulateBytes?: number;
  /** Bytes that "another program" holds on a simulated device. Changeable later by `setForeignBytes`. */
  foreignBytes?: number;
  /** The simulated device shares the processor's memory: its kind is `igpu`. */
  unified?: boolean;
  /** Simulated copy engine: bytes per second of the upload link; 0 or absent = as fast as memcpy. */
  linkBytesPerSecond?: number;
  /**
   * Read weights where they lie in host memory though the backend's caps do not say that it can: ggml's Vulkan imports
   * host memory where the driver has VK_EXT_external_memory_host. No effect on other backends that cannot.
   */
  importHostMemory?: boolean;
  /** The simulated device page-locks host memory where it lies, with CUDA's rules (see `WeightStore.pin`). */
  locksHostMemory?: boolean;
}

/** Where the bytes of a device are; `free` is what the driver (or the simulation) still reports. */
export interface DeviceMemory {
  totalBytes: number;
  freeBytes: number;
  /** What this process holds on the device, by purpose. */
  held: { weights: number; slots: number; compute: number; io: number; state: number };
  /** Highest sum of `held` since `resetPeak`. */
  peakBytes: number;
  /** Highest `compute + io + state` since `resetPeak`: the measured working memory. */
  peakWorkingBytes: number;
}

export interface FaultPlan {
  /** Fail the n-th allocation from now (1 = the next) with OutOfDeviceMemory, once. */
  failAllocation?: number;
  /** Fail the n-th weight copy from now with DeviceLost, once. */
  failCopy?: number;
  /** Fail the n-th segment execution from now with DeviceLost; the device stays lost until closed. */
  loseAtSegment?: number;
  /** Fail the n-th segment execution from now with OutOfDeviceMemory, as when a backend's own scratch memory runs out; once. */
  exhaustAtSegment?: number;
  /** Until further notice the CPU backend's number of threads changes after every n-th node at which it can. */
  changeThreadsEvery?: number;
}

export interface StreamerOptions {
  /** Copies that exist at once: the running unit and those in flight. At least 1. */
  slots: number;
  /** Bytes of one slot: at least the largest streamed unit. */
  slotBytes: number;
  /** Copy the next unit while this one computes (needs 2 slots). False: copy, then compute. */
  prefetch: boolean;
  /** Where it prefetches: copy for passes that have not begun as well. Default: true. */
  beyondPass?: boolean;
}

export interface StreamerStats {
  /** Bytes uploaded by streaming since the device was opened. */
  streamedBytes: number;
  copies: number;
  /** Copies avoided because the unit was still in a slot. */
  reused: number;
  /** Copies that had not been prefetched when their segment wanted them. */
  onTheSpot: number;
  /** Copies that began before the pass that wanted them. */
  ahead: number;
  /** Copies that began for a pass to come, and that none wanted. */
  wasted: number;
  /** Seconds of copying, the bytes that moved in them, and seconds for which compute waited for a copy. */
  copySeconds: number;
  copiedBytes: number;
  waitSeconds: number;
}

/** What one unit has cost so far, since its store was bound to a device. */
export interface UnitStats {
  /** Uploads by `place`; those of the streamer are in `StreamerStats`. */
  copies: number;
  copiedBytes: number;
  copySeconds: number;
  /** Of its place now, counted as in `unitBytes`: weights read where they lie in host memory; nothing of them is copied. */
  mappedBytes: number;
  /** Weights that were to be read in place, and were copied because the device would not import their memory. */
  refusedBytes: number;
  /** Segments of this unit that ran while the device profiled, and their seconds. */
  runs: number;
  computeSeconds: number;
}

export interface Device {
  readonly name: string;
  readonly kind: DeviceInfo['kind'];
  readonly simulated: boolean;
  /** True where weights are used where they lie in host memory (plain CPU): nothing moves, nothing is counted. */
  readonly isHost: boolean;
  /** `place` can use weights where they lie in host memory. False on a host device, where nothing is placed. */
  readonly mapsHostMemory: boolean;
  /** Host memory can be page-locked where it lies (see `WeightStore.pin`). */
  readonly locksHostMemory: boolean;
  /** Threads of the CPU backend that compute at the moment; 0 on other devices. */
  readonly threads: number;
  info(): DeviceInfo;
  memory(): DeviceMemory;
  resetPeak(): void;
  setForeignBytes(bytes: number): void;
  setFaults(plan: FaultPlan | null): void;
  supportsDType(dtype: DType): boolean;
  /**
   * (Re)make or, with null, drop the device's streaming slots. Slots of the same size stay, with the units in them,
   * whatever their number becomes. Fails with OutOfDeviceMemory; the slots before are then made again if they can be
   * (`memory().held.slots` tells).
   */
  setStreamer(options: StreamerOptions | null): Promise<void>;
  /**
   * Say which units will be streamed next, in this order; it takes the place of what was said before, `[]` takes it back.
   * Slots that prefetch are filled with them when the running pass, and what was learned to follow it, leave one free: at
   * once on an idle device. A hint: a wrong one costs a copy (`wasted`), copies that fail are made again when wanted, and
   * on a device that is lost or closed nothing happens.
   */
  expectUnits(units: readonly (readonly [store: WeightStore, unit: number])[]): void;
  streamerStats(): StreamerStats;
  /**
   * While on, the segments of a streamed run are waited for one by one and their seconds are added to their unit's
   * `UnitStats`; a resident graph is run segment by segment too. Results do not change. Off at open.
   */
  setProfiling(on: boolean): void;
  /** Scratch memory shared by graphs that never run at the same time; grows to the largest of them. */
  createArena(): Arena;
  /** Persistent tensors (KV caches): zero-filled, readable and writable in graphs, counted as `state`. */
  createState(specs: { dtype: DType; shape: number[] }[]): Promise<State>;
  close(): Promise<void>;
}

export interface Arena {
  readonly bytes: number;
  /** Give the scratch memory back; graphs that used it take it again at their next run. */
  trim(): Promise<void>;
  dispose(): void;
}

export interface State {
  readonly bytes: number;
  read(index: number): Promise<TensorData>;
  write(index: number, data: TensorData, byteOffset?: number): Promise<void>;
  clear(): Promise<void>;
  dispose(): void;
}

export type TensorData =
  | Float32Array
  | Float64Array
  | Int32Array
  | Int8Array
  | Int16Array
  | BigInt64Array
  /** Raw bytes: f16, bf16 and quantised types. */
  | Uint8Array;

export interface CheckpointTensor {
  name: string;
  dtype: CheckpointDType;
  shape: number[];
  bytes: number;
  /** Index into `files`. */
  file: number;
}

/** Memory-mapped, read only. Opening reads headers alone. */
export interface Checkpoint {
  readonly format: 'safetensors' | 'gguf';
  readonly files: string[];
  readonly tensors: CheckpointTensor[];
  /** `__metadata__` of safetensors, or the scalar and string (array) keys of GGUF. */
  readonly metadata: Record<string, string | number | boolean | (string | number)[]>;
  /** Bytes as they lie in the file. */
  readBytes(name: string): Uint8Array;
  /** Exactly widened to float32 (dequantised where quantised). */
  readFloat32(name: string): Float32Array;
  /**
   * Element of the first NaN or infinity, null where there is none; integers have none. Read in place, beside the
   * JavaScript thread. Fails with UnsupportedDType for types without values.
   */
  firstNonFinite(name: string): Promise<number | null>;
  close(): void;
}

/** A tensor of a checkpoint, read when it is first needed, and again after `dropHost`. */
export interface TensorSource {
  checkpoint: Checkpoint;
  tensor: string;
  /**
   * Dimension `i` of the weight is the tensor's dimension `order[i]`; no quantised types. Absent: as in the file, used
   * in place where type and alignment allow.
   */
  order?: readonly number[];
}

export interface WeightSpec {
  /** Parameter path, unique in the store: named in errors. */
  name: string;
  shape: number[];
  /** Type on the device. Must be the checkpoint's own or a conversion that the source allows. */
  dtype: DType;
  /** Unit that the weight moves with; -1 = fixed part. */
  unit: number;
  source: TensorSource | { data: TensorData };
}

/**
 * The weights of one component: their host side (memory map where dtype and alignment allow, else an owned
 * buffer), and where each unit is now. On a host device (`isHost`) leaves point at the host side and every unit
 * always counts as placed.
 */
export interface WeightStore {
  /** Unique in the process; `GraphPlan.units` names stores by it. */
  readonly id: number;
  readonly component: string;
  readonly unitCount: number;
  /** Bytes on a device with the device's padding; index -1 -> `fixedBytes`. */
  unitBytes(unit: number): number;
  readonly fixedBytes: number;
  /** Bytes of host memory owned (not memory-mapped). */
  readonly ownedHostBytes: number;
  /** Device bytes of placed weights that are read where they lie in host memory (see `place`). */
  readonly mappedBytes: number;
  /** Bytes uploaded by streaming (not by `place`) since the store was made. */
  readonly streamedBytes: number;
  unitStats(unit: number): UnitStats;
  /** Bind the store to the device it will run on. Only while nothing is placed. */
  bind(device: Device): void;
  /**
   * Copy a unit (-1 = fixed part) to the device; resolves with bytes allocated; already placed: 0.
   *
   * `inPlace` (default false), where the device `mapsHostMemory`: weights that lie in their memory-mapped checkpoint as
   * the device wants them (same type, an address that is a multiple of its buffers' alignment) are not copied: the pages
   * of the file become a buffer of the device. They count as weights all the same, an import as an allocation. The
   * file stays mapped until the last of them leaves. All others are copied, also where the device refuses the import
   * (`UnitStats.refusedBytes`). Units that have been placed stay as they are.
   */
  place(unit: number, signal?: CancelToken, inPlace?: boolean): Promise<number>;
  /** Give the unit's memory up; resolves with bytes freed; not placed: 0. */
  unplace(unit: number): Promise<number>;
  isPlaced(unit: number): boolean;
  /**
   * Free owned host memory of a placed unit (-1: the fixed part) that can be read again from its checkpoint; it is
   * read again when next needed, and the unit is unpinned unless something of it has to stay. Resolves with bytes freed: 0
   * where nothing is owned, on host devices, for replaced weights.
   */
  dropHost(unit: number): Promise<number>;
  /** New data for one weight (same shape and dtype); placed copies are refreshed. */
  replace(name: string, data: TensorData): Promise<void>;
  /** Of a unit's host side (-1: the fixed part), bytes beside the checkpoint's file: owned by now or once it is used. */
  ownedBytes(unit: number): number;
  /**
   * Pin (page-lock) the host side of a unit (-1: the fixed part) so that it is copied asynchronously and faster; whether it
   * is placed does not matter. Weights in their file or in owned memory are locked where they lie where the backend can
   * (CUDA, with GGML_CUDA_REGISTER_HOST set; whole pages, runs of at least 1 MiB). Elsewhere, and where that covers less
   * than half of the unit, a host buffer of the backend takes the unit in the device's layout: what is owned moves there,
   * what is still to be converted is written there at once, what lies in its file is copied. Resolves with the unit's
   * bytes; 0 where the device has no such memory (or none left), the weights cannot be read, or it was cancelled.
   */
  pin(unit: number, signal?: CancelToken): Promise<number>;
  /** Values move back into plain memory, or are read again where there is not enough of it. Not pinned: nothing. */
  unpin(unit: number): void;
  dispose(): Promise<void>;
}

/** Flag shared with native work; checked at each segment and each copy. */
export interface CancelToken {
  cancel(): void;
  readonly cancelled: boolean;
}

export interface GraphPlan {
  /** Scratch bytes that the graph needs from its arena, exact, nothing allocated. */
  computeBytes: number;
  ioBytes: number;
  nodes: number;
  segments: number;
  /** Units read, in order of execution, as `[weightStore id, unit]`; -1 never appears. */
  units: [number, number][];
}

/**
 * Records ops by integer handles (>= 0). Handles are valid within this recorder only. A recorder is used up by
 * `compile`. Nodes are kept in the order recorded; those that reach no output are dropped.
 */
export interface GraphRecorder {
  input(dtype: DType, shape: number[]): number;
  /** A leaf of a weight store, by parameter path. */
  weight(store: WeightStore, name: string): number;
  state(state: State, index: number): number;
  /** A constant known at recording time (small tables); owned by the graph, counted as io. */
  constant(dtype: DType, shape: number[], data: TensorData): number;
  /**
   * One operation. `name` and the order of `srcs` and `params` are listed in native/README.md ("Operations").
   * Throws ShapeMismatch, UnsupportedOp, InvalidArgument.
   */
  op(name: string, srcs: number[], params?: number[]): number;
  /** Nodes recorded from now on belong to this unit's forward; null: to none. Segments are cut where it changes. */
  setUnit(store: WeightStore | null, unit: number): void;
  output(handle: number): void;
  shape(handle: number): number[];
  dtype(handle: number): DType;
  /** Dry run on the device: sizes without allocating anything. */
  plan(device: Device): GraphPlan;
  compile(device: Device, arena: Arena): Graph;
}

export interface RunOptions {
  /** Inputs by handle; an input keeps its last value when absent. Copied before the call returns. */
  inputs?: [number, TensorData][];
  /** Outputs to read back; absent = all outputs in the order declared. */
  read?: number[];
  signal?: CancelToken;
  /** Called on the JavaScript thread, at most 20 times a second: finished segments, all segments. */
  onProgress?: (done: number, total: number) => void;
}

export interface Graph {
  readonly plan: GraphPlan;
  /** f16/bf16 outputs arrive as Uint8Array, everything else in its own typed array. */
  run(options?: RunOptions): Promise<TensorData[]>;
  dispose(): void;
}

export interface Addon {
  readonly versions: { addon: string; ggml: string; napi: number };
  /** Load ggml's backends from a folder (UTF-8 path). A second call is a no-op for the same folder. */
  loadBackends(folder: string): void;
  devices(): DeviceInfo[];
  openDevice(options: OpenDeviceOptions): Promise<Device>;
  /** One file, a `*.safetensors.index.json`, or all shards. */
  openCheckpoint(paths: string[]): Promise<Checkpoint>;
  createWeightStore(component: string, weights: WeightSpec[]): WeightStore;
  createRecorder(): GraphRecorder;
  createCancelToken(): CancelToken;
  /** Sizes for planners: bytes of a tensor of this type and shape. */
  tensorBytes(dtype: DType, shape: number[]): number;
  hostMemory(): { totalBytes: number; availableBytes: number; processBytes: number };
}
