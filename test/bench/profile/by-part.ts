// Assigns the time of a CPU profile to the parts of a server.
import type { CpuProfile, ProfileNode } from './cpu-profile.ts';

export const PARTS = [
  'write to clients',
  'write to PostgreSQL',
  'Node: HTTP',
  'Node: other',
  'pg',
  'framework',
  'log',
  'Redis',
  'own code',
  'garbage collection',
  'other',
] as const;

export type Part = (typeof PARTS)[number];

/** The part of each package. Other packages count as `other`. */
const PACKAGES: readonly (readonly [RegExp, Part])[] = [
  [/^(pg|pg-.*|postgres-.*)$/, 'pg'],
  [
    /^(@connectrpc|@bufbuild|fastify|@fastify|find-my-way|light-my-request|fast-.*|avvio|ajv.*)(\/|$)/,
    'framework',
  ],
  [/^(pino|pino-.*|sonic-boom|quick-format-unescaped|safe-stable-stringify|thread-stream)$/, 'log'],
  [/^(ioredis|@ioredis|redis-.*|standard-as-callback|rate-limiter-flexible)(\/|$)/, 'Redis'],
];

/** The system calls by which Node.js sends data. */
const WRITES = /^(writeUtf8String|writeLatin1String|writeAsciiString|writeBuffer|writev)$/;

/** CPU microseconds of each part, without idle time. */
export function microsByPart(profile: CpuProfile): Partial<Record<Part, number>> {
  const { samples, timeDeltas } = profile;
  const stackOf = createStackOf(profile);
  const micros: Partial<Record<Part, number>> = {};
  samples.forEach((id, index) => {
    const part = partOf(stackOf(id));
    // A sample stands for the time until the next one.
    if (part !== undefined) micros[part] = (micros[part] ?? 0) + (timeDeltas[index + 1] ?? 0);
  });
  return micros;
}

/** Returns the stack of a sample by its id, the innermost call first. */
export function createStackOf({ nodes }: CpuProfile): (id: number) => readonly ProfileNode[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parentOf = new Map<number, ProfileNode>();
  for (const node of nodes) for (const child of node.children ?? []) parentOf.set(child, node);
  const stacks = new Map<number, ProfileNode[]>();
  return (id) => {
    const known = stacks.get(id);
    if (known !== undefined) return known;
    const stack: ProfileNode[] = [];
    for (let node = byId.get(id); node !== undefined; node = parentOf.get(node.id)) stack.push(node);
    stacks.set(id, stack);
    return stack;
  };
}

/** Undefined if the thread is idle. */
export function partOf(stack: readonly ProfileNode[]): Part | undefined {
  const name = stack[0]?.callFrame.functionName ?? '';
  if (name === '(idle)') return undefined;
  if (name === '(garbage collector)') return 'garbage collection';
  // Native code belongs to its caller.
  const urls = stack.map(({ callFrame }) => callFrame.url);
  const parts = urls.map(partOfUrl);
  if (!WRITES.test(name)) return parts.find((part) => part !== undefined) ?? 'other';
  if (parts.includes('pg') || urls.some((url) => HUB_STORAGE.test(url))) return 'write to PostgreSQL';
  return parts.find((part) => part === 'Redis' || part === 'log') ?? 'write to clients';
}

/** The hub writes the statements of a tick together, after the driver has returned. */
const HUB_STORAGE = /\/core\/storage\/sql\//;

function partOfUrl(url: string): Part | undefined {
  if (url === '') return undefined;
  if (url.startsWith('node:'))
    return /^node:(_http|internal\/http|http)/.test(url) ? 'Node: HTTP' : 'Node: other';
  const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (name === undefined) return 'own code';
  return PACKAGES.find(([pattern]) => pattern.test(name))?.[1] ?? 'other';
}
