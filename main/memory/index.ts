export { Calibration } from './calibration.ts';
export { DeviceBook } from './device-book.ts';
export { type ComponentOptions, type LoadedComponent, loadComponent } from './load-component.ts';
export { type HandleOptions, ModelHandle } from './model-handle.ts';
export { isOutOfDeviceMemory, type LoadOptions, ModelManager, type Placement } from './model-manager.ts';
export { policyFromSettings, type VramMode, type VramPolicy } from './policy.ts';
export { Trace, type TraceEvent } from './trace.ts';
export { type ComponentKind, decideUnits, type Mark, type Unit, type UnitDecision } from './units.ts';
