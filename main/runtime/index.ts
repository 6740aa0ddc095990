export type { Lease, ModelSource } from './loaded-models.ts';
export { RuntimeService } from './runtime-service.ts';
export type { StageContext } from './types.ts';
