// The REST calls of a desktop application.

// biome-ignore lint/suspicious/noExplicitAny: any JSON, which assertions look at
export type RestAnswer = { readonly status: number; readonly body: any };

export function activate(gateway: string, licenseKey: string, machineFingerprint: string, more: object = {}) {
  return post(gateway, '/v1/activate', { licenseKey, machineFingerprint, ...more });
}

export function deactivate(gateway: string, licenseKey: string, machineFingerprint: string) {
  return post(gateway, '/v1/deactivate', { licenseKey, machineFingerprint });
}

export function checkStatus(gateway: string, licenseId: string, fingerprint?: string): Promise<RestAnswer> {
  const query = fingerprint === undefined ? '' : `?fp=${encodeURIComponent(fingerprint)}`;
  return answer(fetch(`${gateway}/v1/status/${licenseId}${query}`));
}

export function post(gateway: string, path: string, body: object): Promise<RestAnswer> {
  return answer(
    fetch(`${gateway}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
}

async function answer(pending: Promise<Response>): Promise<RestAnswer> {
  const response = await pending;
  return { status: response.status, body: await response.json() };
}
