// Reads a request body as JSON or a form, and checks its content type, size, arrival time and text.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { fieldProblem, Problem } from '../problem.ts';

export type JsonMembers = { readonly [name: string]: unknown };

/** Fields by name. Has no prototype, so that `__proto__` is an ordinary field. */
export type FormFields = { readonly [name: string]: string };

export type BodyLimits = {
  maxBytes: number;
  /** Time for the whole body to arrive. */
  timeoutMs: number;
};

/** `sendContinue` is called once the headers are accepted, before the body is read. */
export type IncomingBody = {
  readonly req: IncomingMessage;
  readonly limits: BodyLimits;
  readonly sendContinue: () => void;
};

/** The client disconnected before its request was complete, so no response is sent. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/**
 * Returns the members of the JSON object in the body.
 * @throws Problem unsupported_media_type, body_too_large, request_timeout, invalid_json or invalid_request
 * @throws ClientGone
 */
export async function readJsonBody(body: IncomingBody): Promise<JsonMembers> {
  const bytes = await readBytes(body, 'application/json');
  if (!isUtf8(bytes)) throw new Problem('invalid_json', NOT_UTF8);
  return parseJsonObject(bytes.toString('utf8'));
}

/**
 * Returns the fields of the form in the body; none if there is no body.
 * @throws Problem unsupported_media_type, body_too_large, request_timeout or invalid_request
 * @throws ClientGone
 */
export async function readFormBody(body: IncomingBody): Promise<FormFields> {
  const { headers } = body.req;
  const { 'content-type': type, 'content-length': length = '0', 'transfer-encoding': coding } = headers;
  if (type === undefined && length === '0' && coding === undefined) return parseForm('');
  const bytes = await readBytes(body, 'application/x-www-form-urlencoded');
  if (!isUtf8(bytes)) throw new Problem('invalid_request', NOT_UTF8);
  return parseForm(bytes.toString('utf8'));
}

/**
 * Returns the JSON in the body as it was sent, for a signature over its bytes.
 * @throws Problem unsupported_media_type, body_too_large or request_timeout
 * @throws ClientGone
 */
export function readRawJsonBody(body: IncomingBody): Promise<Buffer> {
  return readBytes({ ...body, limits: { ...body.limits, maxBytes: MAX_RAW_BYTES } }, 'application/json');
}

/** The limit of the contract. Events of providers contain whole objects. */
const MAX_RAW_BYTES = 256 * 1024;

/**
 * Returns a text member of the body; undefined if absent or null.
 * @throws Problem invalid_request for another type
 */
export function textMember(body: JsonMembers, name: string): string | undefined {
  const value = Object.hasOwn(body, name) ? body[name] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw fieldProblem(name, `must be a string, got ${kindOf(value)}`);
}

const NOT_UTF8 = 'The body is not valid UTF-8.';

function checkContentType(header: string | undefined, wanted: string): void {
  if (header === wanted) return;
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  if (type !== wanted) {
    throw new Problem('unsupported_media_type', `Send the body with Content-Type: ${wanted}.`);
  }
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset='));
  if (charsets.some((charset) => charset !== 'charset=utf-8' && charset !== 'charset="utf-8"')) {
    throw new Problem('unsupported_media_type', 'Send the body in UTF-8: the charset must be utf-8.');
  }
}

function checkContentEncoding(header: string | undefined): void {
  if (header === undefined || header.toLowerCase() === 'identity') return;
  throw new Problem('unsupported_media_type', 'Send the body without a Content-Encoding.');
}

async function readBytes({ req, limits, sendContinue }: IncomingBody, contentType: string): Promise<Buffer> {
  checkContentType(req.headers['content-type'], contentType);
  checkContentEncoding(req.headers['content-encoding']);
  if (Number(req.headers['content-length'] ?? 0) > limits.maxBytes) throw tooLarge(limits.maxBytes);
  sendContinue();
  return await collect(req, limits);
}

function collect(req: IncomingMessage, { maxBytes, timeoutMs }: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stopReading = (finish: () => void): void => {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd).off('close', onClose);
      finish();
    };
    const fail = (error: Error): void =>
      stopReading(() => {
        req.pause();
        reject(error);
      });
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBytes) fail(tooLarge(maxBytes));
      else chunks.push(chunk);
    };
    const onEnd = (): void => stopReading(() => resolve(joined(chunks)));
    const onClose = (): void => fail(new ClientGone());
    const timer = setTimeout(() => fail(tooSlow(timeoutMs)), timeoutMs);
    if (req.destroyed) onClose();
    else req.on('data', onData).on('end', onEnd).on('close', onClose);
  });
}

