import { answerKinds, answerLimits, thinkingEfforts } from '@flotilla/protocol/answer-settings'
import type { AnswersView } from '@flotilla/protocol/setup-api'
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, flagOption, numberOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { requireAgent } from '../require-agent.ts'
import { renderTable } from '../terminal/table.ts'

export function addModelsAnswersCommand(models: Command, deps: CliDeps): void {
  models
    .command('answers')
    .summary('show or set thinking and length of answers')
    .description(
      'Shows how much models think and how long their answers may be, by agent and kind of run; with options, sets it for one agent, or for all agents that have no value of their own. It applies from the next call, and is written as answers in config/settings.json.',
    )
    .argument('[agent]', 'agent; all agents if omitted')
    .addOption(new Option('--in <kind>', 'kind of run').choices(answerKinds))
    .addOption(new Option('--thinking <effort>', 'how much the model thinks').choices(thinkingEfforts))
    .option('--max-output <tokens>', 'maximum length of one answer in tokens, thinking included', tokens)
    .option('--unset', 'remove both values of that kind')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla models answers --in heartbeat --thinking minimal\n  $ flotilla models answers scout --in chat --max-output 2000',
    )
    .action(commandAction(deps, answers))
}

async function answers(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const kind = answerKinds.find((name) => name === textOption(line, 'in'))
  const thinking = thinkingEfforts.find((name) => name === textOption(line, 'thinking'))
  const outputTokensMax = numberOption(line, 'maxOutput')
  const unset = flagOption(line, 'unset')
  const agent = line.operands[0] ?? null
  const sets = thinking !== undefined || outputTokensMax !== undefined
  if ((sets || unset) !== (kind !== undefined) || (sets && unset)) {
    throw new CommandFailed('wrong-usage', {
      detail: 'give --in together with --thinking, --max-output or both, or with --unset',
      repair: 'See flotilla models answers --help.',
      exitCode: exitCodes.usage,
    })
  }
  const client = await context.mesh()
  if (agent !== null) await requireAgent(context, client, agent)
  const view =
    kind === undefined
      ? await client.call('setupAnswers', { signal })
      : await client.call('setupAnswersSet', {
          body: {
            agent,
            kind,
            ...(unset ? { thinking: null, max_output_tokens: null } : {}),
            ...(thinking === undefined ? {} : { thinking }),
            ...(outputTokensMax === undefined ? {} : { max_output_tokens: outputTokensMax }),
          },
          signal,
        })
  terminal.printJson(view)
  const rows = [
    ...rowsOf('all agents', view.fleet),
    ...Object.entries(view.agents)
      .filter(([id]) => agent === null || id === agent)
      .flatMap(([id, own]) => rowsOf(id, own)),
  ]
  if (rows.length === 0) return terminal.print('Nothing is set: each model answers as its provider decides.')
  terminal.print(
    ...renderTable(
      [{ title: 'AGENT' }, { title: 'IN' }, { title: 'THINKING' }, { title: 'MAX OUTPUT', align: 'right' }],
      rows,
    ),
  )
}

function rowsOf(agent: string, view: AnswersView): string[][] {
  return answerKinds.flatMap((kind) => {
    const { thinking, max_output_tokens: outputTokensMax } = view[kind] ?? {}
    if (thinking === undefined && outputTokensMax === undefined) return []
    return [[agent, kind, thinking ?? '', outputTokensMax === undefined ? '' : String(outputTokensMax)]]
  })
}

function tokens(text: string): number {
  const value = Number(text)
  const { outputTokensMin, outputTokensMax } = answerLimits
  if (Number.isInteger(value) && value >= outputTokensMin && value <= outputTokensMax) return value
  throw new InvalidArgumentError(`Expected a whole number from ${outputTokensMin} to ${outputTokensMax}.`)
}
