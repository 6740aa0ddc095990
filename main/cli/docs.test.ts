import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { commands } from './commands.ts';
import { exitCodeTable } from './help.ts';

const documents = ['docs/cli.md', 'docs/cli.zh-CN.md'].map((path) => {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  return [path, text] as const;
});

it.each(documents)('%s lists every exit code with its error codes, and every option', (_path, text) => {
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  for (const { exit, codes } of exitCodeTable()) {
    const row = rows.find((line) => line.startsWith(`| ${exit} |`));
    expect(row?.match(/`[a-z_]+`/g), `exit ${exit}`).toEqual(codes.map((code) => `\`${code}\``));
  }
  for (const [name, command] of Object.entries(commands)) {
    if (name !== 'help') expect(text).toContain(`mizuoto ${name}`);
    for (const option of Object.keys(command.options)) {
      if (option !== 'help') expect(text, name).toContain(`--${option}`);
    }
  }
});
