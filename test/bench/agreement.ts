// Checks before the measurements that two servers give responses of the same shape to the same requests.
import type { Case } from './cases.ts';
import type { Server } from './sides/side.ts';

/**
 * @throws Error that names the first difference, since a comparison of servers that do different work is
 * invalid
 */
export async function checkAgreement(cases: readonly Case[], one: Server, other: Server): Promise<void> {
  for (const each of cases) {
    const [ours, theirs] = [await answerOf(each, one), await answerOf(each, other)];
    if (ours !== theirs)
      throw new Error(`${each.name}: ${one.name} answers ${ours}, ${other.name} ${theirs}`);
  }
}

/** The status and the member names of a JSON response, or the number of lines of any other text. */
async function answerOf({ prepare }: Case, { port, database }: Server): Promise<string> {
  const request = (await prepare(database, 1))();
  const [, method = '', target = '', head = '', body = ''] =
    /^(\S+) (\S+) HTTP\/1\.1\r\n(.*?)\r\n\r\n(.*)$/s.exec(request ?? '') ?? [];
  const type = /^content-type: (.*)$/im.exec(head)?.[1]?.trim();
  const response = await fetch(`http://127.0.0.1:${port}${target}`, {
    method,
    ...(type !== undefined && { headers: { 'content-type': type }, body }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return `${response.status} ${isJson ? shapeOf(JSON.parse(text)) : `${text.split('\n').length} lines`}`;
}

function shapeOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return typeof value;
  const members = Object.entries(value).map(([name, member]) => `${name}: ${shapeOf(member)}`);
  return `{${members.sort().join(', ')}}`;
}
