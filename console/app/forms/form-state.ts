// The state of a form in a dialog: its values, the request in progress, and the errors of the last one.
import type { ComponentChildren } from 'preact';
import { useContext, useRef, useState } from 'preact/hooks';
import { announce } from '../announce.ts';
import { PageRefresh } from '../poll-hub.ts';
import { go } from '../route.ts';
import { FieldError, type FormErrors, NO_ERRORS, readFormErrors } from './form-errors.ts';

export type Values<K extends string> = Readonly<Record<K, string>>;

/** What a request did: a sentence to announce, and more if there is more to show. */
export type Outcome =
  | string
  | {
      readonly announce: string;
      /** Replaces the form. */
      readonly show?: ComponentChildren;
      /** The link of the page to open. Without it, the page is loaded again. */
      readonly goTo?: string | undefined;
    };

export type Attempt<K extends string, S> = {
  readonly values: Values<K>;
  /** The names of the values that the user changed. */
  readonly changed: readonly K[];
  /** The resource as the form shows it. */
  readonly subject: S;
  /** The same for all attempts of one opened form, so that a repeated request has no further effect. */
  readonly idempotencyKey: string;
};

export type FormOptions<K extends string, S> = {
  /** The resource that the form changes. The form keeps the one with which it was opened. */
  readonly subject: S;
  readonly initial: (subject: S) => Values<K>;
  readonly submit: (attempt: Attempt<K, S>) => Promise<Outcome>;
  /** Reads the resource again, after someone else changed it. */
  readonly reload?: () => Promise<S>;
};

/** A form as its fields see it. */
export type Form<K extends string> = {
  readonly values: Values<K>;
  readonly errors: FormErrors;
  readonly set: (name: K, value: string) => void;
};

/** A form with what the user changed. */
export type WholeForm<K extends string> = Form<K> & {
  /** The values before the user changed them. */
  readonly first: Values<K>;
  readonly changed: readonly K[];
};

type State<K extends string, S> = {
  readonly isOpen: boolean;
  readonly subject: S;
  readonly values: Values<K>;
  readonly errors: FormErrors;
  readonly idempotencyKey: string;
  /** What the form did, if there is something to show. */
  readonly result: { readonly title: string; readonly show: ComponentChildren } | undefined;
};

export function useForm<K extends string, S>(options: FormOptions<K, S>) {
  const { subject, initial, submit, reload } = options;
  const refreshPage = useContext(PageRefresh);
  const closed = { isOpen: false, subject, errors: NO_ERRORS, idempotencyKey: '', result: undefined };
  const [state, setState] = useState<State<K, S>>(() => ({ ...closed, values: initial(subject) }));
  const [busy, setBusy] = useState(false);
  const generation = useRef(0);
  const first = initial(state.subject);
  const names = Object.keys(first) as K[]; // the keys of a record are its names
  const changed = names.filter((name) => state.values[name].trim() !== first[name]);
  /** Does the work; its outcome counts only while the same dialog is open. */
  const perform = async (work: () => Promise<(before: State<K, S>) => State<K, S>>): Promise<void> => {
    if (busy) return;
    const begun = generation.current;
    const update = (next: (before: State<K, S>) => State<K, S>): void => {
      if (generation.current === begun) setState(next);
    };
    setBusy(true);
    try {
      update(await work());
    } catch (error) {
      const errors = readFormErrors(error, names);
      update((before) => ({ ...before, errors }));
    } finally {
      setBusy(false);
    }
  };
  return {
    ...state,
    first,
    changed,
    busy,
    set: (name: K, value: string): void =>
      setState((before) => ({ ...before, values: { ...before.values, [name]: value } })),
    open(): void {
      generation.current += 1;
      setState({ ...closed, isOpen: true, values: initial(subject), idempotencyKey: newKey() });
    },
    close(): void {
      generation.current += 1;
      // Drops the values and the result, which may be a license key.
      setState({ ...closed, values: initial(subject) });
    },
    submit: (): Promise<void> =>
      perform(async () => {
        const outcome = await submit({ ...state, changed });
        const { announce: text, show, goTo } = typeof outcome === 'string' ? { announce: outcome } : outcome;
        if (goTo !== undefined) go(goTo);
        // The hub may show the result only once: it must not wait for the page.
        else if (show !== undefined) void refreshPage();
        else await refreshPage();
        announce(text);
        const result = show === undefined ? undefined : { title: text.replace(/\.$/, ''), show };
        return (before) => ({ ...before, isOpen: result !== undefined, result });
      }),
    /** Loads the resource again. Fields that the user changed keep their values. */
    reload: (): Promise<void> =>
      perform(async () => {
        if (reload === undefined) return (before) => before;
        const fresh = await reload();
        announce('The form shows the current values. Your changes are kept.');
        return (before) => ({
          ...before,
          subject: fresh,
          values: withChanges(initial(before.subject), before.values, initial(fresh)),
          errors: NO_ERRORS,
          idempotencyKey: newKey(),
        });
      }),
  };
}

/** The fresh values, except for those that differ from the first. */
function withChanges<K extends string>(first: Values<K>, typed: Values<K>, fresh: Values<K>): Values<K> {
  const changed = (Object.keys(typed) as K[]).filter((name) => typed[name] !== first[name]);
  return { ...fresh, ...Object.fromEntries(changed.map((name) => [name, typed[name]])) };
}

/** Without crypto.randomUUID, which browsers offer only over TLS and on localhost. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** Empty values of the fields that have these labels. */
export function emptyValues<K extends string>(labels: Readonly<Record<K, string>>): Values<K> {
  return Object.fromEntries(Object.keys(labels).map((name) => [name, ''])) as Values<K>; // the same names
}

/** @throws FieldError if the value is empty */
export function required<K extends string>(values: Values<K>, name: K, message: string): string {
  const value = values[name].trim();
  if (value === '') throw new FieldError(name, message);
  return value;
}
