import { webhookLimits } from '@flotilla/protocol/webhook-api'
import type { DeliveryView, WebhookView } from '@flotilla/protocol/webhook-api'
import type { Command } from 'commander'
import { commandAction, numberOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { requireWebhook } from '../require-webhook.ts'
import { oneLine } from '../terminal/color.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'
import { addWebhookChanges } from './webhook-changes.ts'

const repeatsHelp = `
Standard Webhooks and GitHub (content type application/json) sign with the secret of the webhook too. GitHub and
x-webhook-signature sign the body alone: the same body again, whenever it comes and whatever id it bears, is a duplicate
and makes no run. Where a sender means the same body again: flotilla webhooks set HOOK --accept-repeats`

export function addWebhooksCommand(program: Command, deps: CliDeps): void {
  const webhooks = program
    .command('webhooks')
    .description(
      'Webhooks give HTTP events of other systems to agents. Creates, tests and changes them, and shows what arrived.',
    )
    .addHelpText('after', repeatsHelp)
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla webhooks add scout builds --instructions "Say what broke, and who should look."
  $ flotilla webhooks list`,
    )
  addWebhookChanges(webhooks, deps)
  webhooks
    .command('list', { isDefault: true })
    .summary('all webhooks')
    .description('Lists all webhooks with their recent deliveries. Secrets are never shown.')
    .addHelpText('after', '\nExample:\n  $ flotilla webhooks list')
    .action(commandAction(deps, list))
  webhooks
    .command('deliveries')
    .summary('deliveries, newest first')
    .description('Shows the deliveries of a webhook and their results.')
    .argument('<hook>', 'id or name of the webhook')
    .option('--limit <number>', 'maximum number of deliveries', wholeNumber(1, webhookLimits.pageMax))
    .option('--before <number>', 'only deliveries before this one', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .addHelpText('after', '\nExample:\n  $ flotilla webhooks deliveries builds')
    .action(commandAction(deps, deliveries))
  webhooks
    .command('replay')
    .summary('replay a delivery')
    .description('Starts a new run for a delivery, with the current instructions of the webhook.')
    .argument('<hook>', 'id or name of the webhook')
    .argument('<delivery>', 'its number, as flotilla webhooks deliveries shows it')
    .addHelpText('after', '\nExample:\n  $ flotilla webhooks replay builds 17')
    .action(commandAction(deps, replay))
  webhooks
    .command('rotate')
    .summary('create a new secret')
    .description(
      'Creates a new secret and shows it once. The previous one stays valid for some hours, so that no delivery is lost.',
    )
    .argument('<hook>', 'id or name of the webhook')
    .option(
      '--overlap-hours <hours>',
      `how long the previous secret stays valid (default: ${webhookLimits.overlapHours.default}; 0 revokes it immediately)`,
      wholeNumber(0, webhookLimits.overlapHours.max),
    )
    .addHelpText('after', '\nExample:\n  $ flotilla webhooks rotate builds --overlap-hours 1')
    .action(commandAction(deps, rotate))
}

async function list(context: CommandContext): Promise<void> {
  const reply = await (await context.mesh()).call('webhooks', { signal: context.signal })
  context.terminal.printJson(reply)
  if (reply.webhooks.length === 0) {
    context.terminal.hint('No webhooks yet. Next: flotilla webhooks add AGENT NAME')
    return
  }
  const titles = ['WEBHOOK', 'NAME', 'AGENT', 'SIGNED', 'ACCEPTED', 'SKIPPED', 'REFUSED', 'LAST'] as const
  context.terminal.print(
    ...renderTable(
      titles.map((title) => ({ title })),
      reply.webhooks.map(hookRow),
    ),
  )
}

function hookRow(hook: WebhookView): string[] {
  const until = hook.previous_secret_until
  const signed = until === null ? 'yes' : `yes; old secret until ${formatTime(until)} UTC`
  const { accepted, skipped, refused, limited } = hook.counts
  return [
    hook.id,
    oneLine(hook.name, 40) + (hook.enabled ? '' : ' (off)'),
    hook.agent_id,
    hook.signed ? signed : 'no',
    `${accepted}`,
    `${skipped}`,
    `${refused + limited}`,
    hook.last_delivery_at === null ? 'never' : formatTime(hook.last_delivery_at),
  ]
}

async function deliveries(context: CommandContext, line: CommandLine): Promise<void> {
  const limit = numberOption(line, 'limit')
  const before = numberOption(line, 'before')
  const client = await context.mesh()
  const reply = await client.call('webhookDeliveries', {
    params: { id: await requireWebhook(context, client, line) },
    query: { ...(limit === undefined ? {} : { limit }), ...(before === undefined ? {} : { before }) },
    signal: context.signal,
  })
  context.terminal.printJson(reply)
  if (reply.deliveries.length === 0) return context.terminal.print('No deliveries yet.')
  const titles = ['DELIVERY', 'AT (UTC)', 'STATE', 'BYTES', 'RUN', 'RESULT'] as const
  context.terminal.print(
    ...renderTable(
      titles.map((title) => ({ title })),
      reply.deliveries.map(deliveryRow),
    ),
  )
}

function deliveryRow(row: DeliveryView): string[] {
  const times = row.count > 1 ? ` ×${row.count}` : ''
  const again = row.replay_of === null ? '' : ` (replay of ${row.replay_of})`
  const way = row.way === 'test' ? ' (test)' : again
  const ended = row.run_id === null ? '' : (row.outcome ?? 'not ended yet')
  return [
    `${row.delivery}`,
    formatTime(row.at),
    row.state + times + way,
    `${row.size_bytes}`,
    row.run_id ?? '',
    oneLine(row.reason ?? ended, 100),
  ]
}

async function replay(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const params = { id: await requireWebhook(context, client, line), delivery: operand(line, 1) }
  const reply = await client.call('webhookReplay', { params, signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(
    `Delivery ${reply.delivery} replays ${reply.replay_of ?? '?'} as ${reply.run_id ?? '?'}.`,
  )
}

async function rotate(context: CommandContext, line: CommandLine): Promise<void> {
  const hours = numberOption(line, 'overlapHours')
  const client = await context.mesh()
  const { webhook, secret } = await client.call('webhookRotate', {
    params: { id: await requireWebhook(context, client, line) },
    body: hours === undefined ? {} : { overlap_hours: hours },
    signal: context.signal,
  })
  context.terminal.printJson({ webhook, secret })
  const until = webhook.previous_secret_until
  context.terminal.print(
    `New secret of ${webhook.id}, shown this once: ${secret ?? ''}`,
    until === null
      ? 'No other secret is valid.'
      : `The previous one is valid until ${formatTime(until)} UTC.`,
  )
}
