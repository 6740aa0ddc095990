import { z } from 'zod';

/**
 * Every way in which the studio can fail, once: the code is stable, the exit code of the command line derives from
 * it, and each language has one sentence per code (what happened, why, what to do).
 */
export const errorCodes = {
  // code: exit code of the command line
  invalid_request: 2,
  unknown_engine: 2,
  unknown_voice: 2,
  unknown_model: 2,
  unknown_language: 2,
  /** The model cannot do what is asked: clone, read an instruction, change a parameter. */
  not_supported: 2,
  name_taken: 2,
  unknown_setting: 2,
  invalid_setting: 2,
  contradictory_settings: 2,
  text_empty: 3,
  text_not_speakable: 3,
  text_too_long: 3,
  text_malformed: 3,
  reference_unusable: 3,
  file_not_found: 4,
  file_unreadable: 4,
  file_not_text: 4,
  output_not_writable: 5,
  disk_full: 5,
  model_not_installed: 6,
  model_not_recognised: 6,
  checkpoint_missing: 6,
  checkpoint_invalid: 6,
  checkpoint_mismatch: 6,
  weights_not_finite: 6,
  device_not_found: 7,
  out_of_device_memory: 7,
  out_of_host_memory: 7,
  device_lost: 7,
  backend_missing: 7,
  weight_not_placed: 7,
  wait_timeout: 7,
  job_not_found: 8,
  job_failed: 8,
  cancelled: 130,
  host_unreachable: 9,
  host_crashed: 9,
  forbidden: 10,
  internal: 1,
} as const;

export type ErrorCode = keyof typeof errorCodes;

export const errorSchema = z.object({
  code: z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]]),
  /** One English sentence or two: what happened, why (with the number), what to do. */
  message: z.string(),
  /** Names and numbers for the localised sentence. */
  params: z.record(z.string(), z.union([z.string(), z.number()])).default({}),
  retryable: z.boolean().default(false),
  /** Technical detail for the log and the "details" fold; never shown as the message. */
  detail: z.string().optional(),
});
export type ErrorBody = z.infer<typeof errorSchema>;

/** The one error class that crosses rooms; everything else is wrapped into `internal` where it leaves the host. */
export class StudioError extends Error {
  readonly code: ErrorCode;
  readonly params: Record<string, string | number>;
  readonly retryable: boolean;
  readonly detail?: string;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      params?: Record<string, string | number>;
      retryable?: boolean;
      detail?: string;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StudioError';
    this.code = code;
    this.params = options.params ?? {};
    this.retryable = options.retryable ?? false;
    this.detail = options.detail;
  }

  toBody(): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      params: this.params,
      retryable: this.retryable,
      ...(this.detail === undefined ? {} : { detail: this.detail }),
    };
  }

  static fromBody(body: ErrorBody): StudioError {
    return new StudioError(body.code, body.message, {
      params: body.params,
      retryable: body.retryable,
      detail: body.detail,
    });
  }
}

export function exitCode(code: ErrorCode): number {
  return errorCodes[code];
}
