// The custom archive format of pg_dump, as far as a hub's data needs it: `pg_restore` reads what is written here.
//
// PostgreSQL's own src/bin/pg_dump/pg_backup_archiver.c and pg_backup_custom.c define it; this is version 1.14, that of
// PostgreSQL 12 to 15, which every later one reads. Data is not compressed and found in the order of the contents.

/** What the archive holds of one table, or a statement to run. */
export type ArchiveEntry = {
  readonly schema: string;
  readonly name: string;
  readonly owner: string;
} & (
  | {
      readonly kind: 'TABLE DATA';
      /** `COPY schema.table (columns) FROM stdin`; its data, in COPY's text format, follows the table of contents. */
      readonly copy: string;
    }
  | { readonly kind: 'SEQUENCE SET'; readonly statement: string }
);

export type ArchiveHead = {
  readonly database: string;
  /** The server's, such as `18.4`. */
  readonly serverVersion: string;
  readonly createdAt: Date;
  readonly entries: readonly ArchiveEntry[];
};

const VERSION = [1, 14, 0];
const INT_BYTES = 4;
const OFFSET_BYTES = 8;
const CUSTOM_FORMAT = 1;
const SECTION = { preData: 2, data: 3 };
const OFFSET = { unknown: 1, noData: 3 };
const DATA_BLOCK = 1;
/** Ends the rows of a table, as pg_dump writes it. */
const END_OF_ROWS = Buffer.from('\\.\n\n\n');

/** Everything up to the first table's data. */
export function encodeHead({ database, serverVersion, createdAt, entries }: ArchiveHead): Buffer {
  const time = [
    createdAt.getUTCSeconds(),
    createdAt.getUTCMinutes(),
    createdAt.getUTCHours(),
    createdAt.getUTCDate(),
    createdAt.getUTCMonth(),
    createdAt.getUTCFullYear() - 1900,
    0, // no daylight saving time
  ];
  return Buffer.concat([
    Buffer.from('PGDMP'),
    Buffer.from([...VERSION, INT_BYTES, OFFSET_BYTES, CUSTOM_FORMAT]),
    int(0), // not compressed
    ...time.map(int),
    text(database),
    text(serverVersion),
    text(serverVersion),
    int(entries.length + 1),
    encodeEntry(entries.length + 1, {
      tag: 'ENCODING',
      kind: 'ENCODING',
      section: SECTION.preData,
      statement: ENCODING,
    }),
    ...entries.map((entry, index) => encodeEntry(index + 1, tocEntry(entry))),
  ]);
}

const ENCODING = "SET client_encoding = 'UTF8';\n";

/** The data of one table: `number` counts the entries from 1, `chunks` are rows as COPY gives them, cut anywhere. */
export async function* encodeData(number: number, chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield Buffer.concat([Buffer.of(DATA_BLOCK), int(number)]);
  for await (const chunk of chunks) {
    yield int(chunk.length);
    yield chunk;
  }
  yield Buffer.concat([int(END_OF_ROWS.length), END_OF_ROWS, int(0)]);
}

type TocEntry = {
  readonly tag: string;
  readonly kind: string;
  readonly section: number;
  readonly statement?: string;
  readonly copy?: string;
  readonly schema?: string;
  readonly owner?: string;
};

function tocEntry(entry: ArchiveEntry): TocEntry {
  const { name: tag, kind, schema, owner } = entry;
  const what =
    entry.kind === 'TABLE DATA' ? { copy: `${entry.copy};\n` } : { statement: `${entry.statement};\n` };
  return { tag, kind, schema, owner, section: SECTION.data, ...what };
}

function encodeEntry(
  number: number,
  { tag, kind, section, statement, copy, schema, owner }: TocEntry,
): Buffer {
  const hasData = copy !== undefined;
  const offset = Buffer.alloc(1 + OFFSET_BYTES);
  offset[0] = hasData ? OFFSET.unknown : OFFSET.noData;
  return Buffer.concat([
    int(number),
    int(hasData ? 1 : 0),
    text('0'), // no ids of the catalog: nothing here depends on anything
    text('0'),
    text(tag),
    text(kind),
    int(section),
    text(statement ?? ''),
    text(''), // nothing to drop
    text(copy),
    text(schema),
    text(undefined), // tablespace
    text(undefined), // access method
    text(owner ?? ''),
    text('false'), // has OIDs
    text(undefined), // end of its dependencies
    offset,
  ]);
}

/** A sign, then the value in four bytes, the least first. */
function int(value: number): Buffer {
  const buffer = Buffer.alloc(1 + INT_BYTES);
  buffer[0] = value < 0 ? 1 : 0;
  buffer.writeUInt32LE(Math.abs(value), 1);
  return buffer;
}

