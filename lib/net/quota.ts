// Counts concurrent use of a resource per key, up to a limit.

export class Quota<K> {
  readonly #used = new Map<K, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  used(key: K): number {
    return this.#used.get(key) ?? 0;
  }

  hasRoom(key: K, amount = 1): boolean {
    return this.used(key) + amount <= this.#max;
  }

  /** The caller checks `hasRoom` first and later releases the same amount. */
  take(key: K, amount = 1): void {
    this.#used.set(key, this.used(key) + amount);
  }

  release(key: K, amount = 1): void {
    const left = this.used(key) - amount;
    if (left > 0) this.#used.set(key, left);
    else this.#used.delete(key);
  }
}

/** A quota and the key that uses it. */
export type QuotaUse = { readonly quota: Quota<unknown>; readonly key: unknown };

/** Takes one of each claim, or none. Returns the claim that has no room; undefined on success. */
export function takeAll(uses: readonly QuotaUse[]): QuotaUse | undefined {
  const full = uses.find(({ quota, key }) => !quota.hasRoom(key));
  if (full !== undefined) return full;
  for (const { quota, key } of uses) quota.take(key);
  return undefined;
}

export function releaseAll(uses: readonly QuotaUse[]): void {
  for (const { quota, key } of uses) quota.release(key);
}
