// A DNS server on loopback with scripted answers.
import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';

/** The addresses of a name, of both families; undefined for no answer at all. */
export type DnsAnswer = (name: string) => readonly string[] | undefined;

export type DnsServer = {
  /** Asks this server only, with 5 seconds of patience. */
  readonly resolver: Resolver;
  /** All queries so far: `A hooks.example`. */
  readonly queries: string[];
  close(): Promise<void>;
};

const TYPES: Readonly<Record<number, 'A' | 'AAAA'>> = { 1: 'A', 28: 'AAAA' };

export async function startDnsServer(answer: DnsAnswer): Promise<DnsServer> {
  const queries: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    const asked = TYPES[type] ?? String(type);
    queries.push(`${asked} ${name}`);
    const addresses = answer(name)?.map((each) => Buffer.from(ipaddr.parse(each).toByteArray()));
    const records = addresses?.filter(({ length }) => length === (asked === 'A' ? 4 : 16));
    if (records !== undefined) socket.send(responseTo(query.subarray(0, end), type, records), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const resolver = new Resolver({ timeout: 5_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    resolver,
    queries,
    async close() {
      resolver.cancel();
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** The first question of a message (RFC 1035 section 4.1.2), and the offset of its end. */
function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function responseTo(question: Buffer, type: number, records: readonly Buffer[]): Buffer {
  const head = Buffer.from(question);
  head.writeUInt16BE(0x8180, 2); // a response without error
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  const answers = records.map((record) => {
    const answer = Buffer.alloc(12);
    answer.writeUInt16BE(0xc00c, 0); // the name of the question
    answer.writeUInt16BE(type, 2);
    answer.writeUInt16BE(1, 4); // class IN, and a lifetime of 0
    answer.writeUInt16BE(record.length, 10);
    return Buffer.concat([answer, record]);
  });
  return Buffer.concat([head, ...answers]);
}
