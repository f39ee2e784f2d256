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
import { formatBytes, formatCount, formatTime } from '../terminal/format.ts'

/** The time limit of a backup or restore: enough for a fleet of many gigabytes on a slow disk. */
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
  'The passphrase is the first line of --passphrase-file, or the environment variable FLOTILLA_BACKUP_PASSPHRASE. With --passphrase-file - it is asked for at the terminal without showing it, or read from standard input.'

export function addBackupCommands(program: Command, deps: CliDeps): void {
  program
    .command('backup')
    .description(
      `Writes the home, the database and the data of each agent into one file. With a passphrase the file is encrypted; without one, choose whether the secrets (.env, data/mesh-secret) are included. The seed of the wallet is included only in an encrypted file. ${passphraseWords}`,
    )
    .argument('<file>', 'the file to write; must not exist yet')
    .option('--passphrase-file <file>', 'encrypt it with the passphrase in this file')
    .option('--without-secrets', 'leave out the secrets')
    .option('--secrets-in-plain', 'include the secrets, readable without a passphrase')
    .addOption(withoutOption('leave out the data of this agent; can be repeated'))
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla backup /srv/backups/fleet-monday --passphrase-file ~/.backup-passphrase\n  $ flotilla backup fleet --without-secrets',
    )
    .action(commandAction(deps, backup))
  program
    .command('verify')
    .description(
      `Checks every part of a backup, its database and the file names in the data of agents. Writes nothing. ${passphraseWords}`,
    )
    .argument('<file>', 'the backup')
    .option('--passphrase-file <file>', 'file with its passphrase')
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla verify /srv/backups/fleet-monday --passphrase-file ~/.backup-passphrase',
    )
    .action(commandAction(deps, verify))
  const restoring = program
    .command('restore')
    .description(
      `Restores the fleet into an empty home: agents, runs, costs, memory, settings. The new home gets its own id, so the old home can keep running. If a restore is interrupted, run it again; it starts over. ${passphraseWords}`,
    )
    .argument('<file>', 'the backup')
    .option('--passphrase-file <file>', 'file with its passphrase')
    .addOption(withoutOption('do not restore the data of this agent; can be repeated'))
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
    `${made.file}: ${formatBytes(made.bytes)}, ${formatCount(made.agents, 'agent')}, ${formatCount(made.files, 'file')}, ${made.encrypted ? 'encrypted' : 'not encrypted'}, ${made.secrets ? 'with' : 'without'} secrets. It was verified after writing.`,
    `Verify it again where you store it:  flotilla verify ${made.file}${passphraseWord(line)}`,
  )
  const walletFiles = made.secrets_left_out.filter((path) => path.startsWith('data/wallet-'))
  if (made.secrets && walletFiles.length > 0)
    terminal.note(
      `Not in it: ${walletFiles.join(' and ')}. Only encrypted backups contain the seed of the wallet.`,
    )
  if (made.secrets_left_out.includes('data/inspection-authority.pem'))
    terminal.note(
      'Not in it: data/inspection-authority.pem. A restored home makes its own certificate authority, which its agents trust from their next start.',
    )
  noteMissing(context, made, 'the backup')
  for (const agent of made.not_held) {
    terminal.note(
      `${agent} was not frozen throughout the backup: it has much data, or its runtime cannot freeze it. Files that it changed meanwhile may be inconsistent.`,
    )
  }
  if (made.secrets && !made.encrypted)
    terminal.note('This backup contains the keys without encryption: anyone who gets the file can use them.')
}

async function verify(context: CommandContext, line: CommandLine): Promise<void> {
  const verified = verifiedSchema.parse(await ask(context, line, { verb: 'verify-backup' }))
  context.terminal.printJson(verified)
  context.terminal.print(
    `The backup is complete: ${aboutWords(verified.about)}, ${formatBytes(verified.bytes)}.`,
  )
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
  terminal.print(`${restored.home} is restored: ${aboutWords(restored.about)}.`)
  noteMissing(context, restored, 'the restored home')
  const goOn = context.environment.isPod
    ? 'kubectl apply --filename deploy/kubernetes/flotilla.yaml, or restore.enabled=false of the chart'
    : ['flotilla start', ...runtimeWords(askedRuntime(line))].join(' ')
  if (restored.about.secrets) {
    terminal.hint(`Stop the mesh of the old home if it runs, then continue with:  ${goOn}`)
    return
  }
  terminal.hint(
    'The backup had no secrets. Write .env again, then:  flotilla journal begin-anew',
    `and continue with:  ${goOn}`,
  )
}

