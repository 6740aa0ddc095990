import type { Addon, Arena, CancelToken, Device } from '../../../native/addon.ts';
import { notFinite } from '../../nn/finite.ts';
import { GraphCache } from '../../nn/graph-cache.ts';
import type { CodePredictor } from './code-predictor.ts';
import { type Talker, type TextEmbedding, textTable } from './talker.ts';

/** One position of a prompt: the sum of a text vector and of what its codec part says. */
export interface PromptRow {
  /** Text id. */
  text: number;
  /** Absent: text alone. */
  codec?: { id: number } | { vector: Float32Array } | { codes: ArrayLike<number> };
}

/** What the talker is asked to continue. */
export interface TalkerPrompt {
  rows: readonly PromptRow[];
  /** Text ids that are added to the frames drawn, one each from the first; then `pad` for ever. */
  trailing: readonly number[];
  /** Text id of silence (`tts_pad_token_id`). */
  pad: number;
}

/** Vectors of a prompt, float32, each as wide as the talker. */
export interface EmbeddedPrompt {
  positions: number;
  /** `[positions, hidden_size]` */
  rows: Float32Array;
  /** `[trailing texts, hidden_size]` */
  trailing: Float32Array;
  /** `[hidden_size]` */
  pad: Float32Array;
}

/** Rows of the text table by id, on the processor: `[ids, text_hidden_size]`. */
export class TextTable {
  readonly #graphs: GraphCache;

  /** @param table bound to a store on `cpu`. */
  constructor(
    addon: Addon,
    cpu: Device,
    readonly table: TextEmbedding,
  ) {
    this.#graphs = new GraphCache(addon, cpu, { maxGraphs: 8 });
  }

  /** @throws StudioError `weights_not_finite`: the table is not looked at as a whole, but each row that is used. */
  async rows(ids: Int32Array): Promise<Float32Array> {
    const { table } = this;
    const rows = await this.#graphs.use(
      `rows:${ids.length}`,
      (g) => g.output('rows', table.forward(g, g.input('ids', 'i32', [ids.length]))),
      (graph) => graph.runFloat32({ ids }, 'rows'),
    );
    const bad = rows.findIndex((value) => !Number.isFinite(value));
    if (bad < 0) return rows;
    const width = rows.length / ids.length;
    throw notFinite(textTable, ids[Math.floor(bad / width)]! * width + (bad % width));
  }

  dispose(): Promise<void> {
    return this.#graphs.dispose();
  }
}

/** Longest pass: bounds the working memory. */
const longest = 256;

/** Makes a prompt's vectors on the device that the talker is on. */
export class PromptEmbedder {
  readonly #graphs: GraphCache;
  readonly #talker: Talker;
  readonly #predictor: CodePredictor;
  readonly #text: Pick<TextTable, 'rows'>;

  constructor(
    addon: Addon,
    device: Device,
    parts: { talker: Talker; predictor: CodePredictor; text: Pick<TextTable, 'rows'>; arena?: Arena },
  ) {
    this.#graphs = new GraphCache(addon, device, { maxGraphs: 8, arena: parts.arena });
    this.#talker = parts.talker;
    this.#predictor = parts.predictor;
    this.#text = parts.text;
  }

