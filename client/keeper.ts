// Keeps the record in the store and in memory, where it lives on if the store fails.
import { LicenseError } from './errors.ts';
import { type Held, readHeld } from './held.ts';
import { type LicenseRecord, writeRecord } from './record.ts';
import type { LicenseStore } from './store.ts';
import { createTurns } from './turns.ts';
import type { Expected } from './verify-license.ts';

/** A store that fails makes nothing reject: `problem` says so until it works again. */
export type Keeper = {
  /** As of the last look or change. */
  readonly held: Held;
  readonly problem: LicenseError | undefined;
  /** Looks what is in the store now: another process may have changed it. */
  look(): Promise<void>;
  /** Replaces the record by what `next` makes of what is in the store; undefined leaves it as it is. */
  change(next: (held: Held) => LicenseRecord | undefined): Promise<void>;
  clear(): Promise<void>;
};

/** `onRead` is told of everything that is held from now on. */
export function createKeeper(store: LicenseStore, expected: Expected, onRead: (held: Held) => void): Keeper {
  const turns = createTurns();
  let held: Held = { kind: 'nothing' };
  let problem: LicenseError | undefined;
  /** What is held, as text; and whether the store has it. */
  let kept: { text: string | undefined; isSaved: boolean } | undefined;

  const hold = async (text: string | undefined, isSaved: boolean): Promise<void> => {
    const next = await readHeld(text, expected);
    kept = { text, isSaved };
    held = next;
    onRead(held);
  };
  const save = async (text: string | undefined): Promise<void> => {
    try {
      await (text === undefined ? store.clear() : store.save(text));
      kept = { text, isSaved: true };
      problem = undefined;
    } catch (cause) {
      problem = new LicenseError('store_failed', 'the license record cannot be saved', { cause });
    }
  };
  const load = async (): Promise<void> => {
    // What could not be saved is newer than what the store has.
    if (kept?.isSaved === false) return save(kept.text);
    let text: string | undefined;
    try {
      text = (await store.load()) ?? undefined; // stores of browsers answer null
      problem = undefined;
    } catch (cause) {
      problem = new LicenseError('store_failed', 'the license record cannot be loaded', { cause });
      if (kept === undefined) held = { kind: 'unusable', reason: 'store_failed' };
      return;
    }
    if (kept === undefined || text !== kept.text) await hold(text, true);
  };

  return {
    get held() {
      return held;
    },
    get problem() {
      return problem;
    },
    look: () => turns(load),
    change: (next) =>
      turns(async () => {
        await load();
        const record = next(held);
        if (record === undefined) return;
        await hold(await writeRecord(record), false);
        await save(kept?.text);
      }),
    clear: () =>
      turns(async () => {
        await hold(undefined, false);
        await save(undefined);
      }),
  };
}
