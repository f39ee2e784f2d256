import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, flagOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import { confirmByTyping } from '../terminal/confirm.ts'
import { formatBytes } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

/** The time limit: a container engine with hundreds of images takes minutes to report their sizes. */
const timeoutMs = 600_000

const lostSchema = z.array(
  z.looseObject({
    tag: z.string(),
    place: z.nullable(z.string()),
    networks: z.int(),
    containers: z.int(),
    running: z.int(),
    volumes: z.int(),
  }),
)
type LostHomes = z.infer<typeof lostSchema>

const prunedSchema = z.looseObject({
  things: z.array(
    z.looseObject({
      kind: z.string(),
      name: z.string(),
      why: z.string(),
      bytes: z.nullable(z.number()),
      gone: z.boolean(),
    }),
  ),
  bytes: z.number(),
  /** Whether a container engine answered; if not, its contents are unknown. */
  engine: z.boolean(),
  /** Homes that do not exist any more; they are only listed. */
  lost: lostSchema,
})
type Pruned = z.infer<typeof prunedSchema>

export function addPruneCommand(program: Command, deps: CliDeps): void {
  program
    .command('prune')
    .description(
      'Removes leftovers: stopped containers and volumes of deleted agents, images of earlier releases, older snapshots of the database, and caches that are rebuilt when needed. It lists all of them first and asks. Existing agents, including archived ones, and other homes lose nothing. Leftovers of homes that no longer exist are listed, and removed only with --lost. The mesh may run meanwhile.',
    )
    .option('-y, --yes', 'do not ask')
    .option('--dry-run', 'only show what would be removed')
    .option(
      '--lost <tags...>',
      'only remove what this home, which no longer exists, left in the container engine: containers, data of agents, networks; can be repeated',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla prune --dry-run\n  $ flotilla prune --yes --json\n  $ flotilla prune --lost 3fa94c01',
    )
    .action(commandAction(deps, prune))
}

async function prune(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal } = context
  const tags = z.array(z.string()).safeParse(line.options['lost'])
  if (tags.success) return pruneLost(context, line, tags.data)
  const needsConfirmation = !flagOption(line, 'yes')
  const isDry = flagOption(line, 'dryRun')
  const plan = isDry || needsConfirmation ? prunedSchema.parse(await ask(context, [])) : null
  if (plan !== null) {
    if (plan.things.length === 0 || isDry) terminal.printJson(plan)
    if (plan.things.length === 0)
      return terminal.hint('There are no leftovers.', ...engineWords(plan), ...lostWords(plan.lost))
    showPlan(context, plan)
    if (isDry) return
    await confirmByTyping(context, {
      what: `prune removes ${plan.things.length} things`,
      question: 'Remove all of it?',
      answer: 'yes',
    })
  }
  const pruned = prunedSchema.parse(await ask(context, ['--apply']))
  const gone = pruned.things.filter((thing) => thing.gone)
  const stayed = pruned.things.length - gone.length
  terminal.printJson(pruned)
  terminal.hint(
    gone.length === 0
      ? 'There were no leftovers.'
      : `${gone.length} removed, ${formatBytes(pruned.bytes)} freed.`,
    ...(stayed === 0 ? [] : [`${stayed} came into use meanwhile and were kept.`]),
    ...engineWords(pruned),
    ...lostWords(pruned.lost),
  )
}

async function pruneLost(context: CommandContext, line: CommandLine, tags: readonly string[]): Promise<void> {
  const { terminal } = context
  const options = tags.flatMap((tag) => ['--lost', tag])
  const answered = z.looseObject({ lost: lostSchema })
  const plan = answered.parse(await ask(context, options))
  const isDry = flagOption(line, 'dryRun')
  if (isDry) terminal.printJson(plan)
  if (isDry || !flagOption(line, 'yes')) terminal.print(...lostTable(plan.lost))
  if (isDry) return
  if (!flagOption(line, 'yes'))
    await confirmByTyping(context, {
      what: `prune removes all leftovers of ${tags.join(', ')}, including the data of agents`,
      question: 'Remove all of it?',
      answer: 'yes',
    })
  const pruned = answered.parse(await ask(context, [...options, '--apply']))
  terminal.printJson(pruned)
  terminal.print(...pruned.lost.map((home) => `${home.tag} is removed: ${leftWords(home)}.`))
}

/** Lists homes that no longer exist, and how to remove their leftovers. */
function lostWords(lost: LostHomes): readonly string[] {
  if (lost.length === 0) return []
  return [
    '',
    'Leftovers of homes that no longer exist (not removed):',
    ...lostTable(lost),
    `Remove those of one home with:  flotilla prune --lost ${lost[0]?.tag ?? 'TAG'}`,
  ]
}

function lostTable(lost: LostHomes): readonly string[] {
  const rows = lost.map((home) => [
    home.tag,
    home.place ?? "an unknown home, perhaps another user's",
    leftWords(home),
  ])
  return renderTable([{ title: 'TAG' }, { title: 'ITS HOME WAS' }, { title: 'LEFT' }], rows)
}

function leftWords({ networks, containers, running, volumes }: LostHomes[number]): string {
  const some = (count: number, name: string) => `${count} ${name}${count === 1 ? '' : 's'}`
  const works = running === 0 ? '' : ` (${running} running)`
  return `${some(networks, 'network')}, ${some(containers, 'container')}${works}, ${some(volumes, 'volume')}`
}

function showPlan({ terminal }: CommandContext, plan: Pruned): void {
  const rows = plan.things.map(({ kind, name, bytes, why }) => [
    kind,
    bytes === null ? '?' : formatBytes(bytes),
    why,
    name,
  ])
  const columns = [
    { title: 'WHAT' },
    { title: 'SIZE', align: 'right' as const },
    { title: 'WHY' },
    { title: 'NAME' },
  ]
  terminal.hint(
    ...renderTable(columns, rows),
    '',
    `${plan.things.length} in all, ${formatBytes(plan.bytes)}.`,
    ...engineWords(plan),
    ...lostWords(plan.lost),
  )
}

function engineWords({ engine }: Pruned): readonly string[] {
  return engine ? [] : ['No container engine answers, so its contents were not checked.']
}

async function ask(context: CommandContext, extra: readonly string[]): Promise<unknown> {
  const { terminal, environment, place, signal } = context
  return askMeshProgram({
    verb: 'prune',
    home: place.home,
    extra,
    environment: environment.childEnvironment({}),
    signal,
    timeoutMs,
    heard: (line) => {
      if (line.kind === 'progress' && !terminal.json)
        terminal.status((seconds) => (seconds < 1 ? null : `${line.words} (${seconds} s)`))
    },
  }).finally(() => void terminal.status(null))
}
