// Checks that the chain still contains the last head that this hub has seen, then saves the current head.
import type { Logger } from 'pino';
import { readAnchors } from './anchors.ts';
import { type ChainHead, type ChainOptions, formatHead, readHash } from './chain.ts';
import { type ChainKey, readChainKey } from './chain-key.ts';
import type { HeadFile } from './head-file.ts';
import { requireRecordedHead } from './recorded-head.ts';

export type HeadMonitor = Awaited<ReturnType<typeof createHeadMonitor>>;

export type HeadMonitorOptions = Pick<ChainOptions, 'pool' | 'sealer'> & {
  readonly file: HeadFile;
  readonly logger: Logger;
};

export async function createHeadMonitor({ pool, sealer, file, logger }: HeadMonitorOptions) {
  let lastSeen = await file.read();
  let isSaved = true;
  let isLost = false;

  const isInChain = async ({ seq, hash }: ChainHead, end: ChainHead, key: ChainKey): Promise<boolean> => {
    if (seq > end.seq) return false;
    // An admin has begun a new chain after it.
    if (seq <= key.beginsAfter) return true;
    const found = await readHash(pool, seq);
    if (found !== undefined) return found === hash;
    const anchors = await readAnchors(pool, key);
    return anchors.some((anchor) => anchor.isGenuine && anchor.firstSeq <= seq && seq <= anchor.seq);
  };

  return {
    /** The last head that this hub has seen. */
    lastSeen: (): ChainHead | undefined => lastSeen,
    /** Whether the chain no longer contains that head. */
    get isLost(): boolean {
      return isLost;
    },
    /**
     * Returns the current head and saves it. If the last seen head is lost, logs that once and keeps it.
     * @throws ChainStopped
     */
    async check(): Promise<ChainHead> {
      const key = await readChainKey(pool, sealer);
      const head = await requireRecordedHead(pool, key);
      if (isSaved && head.seq === lastSeen?.seq && head.hash === lastSeen.hash) return head;
      if (lastSeen !== undefined && !(await isInChain(lastSeen, head, key))) {
        if (!isLost) {
          const heads = { noted: formatHead(lastSeen), head: formatHead(head) };
          logger.error(heads, 'the audit chain no longer contains the saved head: see hubctl audit verify');
        }
        isLost = true;
        return head;
      }
      isLost = false;
      lastSeen = head;
      isSaved = false; // if the write fails, the next check repeats it
      await file.write(head);
      isSaved = true;
      return head;
    },
  };
}
