import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { modelEntrySchema } from '../../contract/index.ts';
import { ModelLibrary } from '../../models/model-library.ts';
import { testModelEngines } from './echo-engine.ts';
import { emptyCheckpoint } from './echo-folder.ts';

/** A library of models in a temporary folder: a new one for each test. */
export class LibraryRig {
  root = '';
  home = '';
  warnings: string[] = [];
  library!: ModelLibrary;

  constructor() {
    beforeEach(() => {
      this.root = realpathSync(mkdtempSync(join(tmpdir(), 'mizuoto-library-')));
      this.home = join(this.root, 'home');
      this.warnings = [];
      this.library = this.open();
    });
    afterEach(() => rmSync(this.root, { recursive: true, force: true }));
  }

  /** The same library, as another start of the studio sees it. */
  open(engines = testModelEngines): ModelLibrary {
    return new ModelLibrary({
      folder: this.home,
      engines,
      warn: ({ message }) => this.warnings.push(message),
    });
  }

  async entry(id: string) {
    await this.library.refresh();
    return modelEntrySchema.parse(this.library.entry(id));
  }

  /** A repository in the layout of the Hugging Face cache: snapshots of links into `blobs`. */
  huggingFaceCache(commits: string[], main: string | null = commits[0]!): string {
    const repository = join(this.root, 'hub', 'models--mizuoto--echo');
    const blobs = join(repository, 'blobs');
    mkdirSync(blobs, { recursive: true });
    mkdirSync(join(repository, 'refs'), { recursive: true });
    if (main !== null) writeFileSync(join(repository, 'refs', 'main'), main);
    const hash = createHash('sha256').update(emptyCheckpoint).digest('hex');
    writeFileSync(join(blobs, hash), emptyCheckpoint);
    for (const commit of commits) {
      const snapshot = join(repository, 'snapshots', commit);
      mkdirSync(snapshot, { recursive: true });
      writeFileSync(join(blobs, `config-${commit}`), JSON.stringify({ engine: 'echo', variant: commit }));
      symlinkSync(join('..', '..', 'blobs', `config-${commit}`), join(snapshot, 'config.json'));
      symlinkSync(join('..', '..', 'blobs', hash), join(snapshot, 'model.safetensors'));
    }
    return repository;
  }
}
