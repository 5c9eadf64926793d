// Parses JSON text as I-JSON (RFC 7493): no duplicate members, no lone surrogates, no byte order mark.
import { Problem } from '../problem.ts';

/**
 * Returns the members of the JSON object in `text`. `__proto__` is an ordinary member.
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
