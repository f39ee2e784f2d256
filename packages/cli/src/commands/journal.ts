import { journalFormats } from '@flotilla/protocol/journal-api'
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, flagOption, numberOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import { confirmByTyping } from '../terminal/confirm.ts'

const verifiedSchema = z.looseObject({
  ok: z.boolean(),
  rows: z.int(),
  after: z.optional(z.int()),
  accepted: z.optional(z.looseObject({ by: z.string(), at: z.number(), was: z.string() })),
  detail: z.optional(z.string()),
  sealed: z._default(z.boolean(), true),
})

const begunSchema = z.looseObject({ began: z.looseObject({ through: z.int() }) })

/** A journal is read at about a hundred thousand rows a second. */
const timeoutMs = 600_000

export function addJournalCommand(program: Command, deps: CliDeps): void {
  const journal = program
    .command('journal')
    .addHelpText('after', '\nExamples:\n  $ flotilla journal verify\n  $ flotilla journal export')
  journal
    .command('verify')
    .summary('check that the journal was not altered')
    .description(
      'Recomputes the hash chain of the journal, with or without a running mesh. Exit code 1 when a row was changed, removed or added.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla journal verify')
    .action(commandAction(deps, verify))
  journal
    .command('export')
    .summary('print the journal as JSON lines')
    .description(
      'Prints rows of the journal, oldest first, a line each: CloudEvents 1.0 in JSON, or the rows as they are chained. Needs a running mesh.',
    )
    .addOption(
      new Option('--format <format>', 'what a line is').choices(journalFormats).default('cloudevents'),
    )
    .option(
      '--since <when>',
      'from then on: 90s, 15m, 24h, 7d ago, or a moment such as 2026-11-21T08:00Z',
      moment(deps),
    )
    .option('--until <when>', 'before then', moment(deps))
    .option('--actor <actor>', 'of one actor: agent:scout, human:cli, system')
    .option('--action <action>', 'of one kind, or of several with a star at the end: permission.*')
    .option('--agent <id>', 'what an agent did and what was done to it')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla journal export --since 24h > today.jsonl\n  $ flotilla journal export --agent scout --action "permission.*"\n  $ flotilla journal export | jq -c "select(.type | endswith(\\"spend.settled\\")) | .data.detail"',
    )
    .action(commandAction(deps, exportRows))
  journal
    .command('accept')
    .summary('go on with a broken journal as it stands')
    .description(
      'After you have looked at what flotilla journal verify found: the break is journalled with your acceptance, and verification begins after it. Needs a running mesh.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla journal accept')
    .action(commandAction(deps, accept))
  journal
    .command('begin-anew')
    .summary('give a home whose secret is lost a new one')
    .description(
      'For a home that does not start because data/mesh-secret is missing or another, and no backup has it: makes a new one. What the journal says so far stays, and is told from then on as accepted by you. The mesh must not run.',
    )
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  $ flotilla journal begin-anew --home /srv/fleet')
    .action(commandAction(deps, beginAnew))
}

async function beginAnew(context: CommandContext, line: CommandLine): Promise<void> {
  const { home } = context.place
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `begin-anew makes a new secret for ${home}, under which the journal so far can no longer be verified,`,
      question: `Make a new secret for ${home}? The journal so far can then no longer be verified.`,
      answer: 'yes',
    })
  }
  const answer = await askMeshProgram({
    verb: 'begin-journal',
    home,
    environment: context.environment.childEnvironment({}),
    signal: context.signal,
    timeoutMs,
  })
  const { began } = begunSchema.parse(answer)
  context.terminal.printJson({ began })
  context.terminal.hint(
    `The home has a new secret. Rows up to ${began.through} of its journal are told as accepted by you.`,
    'Go on with:  flotilla start',
  )
}

async function exportRows(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const query = {
    format: journalFormats.find((format) => format === textOption(line, 'format')) ?? 'cloudevents',
    since: numberOption(line, 'since'),
    until: numberOption(line, 'until'),
    actor: textOption(line, 'actor'),
    action: textOption(line, 'action'),
    agent: textOption(line, 'agent'),
  }
  const decoder = new TextDecoder()
  // The lines are the result in both modes: each is JSON by itself.
  for await (const bytes of client.stream('journalExport', { query, signal: context.signal })) {
    context.out.write(decoder.decode(bytes, { stream: true }))
  }
}

async function accept(context: CommandContext): Promise<void> {
  const reply = await (await context.mesh()).call('journalAccept', { signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(
    reply.accepted === null ? 'Nothing was broken.' : `Accepted as it stands: ${reply.accepted}.`,
  )
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds since 1970, of a moment or of so long ago. */
function moment({ clock }: CliDeps): (text: string) => number {
  return (text) => {
    const ago = /^(\d{1,6})([smhd])$/.exec(text)
    const at = ago ? clock.now() - Number(ago[1]) * (unitMs[ago[2] ?? ''] ?? 0) : Date.parse(text)
    if (Number.isNaN(at)) {
      throw new InvalidArgumentError('Expected 90s, 15m, 24h or 7d, or a moment such as 2026-11-21T08:00Z.')
    }
    return at
  }
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
      ? `The chain of ${verified.rows} rows holds${verified.after === undefined ? '' : `, after row ${verified.after}`}.`
      : `The chain is broken after ${verified.rows} rows: ${verified.detail ?? 'no detail'}`,
  )
  const { accepted } = verified
  if (verified.ok && accepted) {
    context.terminal.print(
      `Rows up to ${verified.after ?? 0} were accepted by ${accepted.by} at ${new Date(accepted.at).toISOString()} as they stand (${accepted.was}).`,
    )
  }
  if (!verified.sealed) {
    context.terminal.note(
      'The secret of the mesh is not here, so a chain that was made anew would not be noticed.',
    )
  }
  if (!verified.ok) context.setExitCode(exitCodes.failed)
}
