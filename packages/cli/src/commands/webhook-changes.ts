import { jsonValueSchema } from '@flotilla/protocol/json-value'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { signedExample } from '@flotilla/protocol/signed-event'
import { webhookApi, webhookLimits } from '@flotilla/protocol/webhook-api'
import type { WebhookView } from '@flotilla/protocol/webhook-api'
import { Option } from 'commander'
import type { Command } from 'commander'
import type * as z from 'zod/mini'
import { commandAction, flagOption, numberOption, operand, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { wholeNumber } from '../number-argument.ts'
import { readValue } from '../read-value.ts'
import { requireWebhook } from '../require-webhook.ts'
import { oneLine } from '../terminal/color.ts'

type HookChange = z.infer<(typeof webhookApi)['webhookChange']['request']>

const reasonMaxChars = 200
const example = `
Example:
  $ flotilla webhooks add scout builds --instructions "Say what broke, and who should look."`

/** Registers the verbs that create, test and change webhooks. */
export function addWebhookChanges(webhooks: Command, deps: CliDeps): void {
  hookOptions(
    webhooks
      .command('add')
      .summary('create a webhook')
      .description(
        'Creates a webhook that gives events to an agent. Shows its secret this once, and lines of a shell that send a signed event.',
      )
      .argument('<agent>', 'id of the agent')
      .argument('<name>', 'what the events are called'),
  )
    .option('--unsigned', 'let anyone who knows the address deliver')
    .addHelpText('after', example)
    .action(commandAction(deps, add))
  hookOptions(
    webhooks
      .command('set')
      .summary('change a webhook')
      .description('Changes only the fields that you name. To replace the secret: flotilla webhooks rotate.')
      .argument('<hook>', 'id or name of the webhook')
      .option('--name <name>', 'what the events are called')
      .option('--agent <agent>', 'the agent that gets the events'),
  )
    .addOption(
      new Option('--refuse-repeats', 'a body that came before is the same event (the default)').conflicts(
        'acceptRepeats',
      ),
    )
    .addOption(new Option('--on', 'switch it on').conflicts('off'))
    .option('--off', 'switch it off and keep it')
    .addHelpText('after', '\nExample:\n  $ flotilla webhooks set builds --off')
    .action(commandAction(deps, set))
  webhooks
    .command('test')
    .summary('deliver an event to a webhook')
    .description('Delivers an event in your name, without a signature, and shows the run that it started.')
    .argument('<hook>', 'id or name of the webhook')
    .argument('[event]', 'the event as JSON; @FILE reads it from a file')
    .addHelpText('after', `\nExample:\n  $ flotilla webhooks test builds '{"build": 7, "result": "failed"}'`)
    .action(commandAction(deps, test))
  webhooks
    .command('remove')
    .summary('remove a webhook with its secret and history')
    .description('Removes a webhook. Its sender is rejected from then on; runs that have started continue.')
    .argument('<hook>', 'id or name of the webhook')
    .addHelpText('after', '\nExample:\n  $ flotilla webhooks remove builds')
    .action(commandAction(deps, remove))
}

function hookOptions(command: Command): Command {
  return command
    .option('--instructions <text>', 'what the agent does with an event')
    .option('--when <condition>', 'accept only events for which this holds; empty removes it')
    .option(
      '--per-minute <number>',
      'how many events it accepts a minute (default: webhooks.per_minute of the settings)',
      wholeNumber(1, webhookLimits.perMinuteMax),
    )
    .option('--accept-repeats', 'a body that came before is a new event, where only the body is signed')
}

function changeOf(line: CommandLine): HookChange {
  const [instructions, when] = ['instructions', 'when'].map((name) => textOption(line, name))
  const perMinute = numberOption(line, 'perMinute')
  return {
    ...(instructions === undefined ? {} : { instructions }),
    ...(when === undefined ? {} : { when: when === '' ? null : when }),
    ...(perMinute === undefined ? {} : { per_minute: perMinute }),
    ...(flagOption(line, 'acceptRepeats') ? { repeats: 'accept' } : {}),
  }
}

async function add(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const signed = !flagOption(line, 'unsigned')
  const { enabled: _, ...fields } = changeOf(line)
  const body = { ...fields, agent_id: operand(line, 0), name: operand(line, 1), signed }
  const { webhook, secret } = await client.call('webhookCreate', { body, signal })
  terminal.printJson({ webhook, secret })
  const address = client.baseUrl + webhook.path
  terminal.print(
    `Webhook ${webhook.id} gives events to ${webhook.agent_id}.`,
    `Senders post to ${address}, or to the same path where your mesh is reached from outside.`,
  )
  if (secret === null) terminal.print('Anyone who knows this address can send text to the agent.')
  else {
    terminal.print(
      `Its secret, shown this once: ${secret}`,
      '',
      'An event with its signature, for a shell:',
      ...signedExample(address, secret).split('\n'),
      '',
    )
  }
  terminal.hint(`Next: flotilla webhooks test ${webhook.id}`)
}

async function set(context: CommandContext, line: CommandLine): Promise<void> {
  const [name, agent] = ['name', 'agent'].map((option) => textOption(line, option))
  const body: HookChange = {
    ...changeOf(line),
    ...(name === undefined ? {} : { name }),
    ...(agent === undefined ? {} : { agent_id: agent }),
    ...(flagOption(line, 'refuseRepeats') ? { repeats: 'refuse' } : {}),
    ...(flagOption(line, 'on') ? { enabled: true } : {}),
    ...(flagOption(line, 'off') ? { enabled: false } : {}),
  }
  if (Object.keys(body).length === 0)
    throw new CommandFailed('nothing-to-change', {
      detail: 'The command names nothing to change.',
      repair: 'See flotilla webhooks set --help.',
    })
  const client = await context.mesh()
  const params = { id: await requireWebhook(context, client, line) }
  const hook = await client.call('webhookChange', { params, body, signal: context.signal })
  context.terminal.printJson(hook)
  context.terminal.print(describeHook(hook))
}

function describeHook({ id, name, agent_id: agent, enabled }: WebhookView): string {
  return `Webhook ${id} (${oneLine(name, webhookLimits.nameMaxChars)}) is ${enabled ? `on and gives events to ${agent}` : 'off'}.`
}

async function test(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const event = line.operands[1]
  const payload =
    event === undefined ? { test: true, from: 'the terminal' } : jsonValue(await readValue(event))
  const client = await context.mesh()
  const params = { id: await requireWebhook(context, client, line) }
  const delivery = await client.call('webhookTest', { params, body: { payload }, signal })
  terminal.printJson(delivery)
  if (delivery.run_id === null)
    terminal.print(
      `The event is ${delivery.state}: ${oneLine(delivery.reason ?? 'no reason', reasonMaxChars)}`,
    )
  else terminal.hint('The event started a run.', `Next: flotilla runs ${delivery.run_id}`)
}

function jsonValue(text: string): JsonValue {
  try {
    return jsonValueSchema.parse(JSON.parse(text))
  } catch {
    throw new CommandFailed('bad-params', {
      detail: 'The event is not JSON.',
      repair: `Write it as '{"build": 7}', or name a file that contains it: @event.json.`,
    })
  }
}

async function remove(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const params = { id: await requireWebhook(context, client, line) }
  const reply = await client.call('webhookDelete', { params, signal: context.signal })
  context.terminal.printJson(reply)
  context.terminal.print(`Removed ${reply.deleted}.`)
}
