// Replaces the packages with which pg-boss reads schedules. The hub has no scheduled jobs (`schedule: false`). The
// packages would take 6 MB of each process.

function refuse(): never {
  throw new Error('the package contains no code for scheduled jobs');
}

export const CronExpressionParser = { parse: refuse };
export const RRuleTemporal = refuse;
