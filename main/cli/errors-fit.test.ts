import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';
import { type ErrorCode, errorCodes } from '../contract/index.ts';
import { zhErrors } from './errors.zh-CN.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const places = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);

interface Thrown {
  where: string;
  code: ErrorCode;
  /** Names of its values; null where they are not all written out. */
  names: Set<string> | null;
  /** Its English sentence holds values. */
  telling: boolean;
}

/** Every `new StudioError('code', message, { params })` of the sources. */
function thrown(): Thrown[] {
  const found: Thrown[] = [];
  const files = readdirSync(`${root}main`, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => /\.ts$/.test(name) && !/\.test\.ts$|testing\//.test(name));
  for (const name of files) {
    const source = ts.createSourceFile(
      name,
      readFileSync(`${root}main/${name}`, 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    );
    const visit = (node: ts.Node): void => {
      if (ts.isNewExpression(node) && node.expression.getText() === 'StudioError') {
        const [code, message, options] = node.arguments ?? [];
        if (code !== undefined && ts.isStringLiteral(code) && message !== undefined) {
          const { line } = source.getLineAndCharacterOfPosition(node.getStart());
          found.push({
            where: `main/${name}:${line + 1}`,
            code: code.text as ErrorCode,
            names: namesOf(options),
            telling: message.getText().includes('${'),
          });
        }
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

function namesOf(options: ts.Expression | undefined): Set<string> | null {
  if (options === undefined) return new Set();
  if (!ts.isObjectLiteralExpression(options)) return null;
  const params = options.properties.find((property) => property.name?.getText() === 'params');
  if (params === undefined) return options.properties.some(ts.isSpreadAssignment) ? null : new Set();
  if (!ts.isPropertyAssignment(params) || !ts.isObjectLiteralExpression(params.initializer)) return null;
  const names = new Set<string>();
  for (const property of params.initializer.properties) {
    if (ts.isSpreadAssignment(property)) return null;
    names.add(property.name.getText());
  }
  // What messages.ts adds.
  if (names.has('reason')) names.add('why');
  if (names.has('script')) names.add('unspoken');
  return names;
}

it('every code ends with a sentence that needs no values, and none hides a later one', () => {
  for (const [code, texts] of Object.entries(zhErrors)) {
    const needs = [texts].flat().map(places);
    expect(needs.at(-1), code).toEqual([]);
    for (const [index, later] of needs.entries()) {
      const hidden = needs.slice(0, index).some((earlier) => earlier.every((name) => later.includes(name)));
      expect(hidden, `${code}: ${[texts].flat()[index]}`).toBe(false);
    }
  }
});

/** What they tell is for programmers: words of zod and Node, and whether a program is started again. */
const technical = new Set([
  'main/host/client.ts invalid_request',
  'main/host/client.ts host_crashed',
  'main/server/downloads.ts invalid_request',
]);

it('every error that tells values in English tells some in Chinese', () => {
  const all = thrown();
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter(({ code }) => !(code in errorCodes))).toEqual([]);
  const mute = all.filter(({ where, code, names, telling }) => {
    if (names === null || !telling || technical.has(`${where.replace(/:\d+$/, '')} ${code}`)) return false;
    const needs = [zhErrors[code]].flat().map(places);
    return !needs.some((wanted) => wanted.length > 0 && wanted.every((name) => names.has(name)));
  });
  expect(mute.map(({ where, code, names }) => `${where} ${code} ${[...(names ?? [])]}`)).toEqual([]);
});
