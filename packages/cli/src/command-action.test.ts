import { Readable } from 'node:stream'
import { Command } from 'commander'
import { expect, it } from 'vitest'
import { commandAction } from './command-action.ts'
import type { CliDeps, CommandContext } from './context.ts'
import { readEnvironment } from './environment.ts'
import { keepText, stillClock } from './fake-terminal.ts'

/** Runs a command at a terminal; returns its context, the error that ended it, and its output about its work. */
async function atTerminal(handler: (context: CommandContext) => Promise<void>) {
  const err = keepText(true)
  const deps: CliDeps = {
    environment: readEnvironment({ HOME: '/home/nobody' }),
    clock: stillClock,
    out: keepText(true),
    err,
    input: Readable.from([]),
    newKey: () => 'key',
    signal: new AbortController().signal,
    onInterrupt: () => () => undefined,
    setExitCode: () => undefined,
    wholeProgram: () => Promise.reject(new Error('nobody asks for it here')),
    runLine: () => Promise.reject(new Error('nobody asks for it here')),
  }
  let context: CommandContext | null = null
  const program = new Command('work').exitOverride().action(
    commandAction(deps, async (own) => {
      context = own
      await handler(own)
    }),
  )
  const ended = await program.parseAsync([], { from: 'user' }).then(
    () => null,
    (error: unknown) => error,
  )
  // oxlint-disable-next-line eslint/no-control-regex -- colors begin with a control character
  const said = err.text().replaceAll(/\u001B\[[0-9;]*[mK]/g, '')
  return { ended, said, isTurning: (context as CommandContext | null)?.terminal.progress.isShown() }
}

it('a step that a command breaks off in is shown as failed and turns no longer, for it would keep the program alive', async () => {
  const broken = new Error('refused')
  const { ended, said, isTurning } = await atTerminal(async ({ terminal }) => {
    terminal.progress.step('Making scout')
    throw broken
  })
  expect(ended).toBe(broken)
  expect(said).toContain('✗ Making scout')
  expect(isTurning).toBe(false)
})

it('a step that a command leaves open at its end is done', async () => {
  const { ended, said, isTurning } = await atTerminal(async ({ terminal }) =>
    terminal.progress.step('Making scout'),
  )
  expect(ended).toBeNull()
  expect(said).toContain('✓ Making scout')
  expect(isTurning).toBe(false)
})
