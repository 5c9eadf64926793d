// File with the last head of the audit chain that this hub has seen, kept outside the database.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { undefinedIfMissing } from '../../lib/caught-error.ts';
import { type ChainHead, formatHead, parseHead } from './chain.ts';

export type HeadFile = ReturnType<typeof openHeadFile>;

export function openHeadFile(path: string) {
  return {
    /** Undefined if the file is missing or incomplete. */
    async read(): Promise<ChainHead | undefined> {
      const text = (await readFile(path, 'utf8').catch(undefinedIfMissing)) ?? '';
      return /^\d{1,15}:[0-9a-f]{64}\n$/.test(text) ? parseHead(text.trimEnd()) : undefined;
    },
    async write(head: ChainHead): Promise<void> {
      const draft = `${path}.${process.pid}`;
      try {
        await writeFile(draft, `${formatHead(head)}\n`, { mode: 0o600, flush: true });
        await rename(draft, path);
      } catch (error) {
        const message = `cannot write the head of the audit chain to ${path}: correct HUB_AUDIT_HEAD_FILE`;
        throw new Error(message, { cause: error });
      }
    },
    /** Call it when the log is replaced. */
    remove: (): Promise<void> => rm(path, { force: true }),
  };
}
