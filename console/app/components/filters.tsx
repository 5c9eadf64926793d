// The filters of a list. They are part of the address, so that links and the back button keep them.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useDebounced } from '../forms/search.ts';
import { go, linkTo, replaceRoute, useRoute } from '../route.ts';
import { type Choices, Select } from './select.tsx';

export type Filter = {
  /** Name in the address. */
  readonly name: string;
  readonly label: string;
  /** Values and labels; without them, a text field. An empty value means no filter. */
  readonly choices?: Choices;
  /** The default value. */
  readonly otherwise?: string;
  readonly placeholder?: string;
  /** Filters as one types, without an entry in the history of the browser. */
  readonly isLive?: boolean;
  /** Converts the typed text to the value in the address; undefined while the text is not complete. */
  readonly cleaned?: (text: string) => string | undefined;
};

/** Choices of these values, and `any` for no filter. */
export function choicesWithAny(values: readonly string[]): Choices {
  return [['', 'any'], ...values.map((value) => [value, value] as const)];
}

export function Filters({ filters }: { readonly filters: readonly Filter[] }) {
  const { path, query } = useRoute();
  return (
    <search class="filters">
      {filters.map((filter) => {
        const Input = filter.choices ? Choice : filter.isLive ? LiveText : Text;
        const move = filter.isLive ? replaceRoute : go;
        return (
          <Input
            key={filter.name}
            filter={filter}
            value={query[filter.name]}
            onChange={(value) =>
              move(linkTo(path, { ...query, after: undefined, since: undefined, [filter.name]: value }))
            }
          />
        );
      })}
    </search>
  );
}

type InputProps = {
  readonly filter: Filter;
  /** Undefined if the address has no value. */
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
};

function Choice({ filter: { label, choices = [], otherwise = '' }, value, onChange }: InputProps) {
  return <Select label={label} choices={choices} value={value ?? otherwise} onChange={onChange} />;
}

/** Puts what is typed into the address on Enter, or when the field loses the focus. */
function Text({ filter, value = '', onChange }: InputProps) {
  // The page renders again with each poll, which must not undo what is typed.
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const onCommit = (text: string): void => {
    const found = (filter.cleaned ?? trimmed)(text);
    if (found !== undefined) onChange(found);
  };
  return <TextInput filter={filter} typed={typed} onType={setTyped} onCommit={onCommit} />;
}

/** Puts what is typed into the address after a pause, and follows the address when something else changes it. */
function LiveText({ filter, value = '', onChange }: InputProps) {
  const [typed, setTyped] = useState(value);
  const settled = useDebounced(typed);
  const address = useRef(value);
  const change = useRef(onChange);
  change.current = onChange;
  useEffect(() => {
    if (value !== address.current) setTyped(value);
    address.current = value;
  }, [value]);
  useEffect(() => {
    const text = (filter.cleaned ?? trimmed)(settled);
    if (text === undefined || text === address.current) return;
    address.current = text;
    change.current(text);
  }, [settled]);
  return <TextInput filter={filter} typed={typed} onType={setTyped} />;
}

type TextInputProps = {
  readonly filter: Filter;
  readonly typed: string;
  readonly onType: (text: string) => void;
  readonly onCommit?: (text: string) => void;
};

function TextInput({ filter: { label, placeholder = '' }, typed, onType, onCommit }: TextInputProps) {
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        value={typed}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => onType(event.currentTarget.value)}
        onChange={(event) => onCommit?.(event.currentTarget.value)}
      />
    </label>
  );
}

function trimmed(text: string): string {
  return text.trim();
}
