import { resolve } from 'node:path';
import type { ModelCheck, ModelEntry } from '../contract/index.ts';
import { nearest } from '../settings/nearest.ts';
import { clip, type Parsed } from './arguments.ts';
import { indent, withHost } from './listings.ts';
import type { MessageKey } from './messages.en.ts';
import { CommandError, errorOf, type Language, type Messages } from './messages.ts';
import { size } from './size.ts';
import { checkFailedExit, harmless, print, printJson, type Surroundings, table } from './terminal.ts';

const actions = ['list', 'find', 'add', 'remove', 'check'] as const;

const stateKeys: Record<ModelEntry['state'], MessageKey> = {
  built_in: 'builtIn',
  installed: 'modelInstalled',
  not_installed: 'modelNotInstalled',
  damaged: 'modelDamaged',
  unknown_engine: 'modelUnknownEngine',
};
const fileKeys: Record<ModelCheck['files'][number]['state'], MessageKey> = {
  verified: 'fileVerified',
  present: 'filePresent',
  missing: 'fileMissing',
  damaged: 'fileDamaged',
};

/** `mizuoto models [list] | find | add PATH [--name NAME] | remove MODEL | check MODEL`. */
export async function modelsCommand(parsed: Parsed, around: Surroundings): Promise<number> {
  const [action = 'list', argument, extra] = parsed.positionals;
  const spare = action === 'list' || action === 'find' ? argument : extra;
  if (spare !== undefined && (actions as readonly string[]).includes(action)) {
    throw new CommandError('invalid_request', 'tooManyArguments', {
      command: `models ${action}`,
      argument: clip(spare),
    });
  }
  if (parsed.strings.name !== undefined && action !== 'add') {
    throw new CommandError('invalid_request', 'optionOnlyFor', {
      option: '--name',
      commands: 'mizuoto models add',
    });
  }
  if (action === 'list') return list(around);
  if (action === 'find') return find(around);
  if (action === 'add') return add(needed(argument, 'add', 'FOLDER'), parsed.strings.name, around);
  if (action === 'remove') return remove(needed(argument, 'remove', 'MODEL'), around);
  if (action === 'check') return check(needed(argument, 'check', 'MODEL'), around);
  const error = new CommandError('invalid_request', 'unknownAction', {
    command: 'models',
    action: clip(action),
    actions: actions.join(', '),
  });
  throw Object.assign(error, { near: nearest(action, actions) });
}

function needed(argument: string | undefined, action: string, example: string): string {
  if (argument !== undefined) return argument;
  throw new CommandError('invalid_request', 'actionNeedsArgument', {
    usage: `mizuoto models ${action} ${example}`,
  });
}

async function list(around: Surroundings): Promise<number> {
  const { models } = await withHost(around, (client) => client.call('models.list', {}));
  if (around.json) {
    await printJson(around, { models });
    return 0;
  }
  const { messages } = around;
  const head = (['Model', 'State', 'Size', 'Licence', 'Where'] as const).map((name) =>
    messages.get(`column${name}`),
  );
  const rows = models.map((model) => [
    harmless(model.id),
    messages.get(stateKeys[model.state]),
    // Nobody knows the size of what is not there.
    model.state === 'damaged' && model.size_bytes === 0 ? '-' : size(model.size_bytes),
    model.licence.split(';', 1)[0]!,
    harmless(model.folder ?? pageOf(model, messages.language) ?? ''),
  ]);
  const lines = [table(head, rows)];
  for (const { id, problems } of models) {
    for (const problem of problems) {
      const said = messages.error(errorOf(problem));
      lines.push(harmless(messages.get('modelProblem', { model: id, problem: said })));
    }
  }
  if (!around.quiet) lines.push(...howToAdd(models, messages));
  await print(around, lines.join('\n'));
  return 0;
}

/** The site that is near the reader comes first: the other may be out of reach. */
function sourcesOf({ sources }: ModelEntry, language: Language): ModelEntry['sources'] {
  const near = language === 'zh-CN' ? 'modelscope' : 'huggingface';
  return [...sources].sort((a, b) => Number(b.site === near) - Number(a.site === near));
}

