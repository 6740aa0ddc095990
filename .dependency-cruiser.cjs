/**
 * The arrows of docs/architecture.md: each room may import only what stands to its right.
 *   renderer -> contract;  app -> host client;  host -> runtime -> memory -> nn -> native
 */
const room = (names) => `^main/(${names.join('|')})/`;
const forbid = (name, from, to, comment) => ({ name, severity: 'error', comment, from, to });

module.exports = {
  forbidden: [
    forbid('no-cycles', {}, { circular: true }, 'A cycle hides two ideas in one.'),
    forbid(
      'contract-is-pure',
      { path: '^main/contract/' },
      { pathNot: '^(main/contract/|node_modules/zod/)' },
      'The contract knows zod and nothing else.',
    ),
    forbid(
      'renderer-knows-contract-only',
      { path: '^renderer/' },
      { path: '^(main/(?!contract/)|app/|native/|build/|e2e/)' },
      'The renderer knows only main/contract.',
    ),
    forbid(
      'renderer-without-node',
      { path: '^renderer/', pathNot: '^renderer/vite.config.ts' },
      { dependencyTypes: ['core'] },
      'No Node in the renderer.',
    ),
    forbid(
      'main-without-electron',
      { path: '^(main|native)/' },
      { path: '(^|/)electron(/|$)' },
      'main/ runs without Electron.',
    ),
    forbid(
      'main-below-app',
      { path: '^(main|native)/' },
      { path: '^(app|renderer|e2e|bench)/' },
      'main/ never looks up.',
    ),
    forbid(
      'app-uses-host-client',
      { path: '^app/' },
      { path: room(['runtime', 'memory', 'nn', 'engines', 'text', 'audio']) },
      'The shell speaks to the host client.',
    ),
    forbid('native-knows-no-policy', { path: '^native/' }, { path: '^main/' }, 'native/ decides nothing.'),
    forbid(
      'nn-on-native-only',
      { path: '^main/nn/', pathNot: '(\\.test\\.ts$|/fixtures/|/testing/)' },
      { path: room(['memory', 'runtime', 'host', 'engines', 'cli', 'settings', 'text', 'audio']) },
      'nn -> native',
    ),
    forbid(
      'memory-knows-no-engine',
      { path: '^main/memory/', pathNot: '(\\.test\\.ts$|/testing/)' },
      { path: room(['runtime', 'host', 'engines', 'cli', 'text', 'audio']) },
      'memory -> nn -> native',
    ),
    forbid(
      'runtime-knows-no-host',
      { path: '^main/runtime/', pathNot: '(\\.test\\.ts$|/testing/)' },
      { path: room(['host', 'cli', 'engines']) },
      'runtime -> memory',
    ),
    forbid(
      'engines-below-host',
      { path: '^main/engines/', pathNot: '\\.test\\.ts$' },
      { path: room(['host', 'cli']) },
      'host -> engines',
    ),
    forbid(
      'models-and-voices-below-engines',
      { path: room(['models', 'voices']), pathNot: '\\.test\\.ts$' },
      { path: room(['host', 'runtime', 'memory', 'engines', 'cli', 'nn']) },
      'What is kept on the disk knows no engine: engines say what they recognise.',
    ),
    forbid(
      'text-and-audio-are-leaves',
      { path: room(['text', 'audio']), pathNot: '\\.test\\.ts$' },
      { path: room(['host', 'runtime', 'memory', 'engines', 'cli', 'nn']) },
      'text/ and audio/ are plain libraries.',
    ),
    forbid(
      'cli-uses-host-client',
      { path: '^main/cli/', pathNot: '\\.test\\.ts$' },
      { path: room(['memory', 'nn', 'engines']) },
      'The command line speaks to the host client.',
    ),
    forbid('no-unresolved', {}, { couldNotResolve: true }, 'Every import resolves.'),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|native/(build|out)|node_modules/(?!zod|electron))' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.mts', '.js', '.mjs', '.css', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
