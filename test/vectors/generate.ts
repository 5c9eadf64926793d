// Writes vectors.json, from the cases. `npm run gen` runs it; it makes the same bytes each time.
import { writeFileSync } from 'node:fs';
import { VECTORS_FILE, vectorsText } from './vectors.ts';

writeFileSync(VECTORS_FILE, vectorsText());