const pageOf = (model: ModelEntry, language: Language): string | undefined =>
  sourcesOf(model, language)[0]?.url;

/** Each site's own tool, with a model that is not here yet. */
function howToAdd(models: readonly ModelEntry[], messages: Messages): string[] {
  const missing = models.find(({ state, sources }) => state === 'not_installed' && sources.length > 0);
  if (missing === undefined) return [];
  const folder = messages.language === 'zh-CN' ? '文件夹' : 'FOLDER';
  const commands = sourcesOf(missing, messages.language).map(({ site, repository }) =>
    site === 'modelscope'
      ? `modelscope download --model ${repository} --local_dir ${folder}`
      : `hf download ${repository} --local-dir ${folder}`,
  );
  const mirrored = missing.sources.some(({ site }) => site === 'huggingface');
  return [
    '',
    messages.get('modelsHowToAdd'),
    ...commands.map((command) => indent(command)),
    ...(mirrored ? [messages.get('modelsMirror')] : []),
  ];
}

async function find(around: Surroundings): Promise<number> {
  const { found } = await withHost(around, (client) => client.call('models.find', {}));
  if (around.json) {
    await printJson(around, { found });
    return 0;
  }
  const { messages } = around;
  if (found.length === 0) {
    await print(around, messages.get('modelsNoneFound'));
    return 0;
  }
  const head = (['Model', 'Size', 'Where'] as const).map((name) => messages.get(`column${name}`));
  const rows = found.map(({ id, size_bytes, folder }) => [id, size(size_bytes), harmless(folder)]);
  await print(
    around,
    [table(head, rows), ...(around.quiet ? [] : ['', messages.get('modelsFound')])].join('\n'),
  );
  return 0;
}

async function add(path: string, name: string | undefined, around: Surroundings): Promise<number> {
  const request = { path: resolve(around.cwd, path), ...(name === undefined ? {} : { name }) };
  const { model } = await withHost(around, (client) => client.call('models.add', request));
  if (around.json) await printJson(around, { model });
  else if (around.quiet) await print(around, model.id);
  else {
    const values = {
      model: model.id,
      name: model.name,
      size: size(model.size_bytes),
      path: model.folder ?? '',
    };
    await print(around, harmless(around.messages.get('modelAdded', values)));
  }
  return 0;
}

async function remove(model: string, around: Surroundings): Promise<number> {
  const removed = await withHost(around, (client) => client.call('models.remove', { model }));
  if (around.json) await printJson(around, removed);
  else if (!around.quiet) {
    const { folder: path, deleted_bytes } = removed;
    const text =
      deleted_bytes > 0
        ? around.messages.get('modelDeleted', { model, path, size: size(deleted_bytes) })
        : around.messages.get('modelForgotten', { model, path });
    await print(around, harmless(text));
  }
  return 0;
}

async function check(model: string, around: Surroundings): Promise<number> {
  const live = Boolean(around.stderr.isTTY) && !around.quiet;
  const checked = await withHost(around, async (client) => {
    client.on('models.checking', ({ file, fraction }) => {
      if (live) around.stderr.write(`\r${Math.floor(fraction * 100)}%  ${harmless(file)}\x1b[K`);
    });
    try {
      return await client.call('models.check', { model });
    } finally {
      if (live) around.stderr.write('\r\x1b[K');
    }
  });
  if (around.json) await printJson(around, checked);
  else if (!around.quiet || !checked.ok) await print(around, report(checked, around));
  return checked.ok ? 0 : checkFailedExit;
}

function report(checked: ModelCheck, { messages }: Surroundings): string {
  const head = (['File', 'State', 'Size'] as const).map((name) => messages.get(`column${name}`));
  const rows = checked.files.map((file) => [
    harmless(file.path),
    messages.get(fileKeys[file.state]),
    file.state === 'missing' ? '-' : size(file.size_bytes),
  ]);
  const errors = [...checked.problems, ...checked.files.map(({ error }) => error)];
  const said = errors.flatMap((error) => (error === null ? [] : [harmless(messages.error(errorOf(error)))]));
  return [
    table(head, rows),
    ...said,
    messages.get(checked.ok ? 'modelSound' : 'modelBroken', { model: checked.model }),
  ].join('\n');
}
