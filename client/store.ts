// Where a client keeps its record: one text, which nobody but the client has to understand.

/** Any place for one text: a file, a row, a setting. The client verifies all that it reads there. */
export type LicenseStore = {
  /** What was saved last; undefined if there is nothing. */
  load(): Promise<string | undefined>;
  /** Replaces it, whole or not at all. The text holds the license key, unless `keepLicenseKey` is false. */
  save(text: string): Promise<void>;
  /** Removes it; there may be nothing. */
  clear(): Promise<void>;
};

/** Forgets everything when the process ends: for tests, and for machines that are set up anew each time. */
export function createMemoryStore(initial?: string): LicenseStore {
  let kept = initial;
  return {
    load: async () => kept,
    save: async (text) => {
      kept = text;
    },
    clear: async () => {
      kept = undefined;
    },
  };
}