  /** @throws RangeError for ids beyond a table and vectors of another width. */
  async embed(prompt: TalkerPrompt, signal?: CancelToken): Promise<EmbeddedPrompt> {
    const width = this.#talker.config.hidden_size;
    this.#check(prompt);
    const texts = await this.#texts(
      [...prompt.rows.map(({ text }) => text), ...prompt.trailing, prompt.pad],
      signal,
    );
    const codecs = await this.#codecs(prompt.rows, signal);
    const rows = new Float32Array(prompt.rows.length * width);
    for (const [index, { text, codec }] of prompt.rows.entries()) {
      const row = rows.subarray(index * width, (index + 1) * width);
      row.set(texts.get(text)!);
      if (codec === undefined) continue;
      const vector = 'vector' in codec ? codec.vector : codecs.get(codec)!;
      for (let column = 0; column < width; column += 1) row[column]! += vector[column]!;
    }
    const trailing = new Float32Array(prompt.trailing.length * width);
    for (const [index, text] of prompt.trailing.entries()) trailing.set(texts.get(text)!, index * width);
    return { positions: prompt.rows.length, rows, trailing, pad: texts.get(prompt.pad)!.slice() };
  }

  /** Graphs that are kept from prompt to prompt: they can be made again. */
  get kept(): GraphCache {
    return this.#graphs;
  }

  dispose(): Promise<void> {
    return this.#graphs.dispose();
  }

  #check(prompt: TalkerPrompt): void {
    const { config } = this.#talker;
    if (prompt.rows.length < 2)
      throw new RangeError(`A prompt has at least 2 positions, not ${prompt.rows.length}.`);
    for (const { codec } of prompt.rows) {
      if (codec === undefined) continue;
      if ('vector' in codec && codec.vector.length !== config.hidden_size) {
        throw new RangeError(
          `A speaker vector has ${config.hidden_size} values here, not ${codec.vector.length}.`,
        );
      }
      if ('codes' in codec && codec.codes.length !== config.num_code_groups) {
        throw new RangeError(`A frame has ${config.num_code_groups} codes here, not ${codec.codes.length}.`);
      }
    }
  }

  /** Projected text vectors of the ids, each once. */
  async #texts(ids: readonly number[], signal?: CancelToken): Promise<Map<number, Float32Array>> {
    const { text_hidden_size: inner, hidden_size: width } = this.#talker.config;
    const unique = [...new Set(ids)];
    const vectors = new Map<number, Float32Array>();
    for (let from = 0; from < unique.length; from += longest) {
      const part = unique.slice(from, from + longest);
      const x = await this.#text.rows(Int32Array.from(part));
      const projected = await this.#graphs.use(
        `text:${part.length}`,
        (g) => {
          const rows = g.input('rows', 'f32', [1, part.length, inner]);
          g.output('projected', this.#talker.text_projection.forward(g, rows));
        },
        (graph) => graph.runFloat32({ rows: x }, 'projected', { signal }),
      );
      for (const [index, id] of part.entries())
        vectors.set(id, projected.subarray(index * width, (index + 1) * width));
    }
    return vectors;
  }

  /** Vectors of the codec parts that are codes: one talker code, or the sum over all codes of a frame. */
  async #codecs(
    rows: readonly PromptRow[],
    signal?: CancelToken,
  ): Promise<Map<NonNullable<PromptRow['codec']>, Float32Array>> {
    const width = this.#talker.config.hidden_size;
    const vectors = new Map<NonNullable<PromptRow['codec']>, Float32Array>();
    const singles: { id: number }[] = [];
    const frames: { codes: ArrayLike<number> }[] = [];
    for (const { codec } of rows) {
      if (codec === undefined || 'vector' in codec) continue;
      if ('id' in codec) singles.push(codec);
      else frames.push(codec);
    }
    for (let from = 0; from < singles.length; from += longest) {
      const part = singles.slice(from, from + longest);
      const sums = await this.#sums(
        1,
        part.length,
        Int32Array.from(part, ({ id }) => id),
        signal,
      );
      for (const [index, codec] of part.entries())
        vectors.set(codec, sums.subarray(index * width, (index + 1) * width));
    }
    for (let from = 0; from < frames.length; from += longest) {
      const part = frames.slice(from, from + longest);
      const groups = this.#talker.config.num_code_groups;
      const codes = Int32Array.from({ length: groups * part.length }, (_, at) => {
        return part[at % part.length]!.codes[Math.floor(at / part.length)]!;
      });
      const sums = await this.#sums(groups, part.length, codes, signal);
      for (const [index, codec] of part.entries())
        vectors.set(codec, sums.subarray(index * width, (index + 1) * width));
    }
    return vectors;
  }

  /** @param codes `[groups, count]`; group 0 is the talker's table. Answers `[count, hidden_size]`. */
  #sums(groups: number, count: number, codes: Int32Array, signal?: CancelToken): Promise<Float32Array> {
    return this.#graphs.use(
      `codes:${groups}:${count}`,
      (g) => {
        const ids = g.input('codes', 'i32', [groups, count]);
        const group = (index: number) => ids.narrow(0, index, 1).reshape(count);
        let sum = this.#talker.model.codec_embedding.forward(g, group(0));
        for (let index = 1; index < groups; index += 1) {
          sum = sum.add(this.#predictor.model.codec_embedding.at(index - 1).forward(g, group(index)));
        }
        g.output('sums', sum);
      },
      (graph) => graph.runFloat32({ codes }, 'sums', { signal }),
    );
  }
}
