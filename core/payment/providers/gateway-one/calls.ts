// Calls gateway_one and reads its answers.
import { type ProviderAccess, ProviderUnavailable } from '../driver.ts';
import { type Answer, readAnswer } from '../read-answer.ts';

/** The path of the transaction query, and of the requests and queries of refunds. */
export const QUERY_PATH = '/validator/api/merchantTransIDvalidationAPI.php';

const QUERY_TIMEOUT_MS = 15_000;

/** The provider expects the parameters, including the store's password, in the query of the URL. */
export function sendQuery(
  access: ProviderAccess,
  path: string,
  about: Record<string, string>,
  timeoutMs = QUERY_TIMEOUT_MS,
): Promise<Answer> {
  const parameters = new URLSearchParams({ ...about, ...store(access), v: '1', format: 'json' });
  const url = `${addressOf(access, path)}?${parameters}`;
  return call(access, { method: 'GET', url, timeoutMs });
}

/** @throws ProviderUnavailable */
export async function call(
  { http }: ProviderAccess,
  request: Parameters<ProviderAccess['http']['send']>[0],
): Promise<Answer> {
  const { status, body } = await http.send(request);
  if (status !== 200) throw new ProviderUnavailable(`the provider answered with HTTP ${status}`);
  return readAnswer(body);
}

export function addressOf({ baseUrl }: ProviderAccess, path: string): string {
  return baseUrl.replace(/\/+$/, '') + path;
}

export function store({ credentials }: ProviderAccess): { store_id: string; store_passwd: string } {
  const { storeId = '', storePassword = '' } = credentials.reveal();
  return { store_id: storeId, store_passwd: storePassword };
}
