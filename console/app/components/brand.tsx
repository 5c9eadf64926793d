// The logo and name of the console.

export function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <circle cx="16" cy="16" r="4.2" />
        <path d="M16 11.8V5.5M16 26.5v-6.3M11.8 16H5.5M26.5 16h-6.3" />
      </svg>
      Hub console
    </span>
  );
}
