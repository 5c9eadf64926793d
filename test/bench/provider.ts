// A payment provider that answers every validation at once. It derives the answer from the validation id,
// `V-<transaction id>` or `V-<any letters and digits>-<transaction id>`.
import { createServer } from 'node:http';
import { listen } from './sides/listen.ts';

const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://provider');
  const validationId = searchParams.get('val_id') ?? '';
  const transactionId = validationId.slice(validationId.lastIndexOf('-') + 1);
  const answer = JSON.stringify({
    APIConnect: 'DONE',
    status: 'VALID',
    tran_id: transactionId,
    val_id: validationId,
    amount: '100.00',
    currency: 'BDT',
    currency_type: 'BDT',
    currency_amount: '100.00',
    store_amount: '97.50',
    bank_tran_id: `K${validationId.slice('V'.length)}`,
    risk_level: '0',
  });
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(answer),
  });
  response.end(answer);
});
listen(server);
