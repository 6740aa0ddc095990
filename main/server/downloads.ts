import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { downloadRequestSchema, type StudioClient, StudioError, wirePaths } from '../contract/index.ts';
import { toErrorBody } from '../host/failures.ts';
import { refuse, securityHeaders } from './static-files.ts';

const ticketMs = 60_000;

interface Ticket {
  job_id: string;
  encoding: 'pcm16' | 'pcm24' | 'pcm32' | 'float32';
  name: string;
  expires: number;
}

/**
 * Saving from a page: the browser fetches a plain address and cannot send the token, so the page first asks, with the
 * token, for an address that works once and for a minute.
 */
export class Downloads {
  readonly #tickets = new Map<string, Ticket>();

  constructor(private readonly client: StudioClient) {}

  /** Throws what `jobs.get` throws. */
  async offer(body: unknown): Promise<{ url: string }> {
    const parsed = downloadRequestSchema.safeParse(body);
    if (!parsed.success) {
      throw new StudioError(
        'invalid_request',
        `The download is not valid: ${parsed.error.issues[0]?.message}.`,
      );
    }
    const { job_id, encoding, suggested_name } = parsed.data;
    await this.client.call('jobs.get', { job_id });
    const now = Date.now();
    for (const [id, ticket] of this.#tickets) if (ticket.expires < now) this.#tickets.delete(id);
    const id = randomBytes(32).toString('hex');
    this.#tickets.set(id, { job_id, encoding, name: suggested_name, expires: now + ticketMs });
    return { url: `${wirePaths.download}/${id}` };
  }

  async serve(id: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ticket = this.#tickets.get(id);
    this.#tickets.delete(id);
    if (!ticket || ticket.expires < Date.now()) return refuse(request, response, 404, 'httpUsed');
    const folder = await mkdtemp(join(tmpdir(), 'mizuoto-'));
    try {
      const path = join(folder, 'audio.wav');
      await this.client.call('jobs.export', { job_id: ticket.job_id, path, encoding: ticket.encoding });
      response.writeHead(200, {
        ...securityHeaders,
        'content-type': 'audio/wav',
        'content-length': (await stat(path)).size,
        'content-disposition': attachment(ticket.name),
      });
      await pipeline(createReadStream(path), response);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else refuse(request, response, 500, StudioError.fromBody(toErrorBody(error)));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** The name as RFC 6266 and RFC 8187 carry it: plain letters for old readers, UTF-8 for the rest. */
function attachment(name: string): string {
  const clean = name.replace(/[\p{Cc}\p{Surrogate}/\\]/gu, '_');
  const ascii = clean.replace(/[^\w. -]/g, '_');
  const encoded = encodeURIComponent(clean).replace(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}
