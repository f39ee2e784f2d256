import { setupLimits } from '@flotilla/protocol/setup-api'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { ModelView } from '@flotilla/protocol/models-api'
import { commandAction, flagOption, numberOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { noModelNotice } from '../set-up/no-model-notice.ts'
import type { Color } from '../terminal/color.ts'
import { formatDuration, formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'
import { addModelsAnswersCommand } from './models-answers.ts'

export function addModelsCommand(program: Command, deps: CliDeps): void {
  const command = program
    .command('models')
    .description(
      'Shows the models that the fleet is configured for or has used: price per million tokens, health, remaining cooldown, fallbacks, and which agents may use each.',
    )
    .addHelpText(
      'after',
      `
A fallback is set in config/settings.json, and must be one of the agent's allowed models:
  "models": { "openai/gpt-5-mini": { "fallback": ["groq/llama-3.3-70b-versatile"] } }

Example:
  $ flotilla models --json | jq '.models[] | select(.health == "cooling")'`,
    )
    .action(commandAction(deps, models))
  command
    .command('price')
    .summary('set the price of a model')
    .description(
      'Sets what a model costs, in US dollars per million tokens; 0 for a model that costs nothing. It applies from the next call, and is written as models.NAME.price in config/settings.json.',
    )
    .argument('<model>', 'provider/model, as flotilla models lists it')
    .option('--input <usd>', 'US dollars per million tokens of prompts', perMtok)
    .option('--output <usd>', 'US dollars per million tokens of answers', perMtok)
    .option('--public', 'remove the price that was set and use the public price list')
    .addHelpText(
      'after',
      '\nExamples:\n  $ flotilla models price here/large --input 1.25 --output 10\n  $ flotilla models price openai/gpt-5-mini --public',
    )
    .action(commandAction(deps, setPrice))
  addModelsAnswersCommand(command, deps)
}

async function setPrice(context: CommandContext, line: CommandLine): Promise<void> {
  const model = operand(line, 0)
  const input = numberOption(line, 'input')
  const output = numberOption(line, 'output')
  const isPublic = flagOption(line, 'public')
  if (isPublic ? input !== undefined || output !== undefined : input === undefined || output === undefined) {
    throw new CommandFailed('wrong-usage', {
      detail: 'give both --input and --output, or --public alone',
      repair: 'See flotilla models price --help.',
      exitCode: exitCodes.usage,
    })
  }
  const price = isPublic ? null : { input_per_mtok: input ?? 0, output_per_mtok: output ?? 0 }
  const client = await context.mesh()
  const reply = await client.call('setupPrice', { body: { model, price }, signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(
    price === null
      ? `${model} costs what the public price list says.`
      : `${model} costs ${priceOf(price.input_per_mtok)} in and ${priceOf(price.output_per_mtok)} out, in US dollars per million tokens, from the next call.`,
  )
  const { models: known } = await client.call('models', { signal: context.signal })
  const isUsed = known.some(
    ({ id, agents, chosen_for: chosen, fallback }) =>
      (id === model && agents.length + chosen.length > 0) || fallback.includes(model),
  )
  if (price !== null && !isUsed)
    context.terminal.hint(`No agent uses ${model}: compare the name with those in flotilla models.`)
}

function perMtok(text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= 0 && value <= setupLimits.usdPerMtokMax) return value
  throw new InvalidArgumentError(`Expected US dollars from 0 to ${setupLimits.usdPerMtokMax}, such as 1.25.`)
}

const chosenWords = { heartbeat: 'heartbeats of all', compaction: 'summaries of all' } as const

async function models(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const reply = await (await context.mesh()).call('models', { signal })
  terminal.printJson(reply)
  if (reply.models.length === 0) return terminal.hint(noModelNotice)
  terminal.print(
    ...renderTable(
      [
        { title: 'MODEL' },
        { title: '$ IN/MTOK', align: 'right' },
        { title: '$ OUT/MTOK', align: 'right' },
        { title: 'HEALTH' },
        { title: 'FALLBACK', columnsMax: 40 },
        { title: 'AGENTS', columnsMax: 40 },
      ],
      reply.models.map((model) => [
        model.id,
        priceOf(model.price?.input_per_mtok),
        priceOf(model.price?.output_per_mtok),
        healthOf(model, terminal.color),
        model.fallback.join(' → '),
        [...model.chosen_for.map((purpose) => `(${chosenWords[purpose]})`), ...model.agents].join(' '),
      ]),
    ),
  )
  for (const { id, problem } of reply.models) {
    if (problem !== null) terminal.print(`${id} cannot be called: ${problem}`)
  }
  terminal.print(...freeHereWords(reply.models))
  for (const { id, stated_windows: windows } of reply.models) {
    for (const window of windows) terminal.print(`${id} ${statedWords(window)}`)
  }
  for (const { id, last_error: error } of reply.models) {
    if (error !== null) terminal.print(`${id} last failed ${formatTime(error.at)} UTC: ${error.detail}`)
  }
}

/** Returns a warning that a local proxy may forward calls to a paid provider, which only the owner can know. */
export function freeHereWords(models: readonly ModelView[]): string[] {
  const here = models.filter(({ free_because }) => free_because === 'this-machine').map(({ id }) => id)
  if (here.length === 0) return []
  return [
    `Free, because their provider is on this machine: ${here.join(', ')}. If it forwards calls to a paid provider, set what it costs with flotilla models price, or write "local": false for the model or its provider in config/settings.json.`,
  ]
}

function statedWords({ agent_id, tokens, until }: ModelView['stated_windows'][number]): string {
  const statement =
    tokens === null
      ? `refused a prompt of ${agent_id} as too long and named no limit`
      : `takes ${tokens} tokens, as its provider said to ${agent_id}`
  return `${statement}: ${agent_id} stays within that until ${formatTime(until)} UTC, unless a longer prompt is answered before.`
}

function priceOf(usd: number | undefined): string {
  if (usd === undefined) return '?'
  return usd === 0 ? 'free' : `${Number(usd.toPrecision(4))}`
}

function healthOf(model: ModelView, color: Color): string {
  if (model.problem !== null) return color.bad('not usable')
  switch (model.health) {
    case 'cooling':
      return color.bad(`cooling ${formatDuration(model.cool_down_seconds * 1000)}`)
    case 'on-trial':
      return 'on trial'
    case 'ok':
      return color.good('ok')
    case 'unknown':
      return 'not asked yet'
  }
}
