import type { ErrorBody, Finding, FindingId } from '../../contract/index.ts';
import type { ModelCondition } from '../../models/model-library.ts';
import type { DamagedVoice } from '../../voices/voice-files.ts';

/** What `finding` of the doctor takes. */
export type LibraryFinding = [FindingId, Finding['status'], Finding['params'], ErrorBody | null];

/** Installed models and saved voices: one finding for each that is damaged, one for all that are not. */
export function libraryFindings(
  models: readonly ModelCondition[],
  voices: { sound: number; damaged: readonly DamagedVoice[] },
): LibraryFinding[] {
  const found: LibraryFinding[] = [];
  const whole = models.filter(({ problems, changed }) => problems.length + changed.length === 0).length;
  if (whole > 0) found.push(['models_ok', 'ok', { count: whole }, null]);
  for (const { model, problems, changed } of models) {
    for (const problem of problems) found.push(['model_damaged', 'failed', { model }, problem]);
    if (changed.length > 0)
      found.push(['model_changed', 'warning', { model, files: changed.join(', ') }, null]);
  }
  if (voices.sound > 0) found.push(['voices_ok', 'ok', { count: voices.sound }, null]);
  for (const { path, file, why } of voices.damaged) {
    found.push(['voice_damaged', 'warning', { path, file, why }, null]);
  }
  return found;
}
