// The OpenAPI document as a contract: makes the requests that it describes, checks the responses against it,
// and records which described responses occurred.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export type Asked = {
  readonly parameters?: { readonly [name: string]: string };
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
  readonly method?: string;
  /** Instead of the one that the parameters make. */
  readonly path?: string;
};

export type Answer = {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
};

// biome-ignore lint/suspicious/noExplicitAny: any JSON, which assertions look at
type Json = any;

export const DOCUMENT: Json = JSON.parse(
  readFileSync(new URL('../../../gateway/openapi/reference/openapi.json', import.meta.url), 'utf8'),
);

export type Operation = {
  readonly id: string;
  readonly path: string;
  readonly method: string;
  readonly node: Json;
};

export const OPERATIONS: readonly Operation[] = Object.entries<Json>(DOCUMENT.paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, node]) => ({ id: node.operationId, path, method, node })),
);

export function operation(id: string): Operation {
  const found = OPERATIONS.find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no operation ${id}`);
  return found;
}

export function createContract() {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addVocabulary(Object.keys(DOCUMENT));
  ajv.addSchema({ $id: 'openapi', ...closed(DOCUMENT) });
  const seen = new Set<string>();

  /** @throws Error if a value is not what the schema at this place says */
  const hold = (place: readonly string[], value: unknown, about: string): void => {
    const pointer = place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
    const validate = ajv.getSchema(`openapi#/${pointer.join('/')}`);
    if (validate === undefined) throw new Error(`no schema at ${pointer.join('/')}`);
    if (!validate(value))
      throw new Error(`${about}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`);
  };

  return {
    hold,

    /** Asks as the document says: parameters by their places, a body by its content type. */
    async ask(
      gatewayUrl: string,
      id: string,
      { parameters = {}, body, headers = {}, method, path: asWritten }: Asked = {},
    ): Promise<Answer> {
      const { path, node, ...described } = operation(id);
      const url = new URL(
        asWritten ?? path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parameters[name] ?? '')),
        gatewayUrl,
      );
      for (const { name, in: where } of node.parameters ?? []) {
        if (where === 'query' && parameters[name] !== undefined) url.searchParams.set(name, parameters[name]);
      }
      const [contentType] = Object.keys(node.requestBody?.content ?? {});
      const text = contentType?.endsWith('json')
        ? JSON.stringify(body)
        : String(new URLSearchParams((body ?? {}) as Record<string, string>)); // a form's fields
      const response = await fetch(url, {
        method: method ?? described.method.toUpperCase(),
        headers: { ...(contentType && { 'content-type': contentType }), ...headers },
        ...(contentType && { body: typeof body === 'string' ? body : text }),
      });
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      };
    },

    /** Notes an answer to an operation. @throws Error if the document does not describe it */
    check(id: string, { status, headers, body }: Answer): Json {
      const { path, method, node } = operation(id);
      const about = `${id} ${status} ${body.slice(0, 500)}`;
      const key = String(status) in node.responses ? String(status) : 'default';
      const { place, node: response } = follow(['paths', path, method, 'responses', key]);
      for (const name of Object.keys(response.headers ?? {})) {
        const header = follow([...place, 'headers', name]);
        const value = headers[name.toLowerCase()];
        if (value === undefined && header.node.required) throw new Error(`${about}: no ${name}`);
        const { type } = header.node.schema;
        if (value !== undefined)
          hold([...header.place, 'schema'], type === 'integer' ? Number(value) : value, `${about} ${name}`);
      }
      const types = Object.keys(response.content ?? {});
      if (types.length === 0) {
        if (body !== '') throw new Error(`${about}: has a body`);
        seen.add(`${id} ${key}`);
        return undefined;
      }
      const type = types.find((each) => each === headers['content-type']);
      if (type === undefined) throw new Error(`${about}: is ${headers['content-type']}, not ${types}`);
      const value = type.endsWith('json') ? JSON.parse(body) : body;
      hold([...place, 'content', type, 'schema'], value, about);
      if (type !== 'application/problem+json') seen.add(`${id} ${key}`);
      else if (value.status !== status) throw new Error(`${about}: says ${value.status}`);
      else seen.add(`${key === 'default' ? 'any' : id} ${key} ${value.code}`);
      return value;
    },

    /** The answers that are described and were not seen, as `operation status` and the code of a problem. */
    unseen: (): string[] => described().filter((each) => !seen.has(each)),
  };
}

/** All answers that the document describes. What any request can be answered counts once. */
function described(): string[] {
  const all = OPERATIONS.flatMap(({ id, path, method, node }) =>
    Object.keys(node.responses).flatMap((key) => {
      const { content = {} } = follow(['paths', path, method, 'responses', key]).node as Json;
      const examples = content['application/problem+json']?.examples;
      if (examples === undefined) return [`${id} ${key}`];
      return Object.keys(examples).map((code) => `${key === 'default' ? 'any' : id} ${key} ${code}`);
    }),
  );
  return [...new Set(all)];
}

/** What is at a place of the document, and where it is itself if that is a reference. */
export function follow(place: readonly string[]): { place: readonly string[]; node: Json } {
  const node = place.reduce((each, name) => each[name], DOCUMENT);
  return node.$ref === undefined ? { place, node } : follow(node.$ref.slice('#/'.length).split('/'));
}

/** A copy in which objects have no members that are not described: clients may expect more of them, this test not. */
function closed(node: Json): Json {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([name, each]) => [name, closed(each)]));
  const isObject = node.type === 'object' && node.properties !== undefined;
  return isObject && node.additionalProperties === undefined
    ? { ...copy, additionalProperties: false }
    : copy;
}
