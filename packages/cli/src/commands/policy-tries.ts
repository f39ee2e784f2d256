import type { Command } from 'commander'
import { commandAction, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { readValue } from '../read-value.ts'
import { printable } from '../terminal/color.ts'
import { formatCount } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

/** Adds the commands that try rules, propose some, and list what a credential can reach. */
export function addPolicyTries(policy: Command, deps: CliDeps): void {
  policy
    .command('test')
    .summary('the cases, of the rules in force or of another file')
    .description(
      'Runs the cases of config/policy.yaml and shows each result; with a file, those of that file, before it replaces the rules in force. Exit code 1 if one fails.',
    )
    .argument('[file]', 'path of a file with rules and cases')
    .addHelpText('after', '\nExamples:\n  $ flotilla policy test\n  $ flotilla policy test new-policy.yaml')
    .action(commandAction(deps, test))
  policy
    .command('suggest')
    .summary('rules for what an agent was stopped at')
    .description(
      'Lists what rules asked for or denied in the last seven days, each with the narrowest rule that would allow it and with what that rule would open. Changes nothing.',
    )
    .argument('<agent>', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla policy suggest scout')
    .action(commandAction(deps, suggest))
  policy
    .command('reach')
    .summary('every host that could get a credential')
    .description(
      'Lists every host that could ever get a credential from an agent, by each way: bound hosts, as far as permissions, egress settings and rules allow.',
    )
    .argument('<agent>', 'id of the agent')
    .argument('<credential>', 'name of the credential')
    .addHelpText('after', '\nExample:\n  $ flotilla policy reach scout github')
    .action(commandAction(deps, reach))
}

async function test(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const [file] = line.operands
  const text = file === undefined ? null : await readValue(`@${file}`)
  const tested = await (await context.mesh()).call('policyTest', { body: { text }, signal })
  terminal.printJson(tested)
  const { color } = terminal
  const rows = tested.cases.map(({ line: at, effect, expect, verdict, rule, holds }) => [
    String(at),
    holds ? color.good('holds') : color.bad('fails'),
    printable(effect),
    holds ? expect : `${expect} expected, ${verdict} got`,
    rule ?? '',
  ])
  const columns = [
    { title: 'LINE' },
    { title: 'CASE' },
    { title: 'EFFECT', columnsMax: 60 },
    { title: 'VERDICT' },
    { title: 'RULE' },
  ]
  if (rows.length > 0) terminal.print(...renderTable(columns, rows))
  if (tested.broken === null) {
    terminal.print(
      rows.length === 0
        ? 'There are no cases.'
        : rows.length === 1
          ? 'The case holds.'
          : `All ${formatCount(rows.length, 'case')} hold.`,
    )
    return
  }
  terminal.print(printable(tested.broken))
  context.setExitCode(exitCodes.failed)
}

async function suggest(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const agent = operand(line, 0)
  const found = await (await context.mesh()).call('policyStops', { query: { agent }, signal })
  terminal.printJson(found)
  if (found.stops.length === 0)
    return terminal.print(`No rule asked for or denied anything of ${agent} in the last seven days.`)
  for (const { effect, verdict, rule, count, approved, proposal, advice } of found.stops) {
    const times = `${formatCount(count, 'time')}, approved ${formatCount(approved, 'time')}`
    terminal.print(`${printable(effect)}: ${verdict} by ${rule}, ${times}`)
    if (proposal === null) terminal.print(`  ${printable(advice)}`, '')
    else {
      terminal.print(
        ...proposal.text
          .trimEnd()
          .split('\n')
          .map((text) => `  ${printable(text)}`),
        ...proposal.allows.map((sentence) => `  → ${printable(sentence)}`),
        `  This would open, of what was stopped: ${printable(proposal.opens.join('; ') || 'nothing')}`,
        '',
      )
    }
  }
  if (found.truncated) terminal.print(`These are the latest ${found.stops.length}; there are more.`)
  terminal.hint('Add a rule to config/policy.yaml by hand, after: flotilla policy test')
}

async function reach(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const params = { id: operand(line, 0), credential: operand(line, 1) }
  const found = await (await context.mesh()).call('policyReach', { params, signal })
  terminal.printJson(found)
  if (found.refused !== null)
    return terminal.print(
      `${params.id} cannot use ${params.credential} anywhere: ${printable(found.refused)}`,
    )
  if (found.ways.length === 0)
    return terminal.print(`No host can get ${params.credential} from ${params.id}.`)
  terminal.print(
    ...renderTable(
      [{ title: 'HOST' }, { title: 'BY' }, { title: 'VERDICT' }, { title: 'RULE' }],
      found.ways.map(({ host, by, verdict, rule }) => [printable(host), by, verdict, rule ?? '']),
    ),
  )
  if (found.truncated) terminal.print(`These are the first ${found.ways.length} ways; there are more.`)
}
