// Writes the list of gateways into lib/presentation/gateways.ts, from their drivers.
import { readFileSync, writeFileSync } from 'node:fs';
import { DRIVERS } from '../../core/payment/providers/registry.ts';

const FILE = new URL('../../lib/presentation/gateways.ts', import.meta.url);
const START = 'export const GATEWAYS: readonly Gateway[] = [\n';

const rows = DRIVERS.map(({ gateway, callback, catalog }) => {
  const headers = callback.signed?.headers.map((header) => `'${header}'`).join(', ');
  const signature = headers === undefined ? '' : `, signatureHeaders: [${headers}]`;
  return `  { name: '${gateway}'${signature}${catalog ? ', hasPrices: true' : ''} },\n`;
});
const [before = ''] = readFileSync(FILE, 'utf8').split(START);
writeFileSync(FILE, `${before}${START}${rows.join('')}];\n`);
