import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction, flagOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { askMeshProgram } from '../mesh-process/ask-mesh-program.ts'
import { confirmByTyping } from '../terminal/confirm.ts'
import { formatBytes } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

/** An engine with hundreds of images takes minutes to say how large they are. */
const timeoutMs = 600_000

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
  /** Whether an engine answered; where none did, it holds nothing. */
  engine: z.boolean(),
})
type Pruned = z.infer<typeof prunedSchema>

export function addPruneCommand(program: Command, deps: CliDeps): void {
  program
    .command('prune')
    .description(
      'Takes away what is left over and nobody uses: stopped containers and volumes of agents that are deleted, images of earlier releases, older snapshots of the database, and caches that are made again where they are missed. It shows all of it first and asks. Agents that are there, archived ones too, lose nothing, and neither do other homes. The mesh may run meanwhile.',
    )
    .option('-y, --yes', 'do not ask')
    .option('--dry-run', 'only show what would go')
    .addHelpText('after', '\nExamples:\n  $ flotilla prune --dry-run\n  $ flotilla prune --yes --json')
    .action(commandAction(deps, prune))
}

async function prune(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal } = context
  const isAsked = !flagOption(line, 'yes')
  const isDry = flagOption(line, 'dryRun')
  const plan = isDry || isAsked ? await ask(context, []) : null
  if (plan !== null) {
    if (plan.things.length === 0 || isDry) terminal.printJson(plan)
    if (plan.things.length === 0) return terminal.print('Nothing is left over.', ...engineWords(plan))
    showPlan(context, plan)
    if (isDry) return
    await confirmByTyping(context, {
      what: `prune takes away ${plan.things.length} things`,
      question: 'Take all of it away?',
      answer: 'yes',
    })
  }
  const pruned = await ask(context, ['--apply'])
  const gone = pruned.things.filter((thing) => thing.gone)
  const stayed = pruned.things.length - gone.length
  terminal.printJson(pruned)
  terminal.print(
    gone.length === 0 ? 'Nothing was left over.' : `${gone.length} gone, ${formatBytes(pruned.bytes)} freed.`,
    ...(stayed === 0 ? [] : [`${stayed} came into use meanwhile and stayed.`]),
    ...engineWords(pruned),
  )
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
  terminal.print(
    ...renderTable(columns, rows),
    '',
    `${plan.things.length} in all, ${formatBytes(plan.bytes)}.`,
    ...engineWords(plan),
  )
}

function engineWords({ engine }: Pruned): readonly string[] {
  return engine ? [] : ['No container engine answers, so what is in one was not looked at.']
}

async function ask(context: CommandContext, extra: readonly string[]): Promise<Pruned> {
  const { terminal, environment, place, signal } = context
  const answer = await askMeshProgram({
    verb: 'prune',
    home: place.home,
    extra,
    environment: environment.childEnvironment({}),
    signal,
    timeoutMs,
    heard: (said) => {
      if (said.kind === 'progress' && !terminal.json)
        terminal.status((seconds) => (seconds < 1 ? null : `${said.words} (${seconds} s)`))
    },
  }).finally(() => void terminal.status(null))
  return prunedSchema.parse(answer)
}
