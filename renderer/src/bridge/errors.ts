import { type ErrorBody, type ErrorCode, errorCodes } from '../../../main/contract/errors.ts';

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(errorCodes, value);
}

/**
 * Whatever was thrown, as the contract's error. Errors of the host keep their code (they cross the shell as plain
 * objects); everything else is `internal`, with its text as detail only.
 */
export function toErrorBody(thrown: unknown): ErrorBody {
  if (isRecord(thrown) && isErrorCode(thrown.code) && typeof thrown.message === 'string') {
    const params = isRecord(thrown.params) ? thrown.params : {};
    return {
      code: thrown.code,
      message: thrown.message,
      params: Object.fromEntries(
        Object.entries(params).filter(
          (entry): entry is [string, string | number] =>
            typeof entry[1] === 'string' || typeof entry[1] === 'number',
        ),
      ),
      retryable: thrown.retryable === true,
      ...(typeof thrown.detail === 'string' ? { detail: thrown.detail } : {}),
    };
  }
  const detail = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return {
    code: 'internal',
    message: 'The window ran into an unexpected error.',
    params: {},
    retryable: false,
    detail,
  };
}
