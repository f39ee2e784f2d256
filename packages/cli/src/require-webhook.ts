import type { MeshClient } from '@flotilla/client/mesh-client'
import { hintOfName } from '@flotilla/protocol/nearest-name'
import { operand } from './command-action.ts'
import type { CommandLine } from './command-action.ts'
import { CommandFailed } from './command-failed.ts'
import type { CommandContext } from './context.ts'
import { exitCodes } from './exit-codes.ts'
import { oneLine } from './terminal/color.ts'

const nameColumnsMax = 64

/**
 * Returns the id of the webhook that the first operand names, by its id or its name. Rejects with CommandFailed, which
 * suggests names, if none has the name, and names the ids if several have it.
 */
export async function requireWebhook(
  { signal }: Pick<CommandContext, 'signal'>,
  client: MeshClient,
  line: CommandLine,
): Promise<string> {
  const given = operand(line, 0)
  const { webhooks } = await client.call('webhooks', { signal })
  const found = webhooks.filter(({ id }) => id === given)
  const [hook, ...others] = found.length > 0 ? found : webhooks.filter(({ name }) => name === given)
  if (hook !== undefined && others.length === 0) return hook.id
  const shown = oneLine(given, nameColumnsMax)
  const names = webhooks.map(({ name }) => oneLine(name, nameColumnsMax))
  throw new CommandFailed('unknown-webhook', {
    detail:
      hook === undefined
        ? `there is no webhook ${shown}; ${hintOfName(given, names, 'the webhooks are')}`
        : `${others.length + 1} webhooks are called ${shown}; name one by its id: ${[hook, ...others].map(({ id }) => id).join(', ')}`,
    repair: 'List the webhooks with: flotilla webhooks list.',
    exitCode: exitCodes.usage,
  })
}
