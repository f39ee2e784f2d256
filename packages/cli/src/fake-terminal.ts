import type { Clock } from '@flotilla/protocol/clock'
import type { Colors } from './terminal/color.ts'
import { createTerminal } from './terminal/terminal.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { TextSink } from './terminal/text-sink.ts'

/** For tests: a stream that keeps what is written to it. */
export interface KeptText extends TextSink {
  text(): string
}

export function keepText(isTTY = false): KeptText {
  let kept = ''
  return {
    isTTY,
    columns: 100,
    write: (text) => (kept += text),
    text: () => kept,
  }
}

/** For tests: time does not advance, and waits end only by their signal. */
export const stillClock: Clock = {
  now: () => 0,
  sleep: (_ms, signal) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
}

export function keepTerminal(
  options: { json?: boolean; isTTY?: boolean; colors?: Colors; clock?: Clock; command?: string } = {},
): {
  terminal: Terminal
  out: KeptText
  err: KeptText
} {
  const out = keepText(options.isTTY)
  const err = keepText(options.isTTY)
  const terminal = createTerminal({
    out,
    err,
    json: options.json ?? false,
    colors: options.colors ?? 'auto',
    clock: options.clock ?? stillClock,
    command: options.command ?? 'flotilla',
  })
  return { terminal, out, err }
}
