// Reads keys from etcd through version 2 of its API.

export type Etcd = {
  isUp(): Promise<boolean>;
  /** Undefined if the key does not exist or etcd does not respond. */
  read(key: string): Promise<string | undefined>;
};

export function openEtcd(url: string): Etcd {
  const get = (key: string): Promise<Response | undefined> =>
    fetch(`${url}/v2/keys/${key}`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  return {
    isUp: async () => (await get(''))?.ok ?? false,
    async read(key) {
      const response = await get(key);
      if (!response?.ok) return undefined;
      const { node } = (await response.json()) as { node?: { value?: string } };
      return node?.value;
    },
  };
}
