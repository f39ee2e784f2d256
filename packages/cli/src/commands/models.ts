import type { Command } from 'commander'
import type { ModelView } from '@flotilla/protocol/models-api'
import { commandAction } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { noModelNotice } from '../set-up/no-model-notice.ts'
import type { Color } from '../terminal/color.ts'
import { formatDuration, formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

export function addModelsCommand(program: Command, deps: CliDeps): void {
  program
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
    `Free, because their provider is on this machine: ${here.join(', ')}. If it forwards calls to a paid provider, write a price or "local": false for the model or its provider in config/settings.json.`,
  ]
}

function statedWords({ agent_id, tokens, until }: ModelView['stated_windows'][number]): string {
  const said =
    tokens === null
      ? `refused a prompt of ${agent_id} as too long and named no limit`
      : `takes ${tokens} tokens, as its provider said to ${agent_id}`
  return `${said}: ${agent_id} stays within that until ${formatTime(until)} UTC, unless a longer prompt is answered before.`
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
