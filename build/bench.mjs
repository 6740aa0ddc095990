/** Runs one benchmark of bench/: `npm run bench -- NAME [options]`; without a name, lists them. */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { foreground, main, root } from './lib/run.mjs';
import { ensureSetup } from './setup.mjs';

/** Tiny models of the engines are made from fixtures beside their sources, which a bundle elsewhere would not find. */
const sourceUrls = {
  name: 'source-urls',
  setup(build) {
    build.onLoad({ filter: /[\\/]main[\\/]engines[\\/].*\.ts$/ }, ({ path }) => {
      const url = JSON.stringify(pathToFileURL(path).href);
      const folder = JSON.stringify(dirname(path));
      return {
        contents: readFileSync(path, 'utf8')
          .replaceAll('import.meta.url', url)
          .replaceAll('import.meta.dirname', folder),
        loader: 'ts',
      };
    });
  },
};

main(async () => {
  const [name, ...rest] = process.argv.slice(2);
  const names = readdirSync(join(root, 'bench'))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -3));
  if (!name || !names.includes(name)) {
    process.stderr.write(
      `${name ? `There is no benchmark "${name}". ` : ''}Benchmarks: ${names.join(', ')}\n`,
    );
    return name ? 2 : 0;
  }
  await ensureSetup();
  const out = join(root, 'dist', 'bench');
  mkdirSync(out, { recursive: true });
  const { build } = await import('esbuild');
  await build({
    absWorkingDir: root,
    entryPoints: [join(root, 'bench', `${name}.ts`)],
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    plugins: [sourceUrls],
    banner: {
      js: "import { createRequire as __mizuotoRequire } from 'node:module'; const require = __mizuotoRequire(import.meta.url);",
    },
  });
  if (!existsSync(join(out, `${name}.mjs`))) return 1;
  return foreground(process.execPath, ['--expose-gc', join(out, `${name}.mjs`), ...rest]);
});
