// Preloaded into a fuzzed hub: no address of an invented or real provider resolves.
import dns from 'node:dns';

const { lookup } = dns;

function localLookup(...args: Parameters<typeof lookup>) {
  const [hostname] = args;
  if (hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '::1') return lookup(...args);
  const tell = args.at(-1);
  if (typeof tell !== 'function') throw new TypeError('dns.lookup takes a callback');
  const error = Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' });
  return process.nextTick(tell, error);
}

Object.assign(dns, { lookup: localLookup });
