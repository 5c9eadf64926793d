// Keeps a hub's own note of the head of the audit chain: it goes forward as long as the chain still has what was noted.
import type { Logger } from 'pino';
import { readAnchors } from './audit-anchor.ts';
import { type ChainHead, formatHead, readHash } from './audit-chain.ts';
import type { ChainOptions } from './audit-chainer.ts';
import { requireNotedHead } from './audit-head.ts';
import { type ChainKey, readChainKey } from './audit-key.ts';
import type { HeadFile } from './head-file.ts';

export type HeadKeeper = {
  /** What the chain has to have still. */
  noted(): ChainHead | undefined;
  /** Whether the chain has lost what was noted. */
  readonly isLost: boolean;
  /**
   * Notes where the chain stands, and returns it, unless it has lost what was noted: then the note stays, and the log says
   * so once. @throws ChainStopped
   */
  look(): Promise<ChainHead>;
};

export type HeadKeeperOptions = Pick<ChainOptions, 'pool' | 'sealer'> & {
  readonly file: HeadFile;
  readonly logger: Logger;
};

export async function createHeadKeeper({
  pool,
  sealer,
  file,
  logger,
}: HeadKeeperOptions): Promise<HeadKeeper> {
  let noted = await file.read();
  let isLost = false;

  const isInChain = async ({ seq, hash }: ChainHead, end: ChainHead, key: ChainKey): Promise<boolean> => {
    if (seq > end.seq) return false;
    // An admin has begun this chain, and put aside what was noted before.
    if (seq <= key.beginsAfter) return true;
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
      const key = await readChainKey(pool, sealer);
      const head = await requireNotedHead(pool, key);
      if (head.seq === noted?.seq && head.hash === noted.hash) return head;
      if (noted !== undefined && !(await isInChain(noted, head, key))) {
        if (!isLost) {
          const lost = { noted: formatHead(noted), head: formatHead(head) };
          logger.error(lost, 'the audit chain has lost the head that was noted: see hubctl audit verify');
        }
        isLost = true;
        return head;
      }
      isLost = false;
      noted = head;
      await file.write(head);
      return head;
    },
  };
}
