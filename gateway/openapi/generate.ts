// Writes gateway/openapi/reference/: the OpenAPI document and the page that shows it. `npm run gen` runs it.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRouterTransport } from '@connectrpc/connect';
import { DRIVERS } from '../../core/payment/providers/registry.ts';
import { gatewayRoutes } from '../routes/all-routes.ts';
import { readComments } from './comments.ts';
import { openApiDocument } from './document.ts';
import { escaped } from './message-schema.ts';
import { packViewer, pageOf } from './pack-viewer.ts';

const FOLDER = new URL('./reference/', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const document = openApiDocument({
  routes: gatewayRoutes(createRouterTransport(() => {})),
  drivers: DRIVERS,
  comments: readComments(),
  version,
});
const viewer = packViewer(FOLDER);
write('openapi.json', `${escapeMarks(JSON.stringify(document, null, 1))}\n`);
write('index.html', pageOf(viewer));
write('viewer.ts', `// Written by npm run gen.\nexport const VIEWER = ${JSON.stringify(viewer)};\n`);

function write(name: string, text: string): void {
  writeFileSync(new URL(name, FOLDER), text);
}

/** Escapes control, bidirectional and invisible characters; the JSON value stays the same. */
function escapeMarks(json: string): string {
  return json.replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}
