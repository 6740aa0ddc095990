import { z } from 'zod';
import type { NativeErrorCode } from '../../native/addon.ts';
import { type ErrorBody, type ErrorCode, StudioError } from '../contract/index.ts';
import { lostForGood } from '../runtime/lost-device.ts';

/** The addon's codes in the contract's words. The addon's own sentence carries the numbers and is kept. */
const nativeCodes: Record<NativeErrorCode, ErrorCode> = {
  OutOfDeviceMemory: 'out_of_device_memory',
  OutOfHostMemory: 'out_of_host_memory',
  DeviceLost: 'device_lost',
  DeviceNotFound: 'device_not_found',
  BackendMissing: 'backend_missing',
  Cancelled: 'cancelled',
  ShapeMismatch: 'checkpoint_mismatch',
  UnsupportedOp: 'internal',
  UnsupportedDType: 'checkpoint_mismatch',
  InvalidArgument: 'internal',
  Disposed: 'internal',
  WeightNotPlaced: 'weight_not_placed',
  UnitOutsideForward: 'weight_not_placed',
  FileNotFound: 'checkpoint_missing',
  FileUnreadable: 'checkpoint_invalid',
  FileTruncated: 'checkpoint_invalid',
  FileNotACheckpoint: 'checkpoint_invalid',
  FileIsLfsPointer: 'checkpoint_invalid',
  FileIsHtml: 'checkpoint_invalid',
  FileIsPickle: 'checkpoint_invalid',
  HeaderInvalid: 'checkpoint_invalid',
  HeaderTooLarge: 'checkpoint_invalid',
  TensorOutOfBounds: 'checkpoint_invalid',
  TensorOverlap: 'checkpoint_invalid',
  TensorCountAbsurd: 'checkpoint_invalid',
  ShardMissing: 'checkpoint_missing',
  Internal: 'internal',
};

const internalMessage =
  'Something went wrong inside the studio. The log has the details; trying again may help.';

/** Whatever was thrown -> what crosses the port. Only known kinds keep their sentence; the rest is `internal`. */
export function toErrorBody(error: unknown): ErrorBody {
  if (error instanceof StudioError) return error.toBody();
  if (!(error instanceof Error)) return { ...internal(), detail: String(error) };
  if (error.name === 'AbortError') return new StudioError('cancelled', 'Cancelled.').toBody();
  const detail = error.stack ?? error.message;
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new StudioError('disk_full', 'The disk is full. Free some space and try again.', {
      detail,
    }).toBody();
  }
  if (!Object.hasOwn(nativeCodes, code)) return { ...internal(), detail };
  const known = nativeCodes[code as NativeErrorCode];
  if (known === 'internal') return { ...internal(), detail };
  const details = 'details' in error ? paramsSchema.safeParse(error.details) : null;
  const params = details?.success ? details.data : {};
  const retryable = known === 'out_of_device_memory';
  if (known === 'device_lost') return lostForGood(String(params.device ?? 'The device'), detail).toBody();
  return new StudioError(known, error.message, { params, retryable, detail }).toBody();
}

const paramsSchema = z.record(z.string(), z.union([z.string(), z.number()]));

function internal(): ErrorBody {
  return new StudioError('internal', internalMessage).toBody();
}

/** A request that zod refused -> one sentence with the name of what is wrong. */
export function badRequest(call: string, error: z.ZodError): StudioError {
  const issue = error.issues[0];
  const field = issue?.path.join('.') ?? '';
  if ((field === 'text' || field === 'reference.text') && issue?.code === 'too_big') {
    const limit = Number(issue.maximum);
    if (field === 'reference.text' || call.startsWith('voices.')) {
      return new StudioError(
        'text_too_long',
        `The transcript is longer than ${limit.toLocaleString('en')} characters. Give only the words that the recording says.`,
        { params: { limit, field: 'transcript' } },
      );
    }
    return new StudioError(
      'text_too_long',
      `The text is longer than ${limit.toLocaleString('en')} characters. Split it into several requests.`,
      { params: { limit } },
    );
  }
  const where = field ? `${field}: ` : '';
  const what = issue ? lowerFirst(issue.message) : 'it has the wrong shape';
  return new StudioError('invalid_request', `The request "${call}" is not valid: ${where}${what}.`, {
    params: { call, field, reason: what },
  });
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
