import { expect, it } from 'vitest';
import { reasonInChinese } from '../contract/words.zh-CN.ts';
import { fileReason } from './file-reason.ts';

const failed = (code: string) => Object.assign(new Error(`${code}: some words`), { code });
const codes =
  'EACCES EPERM EIO EROFS ENOSPC EDQUOT ENOENT ENOTDIR EEXIST EISDIR ENAMETOOLONG EBUSY ETXTBSY ELOOP EMFILE ERR_INVALID_ARG_VALUE'.split(
    ' ',
  );

it.each(codes)('%s has words in both languages, for reading and for writing', (code) => {
  for (const of of ['reading', 'writing'] as const) {
    const reason = fileReason(failed(code), of);
    expect(reason).toMatch(/^[a-z]/);
    expect(reason).not.toContain('some words');
    expect(reasonInChinese(reason), reason).toMatch(/\p{Script=Han}/u);
  }
});

it('says what is meant by the same code when reading and when writing', () => {
  expect(fileReason(failed('EACCES'), 'reading')).toBe('there is no permission to read it');
  expect(fileReason(failed('EACCES'), 'writing')).toBe('there is no permission to write there');
});

it('knows text that is not JSON, and keeps the words of an error of our own', () => {
  expect(fileReason(new SyntaxError('Unexpected token'), 'reading')).toBe('it is not JSON');
  expect(fileReason(new RangeError('it is larger than 1 MiB'), 'reading')).toBe('it is larger than 1 MiB');
});
