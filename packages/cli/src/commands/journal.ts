import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'

const verifiedSchema = z.looseObject({ ok: z.boolean(), rows: z.int(), detail: z.optional(z.string()) })

/** A journal is read at about a hundred thousand rows a second. */
const timeoutMs = 600_000

export function addJournalCommand(program: Command, deps: CliDeps): void {
  const journal = program.command('journal').summary('the record of decisions and effects')
  journal
    .command('verify')
    .summary('check that the journal was not altered')
    .description(
      'Recomputes the hash chain of the journal, with or without a running mesh. Exit code 1 when a row was changed, removed or added.',
    )
    .action(commandAction(deps, verify))
}

async function verify(context: CommandContext): Promise<void> {
  const answer = await askMeshProgram({
    verb: 'verify-journal',
    home: context.place.home,
    environment: context.environment.childEnvironment({}),
    signal: context.signal,
    timeoutMs,
  })
  const verified = verifiedSchema.parse(answer)
  context.terminal.printJson(verified)
  context.terminal.print(
    verified.ok
      ? `The chain of ${verified.rows} rows holds.`
      : `The chain is broken after ${verified.rows} rows: ${verified.detail ?? 'no detail'}`,
  )
  if (!verified.ok) context.setExitCode(exitCodes.failed)
}