/** The option of an encrypted backup, as it was given. */
function passphraseWord(line: CommandLine): string {
  const file = textOption(line, 'passphraseFile')
  return file === undefined ? '' : ` --passphrase-file ${file}`
}

/** Returns the option that takes one name at a time: a list would swallow a file argument after it. */
function withoutOption(description: string): Option {
  return new Option('--without <agent>', description)
    .default([], 'no agent')
    .argParser((agent: string, before: readonly string[]) => [...before, agent])
}

function withoutWords({ options }: CommandLine): readonly string[] {
  const agents: readonly unknown[] = Array.isArray(options['without']) ? options['without'] : []
  return agents.flatMap((agent) => ['--without', String(agent)])
}

/** Prints what is missing in a backup that another command made, in the same words as `flotilla backup`. */
export function noteMissingOf(context: CommandContext, made: unknown): void {
  noteMissing(context, madeSchema.parse(made), 'the backup')
}

/** Prints what is missing in a backup, or in a restored home. */
function noteMissing(
  { terminal }: CommandContext,
  { skipped, left_out: leftOut }: Missing,
  what: string,
): void {
  for (const { agent, why } of leftOut) terminal.note(`The data of ${agent} is not in ${what}: ${why}.`)
  for (const { agent, count, first, ended_by: endedBy } of skipped) {
    const whose = agent === null ? 'the home' : `the data of ${agent}`
    if (endedBy !== null) terminal.note(`Only part of ${whose} is in ${what}: ${endedBy}.`)
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
  return `${formatCount(about.agents, 'agent')} as of ${formatTime(about.made_at)} UTC, release ${about.product}, ${about.secrets ? 'with' : 'without'} secrets`
}

/** Makes a backup as a part of another command: encrypted with a passphrase, or else without secrets. */
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
  request: { readonly verb: 'backup' | 'restore' | 'verify-backup'; readonly extra?: readonly string[] },
): Promise<unknown> {
  const passphrase = await passphraseIn(context, textOption(line, 'passphraseFile'), request.verb)
  const watched = watchCopy(context)
  return askMeshProgram({
    verb: request.verb,
    heard: watched.heard,
    home: context.place.home,
    extra: ['--file', resolve(operand(line, 0)), ...(request.extra ?? [])],
    environment: context.environment.childEnvironment(
      passphrase === null ? {} : { FLOTILLA_BACKUP_PASSPHRASE: passphrase },
    ),
    signal: context.signal,
    timeoutMs,
  }).finally(watched.end)
}

/** Shows the current step of the mesh's program and its progress as one status line, after one second. */
export function watchCopy({ terminal }: Pick<CommandContext, 'terminal'>): {
  heard(line: MeshLine): void
  end(): void
} {
  let step = ''
  let moved = ''
  const shown = () => [step, moved].filter((text) => text !== '').join(': ')
  if (!terminal.json)
    terminal.status((seconds) => (seconds < 1 || shown() === '' ? null : `${shown()} (${seconds} s)`))
  return {
    heard: (line) => {
      if (line.kind === 'progress') {
        // A failed step that a later one replaced is not in the result, so it is printed here.
        if (line.failed) terminal.note(`${line.failed.step}: failed.`, `  ${line.failed.why}`)
        step = line.words
      }
      if (line.kind !== 'moved') return
      const { bytes, of } = line
      // Data grows after it was counted, so the total is never shown below what is done.
      moved =
        of === null ? formatBytes(bytes) : `${formatBytes(bytes)} of ${formatBytes(Math.max(bytes, of))}`
    },
    end: () => void terminal.status(null),
  }
}
