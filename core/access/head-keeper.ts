// Keeps a hub's own note of the head of the audit chain: it goes forward as long as the chain still has what was noted.
import type { Logger } from 'pino';
import { readAnchors } from './audit-anchor.ts';
import { type ChainHead, formatHead, readHash } from './audit-chain.ts';
import type { ChainOptions } from './audit-chainer.ts';
import { readNotedHead } from './audit-head.ts';
import type { HeadFile } from './head-file.ts';

export type HeadKeeper = {
  /** What the chain has to have still. */
  noted(): ChainHead | undefined;
  /** Whether the chain has lost what was noted. */
  readonly isLost: boolean;
  /** Notes where the chain stands, unless it has lost what was noted: then the note stays, and the log says so once. */
  look(): Promise<void>;
};

export type HeadKeeperOptions = Pick<ChainOptions, 'pool' | 'key'> & {
  readonly file: HeadFile;
  readonly logger: Logger;
};

export async function createHeadKeeper({ pool, key, file, logger }: HeadKeeperOptions): Promise<HeadKeeper> {
  let noted = await file.read();
  let isLost = false;

  const isInChain = async ({ seq, hash }: ChainHead, end: ChainHead): Promise<boolean> => {
    if (seq > end.seq) return false;
    const found = await readHash(pool, seq);
    if (found !== undefined) return found === hash;
    const anchors = [...(await readAnchors(pool, key)).values()];
    return anchors.some((anchor) => anchor.isGenuine && anchor.firstSeq <= seq && seq <= anchor.seq);
  };

  return {
    noted: () => noted,
    get isLost() {
      return isLost;
    },
    async look() {
      const head = await readNotedHead(pool, key);
      if (head === undefined || head === 'altered' || head.hash === noted?.hash) return;
      if (noted !== undefined && !(await isInChain(noted, head))) {
        if (!isLost) {
          const lost = { noted: formatHead(noted), head: formatHead(head) };
          logger.error(lost, 'the audit chain has lost the head that was noted: see hubctl audit verify');
        }
        isLost = true;
        return;
      }
      isLost = false;
      noted = head;
      await file.write(head);
    },
  };
}
