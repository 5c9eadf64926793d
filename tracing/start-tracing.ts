// Starts to trace: the SDK of OpenTelemetry with its standard variables, listening to what the hub tells. Loaded only where that is wanted.
import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { DiagLogLevel, diag, type SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import { nowAndThen } from '../ports/now-and-then.ts';
import { active, isKept } from './active.ts';
import * as channels from './channels.ts';
import { record } from './record.ts';
import * as tellings from './tellings.ts';

export type Tracing = {
  /** Ends what is told, and sends the rest. Resolves after `graceMs` at the latest, with whether all was taken. */
  stop(graceMs: number): Promise<boolean>;
};

export type TracingOptions = {
  readonly version: string;
  readonly role: string;
  readonly logger: Pick<Logger, 'warn'>;
};

/** The standard's default. */
const SPOKEN = 'http/protobuf';
/** Callbacks and sessions whose spans are kept in mind for what happens to them later. */
const REMEMBERED = 10_000;
/** Between two lines of the log that say that nobody takes the traces. */
const QUIET_MS = 60_000;

export function startTracing({ version, role, logger }: TracingOptions): Tracing {
  const warn = (reason: string): void =>
    logger.warn({ reason }, 'a variable of OpenTelemetry does not do what it says');
  listen(warn);
  const { OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: own, OTEL_EXPORTER_OTLP_PROTOCOL: protocol } = process.env;
  if (![own, protocol].every((each = '') => each === '' || each === SPOKEN)) {
    warn(`the hub speaks ${SPOKEN} only, which collectors take on port 4318`);
  }
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'hub',
          'service.version': version,
          'service.instance.id': randomUUID(),
          'hub.role': role,
        }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(tellingFailures(new OTLPTraceExporter(), logger))],
  });
  listen(nowAndThen(QUIET_MS, (reason) => logger.warn({ reason }, 'some traces are lost')));
  const tracer = provider.getTracer('hub', version);

  const heardOf = new Map<string, SpanContext>();
  const remember = (id: string, context: SpanContext): void => {
    heardOf.delete(id); // the latest come last
    heardOf.set(id, context);
    const [oldest] = heardOf.size > REMEMBERED ? heardOf.keys() : [];
    if (oldest !== undefined) heardOf.delete(oldest);
  };
  const noteCallback = (message: unknown): void => {
    const { callbackId, sessionId } = message as channels.Journaled; // of this channel
    const place = active.getStore();
    if (place === undefined || !isKept(place)) return;
    place.span.setAttribute('hub.callback.id', callbackId);
    remember(callbackId, place.span.spanContext());
    if (sessionId === undefined) return;
    place.span.setAttribute('hub.session.id', sessionId);
    remember(sessionId, place.span.spanContext());
  };
  channels.journaled.subscribe(noteCallback);
  const ends = [
    record(tracer, channels.exchanges, tellings.exchangeTelling),
    record(tracer, channels.rpcs, tellings.rpcTelling),
    record(tracer, channels.coreCalls, tellings.coreCallTelling),
    record(tracer, channels.statements, tellings.statementTelling),
    record(tracer, channels.batches, tellings.batchTelling),
    record(tracer, channels.questions, tellings.questionTelling),
    record(tracer, channels.providerExchanges, tellings.providerExchangeTelling),
    record(
      tracer,
      channels.chores,
      tellings.choreTelling((id) => heardOf.get(id)),
    ),
    () => channels.journaled.unsubscribe(noteCallback),
  ];
  return {
    async stop(graceMs) {
      for (const end of ends) end();
      const sent = provider.shutdown().then(
        () => true,
        () => false,
      );
      return Promise.race([sent, setTimeout(graceMs, false, { ref: false })]);
    },
  };
}

/** To what the SDK warns of. Its errors are those of the exporter, which tells them itself. */
function listen(warn: (message: string) => void): void {
  const silent = (): void => {};
  diag.setLogger(
    { error: silent, warn, info: silent, debug: silent, verbose: silent },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

/** The exporter, with a line in the log now and then while nobody takes what it sends. */
function tellingFailures(exporter: SpanExporter, logger: TracingOptions['logger']): SpanExporter {
  const tell = nowAndThen(QUIET_MS, (reason: string | undefined) =>
    logger.warn({ reason }, 'traces are not taken by their collector'),
  );
  return {
    export: (spans, done) =>
      // Sent by nobody's request, though one may have set it off.
      active.run(undefined, () =>
        exporter.export(spans, (result) => {
          if (result.error !== undefined) tell(result.error.message);
          done(result);
        }),
      ),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
