// Formats a failure for standard error.

import { printable, printableJson } from '../output/printable.ts';
import type { Failure } from './error-document.ts';

/** Lines for people, or one JSON object. `stack` is set with --debug. */
export function failureText(failure: Failure, asJson: boolean, stack?: string): string {
  return asJson ? json(failure, stack) : text(failure, stack);
}

function text({ message }: Failure, stack: string | undefined): string {
  const [first = '', ...more] = message.split('\n').map(printable);
  const lines = [`hubctl: ${first}`, ...more.map((line) => `        ${line}`)];
  const frames = stack?.split('\n').map(printable) ?? [];
  return [...lines, ...frames].map((line) => `${line}\n`).join('');
}

function json({ exitCode: _, ...error }: Failure, stack: string | undefined): string {
  return `${printableJson({ error: { ...error, ...(stack !== undefined && { stack }) } })}\n`;
}
