// Preloaded into a hub to set its clock ahead by HUB_TEST_SKEW_MS.
const aheadMs = Number(process.env['HUB_TEST_SKEW_MS']);
const RightDate = Date;

globalThis.Date = new Proxy(RightDate, {
  construct: (target, parts, newTarget) =>
    Reflect.construct(target, parts.length === 0 ? [RightDate.now() + aheadMs] : parts, newTarget),
  get: (target, name) =>
    name === 'now' ? () => RightDate.now() + aheadMs : Reflect.get(target, name, target),
});
