import type { PolicyView } from '@flotilla/protocol/control-api'
import { originKinds, peopleChannels } from '@flotilla/protocol/origin'
import { Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { printable } from '../terminal/color.ts'
import { formatCount } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'
import { addPolicyTries } from './policy-tries.ts'

export function addPolicyCommand(program: Command, deps: CliDeps): void {
  const policy = program
    .command('policy')
    .description(
      'Shows, checks and explains the rules of config/policy.yaml, which you edit by hand: each allows, asks for or denies what agents do outside of their containers.',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla policy show\n  $ flotilla policy explain scout POST https://api.example.org/v1/items',
    )
  policy
    .command('show', { isDefault: true })
    .summary('the rules in force')
    .description('Lists the rules in force, those of presets included, with their lines.')
    .addHelpText('after', '\nExample:\n  $ flotilla policy show')
    .action(commandAction(deps, show))
  policy
    .command('check')
    .summary('whether the file is valid and its cases hold')
    .description(
      'Says whether config/policy.yaml is valid and whether its cases hold. While one does not, everything is denied; exit code 1.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla policy check')
    .action(commandAction(deps, check))
  policy
    .command('explain')
    .summary('the verdict about one request')
    .description(
      'Says whether a request of an agent is allowed, asked for or denied, and by which line. Exit code 4 when it is denied.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('<method>', 'the method, such as GET')
    .argument('<url>', 'the address')
    .addOption(
      new Option('--origin <kind>', 'the origin of the work that sends it')
        .choices(originKinds)
        .default('human'),
    )
    .addOption(
      new Option('--channel <name>', 'the channel on which it was asked for').choices(peopleChannels),
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla policy explain scout POST https://api.example.org/v1/items --origin webhook',
    )
    .action(commandAction(deps, explain))
  addPolicyTries(policy, deps)
}

async function readPolicy(context: CommandContext): Promise<PolicyView> {
  const view = await (await context.mesh()).call('policy', { signal: context.signal })
  context.terminal.printJson(view)
  return view
}

function brokenLines({ broken }: PolicyView): string[] {
  return [
    `Everything that agents do outside of their containers is denied: ${printable(broken ?? '')}`,
    'Correct that line; the mesh reads the file again within a second.',
  ]
}

async function show(context: CommandContext): Promise<void> {
  const { terminal } = context
  const view = await readPolicy(context)
  if (view.broken !== null) return terminal.print(...brokenLines(view))
  if (view.rules.length === 0)
    return terminal.print(`${view.file} has no rules: the permission records decide alone.`)
  terminal.print(
    ...renderTable(
      [
        { title: 'LINE' },
        { title: 'RULE' },
        { title: 'VERDICT' },
        { title: 'HITS' },
        { title: 'MATCHES', columnsMax: 60 },
        { title: 'REASON', columnsMax: 40 },
      ],
      view.rules.map(({ line, name, verdict, match, when, reason, hits }) => [
        String(line),
        name,
        verdict,
        String(hits),
        printable(
          [...Object.entries(match).map(fieldText), ...(when === null ? [] : [`when ${when}`])].join('; '),
        ),
        printable(reason),
      ]),
    ),
  )
}

function fieldText([field, value]: readonly [string, number | readonly string[]]): string {
  return `${field} ${typeof value === 'number' ? value : value.join(', ')}`
}

async function check(context: CommandContext): Promise<void> {
  const { terminal } = context
  const view = await readPolicy(context)
  if (view.broken === null) {
    const counts = [formatCount(view.rules.length, 'rule'), formatCount(view.cases, 'case')]
    terminal.print(`${view.file} is valid: ${counts.join(' and ')}; all cases hold.`)
    return
  }
  terminal.print(...brokenLines(view))
  context.setExitCode(exitCodes.failed)
}

async function explain(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const origin = originKinds.find((kind) => kind === textOption(line, 'origin')) ?? 'human'
  const channel = peopleChannels.find((name) => name === textOption(line, 'channel'))
  const decision = await (
    await context.mesh()
  ).call('policyExplain', {
    params: { id: operand(line, 0) },
    query: { method: operand(line, 1), url: operand(line, 2), origin, channel },
    signal,
  })
  terminal.printJson(decision)
  const { verdict, rule, reason, file, line: at } = decision
  const { color } = terminal
  const shown = {
    allow: color.good('allowed'),
    ask: color.warning('asks a person'),
    deny: color.bad('denied'),
  }[verdict]
  terminal.print(
    `${shown}: ${printable(reason)}`,
    ...(rule === null ? [] : [`  by the rule ${rule}, ${file}${at === null ? '' : `:${at}`}`]),
  )
  if (verdict === 'deny') context.setExitCode(exitCodes.refused)
}