function joined(chunks: readonly Buffer[]): Buffer {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks);
}

function tooLarge(maxBytes: number): Problem {
  return new Problem('body_too_large', `A body may have at most ${maxBytes} bytes.`, { closes: true });
}

function tooSlow(timeoutMs: number): Problem {
  return new Problem('request_timeout', `The body did not arrive within ${timeoutMs / 1000} seconds.`, {
    closes: true,
  });
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  return `a ${typeof value}`;
}

/**
 * Parses JSON text as I-JSON (RFC 7493): no duplicate members, no lone surrogates, no byte order mark. `__proto__` is an ordinary member.
 * @throws Problem invalid_json if the text is not I-JSON, invalid_request if it is not an object
 */
export function parseJsonObject(text: string): { readonly [name: string]: unknown } {
  if (text.startsWith('\ufeff')) {
    throw new Problem('invalid_json', 'The body starts with a byte order mark; send it without.');
  }
  const value = parse(text);
  if (!isObject(value)) throw new Problem('invalid_request', 'The body must be a JSON object.');
  const found = survey(value);
  if (!found.wellFormed) {
    throw new Problem('invalid_json', 'A string in the body has a surrogate escape without its other half.');
  }
  // JSON.parse keeps the last of duplicate members, so the text then has more members than the value.
  if (countMembers(text) !== found.members) {
    throw new Problem('invalid_json', 'An object in the body has two members with the same name.');
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the text, which may hold a license key. Pass on only the position.
    const at = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
    const where = at === undefined ? '' : ` It fails at character ${at}, counted from 0.`;
    throw new Problem('invalid_json', `The body is not valid JSON.${where}`);
  }
}

/**
 * Counts the members of all objects and checks all strings for lone surrogates. Iterative, so that deep
 * nesting cannot overflow the stack.
 */
function survey(root: object): { members: number; wellFormed: boolean } {
  const open: object[] = [root];
  let members = 0;
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    if (!Array.isArray(container)) {
      for (const name of Object.keys(container)) {
        members += 1;
        if (!name.isWellFormed()) return { members, wellFormed: false };
      }
    }
    for (const value of Object.values(container)) {
      if (typeof value === 'string') {
        if (!value.isWellFormed()) return { members, wellFormed: false };
      } else if (typeof value === 'object' && value !== null) {
        open.push(value);
      }
    }
  }
  return { members, wellFormed: true };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/** Counts the members in valid JSON text by its colons outside strings. */
function countMembers(text: string): number {
  let members = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === BACKSLASH) at += 1;
    else if (unit === QUOTE) inString = !inString;
    else if (unit === COLON && !inString) members += 1;
  }
  return members;
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the fields of a form body or a query (application/x-www-form-urlencoded, WHATWG URL section 5.1). Empty
 * pairs are skipped.
 * @throws Problem invalid_request for a broken percent escape, invalid UTF-8, a NUL, a repeated field, or a
 * name with brackets: servers read those differently
 */
export function parseForm(text: string): FormFields {
  const fields: Record<string, string> = Object.create(null);
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const { name, value } = decodePair(pair);
    // PostgreSQL cannot store it in text.
    if (name.includes('\0') || value.includes('\0'))
      throw new Problem('invalid_request', 'A field contains a NUL character.');
    if (name in fields) throw fieldProblem(name, 'must appear only once');
    if (/[[\]]/.test(name)) throw fieldProblem(name, 'must be a single field: arrays are not supported');
    fields[name] = value;
  }
  return fields;
}

/** Decodes the name and the value of a `name=value` pair. @throws Problem invalid_request */
export function decodePair(pair: string): { name: string; value: string } {
  const equals = pair.indexOf('=');
  return equals === -1
    ? { name: decode(pair), value: '' }
    : { name: decode(pair.slice(0, equals)), value: decode(pair.slice(equals + 1)) };
}

/** Decodes percent escapes; a plus sign is a space. */
function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new Problem('invalid_request', 'A field has a percent escape that is broken or not UTF-8.');
  }
}
