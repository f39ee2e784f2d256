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

/** The time limit in milliseconds; verification reads about a hundred thousand rows a second. */
const timeoutMs = 600_000

export function addJournalCommand(program: Command, deps: CliDeps): void {
  const journal = program
    .command('journal')
    .addHelpText('after', '\nExamples:\n  $ flotilla journal verify\n  $ flotilla journal export')
  journal
    .command('verify')
    .summary('check that the audit log was not altered')
    .description(
      'Recomputes the hash chain of the audit log, with or without a running mesh. Exit code 1 when a row was changed, removed or added.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla journal verify')
    .action(commandAction(deps, verify))
  journal
    .command('export')
    .summary('print the audit log as JSON lines')
    .description(
      'Prints rows of the audit log, oldest first, one per line: CloudEvents 1.0 in JSON, or the rows as they are chained. Needs a running mesh.',
    )
    .addOption(
      new Option('--format <format>', 'format of a line').choices(journalFormats).default('cloudevents'),
    )
    .option(
      '--since <when>',
      'start: 90s, 15m, 24h, 7d ago, or a timestamp such as 2026-11-21T08:00Z',
      timestamp(deps),
    )
    .option('--until <when>', 'end, not included', timestamp(deps))
    .option('--actor <actor>', 'only rows of this actor: agent:scout, human:cli, system')
    .option('--action <action>', 'only this kind of action; a star at the end matches several: permission.*')
    .option('--agent <id>', 'only rows by this agent or about it')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla journal export --since 24h > today.jsonl\n  $ flotilla journal export --agent scout --action "permission.*"\n  $ flotilla journal export | jq -c "select(.type | endswith(\\"spend.settled\\")) | .data.detail"',
    )
    .action(commandAction(deps, exportRows))
  journal
    .command('accept')
    .summary('accept a broken audit log and continue')
    .description(
      'Use this after you have checked what flotilla journal verify found. The break is recorded with your acceptance, and verification starts after it. Needs a running mesh.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla journal accept')
    .action(commandAction(deps, accept))
  journal
    .command('begin-anew')
    .summary('create a new secret for a home whose secret is lost')
    .description(
      'For a home that does not start because data/mesh-secret is missing or wrong, and no backup has it: creates a new one. The existing rows of the audit log are kept and marked as accepted by you. The mesh must not run.',
    )
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  $ flotilla journal begin-anew --home /srv/fleet')
    .action(commandAction(deps, beginAnew))
}

async function beginAnew(context: CommandContext, line: CommandLine): Promise<void> {
  const { home } = context.place
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `begin-anew creates a new secret for ${home}, with which the existing audit log can no longer be verified,`,
      question: `Create a new secret for ${home}? The existing audit log can then no longer be verified.`,
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
    `The home has a new secret. Rows up to ${began.through} of its audit log are marked as accepted by you.`,
    'Next:  flotilla start',
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
  // Each line is JSON, so the output is the same with and without --json.
  for await (const bytes of client.stream('journalExport', { query, signal: context.signal })) {
    context.out.write(decoder.decode(bytes, { stream: true }))
  }
}

async function accept(context: CommandContext): Promise<void> {
  const reply = await (await context.mesh()).call('journalAccept', { signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(
    reply.accepted === null ? 'The audit log was not broken.' : `Accepted: ${reply.accepted}.`,
  )
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses a timestamp or a duration before now into milliseconds since 1970. */
function timestamp({ clock }: CliDeps): (text: string) => number {
  return (text) => {
    const ago = /^(\d{1,6})([smhd])$/.exec(text)
    const at = ago ? clock.now() - Number(ago[1]) * (unitMs[ago[2] ?? ''] ?? 0) : Date.parse(text)
    if (Number.isNaN(at)) {
      throw new InvalidArgumentError(
        'Expected 90s, 15m, 24h or 7d, or a timestamp such as 2026-11-21T08:00Z.',
      )
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
      ? `The hash chain of ${verified.rows} rows is intact${verified.after === undefined ? '' : `, after row ${verified.after}`}.`
      : `The hash chain is broken after ${verified.rows} rows: ${verified.detail ?? 'no detail'}`,
  )
  const { accepted } = verified
  if (verified.ok && accepted) {
    context.terminal.print(
      `Rows up to ${verified.after ?? 0} were accepted by ${accepted.by} at ${new Date(accepted.at).toISOString()} (${accepted.was}).`,
    )
  }
  if (!verified.sealed) {
    context.terminal.note(
      'The secret of the mesh is not available here, so a forged chain would not be detected.',
    )
  }
  if (!verified.ok) context.setExitCode(exitCodes.failed)
}
