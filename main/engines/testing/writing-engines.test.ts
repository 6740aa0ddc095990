import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '../../..');
const pages = ['docs/writing-engines.md', 'docs/writing-engines.zh-CN.md'];
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** `<!-- file#region -->`, then the region's text as a code block. */
const block = /<!-- ([\w./-]+)#([\w-]+) -->\n\n```\w*\n([\s\S]*?)```\n/g;

/** What stands between `#region name` and the next `#endregion`, without the indentation that its lines share. */
function region(file: string, name: string): string {
  const lines = read(file).split('\n');
  const start = lines.findIndex((line) => line.trim().endsWith(`#region ${name}`));
  const end = lines.findIndex((line, at) => at > start && line.trim().endsWith('#endregion'));
  if (start < 0 || end < 0) throw new Error(`${file} has no region "${name}".`);
  const inside = lines.slice(start + 1, end);
  const shared = Math.min(...inside.filter((line) => line.trim()).map((line) => line.search(/\S/)));
  return inside.map((line) => line.slice(shared)).join('\n');
}

/** The code of the page is the code of the example, which other tests run: it cannot rot. `vitest -u` copies it anew. */
describe.each(pages)('%s', (page) => {
  test('shows the example as it is', async () => {
    const text = read(page);
    const languages = [...text.matchAll(block)].map(([whole]) => /```(\w*)/.exec(whole)![1]!);
    expect(languages.filter((language) => language === 'ts')).toHaveLength(languages.length);
    expect(text.match(/```ts/g)).toHaveLength(languages.length);
    const fresh = text.replace(block, (_, file: string, name: string) => {
      return `<!-- ${file}#${name} -->\n\n\`\`\`ts\n${region(file, name)}\n\`\`\`\n`;
    });
    await expect(fresh).toMatchFileSnapshot(path.join(root, page));
  });
});

describe.each([...pages, 'docs/memory.md', 'docs/memory.zh-CN.md'])('%s', (page) => {
  test('names files that exist', () => {
    const text = read(page);
    const paths = [...text.matchAll(/`((?:main|native|docs|bench)\/[\w./-]+\.(?:ts|md|py|cc))`/g)];
    const links = [...text.matchAll(/\]\((?!http)([\w./-]+)\)/g)].map(([, file]) => path.join('docs', file!));
    expect(paths.length).toBeGreaterThan(5);
    for (const file of [...paths.map(([, file]) => file!), ...links]) {
      expect(existsSync(path.join(root, file)), file).toBe(true);
    }
  });
});

test('both languages show the same code in the same order', () => {
  const blocks = pages.map((page) =>
    [...read(page).matchAll(block)].map(([, file, name]) => `${file}#${name}`),
  );
  expect(blocks[0]!.length).toBeGreaterThan(6);
  expect(blocks[1]).toEqual(blocks[0]);
});
