import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { readEnvironment } from '../../packages/cli/src/environment.ts'
import { keepText, stillClock } from '../../packages/cli/src/fake-terminal.ts'
import { createInterrupts } from '../../packages/cli/src/interrupts.ts'
import { createWholeProgram } from '../../packages/cli/src/program.ts'

/** The real command definitions for inspection: without a home, and with all output discarded. */
export function commandProgram(): Promise<Command> {
  const interrupts = createInterrupts(() => 0)
  return createWholeProgram({
    environment: readEnvironment({ HOME: '/home/nobody', FLOTILLA_HOME: '/nowhere/flotilla' }),
    clock: stillClock,
    out: keepText(),
    err: keepText(),
    input: Readable.from([]),
    newKey: () => 'key',
    signal: interrupts.signal,
    onInterrupt: interrupts.onInterrupt,
    setExitCode: () => undefined,
    runLine: () => Promise.resolve(),
    wholeProgram: () => Promise.reject(new Error('nobody asks')),
  })
}
