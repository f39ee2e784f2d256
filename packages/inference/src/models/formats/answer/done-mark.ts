/** The data of an event that marks the end of a stream, as chat completions have it; some gateways print it as JSON. */
export const doneMark = /^"?\[?done\]?"?$/i
