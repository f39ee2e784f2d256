import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { readEnvironment } from '../../packages/cli/src/environment.ts'
import { createWholeProgram } from '../../packages/cli/src/program.ts'

/** The command line with all its commands, to be written about and not to be run. */
export function wholeProgram(): Promise<Command> {
  const nowhere = { write: () => true }
  return createWholeProgram({
    environment: readEnvironment({ HOME: '/root' }),
    clock: { now: () => 0, sleep: () => Promise.resolve() },
    out: nowhere,
    err: nowhere,
    input: Readable.from([]),
    newKey: () => '',
    signal: new AbortController().signal,
    onInterrupt: () => () => undefined,
    setExitCode: () => undefined,
    runLine: () => Promise.resolve(),
    wholeProgram: () => Promise.reject(new Error('nobody asks')),
  })
}
