import { Readable } from 'node:stream'
import type { Command } from 'commander'
import { readEnvironment } from '../../packages/cli/src/environment.ts'
import type { CliDeps } from '../../packages/cli/src/context.ts'
import { createProgram, createWholeProgram } from '../../packages/cli/src/program.ts'
import type { TextSink } from '../../packages/cli/src/terminal/text-sink.ts'

/** The command line with all its commands, for documentation only. Its help goes to `out`. */
export function wholeProgram(out: TextSink = { write: () => true }): Promise<Command> {
  return createWholeProgram(depsWith(out))
}

/** The command line without any loaded command: it knows only their names. */
export function bareProgram(out: TextSink): Promise<Command> {
  return createProgram(depsWith(out), [])
}

function depsWith(out: TextSink): CliDeps {
  return {
    environment: readEnvironment({ HOME: '/root' }),
    clock: { now: () => 0, sleep: () => Promise.resolve() },
    out,
    err: out,
    input: Readable.from([]),
    newKey: () => '',
    signal: new AbortController().signal,
    onInterrupt: () => () => undefined,
    setExitCode: () => undefined,
    runLine: () => Promise.resolve(),
    wholeProgram: () => Promise.reject(new Error('nobody asks')),
  }
}