function text(value: string | undefined): Buffer {
  if (value === undefined) return int(-1);
  const bytes = Buffer.from(value);
  return Buffer.concat([int(bytes.length), bytes]);
}

export type OpenArchive = {
  readonly entries: readonly ArchiveEntry[];
  /** Each table's data, in order; one has to be read to its end before the next is asked for. */
  readonly tables: AsyncIterable<{ readonly entry: ArchiveEntry; readonly data: AsyncIterable<Buffer> }>;
};

/** Reads what `encodeHead` and `encodeData` wrote. @throws Error if it is anything else, or ends early. */
export async function openArchive(bytes: AsyncIterable<Uint8Array>): Promise<OpenArchive> {
  const input = createInput(bytes);
  const magic = (await input.take(5)).toString('latin1');
  const [major, minor, , intBytes, offsetBytes, format] = await input.take(6);
  if (magic !== 'PGDMP' || major !== VERSION[0] || minor !== VERSION[1]) throw unreadable('its version');
  if (intBytes !== INT_BYTES || offsetBytes !== OFFSET_BYTES || format !== CUSTOM_FORMAT)
    throw unreadable('its form');
  if ((await input.int()) !== 0) throw unreadable('its compression');
  for (let part = 0; part < 7; part++) await input.int();
  for (let part = 0; part < 3; part++) await input.text();
  const entries: (ArchiveEntry | undefined)[] = [];
  const count = await input.int();
  for (let position = 0; position < count; position++) {
    const { number, entry } = await readEntry(input);
    entries[number - 1] = entry;
  }
  return { entries: entries.filter((entry) => entry !== undefined), tables: readTables(input, entries) };
}

async function readEntry(input: Input): Promise<{ number: number; entry: ArchiveEntry | undefined }> {
  const number = await input.int();
  await input.int();
  await input.text();
  await input.text();
  const name = (await input.text()) ?? '';
  const kind = await input.text();
  await input.int();
  const statement = ((await input.text()) ?? '').replace(/;\n$/, '');
  await input.text();
  const copy = ((await input.text()) ?? '').replace(/;\n$/, '');
  const schema = (await input.text()) ?? '';
  await input.text();
  await input.text();
  const owner = (await input.text()) ?? '';
  await input.text();
  while ((await input.text()) !== undefined); // dependencies
  await input.take(1 + OFFSET_BYTES);
  const where = { schema, name, owner };
  if (kind === 'TABLE DATA') return { number, entry: { ...where, kind, copy } };
  if (kind === 'SEQUENCE SET') return { number, entry: { ...where, kind, statement } };
  return { number, entry: undefined };
}

async function* readTables(input: Input, entries: readonly (ArchiveEntry | undefined)[]) {
  while (!(await input.isAtEnd())) {
    const [block] = await input.take(1);
    const entry = entries[(await input.int()) - 1];
    if (block !== DATA_BLOCK || entry === undefined) throw unreadable('a block of its data');
    yield { entry, data: readChunks(input) };
  }
}

async function* readChunks(input: Input): AsyncGenerator<Buffer> {
  for (let size = await input.int(); size > 0; size = await input.int()) yield await input.take(size);
}

type Input = {
  take(size: number): Promise<Buffer>;
  int(): Promise<number>;
  text(): Promise<string | undefined>;
  isAtEnd(): Promise<boolean>;
};

function createInput(bytes: AsyncIterable<Uint8Array>): Input {
  const source = bytes[Symbol.asyncIterator]();
  let buffered: Buffer = Buffer.alloc(0);
  const fill = async (size: number): Promise<boolean> => {
    const parts = [buffered];
    let length = buffered.length;
    while (length < size) {
      const { done, value } = await source.next();
      if (done) break;
      parts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      length += value.byteLength;
    }
    if (parts.length > 1) buffered = Buffer.concat(parts);
    return length >= size;
  };
  const input: Input = {
    async take(size) {
      if (!(await fill(size))) throw new Error('the dump in it ends too early');
      const taken = buffered.subarray(0, size);
      buffered = buffered.subarray(size);
      return taken;
    },
    async int() {
      const bytes = await input.take(1 + INT_BYTES);
      const value = bytes.readUInt32LE(1);
      return bytes[0] === 0 ? value : -value;
    },
    async text() {
      const length = await input.int();
      return length < 0 ? undefined : (await input.take(length)).toString();
    },
    isAtEnd: async () => !(await fill(1)),
  };
  return input;
}

function unreadable(what: string): Error {
  return new Error(`the dump in it cannot be read: ${what} is not what this version of hubctl writes`);
}
