import { resolve } from 'node:path'
import { Option } from 'commander'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, flagOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import { addRuntimeOptions, askedRuntime, runtimeWords } from '../runtime-options.ts'
import { passphraseIn } from './backup-passphrase.ts'
import type { MeshLine } from '../mesh-process/mesh-lines.ts'
import { formatBytes, formatTime } from '../terminal/format.ts'

/** A fleet of many gigabytes on a slow disk. */
const timeoutMs = 24 * 3600_000

const missingSchema = {
  skipped: z.array(
    z.looseObject({
      agent: z.nullable(z.string()),
      count: z.int(),
      first: z.array(z.looseObject({ name: z.string(), why: z.string() })),
      ended_by: z.nullable(z.string()),
    }),
  ),
  left_out: z.array(z.looseObject({ agent: z.string(), why: z.string() })),
}
type Missing = { readonly [Name in keyof typeof missingSchema]: z.infer<(typeof missingSchema)[Name]> }
const madeSchema = z.looseObject({
  file: z.string(),
  bytes: z.number(),
  agents: z.int(),
  files: z.int(),
  encrypted: z.boolean(),
  secrets: z.boolean(),
  secrets_left_out: z.array(z.string()),
  not_held: z.array(z.string()),
  ...missingSchema,
})
const aboutSchema = z.looseObject({
  product: z.string(),
  made_at: z.number(),
  agents: z.int(),
  secrets: z.boolean(),
})
const verifiedSchema = z.looseObject({
  ok: z.boolean(),
  about: aboutSchema,
  entries: z.int(),
  bytes: z.number(),
  ...missingSchema,
})
const restoredSchema = z.looseObject({
  restored: z.boolean(),
  home: z.string(),
  about: aboutSchema,
  ...missingSchema,
})

const passphraseWords =
  'The passphrase is the first line of --passphrase-file, or FLOTILLA_BACKUP_PASSPHRASE of the environment. With - for the file it is asked for at a terminal, which does not show it, or read from what is sent in.'

export function addBackupCommands(program: Command, deps: CliDeps): void {
  program
    .command('backup')
    .description(
      `Home, database and what each agent keeps, as they stand. With a passphrase the file is encrypted; without one say whether its secrets (.env, data/mesh-secret) come along; the seed of the wallet does so in an encrypted file alone. ${passphraseWords}`,
    )
    .argument('<file>', 'what is written; must not be there yet')
    .option('--passphrase-file <file>', 'encrypt it with the passphrase in this file')
    .option('--without-secrets', 'leave the secrets out')
    .option('--secrets-in-plain', 'with the secrets although nobody needs a passphrase to read them')
    .addOption(withoutOption('leave the data of this agent out; may be given again'))
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla backup /srv/backups/fleet-monday --passphrase-file ~/.backup-passphrase\n  $ flotilla backup fleet --without-secrets',
    )
    .action(commandAction(deps, backup))
  program
    .command('verify')
    .description(
      `Checks every part of it, its database and the names in what agents kept; writes nothing. ${passphraseWords}`,
    )
    .argument('<file>', 'the backup')
    .option('--passphrase-file <file>', 'where its passphrase is')
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla verify /srv/backups/fleet-monday --passphrase-file ~/.backup-passphrase',
    )
    .action(commandAction(deps, verify))
  const restoring = program
    .command('restore')
    .description(
      `The same fleet in a home that is empty: agents, runs, costs, memory, settings. It has an id of its own, so that the old home may go on beside it. A restore that is cut off begins anew when it is asked for again. ${passphraseWords}`,
    )
    .argument('<file>', 'the backup')
    .option('--passphrase-file <file>', 'where its passphrase is')
    .addOption(withoutOption('do not restore the data of this agent; may be given again'))
  addRuntimeOptions(restoring)
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla restore /srv/backups/fleet-monday --home /srv/fleet --passphrase-file ~/.backup-passphrase',
    )
    .action(commandAction(deps, restore))
}

async function backup(context: CommandContext, line: CommandLine): Promise<void> {
  const secrets = flagOption(line, 'withoutSecrets')
    ? 'none'
    : flagOption(line, 'secretsInPlain')
      ? 'plain'
      : null
  const made = madeSchema.parse(
    await ask(context, line, {
      verb: 'backup',
      extra: [...(secrets === null ? [] : ['--secrets', secrets]), ...withoutWords(line)],
    }),
  )
  const { terminal } = context
  terminal.printJson(made)
  terminal.hint(
    `${made.file}: ${formatBytes(made.bytes)}, ${made.agents} agents, ${made.files} files, ${made.encrypted ? 'encrypted' : 'not encrypted'}, ${made.secrets ? 'with' : 'without'} secrets. It was read to its end after it was written.`,
    `Read it again where you keep it:  flotilla verify ${made.file}`,
  )
  if (made.secrets && made.secrets_left_out.length > 0)
    terminal.note(
      `${made.secrets_left_out.join(' and ')} is not in it: the seed of the wallet is in encrypted backups alone.`,
    )
  noteMissing(context, made, 'the backup')
  for (const agent of made.not_held) {
    terminal.note(
      `${agent} keeps so much that it went on while it was read; files that it changed then may be torn.`,
    )
  }
  if (made.secrets && !made.encrypted) terminal.note('Whoever gets this file has the keys in it.')
}

