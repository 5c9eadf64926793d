// Splits the time of the statement of `allocate_seats` into its parts, by the plans that PostgreSQL logged.
import type { ExecutedPlan, PlanNode } from '../explain-log.ts';
import { median } from '../median.ts';
import { nodesOf } from '../scale/judge-plan.ts';

/** The microseconds of each part, by its description. */
export type Parts = ReadonlyMap<string, number>;

/**
 * The medians of all allocations.
 * @throws Error if the plans have none, or one without times
 */
export function partsOf(plans: readonly ExecutedPlan[]): Parts {
  const found = plans
    .filter(({ text }) => text.startsWith('with locked as'))
    .map(({ plan }) => timesOf(plan));
  if (found[0] === undefined) throw new Error('PostgreSQL logged no plan of an allocation');
  const names = Object.keys(found[0]);
  return new Map(
    names.map((name) => [name, 1_000 * median(found.map((times) => times[name] ?? Number.NaN))]),
  );
}

/** In milliseconds. */
function timesOf(plan: PlanNode): Readonly<Record<string, number>> {
  const cte = (name: string): PlanNode | undefined =>
    nodesOf(plan).find((node) => node['Subplan Name'] === `CTE ${name}`);
  const locked = timeOf(cte('locked'));
  const inserted = timeOf(cte('allocated')) - timeOf(cte('allocated')?.Plans?.[0]);
  return {
    'lock the licenses': locked,
    'find the machines without a seat': timeOf(plan) - locked - inserted,
    'insert the seats, with their indexes': inserted,
    // The time of the whole plan does not include it: PostgreSQL runs it last, because nothing reads its result.
    'record the event': timeOf(cte('recorded')),
  };
}

/** The time of a node with its inputs. */
function timeOf(node: PlanNode | undefined): number {
  const time = node?.['Actual Total Time'];
  if (node === undefined || time === undefined) throw new Error('a plan lacks a node, or its time');
  return time * node['Actual Loops'];
}
