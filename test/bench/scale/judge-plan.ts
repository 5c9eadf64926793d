// Judges a plan by what it did: a statement may touch what it is about, and no more the more there is.
import type { PlanNode } from './explain-log.ts';

/** Tables that grow without end; partitions are theirs. */
const GROWING =
  /^(license|seat|charge_session|payment_proof|callback_count|duplicate_payment|(callback|verification|usage_log|fee_line|audit_entry|audit_link)(_\d{4}_\d\d|_default)?|job|job_common)$/;

/** Rows that may be put in order, or written: those of a batch, or of a page. */
const MOST_AT_ONCE = 200;

/** What is wrong with a plan, in a few words each; `mostBlocks` of 8 KiB may be touched. */
export function faultsOf(plan: PlanNode, mostBlocks: number): string[] {
  const faults = nodesOf(plan).flatMap((node) => {
    const type = node['Node Type'];
    const relation = node['Relation Name'] ?? '';
    const rows = rowsOf(node);
    if (type === 'Seq Scan' && GROWING.test(relation) && rows > 0) return [`reads all of ${relation}`];
    if (type === 'Sort' || type === 'Incremental Sort') {
      const input = (node.Plans ?? []).reduce((sum, each) => sum + rowsOf(each), 0);
      if (input > MOST_AT_ONCE) return [`sorts ${input} rows`];
    }
    return [];
  });
  const blocks = blocksOf(plan);
  return blocks > mostBlocks ? [...faults, `touches ${blocks} blocks, more than ${mostBlocks}`] : faults;
}

export function blocksOf(plan: PlanNode): number {
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

/** Rows that a statement answers with, or else writes; of those as many as a batch may have. */
export function yieldOf(plan: PlanNode): number {
  const written = nodesOf(plan)
    .filter((node) => node['Node Type'] === 'ModifyTable')
    .flatMap(({ Plans = [] }) => Plans)
    .reduce((sum, { 'Actual Rows': rows }) => sum + rows, 0);
  return Math.max(plan['Actual Rows'], Math.min(written, MOST_AT_ONCE));
}

export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** All that a node has looked at, in all of its loops. */
function rowsOf(node: PlanNode): number {
  return node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0));
}
