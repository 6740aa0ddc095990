import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));

/** The scripted host is for development and tests: a build that carries it is refused. */
function withoutFakeHost(): Plugin {
  return {
    name: 'mizuoto:without-fake-host',
    generateBundle(_options, bundle) {
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue;
        const fake = chunk.moduleIds.find((id) => /\/bridge\/fake[\w-]*\.ts$/.test(id));
        if (fake !== undefined) this.error(`${fake} must not be part of a production build.`);
      }
    },
  };
}

/** `--mode fake` builds the same page with `?fake` enabled, to look at it without a host. */
export default defineConfig(({ mode }) => ({
  root: here,
  base: './',
  plugins: [react(), tailwindcss(), ...(mode === 'fake' ? [] : [withoutFakeHost()])],
  define: { __FAKE_HOST__: JSON.stringify(mode !== 'production') },
  build: {
    outDir: join(here, '..', 'dist', mode === 'fake' ? 'renderer-fake' : 'renderer'),
    emptyOutDir: true,
    target: 'es2023',
    // The policy allows fonts and images from our own origin only: no data: URLs, no inline polyfill.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One file: zod's configuration must run before the contract's schemas are made.
    rollupOptions: {
      output: { inlineDynamicImports: true },
      onwarn(warning, warn) {
        // zod writes remarks where Rollup looks for its own; nothing follows from it.
        if (warning.code !== 'INVALID_ANNOTATION') warn(warning);
      },
    },
    sourcemap: true,
    chunkSizeWarningLimit: 900,
  },
  server: { host: '127.0.0.1' },
}));
