// Before anything is measured: two servers answer the same requests with answers of the same shape.
import type { Case } from './cases.ts';
import type { Server } from './sides/side.ts';

/** @throws Error that names the first difference: figures of servers that do different things compare nothing */
export async function checkAgreement(cases: readonly Case[], one: Server, other: Server): Promise<void> {
  for (const each of cases) {
    const [ours, theirs] = [await answerOf(each, one), await answerOf(each, other)];
    if (ours !== theirs)
      throw new Error(`${each.name}: ${one.name} answers ${ours}, ${other.name} ${theirs}`);
  }
}

/** Status and names of the members; of text that is not JSON, how many lines. */
async function answerOf({ prepare }: Case, { port, warehouse }: Server): Promise<string> {
  const request = (await prepare(warehouse, 1))();
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
