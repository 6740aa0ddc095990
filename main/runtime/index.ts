export type { Lease, ModelSource } from './model-source.ts';
export { RuntimeService } from './runtime-service.ts';
export type { StageContext } from './types.ts';
