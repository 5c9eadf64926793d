// Prints the hub's bill of materials in CycloneDX, from package-lock.json; arguments go on to `npm sbom`.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const options = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
const output = execFileSync('npm', ['sbom', ...options, ...process.argv.slice(2)], {
  maxBuffer: 64 * 1024 * 1024,
});
const bill = JSON.parse(output.toString());
// npm takes the folder's name.
bill.metadata.component.name = JSON.parse(readFileSync('package.json', 'utf8')).name;
process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);
