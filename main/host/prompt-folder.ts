import { join } from 'node:path';

/** Where prepared voice prompts are kept: the host forgets those of removed voices, the engines make them. */
export const promptFolder = (cacheFolder: string): string => join(cacheFolder, 'voice-prompts');
