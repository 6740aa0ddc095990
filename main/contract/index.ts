export * from './calls.ts';
export * from './errors.ts';
export * from './runtime.ts';
export * from './security.ts';
export * from './settings.ts';
export * from './speech.ts';
export * from './wire.ts';
