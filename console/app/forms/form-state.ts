// The state of a form in a dialog: its values, the request in progress, and the errors of the last one.
import { useRef, useState } from 'preact/hooks';
import { announce } from '../announce.ts';
import { FieldError, type FormErrors, NO_ERRORS, readFormErrors } from './form-errors.ts';

export type Values<K extends string> = Readonly<Record<K, string>>;

/** What a request did: a sentence to announce and, if there is something to keep, content that replaces the form. */
export type Outcome<R> = { readonly announce: string; readonly show?: R };

export type Attempt<K extends string, S> = {
  readonly values: Values<K>;
  /** The resource as the form shows it. */
  readonly subject: S;
  /** The same for all attempts of one opened form, so that a repeated request has no further effect. */
  readonly idempotencyKey: string;
};

export type FormOptions<K extends string, S, R> = {
  /** The resource that the form changes. The form keeps the one with which it was opened. */
  readonly subject: S;
  readonly initial: (subject: S) => Values<K>;
  readonly submit: (attempt: Attempt<K, S>) => Promise<Outcome<R>>;
  /** Reads the resource again, after someone else changed it. */
  readonly reload?: () => Promise<S>;
};

/** A form as its fields see it. */
export type Form<K extends string> = {
  readonly values: Values<K>;
  readonly errors: FormErrors;
  readonly set: (name: K, value: string) => void;
};

type State<K extends string, S, R> = {
  readonly isOpen: boolean;
  readonly subject: S;
  readonly values: Values<K>;
  readonly errors: FormErrors;
  readonly idempotencyKey: string;
  /** What the form did, if there is something to show. */
  readonly result: { readonly title: string; readonly show: R } | undefined;
};

export function useForm<K extends string, S, R>(options: FormOptions<K, S, R>) {
  const { subject, initial, submit, reload } = options;
  const closed = { isOpen: false, subject, errors: NO_ERRORS, idempotencyKey: '', result: undefined };
  const [state, setState] = useState<State<K, S, R>>(() => ({ ...closed, values: initial(subject) }));
  const [busy, setBusy] = useState(false);
  const generation = useRef(0);
  const names = Object.keys(state.values);
  /** Does the work; its outcome counts only while the same dialog is open. */
  const perform = async (work: () => Promise<(before: State<K, S, R>) => State<K, S, R>>): Promise<void> => {
    if (busy) return;
    const begun = generation.current;
    const update = (next: (before: State<K, S, R>) => State<K, S, R>): void => {
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
        const { values, subject, idempotencyKey } = state;
        const outcome = await submit({ values, subject, idempotencyKey });
        announce(outcome.announce);
        const { show } = outcome;
        const title = outcome.announce.replace(/\.$/, '');
        const result = show === undefined ? undefined : { title, show };
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

/** @throws FieldError if the value is empty */
export function required<K extends string>(values: Values<K>, name: K, message: string): string {
  const value = values[name].trim();
  if (value === '') throw new FieldError(name, message);
  return value;
}
