export { DeviceService } from './device-service.ts';
export type { Lease, LoadedModel, LoadedParts, ModelLoadContext, ModelSource } from './loaded-models.ts';
export { type RuntimeOptions, RuntimeService, type StartRequest } from './runtime-service.ts';
export { RequestContext } from './stage-context.ts';
export type {
  AnnouncedStage,
  Fallback,
  Replayable,
  RequestOutlook,
  RunStageOptions,
  StageContext,
  StageProgress,
  UseStageOptions,
} from './types.ts';
