// The head of the audit chain as a hub of this data directory has seen it last: a note outside of the database.
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type ChainHead, formatHead, parseHead } from './audit-chain.ts';

export type HeadFile = {
  /** Undefined if nothing was noted yet, or not to the end. */
  read(): Promise<ChainHead | undefined>;
  write(head: ChainHead): Promise<void>;
  /** When the log is another one from now on. */
  remove(): Promise<void>;
};

export function openHeadFile(path: string): HeadFile {
  return {
    async read() {
      const text = await readFile(path, 'utf8').catch((error) => {
        if (error.code === 'ENOENT') return '';
        throw error;
      });
      return /^\d{1,15}:[0-9a-f]{64}\n$/.test(text) ? parseHead(text.trimEnd()) : undefined;
    },
    async write(head) {
      const draft = `${path}.${process.pid}`;
      try {
        await writeFile(draft, `${formatHead(head)}\n`, { mode: 0o600, flush: true });
        await rename(draft, path);
      } catch (error) {
        const message = `the head of the audit chain cannot be noted in ${path}: correct HUB_AUDIT_HEAD_FILE`;
        throw new Error(message, { cause: error });
      }
    },
    remove: () => rm(path, { force: true }),
  };
}
