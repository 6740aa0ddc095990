import { StudioError } from '../contract/errors.ts';
import type { WhatIfCurve, WhatIfCurveRequest, WhatIfRequest, WhatIfResponse } from '../contract/what-if.ts';
import type { DeviceBook } from '../memory/device-book.ts';
import type { ModelManager } from '../memory/model-manager.ts';
import { type WhatIf, type WhatIfAnswer, whatIf } from '../memory/planner/what-if.ts';
import { MiB, resolveMode, type VramPolicy } from '../memory/policy.ts';
import type { DeviceService } from './device-service.ts';
import { type LoadedModels, unknownModel } from './loaded-models.ts';
import { type Asked, curveOf, reportOf } from './what-if-report.ts';

export interface WhatIfSources {
  manager: ModelManager;
  devices: DeviceService;
  models: LoadedModels;
  policy: () => VramPolicy;
}

/** What another policy would come to, asked of the planner; nothing moves. */
export class WhatIfQuestions {
  readonly #sources: WhatIfSources;

  constructor(sources: WhatIfSources) {
    this.#sources = sources;
  }

  /**
   * What another policy would come to for a loaded model, by the planner; nothing moves. The stages are those of its last
   * request. Null before its first, and on the processor.
   */
  model(model: string, change: WhatIf): WhatIfAnswer | null {
    const asked = this.#asked(model);
    return asked === null ? null : answerOf(asked, change);
  }

  /** The same for the models on a device, as the contract reports it. */
  report({ device, models, limit_mb, mode, pinned }: WhatIfRequest): WhatIfResponse {
    const book = this.#bookOf(device);
    const change: WhatIf = {
      ...(limit_mb === undefined
        ? {}
        : { limitBytes: limit_mb === null ? null : Math.round(limit_mb * MiB) }),
      ...(mode === undefined ? {} : { mode: resolveMode(mode, book.unified) }),
      ...(pinned === undefined ? {} : { pinned }),
    };
    const { known, unknown } = this.#askedOn(book, models);
    return {
      device,
      total_bytes: book.device.memory().totalBytes,
      models: known.map((asked) => reportOf(asked, answerOf(asked, change), book.lastPrediction)),
      unknown,
    };
  }

  /** The same at `steps` limits up to the whole device. */
  async curves({ device, models, mode, pinned, steps }: WhatIfCurveRequest): Promise<WhatIfCurve> {
    const book = this.#bookOf(device);
    const change: WhatIf = {
      ...(mode === undefined ? {} : { mode: resolveMode(mode, book.unified) }),
      ...(pinned === undefined ? {} : { pinned }),
    };
    const { known } = this.#askedOn(book, models);
    const curves: WhatIfCurve['curves'] = [];
    for (const asked of known) curves.push(await curveOf(asked, change, steps));
    return { device, total_bytes: book.device.memory().totalBytes, curves };
  }

  /** How long the last stage on the model's device was predicted to take, and took; null before the first. */
  lastPrediction(model: string): { predictedMs: number; measuredMs: number } | null {
    const loaded = this.#sources.models.list().find(({ id }) => id === model);
    if (loaded === undefined) throw unknownModel(model);
    return loaded.book.lastPrediction;
  }

  /** Only models on opened devices can be asked about; nothing moves on the processor. */
  #bookOf(device: string): DeviceBook {
    const book = this.#sources.devices.opened.find(({ id }) => id === device);
    if (book !== undefined) return book;
    const known = this.#sources.devices.opened.map(({ id }) => id).join(', ');
    throw new StudioError(
      'device_not_found',
      `There is no device "${device}" in use; there is ${known || 'none'}.`,
      {
        params: { device, known },
      },
    );
  }

  #askedOn(book: DeviceBook, models: readonly string[] | undefined): { known: Asked[]; unknown: string[] } {
    const here = this.#sources.models.list().filter((model) => model.book === book);
    const missing = models?.find((id) => !here.some((model) => model.id === id));
    if (missing !== undefined) throw unknownModel(missing);
    const ids = here.map(({ id }) => id).filter((id) => models === undefined || models.includes(id));
    const known = ids.map((id) => this.#asked(id)).filter((asked) => asked !== null);
    return { known, unknown: ids.filter((id) => !known.some(({ model }) => model === id)) };
  }

  #asked(model: string): Asked | null {
    const loaded = this.#sources.models.list().find(({ id }) => id === model);
    if (loaded === undefined) throw unknownModel(model);
    const stages = this.#sources.manager.lastStages(model);
    if (stages.length === 0) return null;
    const { book } = loaded;
    const { reserveBytes } = this.#sources.policy();
    const reserveAt = (limitBytes: number | null): number => book.reserveBytes({ reserveBytes, limitBytes });
    return { model, state: this.#sources.manager.state(book), stages, reserveAt };
  }
}

/** A smaller limit keeps a smaller reserve. */
function answerOf({ state, stages, reserveAt }: Asked, change: WhatIf): WhatIfAnswer {
  const { limitBytes } = change;
  return whatIf(
    state,
    stages,
    limitBytes === undefined ? change : { reserveBytes: reserveAt(limitBytes), ...change },
  );
}
