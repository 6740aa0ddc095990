import {
  type EngineInfo,
  type EngineParameter,
  type ParameterValue,
  StudioError,
} from '../contract/index.ts';
import { isRequestParameter, parameterDefaults } from '../engines/plain-task.ts';
import { nearest } from '../settings/nearest.ts';

/** @throws StudioError `invalid_request` */
export function checkRate(key: 'speed' | 'pitch', value: number, engine: EngineInfo): void {
  const parameter = engine.parameters.find((candidate) => candidate.key === key);
  if (!parameter) {
    if (value === 1) return;
    throw new StudioError(
      'invalid_request',
      `The engine "${engine.id}" cannot change the ${key} (${value} was asked for). Leave it out.`,
      { params: { call: 'speak', field: key, value, engine: engine.id } },
    );
  }
  checkRange(parameter, value, engine.id);
}

/**
 * The values of the engine's own parameters: those asked for, checked, and the defaults of the others.
 *
 * @throws StudioError `invalid_request` naming the known ones, or what the parameter takes
 */
export function resolveParameters(
  asked: Record<string, ParameterValue>,
  engine: EngineInfo,
): Record<string, ParameterValue> {
  const own = engine.parameters.filter(({ key }) => !isRequestParameter(key));
  const values = parameterDefaults(own);
  for (const [key, value] of Object.entries(asked)) {
    const parameter = own.find((candidate) => candidate.key === key);
    if (!parameter) throw unknownParameter(key, own, engine.id);
    values[key] = checkValue(parameter, value, engine.id);
  }
  return values;
}

function checkValue(parameter: EngineParameter, value: ParameterValue, engine: string): ParameterValue {
  const { choices, default: usual } = parameter;
  if (choices) {
    if (typeof value === 'string' && choices.includes(value)) return value;
    throw notTaken(parameter, value, choices.join(', '));
  }
  if (typeof usual === 'boolean') {
    if (typeof value === 'boolean') return value;
    throw notTaken(parameter, value, 'true, false');
  }
  if (typeof usual === 'string') {
    if (typeof value === 'string') return value;
    throw notTaken(parameter, value, 'text');
  }
  if (typeof value !== 'number' || !Number.isFinite(value)) throw notTaken(parameter, value, 'a number');
  if (parameter.integer && !Number.isInteger(value)) throw notTaken(parameter, value, 'a whole number');
  checkRange(parameter, value, engine);
  return value;
}

function checkRange({ key, minimum, maximum }: EngineParameter, value: number, engine: string): void {
  const low = minimum ?? Number.NEGATIVE_INFINITY;
  const high = maximum ?? Number.POSITIVE_INFINITY;
  if (value >= low && value <= high) return;
  const range =
    minimum === undefined
      ? `at most ${high}`
      : maximum === undefined
        ? `at least ${low}`
        : `from ${low} to ${high}`;
  throw new StudioError(
    'invalid_request',
    `A ${key} of ${value} is outside what the engine "${engine}" speaks: choose one ${range}.`,
    {
      params: {
        call: 'speak',
        field: key,
        value,
        ...(minimum === undefined ? {} : { minimum }),
        ...(maximum === undefined ? {} : { maximum }),
      },
    },
  );
}

function notTaken({ key }: EngineParameter, value: ParameterValue, expected: string): StudioError {
  const text = JSON.stringify(value);
  const shown = text.length > 40 ? `${text.slice(0, 37)}...` : text;
  return new StudioError(
    'invalid_request',
    `The parameter ${key} cannot be ${shown}: it takes ${expected}.`,
    {
      params: { call: 'speak', field: key, value: shown, expected },
    },
  );
}

function unknownParameter(key: string, own: EngineParameter[], engine: string): StudioError {
  const shown = key.length > 40 ? `${key.slice(0, 37)}...` : key;
  const known = own.map((parameter) => parameter.key);
  const near = nearest(key, known);
  const list = known.length > 0 ? `It has: ${known.join(', ')}.` : 'It has none of its own.';
  const where = isRequestParameter(key) ? ` "${key}" stands beside the parameters, not among them.` : '';
  return new StudioError(
    'invalid_request',
    `The engine "${engine}" has no parameter "${shown}".${where}${near ? ` Did you mean "${near}"?` : ''} ${list}`,
    {
      params: {
        call: 'speak',
        field: 'parameters',
        parameter: shown,
        engine,
        known: known.join(', ') || '-',
        ...(where === '' ? {} : { beside: key }),
      },
    },
  );
}
