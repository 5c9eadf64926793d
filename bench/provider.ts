// A payment provider that answers every validation at once, from the validation id alone: `V-<transaction id>`.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://provider');
  const proof = searchParams.get('val_id') ?? '';
  const transactionId = proof.slice('V-'.length);
  const answer = JSON.stringify({
    APIConnect: 'DONE',
    status: 'VALID',
    tran_id: transactionId,
    val_id: proof,
    amount: '100.00',
    currency: 'BDT',
    currency_type: 'BDT',
    currency_amount: '100.00',
    store_amount: '97.50',
    bank_tran_id: `K-${transactionId}`,
    risk_level: '0',
  });
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(answer),
  });
  response.end(answer);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // it listens on TCP
  process.stdout.write(`${JSON.stringify({ ready: 'provider', port })}\n`);
});
process.on('SIGTERM', () => process.exit(0));