async function verify(context: CommandContext, line: CommandLine): Promise<void> {
  const verified = verifiedSchema.parse(await ask(context, line, { verb: 'verify-backup' }))
  context.terminal.printJson(verified)
  context.terminal.print(`It is whole: ${aboutWords(verified.about)}, ${formatBytes(verified.bytes)}.`)
  noteMissing(context, verified, 'the backup')
}

async function restore(context: CommandContext, line: CommandLine): Promise<void> {
  const restored = restoredSchema.parse(
    await ask(context, line, {
      verb: 'restore',
      extra: [...runtimeWords(askedRuntime(line)), ...withoutWords(line)],
    }),
  )
  const { terminal } = context
  terminal.printJson(restored)
  terminal.print(`${restored.home} is the fleet again: ${aboutWords(restored.about)}.`)
  noteMissing(context, restored, 'the restored home')
  const goOn = context.environment.isPod
    ? 'kubectl apply --filename deploy/kubernetes/flotilla.yaml, or restore.enabled=false of the chart'
    : 'flotilla start'
  if (restored.about.secrets) {
    terminal.hint(`Stop the mesh of the old home, if there is one, then go on with:  ${goOn}`)
    return
  }
  terminal.hint(
    'The backup had no secrets. Write .env again, then:  flotilla journal begin-anew',
    `and go on with:  ${goOn}`,
  )
}

/** One name each time: a list would take the file for an agent where it comes last. */
function withoutOption(words: string): Option {
  return new Option('--without <agent>', words)
    .default([], 'no agent')
    .argParser((agent: string, before: readonly string[]) => [...before, agent])
}

function withoutWords({ options }: CommandLine): readonly string[] {
  const agents: readonly unknown[] = Array.isArray(options['without']) ? options['without'] : []
  return agents.flatMap((agent) => ['--without', String(agent)])
}

/** Of a backup that another command made; it is checked as one that was asked for. */
export function noteMissingOf(context: CommandContext, made: unknown): void {
  noteMissing(context, madeSchema.parse(made), 'the backup')
}

/** Names what a backup does not hold, or a restored home does not have. */
function noteMissing(
  { terminal }: CommandContext,
  { skipped, left_out: leftOut }: Missing,
  what: string,
): void {
  for (const { agent, why } of leftOut) terminal.note(`The data of ${agent} is not in ${what}: ${why}.`)
  for (const { agent, count, first, ended_by: endedBy } of skipped) {
    const whose = agent === null ? 'the home' : `the data of ${agent}`
    if (endedBy !== null) terminal.note(`Only a part of ${whose} is in ${what}: ${endedBy}.`)
    if (count === 0) continue
    const entries = count === 1 ? '1 entry' : `${count} entries`
    terminal.note(
      `${entries} of ${whose} ${count === 1 ? 'is' : 'are'} not in ${what}:`,
      ...first.map(({ name, why }) => `  ${name}: ${why}`),
      ...(first.length > 0 && count > first.length ? [`  and ${count - first.length} more`] : []),
    )
  }
}

function aboutWords(about: z.infer<typeof aboutSchema>): string {
  return `${about.agents} agents as of ${formatTime(about.made_at)} UTC, release ${about.product}, ${about.secrets ? 'with' : 'without'} secrets`
}

/** A backup beside whatever else a command does: closed by a passphrase, or else without secrets. */
export async function askForBackup(
  context: CommandContext,
  { file, passphraseFile }: { readonly file: string; readonly passphraseFile: string | undefined },
): Promise<unknown> {
  const extra = passphraseFile === undefined ? ['--secrets', 'none'] : []
  const options = passphraseFile === undefined ? {} : { passphraseFile }
  return ask(context, { operands: [file], options }, { verb: 'backup', extra })
}

async function ask(
  context: CommandContext,
  line: CommandLine,
  asked: { readonly verb: 'backup' | 'restore' | 'verify-backup'; readonly extra?: readonly string[] },
): Promise<unknown> {
  const passphrase = await passphraseIn(context, textOption(line, 'passphraseFile'), asked.verb)
  const watched = watchCopy(context)
  return askMeshProgram({
    verb: asked.verb,
    heard: watched.heard,
    home: context.place.home,
    extra: ['--file', resolve(operand(line, 0)), ...(asked.extra ?? [])],
    environment: context.environment.childEnvironment(
      passphrase === null ? {} : { FLOTILLA_BACKUP_PASSPHRASE: passphrase },
    ),
    signal: context.signal,
    timeoutMs,
  }).finally(watched.end)
}

/** What the mesh's program is at and how far, as one line that is there after a second; for whoever watches a terminal. */
export function watchCopy({ terminal }: Pick<CommandContext, 'terminal'>): {
  heard(line: MeshLine): void
  end(): void
} {
  let step = ''
  let moved = ''
  const shown = () => [step, moved].filter((words) => words !== '').join(': ')
  if (!terminal.json)
    terminal.status((seconds) => (seconds < 1 || shown() === '' ? null : `${shown()} (${seconds} s)`))
  return {
    heard: (line) => {
      if (line.kind === 'progress') {
        // What the step after it stands in for is not to be found out by looking at the result.
        if (line.failed) terminal.note(`${line.failed.step}: that was in vain.`, `  ${line.failed.why}`)
        step = line.words
      }
      if (line.kind !== 'moved') return
      const { bytes, of } = line
      // What is counted beforehand goes on growing; the share is never above all of it.
      moved =
        of === null ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(Math.max(bytes, of))}`
    },
    end: () => void terminal.status(null),
  }
}
