// Fails if a dependency has a known vulnerability.
//
// If the registry cannot be reached or has no audit, exits with 75 (EX_TEMPFAIL in sysexits.h), which CI counts as skipped.
import { spawnSync } from 'node:child_process';

const NO_REGISTRY = /\b(404|405|429|5\d\d)\b|E(CONNREFUSED|CONNRESET|NOTFOUND|AI_AGAIN|TIMEDOUT)|network/;

const { stdout, stderr } = spawnSync('npm', ['audit', '--json'], {
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
const report = parse(stdout);
if (report?.metadata?.vulnerabilities === undefined) {
  const reason = [report?.message, report?.error?.summary, stderr.trim()].find(Boolean) ?? 'npm said nothing';
  process.stdout.write(`NOT AUDITED: ${reason}\n`);
  process.exitCode = NO_REGISTRY.test(reason) ? 75 : 1;
} else {
  const { total } = report.metadata.vulnerabilities;
  const found = Object.values(report.vulnerabilities).map(
    ({ name, severity, range }) => `${name} ${range}: ${severity}`,
  );
  process.stdout.write([`${total} vulnerabilities in the dependencies`, ...found, ''].join('\n'));
  if (total > 0) process.exitCode = 1;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
